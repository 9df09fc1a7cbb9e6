//! Transcripts: files of what is said and what is answered, which specify a command, the planner or SQL.
//!
//! ```text
//! # a remark, which belongs to what is said
//! key encode '["U1"]'
//! ----
//! 55310001
//! ```
//!
//! Two empty lines stand between one exchange and the next. `KEYLOOM_REWRITE=1` writes what is answered now into the
//! files; read the difference before you commit it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

/// Replays every transcript of a folder, of which there are so many at least; `session` answers one file.
///
/// Panics where an answer is another than the file has.
pub fn check<S: FnMut(&str) -> String>(folder: &str, at_least: usize, session: impl Fn() -> S) {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= at_least, "only {} transcripts found", files.len());
    for file in files {
        let transcript = std::fs::read_to_string(&file).unwrap();
        let replayed = replay(&transcript, session());
        if std::env::var_os("KEYLOOM_REWRITE").is_some() {
            std::fs::write(&file, &replayed).unwrap();
            continue;
        }
        let different = replayed.lines().zip(transcript.lines()).find(|(now, before)| now != before);
        assert!(replayed == transcript, "{}: now and before: {different:#?}", file.display());
    }
}

/// The transcript with what is answered now.
fn replay(transcript: &str, mut answer: impl FnMut(&str) -> String) -> String {
    let mut replayed = String::new();
    for block in transcript.split("\n\n\n") {
        let said = block.split("\n----").next().unwrap().trim_matches('\n');
        let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with('#')).collect();
        let answered = answer(&lines.join("\n"));
        writeln!(replayed, "{said}\n----\n{}\n\n", answered.strip_suffix('\n').unwrap_or(&answered)).unwrap();
    }
    format!("{}\n", replayed.trim_end_matches('\n'))
}
