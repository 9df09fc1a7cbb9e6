//! A statement that was read and can be run.

use keyloom_schema::sql;
pub use keyloom_schema::sql::Before;
use sql::sqlparser::tokenizer::Location;

use crate::error::Error;

/// A statement that was read and can be run, more than once and with other parameters.
#[derive(Debug, Clone)]
pub struct Statement {
    pub(crate) line: u64,
    text: String,
    /// Its first words, as they are written.
    pub(crate) words: String,
    pub(crate) parsed: sql::Statement,
}

impl Statement {
    /// The line that it begins on, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The statement as it is written, without what ends it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its first words, as they are written.
    pub fn words(&self) -> &str {
        &self.words
    }
}

/// The statements of a text, with `;` between them. Nothing is run if one of them cannot be read.
///
/// Whether its tables and columns are there is found out when it runs.
pub fn parse(text: &str) -> Result<Vec<Statement>, Error> {
    parse_part(text, &mut Before::default())
}

/// The statements of whole lines of a longer text, which becomes what is [`Before`] the next lines.
///
/// ```
/// use keyloom_sql::{Before, parse_part};
/// let mut before = Before::default();
/// parse_part("SELECT 1;\n", &mut before)?;
/// assert_eq!(parse_part("SELECT 2;\n", &mut before)?[0].line(), 2);
/// # Ok::<(), keyloom_sql::Error>(())
/// ```
pub fn parse_part(text: &str, before: &mut Before) -> Result<Vec<Statement>, Error> {
    let earlier = before.lines;
    let statements = sql::parse_part(text, before)?;
    let lines: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(1);
    let start = |place: &Location| {
        let line = lines.get(number(place.line.saturating_sub(earlier))).copied().unwrap_or(text.len());
        let rest = text.get(line..).unwrap_or_default();
        line + rest.char_indices().nth(number(place.column)).map_or(rest.len(), |(at, _)| at)
    };
    let starts: Vec<usize> = statements.iter().map(|(place, _)| start(place)).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let texts =
        starts.iter().zip(ends).map(|(start, end)| written(text.get(*start..end).unwrap_or_default()));
    let statements = statements.into_iter().zip(texts).map(|((place, parsed), text)| {
        let words = text.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        Statement { line: place.line, text: text.to_owned(), words, parsed }
    });
    Ok(statements.collect())
}

/// A statement without its end, and without remarks that belong to the next one.
fn written(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some((before, last)) = text.rsplit_once('\n')
        && last.trim_start().starts_with("--")
    {
        text = before.trim_end();
    }
    text.trim_end_matches([';', ' ', '\n', '\r', '\t'])
}
