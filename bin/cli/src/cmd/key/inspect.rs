//! `keyloom key inspect`: what a key's bytes mean, field by field.

use std::fmt::Write as _;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use clap::Args;
use keyloom::key::json::to_part;
use keyloom::key::{Field, Fields, KeyFormat, Value};

use super::readings::{LONGEST, Piece, Readings, readings};
use super::{format, parts, stored};
use crate::failure::Failure;

#[derive(Args)]
#[command(
    allow_missing_positional = true,
    after_help = "With a URL, the key is one of that database: its table or index, its shard and its fields are shown.
Without, --types says what it is made of; without --types, the ways to read the key are shown, in every format or in the given one, the likeliest first.
Nulls, tuples, padding and shards are not guessed: they need --types.

Examples:
  keyloom key inspect --types str,u64:desc 55310001fffffffffffffff8
  keyloom key inspect 55310001fffffffffffffff8
  keyloom key inspect shop.klm 0000000155310001"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: format::Options,
    /// The key's fields, such as str,timestamp:desc,uuid
    #[arg(long, value_name = "TYPES")]
    types: Option<Fields>,
    /// Without --types: show all readings found, and everything that each field could be
    #[arg(long)]
    all: bool,
    /// The database that the key is in: a file, or `memory:`
    #[arg(conflicts_with_all = ["types", "all"])]
    url: Option<String>,
    /// The key in hex
    hex: String,
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let key = parts::parse_hex(&arguments.hex)?;
    let format = arguments.options.format()?;
    let text = match (&arguments.url, &arguments.types) {
        (Some(_), _) if arguments.options.is_chosen() => {
            return Err(Failure::Misuse(
                "--format is for a key alone: a database knows its formats".to_owned(),
            ));
        }
        (Some(url), _) => stored::inspect(url, &key)?,
        (None, Some(fields)) => with_types(format.as_ref(), fields, &key)?,
        (None, None) => {
            let chosen = arguments.options.is_chosen().then(|| format.name());
            without_types(&key, chosen, arguments.all)?
        }
    };
    let mut out = anstream::stdout();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn with_types(format: &dyn KeyFormat, fields: &Fields, key: &[u8]) -> Result<String, Failure> {
    let values = format.decode(fields, key)?;
    // A field begins where the key of the values before it ends.
    let mut starts = Vec::new();
    for count in 0..=fields.len() {
        let mut prefix = Vec::new();
        let before = values.get(..count).unwrap_or_default();
        format.encode(fields, before, &mut prefix)?;
        starts.push(if count == fields.len() { key.len() } else { prefix.len() });
    }
    let pieces: Vec<Piece<'_>> = fields
        .iter()
        .zip(&values)
        .zip(starts.iter().zip(starts.iter().skip(1)))
        .map(|((field, value), (start, end))| Piece {
            start: *start,
            bytes: key.get(*start..*end).unwrap_or_default(),
            meanings: vec![(field.clone(), value.clone())],
        })
        .collect();
    let mut text = draw(&pieces);
    for (index, piece) in pieces.iter().enumerate() {
        text += &describe(index, piece, 1);
    }
    Ok(text)
}

/// How many readings are shown, and how many meanings of a field, unless all are asked for.
const READINGS: usize = 5;
const MEANINGS: usize = 3;

fn without_types(key: &[u8], format: Option<&str>, all: bool) -> Result<String, Failure> {
    if key.len() > LONGEST {
        let reason = format!(
            "a key of {} bytes: beyond {LONGEST} its readings are not looked for; give --types",
            key.len()
        );
        return Err(Failure::Failed(reason));
    }
    let Readings { found: readings, more } = readings(key, format);
    let (most, meanings) = if all { (usize::MAX, usize::MAX) } else { (READINGS, MEANINGS) };
    if readings.is_empty() {
        return Err(Failure::Failed("no format reads these bytes as fields of its types".to_owned()));
    }
    let mut text = String::new();
    for reading in readings.iter().take(most) {
        let types: Vec<String> = reading
            .pieces
            .iter()
            .filter_map(|piece| piece.meanings.first())
            .map(|(field, _)| field.to_string())
            .collect();
        let _ = writeln!(text, "{}{} {}", reading.format, reading.option, types.join(","));
        text += &draw(&reading.pieces);
        for (index, piece) in reading.pieces.iter().enumerate() {
            text += &describe(index, piece, meanings);
        }
        text.push('\n');
    }
    if readings.len() > most {
        let least = if more { "at least " } else { "" };
        let _ = writeln!(text, "and {least}{} more readings: --all shows them", readings.len() - most);
    } else if more {
        let _ = writeln!(text, "and more of their kind, which were not looked for");
    }
    Ok(text)
}

const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::Red,
];

pub(super) fn style(index: usize) -> Style {
    let colour = COLOURS.get(index % COLOURS.len()).copied().unwrap_or(AnsiColor::Cyan);
    Style::new().fg_color(Some(colour.into()))
}

/// The key's bytes on one line, each piece in its colour between bars.
fn draw(pieces: &[Piece<'_>]) -> String {
    let mut text = "  │".to_owned();
    for (index, piece) in pieces.iter().enumerate() {
        let style = style(index);
        let _ = write!(text, "{style}{}{style:#}│", spaced(piece.bytes));
    }
    text.push('\n');
    text
}

/// Where a piece stands, and what it is or could be.
fn describe(index: usize, piece: &Piece<'_>, most: usize) -> String {
    let style = style(index);
    let last = (piece.start + piece.bytes.len()).saturating_sub(1).max(piece.start);
    let said =
        piece.meanings.iter().take(most).map(|(field, value)| format!("{field} {}", plain(field, value)));
    let more = (piece.meanings.len() > most).then(|| "…".to_owned());
    let meanings: Vec<String> = said.chain(more).collect();
    format!("  {style}{:>3}–{last:<3}{style:#} {}\n", piece.start, meanings.join(" or "))
}

/// The value alone, without the type that stands before it.
pub(super) fn plain(field: &Field, value: &Value<'_>) -> String {
    match to_part(field, value) {
        serde_json::Value::Object(part) => part.values().next().map(ToString::to_string).unwrap_or_default(),
        plain => plain.to_string(),
    }
}

pub(super) fn spaced(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}
