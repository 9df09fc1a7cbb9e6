//! The redb store does what every store must, however it is opened.

#![allow(clippy::expect_used, reason = "helpers of tests, which clippy does not see as such")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keyloom_redb::{Options, RedbStore};
use keyloom_store::Durability;
use keyloom_testkit::behavior::{self, cases, snapshots, trials};

static FILES: AtomicUsize = AtomicUsize::new(0);

fn main() -> ExitCode {
    let folder = Arc::new(tempfile::tempdir().expect("a folder for tests"));
    let opens = |options| {
        let folder = Arc::clone(&folder);
        move || {
            let number = FILES.fetch_add(1, Ordering::Relaxed);
            RedbStore::open_with(folder.path().join(format!("{number}.redb")), options)
                .expect("a new file opens")
        }
    };
    let synced = Options::default();
    // So few that commits wait for a sync.
    let narrow = Durability::Buffered { entries: 4, interval: Duration::from_millis(50) };
    let mut all = trials("redb", cases(), opens(synced));
    for (name, durability) in [("buffered", Durability::buffered()), ("narrow buffer", narrow)] {
        all.extend(trials(&format!("redb, {name}"), cases(), opens(Options { durability, ..synced })));
    }
    let short = Options { max_snapshot_age: Duration::from_millis(50), ..synced };
    all.extend(trials("redb, short snapshots", snapshots::cases(), opens(short)));
    behavior::run(all)
}
