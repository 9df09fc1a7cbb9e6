//! One input as an argument, or many on standard input: a line in, a line out.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::failure::Failure;

/// Runs `answer` on the argument, or on every line of standard input.
///
/// With an argument, an error is said on standard error. Without, each line has its answer on standard output, or
/// `error: …` in its place, so that the n-th answer is the n-th line's.
pub(crate) fn answer<T>(
    argument: Option<&str>,
    answer: impl Fn(&str) -> Result<T, Failure>,
    join: impl Fn(T, &'static str) -> String,
) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if let Some(argument) = argument {
        writeln!(out, "{}", join(answer(argument)?, "\n"))?;
        return Ok(out.flush()?);
    }
    let input = io::stdin();
    if input.is_terminal() {
        anstream::eprintln!("reading standard input, one a line; end with ctrl-d");
    }
    let mut failed = false;
    for line in input.lock().split(b'\n') {
        let line = line?;
        let answered = match std::str::from_utf8(&line) {
            Ok(text) => answer(text.trim_end_matches('\r')),
            Err(_) => Err(Failure::Failed("the line is not UTF-8".to_owned())),
        };
        match answered {
            Ok(answered) => writeln!(out, "{}", join(answered, " "))?,
            Err(Failure::Failed(reason) | Failure::Misuse(reason)) => {
                failed = true;
                writeln!(out, "error: {reason}")?;
            }
            Err(other) => return Err(other),
        }
    }
    out.flush()?;
    if failed { Err(Failure::Reported) } else { Ok(()) }
}

/// An answer of one text.
pub(crate) fn one(text: String, _between: &'static str) -> String {
    text
}

/// An answer of two texts: on two lines for an argument, on one for a line of input.
pub(crate) fn two((first, second): (String, String), between: &'static str) -> String {
    format!("{first}{between}{second}")
}
