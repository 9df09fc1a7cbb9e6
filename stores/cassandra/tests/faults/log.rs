//! What a client did and saw, one line each, written at once: it may be killed at any moment.
//!
//! ```text
//! begin  ID TIME change KEY OLD NEW      end ID TIME done | conflict | taken | unknown
//! begin  ID TIME add KEY                 end …
//! begin  ID TIME remove KEY              end …
//! read   START END KEY VALUE
//! failed TIME what
//! wrong  TIME what
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Microseconds of the machine's clock, which is the same for all processes.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock");
    u64::try_from(since.as_micros()).expect("a time")
}

/// A log that is written.
pub(crate) struct Log {
    file: Mutex<File>,
    next: AtomicU64,
}

impl Log {
    pub(crate) fn create(path: &Path) -> Self {
        Self { file: Mutex::new(File::create(path).expect("a log")), next: AtomicU64::new(0) }
    }

    pub(crate) fn begin(&self, what: &str) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.line(&format!("begin {id} {} {what}", now()));
        id
    }

    pub(crate) fn end(&self, id: u64, how: &str) {
        self.line(&format!("end {id} {} {how}", now()));
    }

    pub(crate) fn line(&self, line: &str) {
        let line = format!("{}\n", line.replace('\n', " "));
        self.file.lock().expect("a log").write_all(line.as_bytes()).expect("a line");
    }
}

/// How something that was begun ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done(u64),
    /// The record was not as it was read.
    Conflict(u64),
    /// Nothing is known of the record: a unique value was taken.
    Taken,
    /// It was not told, or the client is no more.
    Unknown,
}

/// What was begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) start: u64,
    pub(crate) end: End,
    pub(crate) words: Vec<String>,
}

/// What a log says.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) begun: BTreeMap<u64, Begun>,
    /// Start, end, key, value.
    pub(crate) reads: Vec<(u64, u64, String, String)>,
    pub(crate) failed: Vec<String>,
    pub(crate) wrong: Vec<String>,
}

impl Told {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a log");
        // The last line of one who was killed may be cut off.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut told = Self::default();
        for line in whole.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["begin", id, start, what @ ..] => {
                    let words = what.iter().map(|word| (*word).to_owned()).collect();
                    let begun = Begun { start: number(start), end: End::Unknown, words };
                    told.begun.insert(number(id), begun);
                }
                ["end", id, end, how, ..] => {
                    let end = match *how {
                        "done" => End::Done(number(end)),
                        "conflict" => End::Conflict(number(end)),
                        "taken" => End::Taken,
                        _ => End::Unknown,
                    };
                    told.begun.get_mut(&number(id)).expect("what was begun").end = end;
                }
                ["read", start, end, key, value] => {
                    told.reads.push((number(start), number(end), (*key).into(), (*value).into()));
                }
                ["failed", ..] => told.failed.push(line.into()),
                ["wrong", ..] => told.wrong.push(line.into()),
                _ => panic!("{line}"),
            }
        }
        told
    }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
}
