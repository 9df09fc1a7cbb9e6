//! The LMDB store does what every store must.

#![allow(clippy::expect_used, reason = "helpers of tests, which clippy does not see as such")]

use std::process::ExitCode;

use keyloom_lmdb::LmdbStore;
use keyloom_testkit::behavior;

fn main() -> ExitCode {
    behavior::main("lmdb", || {
        let folder = tempfile::tempdir().expect("a folder for a test");
        // The folder goes at once, the file when it is closed: nothing is left behind.
        LmdbStore::open(folder.path().join("test.klm")).expect("a new file opens")
    })
}
