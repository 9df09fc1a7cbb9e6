//! A statement that was read and can be run.

use keyloom_schema::sql;

use crate::error::Error;

/// A statement that was read and can be run, more than once and with other parameters.
#[derive(Debug, Clone)]
pub struct Statement {
    pub(crate) line: u64,
    /// Its first words, as they are written.
    pub(crate) words: String,
    pub(crate) parsed: sql::Statement,
}

impl Statement {
    /// The line that it begins on, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }
}

/// The statements of a text, with `;` between them. Nothing is run if one of them cannot be read.
///
/// Whether its tables and columns are there is found out when it runs.
pub fn parse(text: &str) -> Result<Vec<Statement>, Error> {
    let statements = sql::parse_places(text)?.into_iter();
    let statements = statements.map(|(place, parsed)| {
        let line = usize::try_from(place.line).unwrap_or(usize::MAX).saturating_sub(1);
        let column = usize::try_from(place.column).unwrap_or(usize::MAX).saturating_sub(1);
        let line = text.lines().nth(line).unwrap_or_default();
        let start = line.char_indices().nth(column).and_then(|(start, _)| line.get(start..));
        let words = start.unwrap_or_default().split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        Statement { line: place.line, words, parsed }
    });
    Ok(statements.collect())
}
