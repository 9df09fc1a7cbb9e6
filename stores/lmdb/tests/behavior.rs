//! The LMDB store does what every store must, however it is opened.

#![allow(clippy::expect_used, reason = "helpers of tests, which clippy does not see as such")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keyloom_lmdb::{FilterOptions, LmdbStore, LogOptions, Options};
use keyloom_store::Durability;
use keyloom_testkit::behavior::{self, cases, snapshots, trials};

static FILES: AtomicUsize = AtomicUsize::new(0);

fn open(folder: &Path, options: Options) -> LmdbStore {
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    LmdbStore::open_with(folder.join(format!("{number}.klm")), options).expect("a new file opens")
}

fn main() -> ExitCode {
    let folder = Arc::new(tempfile::tempdir().expect("a folder for tests"));
    let opens = |options| {
        let folder = Arc::clone(&folder);
        move || open(folder.path(), options)
    };
    let synced = Options::default();
    let plain = Options { log: None, ..synced };
    let buffered = Options { durability: Durability::buffered(), ..synced };
    // So few that commits wait for room, and so long that they are read from memory.
    let (entries, interval) = (4, Duration::from_millis(50));
    let log = Some(LogOptions { entries, interval, ..LogOptions::default() });
    let narrow = Options { durability: Durability::Buffered { entries, interval }, ..synced };
    let filter = Some(FilterOptions { after: 0, ..FilterOptions::default() });
    let ways = [
        ("lmdb", synced),
        ("lmdb, written", Options { durability: Durability::Written, ..synced }),
        ("lmdb, without a log", plain),
        ("lmdb, with a filter at once", Options { filter, ..plain }),
        ("lmdb, narrow log, with a filter at once", Options { filter, log, ..synced }),
        ("lmdb, buffered", buffered),
        ("lmdb, buffered without a log", Options { log: None, ..buffered }),
        ("lmdb, narrow buffer", narrow),
        ("lmdb, narrow buffer without a log", Options { log: None, ..narrow }),
        ("lmdb, narrow buffer, narrow log", Options { log, ..narrow }),
        ("lmdb, narrow log", Options { log, ..synced }),
        ("lmdb, narrow log, written", Options { log, durability: Durability::Written, ..synced }),
    ];
    let mut all = Vec::new();
    for (name, options) in ways {
        all.extend(trials(name, cases(), opens(options)));
    }
    let in_memory = Options { log: None, ..buffered };
    for (name, options) in [
        ("synced", synced),
        ("without a log", plain),
        ("buffered", buffered),
        ("buffered without a log", in_memory),
    ] {
        let short = Options { max_snapshot_age: Duration::from_millis(50), ..options };
        all.extend(trials(&format!("lmdb, {name}, short snapshots"), snapshots::cases(), opens(short)));
    }
    behavior::run(all)
}
