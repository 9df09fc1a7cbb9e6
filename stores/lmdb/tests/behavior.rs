//! The LMDB store does what every store must, however it is opened.

#![allow(clippy::expect_used, reason = "helpers of tests, which clippy does not see as such")]

use std::process::ExitCode;
use std::time::Duration;

use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::Durability;
use keyloom_testkit::behavior::{self, cases, snapshots, trials};

fn open(options: Options) -> LmdbStore {
    let folder = tempfile::tempdir().expect("a folder for a test");
    // The folder goes at once, the file when it is closed: nothing is left behind.
    LmdbStore::open_with(folder.path().join("test.klm"), options).expect("a new file opens")
}

fn main() -> ExitCode {
    let synced = Options::default();
    let buffered = Options { durability: Durability::buffered(), ..synced };
    // So few that commits wait for room, and so long that they are read from the buffer.
    let durability = Durability::Buffered { entries: 4, interval: Duration::from_millis(50) };
    let narrow = Options { durability, ..synced };
    let mut all = trials("lmdb", cases(), move || open(synced));
    all.extend(trials("lmdb, buffered", cases(), move || open(buffered)));
    all.extend(trials("lmdb, narrow buffer", cases(), move || open(narrow)));
    for (name, durability) in [("synced", Durability::Synced), ("buffered", Durability::buffered())] {
        let short = Options { max_snapshot_age: Duration::from_millis(50), durability, ..synced };
        all.extend(trials(&format!("lmdb, {name}, short snapshots"), snapshots::cases(), move || {
            open(short)
        }));
    }
    behavior::run(all)
}
