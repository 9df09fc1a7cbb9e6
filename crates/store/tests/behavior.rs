//! The memory store does what every store must.

use std::process::ExitCode;
use std::time::Duration;

use keyloom_store::MemoryStore;
use keyloom_testkit::Weak;
use keyloom_testkit::behavior::{self, cases, snapshots, trials};

fn main() -> ExitCode {
    let mut all = trials("memory", cases(), MemoryStore::new);
    let short = || MemoryStore::with_snapshot_age(Duration::from_millis(20));
    all.extend(trials("memory, short snapshots", snapshots::cases(), short));
    for lease in [Duration::ZERO, Duration::from_millis(20)] {
        all.extend(trials(&format!("weak, {lease:?}"), cases(), move || Weak::new(lease)));
    }
    behavior::run(all)
}
