//! The memory store does what every store must.

use std::process::ExitCode;

use keyloom_store::MemoryStore;
use keyloom_testkit::behavior;

fn main() -> ExitCode {
    behavior::main("memory", MemoryStore::new)
}
