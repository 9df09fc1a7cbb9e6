//! Other processes for tests: each is the same test program, told by a variable to do a task.

#![allow(dead_code, reason = "each test target uses its part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const TASK: &str = "KEYLOOM_TEST_TASK";

/// This program, to run only its test `as_a_child`, which does the [`task`].
pub(crate) fn command(task: &str, path: &Path) -> Command {
    through(Command::new(std::env::current_exe().unwrap()), task, path)
}

/// The same, started by another program, whose last argument becomes this one's name.
pub(crate) fn through(mut command: Command, task: &str, path: &Path) -> Command {
    command
        .args(["--exact", "as_a_child", "--nocapture"])
        .env(TASK, format!("{task} {}", path.display()))
        .stdout(Stdio::piped());
    command
}

/// What this process is to do, and with which file, if it is a child.
pub(crate) fn task() -> Option<(String, PathBuf)> {
    let task = std::env::var(TASK).ok()?;
    let (task, path) = task.split_once(' ').unwrap();
    Some((task.to_owned(), path.into()))
}

/// Tells the parent a number.
pub(crate) fn say(word: &str, number: u64) {
    // On a line of its own, whatever the test harness says before it.
    println!("\n{word} {number}");
}

/// A child, which is killed when this is dropped, wherever it is.
pub(crate) struct Process(Child);

/// Starts a child that does a task.
pub(crate) fn start(task: &str, path: &Path) -> Process {
    Process(command(task, path).spawn().unwrap())
}

impl Process {
    /// The numbers that it tells, each with its word.
    pub(crate) fn said(&mut self) -> impl Iterator<Item = (String, u64)> + use<> {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        lines.map_while(Result::ok).filter_map(|line| {
            let (word, number) = line.split_once(' ')?;
            Some((word.to_owned(), number.parse().ok()?))
        })
    }

    /// Waits until it ends, and says whether all went well.
    pub(crate) fn succeeds(mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
