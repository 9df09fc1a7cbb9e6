//! A store with layers does what every store must.

#![allow(
    clippy::expect_used,
    unreachable_pub,
    missing_docs,
    reason = "helpers of tests, which clippy does not see as such"
)]

mod settings;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use keyloom_layers::{Layered, Layers};
use keyloom_lmdb::{LmdbStore, Options};
use keyloom_store::{Durability, MemoryStore, Wait};
use keyloom_testkit::Weak;
use keyloom_testkit::behavior::{self, cases, snapshots, trials};

fn main() -> ExitCode {
    let mut all = Vec::new();
    for (name, layers) in settings::settings() {
        let open = move || Layered::open(MemoryStore::new(), layers).wait().expect("memory has layers");
        all.extend(trials(&format!("memory, {name}"), cases(), open));
    }
    let layers = settings::settings().pop().map(|(_, layers)| layers).unwrap_or_default();
    let folder = Arc::new(tempfile::tempdir().expect("a folder for tests"));
    let files = Arc::new(AtomicUsize::new(0));
    let lmdb = |options: Options| {
        let (folder, files) = (Arc::clone(&folder), Arc::clone(&files));
        move || {
            let path = folder.path().join(format!("{}.klm", files.fetch_add(1, Ordering::Relaxed)));
            let options = Options { exclusive: true, ..options };
            let store = LmdbStore::open_with(path, options).expect("a new file opens");
            Layered::open(store, layers).wait().expect("a file of its own has layers")
        }
    };
    let synced = Options::default();
    let buffered = Options { durability: Durability::buffered(), ..synced };
    all.extend(trials("lmdb, all", cases(), lmdb(synced)));
    all.extend(trials("lmdb, buffered, all", cases(), lmdb(buffered)));
    let short = Options { max_snapshot_age: Duration::from_millis(50), ..synced };
    all.extend(trials("lmdb, short snapshots, all", snapshots::cases(), lmdb(short)));
    // What a cluster needs to be told passes through.
    let plain = || Layered::open(Weak::new(Duration::ZERO), Layers::default()).wait().expect("no layers");
    all.extend(trials("weak, none", cases(), plain));
    behavior::run(all)
}
