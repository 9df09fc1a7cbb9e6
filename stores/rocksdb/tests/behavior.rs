//! The RocksDB store does what every store must, however it is opened.

#![allow(clippy::expect_used, reason = "helpers of tests, which clippy does not see as such")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keyloom_rocksdb::{Options, RocksStore, Stripes};
use keyloom_store::{Durability, Store, Wait};
use keyloom_testkit::behavior::{self, cases, commits, scans, snapshots, trials};

static FOLDERS: AtomicUsize = AtomicUsize::new(0);

fn main() -> ExitCode {
    let folder = Arc::new(tempfile::tempdir().expect("a folder for tests"));
    let opens = |options| {
        let folder = Arc::clone(&folder);
        move || {
            let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
            RocksStore::open_with(folder.path().join(number.to_string()), options)
                .expect("a new folder opens")
        }
    };
    let synced = Options::default();
    let written = Options { durability: Durability::Written, ..synced };
    // So few that commits wait for a sync.
    let narrow = Durability::Buffered { entries: 4, interval: Duration::from_millis(50) };
    let mut all = trials("rocksdb", cases(), opens(synced));
    for (name, options) in [("written", written), ("buffered", Options { durability: narrow, ..synced })] {
        all.extend(trials(&format!("rocksdb, {name}"), cases(), opens(options)));
    }
    // Each takes several syncs, so not all cases.
    let files = opens(Options { ingest: 1, ..written });
    all.extend(trials("rocksdb, batches as files", commits::cases(), files.clone()));
    all.extend(trials("rocksdb, batches as files", scans::cases(), files));
    // Keys that the suite uses lie in families, on their border and beside them.
    let striped = opens(Options { stripes: Stripes::Families(3), ..written });
    let striped = move || {
        let store = striped();
        for prefix in [b"a".as_slice(), b"user", b"\xFF"] {
            store.stripe(prefix, 256).wait().expect("a prefix gets families");
        }
        store
    };
    all.extend(trials("rocksdb, stripes as families", cases(), striped));
    let short = Options { max_snapshot_age: Duration::from_millis(50), ..synced };
    all.extend(trials("rocksdb, short snapshots", snapshots::cases(), opens(short)));
    behavior::run(all)
}
