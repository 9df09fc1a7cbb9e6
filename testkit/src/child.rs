//! Other processes for tests: each is the same test program, told by a variable to do a task.
//!
//! A test target that starts children has a test named `as_a_child`, which does the [`task`], or nothing if there is none.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

const TASK: &str = "KEYLOOM_TEST_TASK";

/// This program, to run only its test `as_a_child`, which does the [`task`].
pub fn command(task: &str, path: &Path) -> Command {
    through(Command::new(std::env::current_exe().unwrap()), task, path)
}

/// The same, started by another program, whose last argument becomes this one's name.
pub fn through(mut command: Command, task: &str, path: &Path) -> Command {
    command
        .args(["--exact", "as_a_child", "--nocapture"])
        .env(TASK, format!("{task} {}", path.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// What this process is to do, and with which file, if it is a child.
pub fn task() -> Option<(String, PathBuf)> {
    let task = std::env::var(TASK).ok()?;
    let (task, path) = task.split_once(' ').unwrap();
    Some((task.to_owned(), path.into()))
}

/// In the child: tells the parent a number.
pub fn say(word: &str, number: u64) {
    // On a line of its own, whatever the test harness says before it.
    println!("\n{word} {number}");
}

/// In the child: waits until the parent [tells](Process::tell) it to go on.
pub fn wait_to_be_told() {
    assert!(std::io::stdin().read_line(&mut String::new()).unwrap() > 0, "the parent has gone");
}

/// A child, which is killed when this is dropped, wherever it is.
#[derive(Debug)]
pub struct Process(Child);

/// Starts a child that does a task.
pub fn start(task: &str, path: &Path) -> Process {
    Process(command(task, path).spawn().unwrap())
}

impl Process {
    /// The numbers that it tells, each with its word.
    pub fn said(&mut self) -> impl Iterator<Item = (String, u64)> + use<> {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        lines.map_while(Result::ok).filter_map(|line| {
            let (word, number) = line.split_once(' ')?;
            Some((word.to_owned(), number.parse().ok()?))
        })
    }

    /// Its number among the processes of the system.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Tells it to go on.
    pub fn tell(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Waits until it ends, and says how.
    pub fn ends(mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }

    /// Waits until it ends, and says whether all went well.
    pub fn succeeds(self) -> bool {
        self.ends().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
