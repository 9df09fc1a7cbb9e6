//! What a raw key of a database is: which table or index, which shard, which fields.

use std::fmt::Write as _;

use keyloom::store::Read;
use keyloom::{KeyKind, KeyMeaning, KeyPiece, Owner, Wait};

use super::inspect::{plain, spaced, style};
use crate::failure::Failure;
use crate::{open, output};

/// What a key of this database is, drawn and told.
pub(super) fn inspect(url: &str, key: &[u8]) -> Result<String, Failure> {
    let database = open::existing(url)?;
    let meaning = database.inspect_key(key).wait()?;
    let length = database.store().get(key, <[u8]>::len).wait().map_err(keyloom::Error::from)?;
    let part = matches!(meaning.kind, KeyKind::Row { .. }) && !meaning.whole;
    let beginning = if part { "the beginning of " } else { "" };
    let mut text = format!("{beginning}{}\n{}", said(&meaning.kind), draw(&meaning, key));
    let there = match length {
        Some(bytes) => format!("there, with a value of {bytes} bytes"),
        None => "no such key is there".to_owned(),
    };
    let _ = writeln!(text, "  {there}");
    Ok(text)
}

/// What a key is, in words.
fn said(kind: &KeyKind) -> String {
    let whose = |owner: &Option<Owner>| owner.as_ref().map_or("a tree that was dropped".to_owned(), owned);
    match kind {
        KeyKind::Version => "the version of the schema".to_owned(),
        KeyKind::Definition(owner) => format!("the definition of {}", owned(owner)),
        KeyKind::Statistics { owner, .. } => format!("statistics of {}", whose(owner)),
        KeyKind::Filling { owner, .. } => format!("how far {} has been filled", whose(owner)),
        KeyKind::Load => "how far a load has come".to_owned(),
        KeyKind::Row { owner, .. } => match owner {
            Owner::Table(table) => format!("a record of the table {table}"),
            Owner::Index { table, index } => format!("an entry of the index {index} on {table}"),
            Owner::PlainIndex(name) => format!("a value of the plain index {name}"),
        },
        KeyKind::Leftover { .. } => {
            "a key of a tree that belongs to nobody: it was dropped, is being loaded, or is of another database".to_owned()
        }
        _ => "no key that Keyloom writes".to_owned(),
    }
}

fn owned(owner: &Owner) -> String {
    match owner {
        Owner::Table(table) => format!("the table {table}"),
        Owner::Index { table, index } => format!("the index {index} on {table}"),
        Owner::PlainIndex(name) => format!("the plain index {name}"),
    }
}

/// The bytes on one line, each piece in its colour between bars, and a line for each piece.
fn draw(meaning: &KeyMeaning, key: &[u8]) -> String {
    let of = |piece: &KeyPiece| key.get(piece.bytes.clone()).map(spaced).unwrap_or_default();
    let mut text = "  │".to_owned();
    for (number, piece) in meaning.pieces.iter().enumerate() {
        let style = style(number);
        let _ = write!(text, "{style}{}{style:#}│", of(piece));
    }
    text.push('\n');
    let width = meaning.pieces.iter().map(|piece| piece.name.chars().count()).max().unwrap_or_default();
    for (number, piece) in meaning.pieces.iter().enumerate() {
        let style = style(number);
        let last = piece.bytes.end.saturating_sub(1).max(piece.bytes.start);
        let what = match (&piece.field, &piece.value) {
            (Some(field), Some(value)) => format!("{field} {}", plain(field, value)),
            (None, Some(value)) => output::text(value),
            _ => String::new(),
        };
        let line =
            format!("  {style}{:>3}–{last:<3}{style:#} {:<width$}  {what}", piece.bytes.start, piece.name);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
