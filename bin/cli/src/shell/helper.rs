//! What helps while a line is typed: completion, colours, and knowing when a statement ends.

use std::borrow::Cow;

use keyloom::{Database, Wait};
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Result};

use super::command::COMMANDS;
use crate::statements::SessionStore;
use crate::statements::lexer::{Kind, Lexer, Lines};

/// The words of statements, and the functions.
const KEYWORDS: &str = "ALL ALTER ANALYZE AND ARRAY AS ASC BEGIN BETWEEN BIGINT BLOB BOOLEAN BY CASE CAST COALESCE \
    COLLATE COLUMN COMMIT CONFLICT COUNT CREATE DATE DECIMAL DELETE DESC DO DOUBLE DROP ELSE END EXISTS EXPLAIN FALSE \
    FIRST FROM IF IFNULL IN INCLUDE INDEX INSERT INSTR INTEGER INTERVAL INTO IS KEY LAST LENGTH LIKE LIMIT LOWER LTRIM \
    MAX MIN NOCASE NOT NOTHING NULL NULLIF NULLS OFFSET ON OR ORDER PRIMARY REPLACE ROLLBACK RTRIM SELECT SET SMALLINT \
    SUBSTR TABLE TEXT THEN TIMESTAMP TRIM TRUE UNIQUE UPDATE UPPER UUID VALUES WHEN WHERE WITH";

/// Helps with the names of a database.
pub(super) struct Helper {
    database: Database<SessionStore>,
    earlier: HistoryHinter,
}

impl Helper {
    pub(super) fn new(database: Database<SessionStore>) -> Self {
        Self { database, earlier: HistoryHinter::new() }
    }

    /// The names that may stand behind the beginning of a text: of tables where one is due, else of anything.
    fn names(&self, before: &str, text: &str) -> Vec<String> {
        // What is known of the tables will do where they cannot be read.
        let _ = self.database.refresh().wait();
        let tables = self.database.tables();
        let last = Lexer::new(before, None).filter(|(kind, _)| *kind != Kind::Space).last();
        let due = ["FROM", "INTO", "UPDATE", "TABLE", "ON"];
        if last.is_some_and(|(_, last)| due.iter().any(|word| last.eq_ignore_ascii_case(word))) {
            return tables;
        }
        // Fields of the tables that the text names; of all, if it names none yet.
        let named = |table: &&String| Lexer::new(text, None).any(|(_, word)| word == table.as_str());
        let mut of: Vec<&String> = tables.iter().filter(named).collect();
        if of.is_empty() {
            of.extend(&tables);
        }
        let fields = of.into_iter().filter_map(|name| {
            let table = self.database.table(name).wait().ok()?.definition().ok()?;
            Some(table.columns().iter().map(|column| column.name.clone()).collect::<Vec<_>>())
        });
        let keywords = KEYWORDS.split_whitespace().map(str::to_owned);
        fields.flatten().chain(keywords).chain(tables.iter().cloned()).collect()
    }

    /// What may stand behind a command.
    fn behind(&self, command: &str) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match command {
            ".schema" | ".indexes" => self.database.tables(),
            ".explain" | ".timer" => words(&["on", "off"]),
            ".format" => words(&["table", "csv", "json", "jsonl"]),
            _ => Vec::new(),
        }
    }
}

impl rustyline::Helper for Helper {}

impl Completer for Helper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> Result<(usize, Vec<String>)> {
        let before = line.get(..at).unwrap_or(line);
        if before.starts_with('.') {
            return Ok(match before.split_once(char::is_whitespace) {
                None => {
                    let names = COMMANDS.iter().map(|(name, ..)| (*name).to_owned());
                    (0, names.filter(|name| name.starts_with(before)).collect())
                }
                Some((command, rest)) => {
                    let word = rest.trim_start();
                    (before.len() - word.len(), matching(self.behind(command), word))
                }
            });
        }
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let start = before.trim_end_matches(is_name).len();
        let (earlier, word) = before.split_at_checked(start).unwrap_or((before, ""));
        if Lexer::new(earlier, None)
            .last()
            .is_some_and(|(kind, _)| matches!(kind, Kind::Text | Kind::Comment))
        {
            return Ok((start, Vec::new()));
        }
        Ok((start, matching(self.names(earlier, line), word)))
    }
}

/// The names that begin like a word. A keyword is in capitals only if the word begins with one.
fn matching(names: Vec<String>, word: &str) -> Vec<String> {
    let capitals = word.chars().next().is_none_or(char::is_uppercase);
    let mut found: Vec<String> = names
        .into_iter()
        .filter(|name| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
        .map(|name| match KEYWORDS.split_whitespace().any(|keyword| keyword == name) {
            true if !capitals => name.to_ascii_lowercase(),
            _ => name,
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

impl Hinter for Helper {
    type Hint = String;

    fn hint(&self, line: &str, at: usize, context: &Context<'_>) -> Option<String> {
        self.earlier.hint(line, at, context)
    }
}

impl Validator for Helper {
    /// A line is done if it is a command or whole statements.
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        let text = context.input();
        let done = text.starts_with('.') || Lines::default().are_whole_with(text);
        Ok(if done { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Highlighter for Helper {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if line.starts_with('.') {
            return Cow::Borrowed(line);
        }
        let mut coloured = String::with_capacity(line.len() * 2);
        for (kind, word) in Lexer::new(line, None) {
            let colour = match kind {
                Kind::Word
                    if KEYWORDS.split_whitespace().any(|keyword| keyword.eq_ignore_ascii_case(word)) =>
                {
                    "1;34"
                }
                Kind::Text => "32",
                Kind::Number => "36",
                Kind::Comment => "2",
                _ => {
                    coloured.push_str(word);
                    continue;
                }
            };
            coloured.extend(["\x1b[", colour, "m", word, "\x1b[0m"]);
        }
        Cow::Owned(coloured)
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[2m{hint}\x1b[0m"))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}
