//! Of which types the columns of a file are, by its first records.
//!
//! A type is taken only if every value that was looked at is one of it and would be written the same way: `007` is text.

use std::collections::BTreeMap;

use keyloom::key::{Date, Decimal, Timestamp, Uuid};
use keyloom::schema::Kind;
use serde_json::Value as Json;

use super::parquet;
use super::records::{Column, Raw, Records};
use super::values::is_without_zone;

/// What the values of a column have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guess {
    Bool,
    Int,
    Uint,
    Decimal,
    Float,
    Date,
    /// With so many digits after the second.
    Timestamp(u8),
    Uuid,
    Text,
}

impl Guess {
    fn of_text(text: &str) -> Self {
        if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
            return Self::Bool;
        }
        Self::of_number(text).unwrap_or_else(|| Self::of_word(text))
    }

    /// What a number is, if it is written as numbers are.
    fn of_number(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let whole = digits.split(['.', 'e', 'E']).next().unwrap_or_default();
        // A number that begins with 0 is a code of something, and one without digits at an end is none of ours.
        let plain = digits.ends_with(|last: char| last.is_ascii_digit())
            && whole.bytes().all(|byte| byte.is_ascii_digit())
            && (whole == "0" || !whole.is_empty() && !whole.starts_with('0'));
        if !plain {
            return None;
        }
        if text.parse::<i64>().is_ok() {
            return Some(Self::Int);
        }
        if text.parse::<u64>().is_ok() {
            return Some(Self::Uint);
        }
        if text.contains(['e', 'E']) {
            return text.parse::<f64>().is_ok_and(f64::is_finite).then_some(Self::Float);
        }
        text.parse::<Decimal>().is_ok().then_some(Self::Decimal)
    }

    /// What a text is that is no number.
    fn of_word(text: &str) -> Self {
        if text.parse::<Date>().is_ok() {
            return Self::Date;
        }
        if text.len() == 36 && text.parse::<Uuid>().is_ok() {
            return Self::Uuid;
        }
        let zoned = text.parse::<Timestamp>().is_ok();
        if zoned || is_without_zone(text) && format!("{text}Z").parse::<Timestamp>().is_ok() {
            let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            return Self::Timestamp(if digits > 6 { 9 } else { 6 });
        }
        Self::Text
    }

    /// What holds both; `None` if only text could.
    fn or(self, other: Self) -> Option<Self> {
        use Guess::{Decimal, Float, Int, Timestamp, Uint};
        Some(match (self, other) {
            (one, other) if one == other => one,
            (Int | Uint | Decimal, Int | Uint | Decimal) => Decimal,
            (Int | Uint | Decimal | Float, Int | Uint | Decimal | Float) => Float,
            (Timestamp(one), Timestamp(other)) => Timestamp(one.max(other)),
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "i64",
            Self::Uint => "u64",
            Self::Decimal => "decimal",
            Self::Float => "f64",
            Self::Date => "date",
            Self::Timestamp(9) => "timestamp(9)",
            Self::Timestamp(_) => "timestamp",
            Self::Uuid => "uuid",
            Self::Text => "str",
        }
    }
}

/// The columns of a file in their order. One without a type is not declared, and its values are kept as they are.
pub(crate) type Columns = Vec<(String, Option<Kind>)>;

/// The columns of a file, by the records that were looked at.
pub(crate) fn columns(records: &Records, null: &str) -> Columns {
    if let Some(rows) = records.as_parquet() {
        return parquet(rows);
    }
    match records.csv_columns() {
        Some(columns) => csv(columns, null, records.sampled()),
        None => jsonl(records.sampled()),
    }
}

/// The columns of CSV. Only what is not null counts.
fn csv<'r>(columns: &[Column], null: &str, sample: impl Iterator<Item = &'r Raw>) -> Columns {
    let mut guesses: Vec<Option<Guess>> = vec![None; columns.len()];
    for raw in sample {
        let Raw::Csv(record) = raw else { continue };
        for (guess, (text, quoted)) in guesses.iter_mut().zip(record.iter()) {
            if text.is_empty() && quoted || text == null && !quoted || *guess == Some(Guess::Text) {
                continue;
            }
            let seen = Guess::of_text(text);
            *guess = Some(guess.map_or(seen, |guess| guess.or(seen).unwrap_or(Guess::Text)));
        }
    }
    let named = columns.iter().zip(guesses).filter_map(|(column, guess)| match column {
        Column::Named(name) => Some((name.clone(), guess.unwrap_or(Guess::Text).name().parse().ok())),
        Column::Rest => None,
    });
    named.collect()
}

/// What the values of a field of JSON have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    One(Guess),
    /// A list; of nothing so far, or of these.
    Many(Option<Guess>),
    /// Of several kinds, or one that no column has.
    Mixed,
}

impl Seen {
    fn of(json: &Json) -> Self {
        match json {
            Json::Null => Self::Nothing,
            Json::Bool(_) => Self::One(Guess::Bool),
            Json::Number(number) => Guess::of_number(number.as_str()).map_or(Self::Mixed, Self::One),
            Json::String(text) => Self::One(Guess::of_word(text)),
            Json::Object(_) => Self::Mixed,
            Json::Array(values) => {
                let all = values.iter().map(Self::of).try_fold(None, |all: Option<Guess>, seen| match seen {
                    Self::One(guess) => match all {
                        None => Some(Some(guess)),
                        Some(before) => either(before, guess).map(Some),
                    },
                    _ => None,
                });
                all.map_or(Self::Mixed, Self::Many)
            }
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, seen) | (seen, Self::Nothing) => seen,
            (Self::One(one), Self::One(other)) => either(one, other).map_or(Self::Mixed, Self::One),
            (Self::Many(None), Self::Many(all)) | (Self::Many(all), Self::Many(None)) => Self::Many(all),
            (Self::Many(Some(one)), Self::Many(Some(other))) => {
                either(one, other).map_or(Self::Mixed, |guess| Self::Many(Some(guess)))
            }
            _ => Self::Mixed,
        }
    }

    fn kind(self) -> Option<Kind> {
        match self {
            Self::One(guess) => guess.name().parse().ok(),
            Self::Many(guess) => format!("list({})", guess.unwrap_or(Guess::Text).name()).parse().ok(),
            Self::Nothing | Self::Mixed => None,
        }
    }
}

/// What holds both values of JSON, where a text is never a number.
fn either(one: Guess, other: Guess) -> Option<Guess> {
    let is_text = |guess| matches!(guess, Guess::Text | Guess::Date | Guess::Timestamp(_) | Guess::Uuid);
    one.or(other).or_else(|| (is_text(one) && is_text(other)).then_some(Guess::Text))
}

/// The columns of JSONL, in the order in which they were first seen.
fn jsonl<'r>(sample: impl Iterator<Item = &'r Raw>) -> Columns {
    let mut order: Vec<String> = Vec::new();
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    for raw in sample {
        let Raw::Json { fields, .. } = raw else { continue };
        for (name, json) in fields {
            if let Some(before) = seen.get_mut(name) {
                *before = before.or(Seen::of(json));
            } else {
                order.push(name.clone());
                seen.insert(name.clone(), Seen::of(json));
            }
        }
    }
    let column = |name: String| {
        let kind = seen.get(&name).and_then(|seen| seen.kind());
        (name, kind)
    };
    order.into_iter().map(column).collect()
}

/// The columns of Parquet, which says its types, or of the table that the file was written from.
fn parquet(rows: &parquet::Rows) -> Columns {
    let named = rows.columns.iter().filter(|column| Some(&column.name) != rows.rest.as_ref());
    let typed = named.map(|column| {
        let stored = rows.table.as_ref().and_then(|table| table.column(&column.name));
        (column.name.clone(), stored.map(|column| column.kind.clone()).or_else(|| column.kind.clone()))
    });
    typed.collect()
}
