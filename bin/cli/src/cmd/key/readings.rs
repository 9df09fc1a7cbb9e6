//! What a key could mean when nobody says what its fields are.
//!
//! A reading cuts the key into pieces, each of which is a key of one field. The cuts are paths through the bytes:
//! from where one piece may begin to where it may end, behind the separator if the format has one.

use std::collections::BTreeMap;

use keyloom::key::composite::{Composite, Delimiter};
use keyloom::key::keystone::Keystone;
use keyloom::key::lexkey::LexKey;
use keyloom::key::rowkey::RowKey;
use keyloom::key::{Direction, Field, Fields, KeyFormat, Native, Timestamp, Value};
use uuid::Variant;

/// A way to read a key.
pub(super) struct Reading<'a> {
    pub(super) format: &'static str,
    /// What `--format` alone does not say.
    pub(super) option: &'static str,
    pub(super) pieces: Vec<Piece<'a>>,
    strangeness: usize,
}

/// A piece of a key, and everything it could be, the likeliest first.
#[derive(Clone)]
pub(super) struct Piece<'a> {
    pub(super) start: usize,
    pub(super) bytes: &'a [u8],
    pub(super) meanings: Vec<(Field, Value<'a>)>,
}

/// What was found, the likeliest first, and whether the search was cut off before its end.
#[derive(Default)]
pub(super) struct Readings<'a> {
    pub(super) found: Vec<Reading<'a>>,
    pub(super) more: bool,
}

impl<'a> Readings<'a> {
    fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.more |= other.more;
    }
}

/// How many readings of a format are followed: beyond, there are only more alike.
const MOST: usize = 2_000;

/// The longest key whose readings are looked for: their number doubles with every few bytes.
pub(super) const LONGEST: usize = 256;

/// Every reading of `key` in every format, or in the one of this name, the likeliest first.
///
/// Types that a format writes alike are named once: an i32 reads as the i64 it is written as. What needs a schema to be
/// seen is not guessed: nulls, tuples, padding, and the shard before a composite key.
pub(super) fn readings<'a>(key: &'a [u8], format: Option<&str>) -> Readings<'a> {
    let native =
        fields("str,bytes,uuid,i64,u64,f64,timestamp,timestamp(3),timestamp(9),duration,decimal,date,bool");
    let native = native.iter().flat_map(|field| [field.clone(), field.clone().descending()]).collect();
    let lexkey = fields("str,bytes,uuid,i64,u64,f64,timestamp(9),duration,bool");
    let rowkey = fields("str,bytes,varint,i64,u64,i32,u32,i16,u16,i8,u8");
    let composite = fields("str,i64,timestamp(3),uuid");
    let mut all = cut(&Native, &native, &[], key);
    all.extend(cut(&LexKey::canonical(), &lexkey, &[0x00], key));
    all.extend(cut(&RowKey::exact(), &rowkey, &[0x00, 0x00], key));
    for (delimiter, option) in [
        (Delimiter::Unit, ""),
        (Delimiter::Null, " --delimiter 00"),
        (Delimiter::High, " --delimiter ff"),
        (Delimiter::Double, " --delimiter 0001"),
    ] {
        let mut cut = cut(&Composite::default().delimiter(delimiter), &composite, delimiter.bytes(), key);
        // A key of one piece has no delimiter that could be another.
        cut.found.retain(|reading| option.is_empty() || reading.pieces.len() > 1);
        cut.found.iter_mut().for_each(|reading| reading.option = option);
        all.extend(cut);
    }
    all.found.extend(["bytes", "bytes,bytes"].into_iter().filter_map(|types| whole(&Keystone, types, key)));
    if format == Some(LexKey::legacy().name()) {
        let legacy = fields("str,bytes,uuid,i64,u64,f64,timestamp(9),duration,bool,i32,u32,f32,i16,u16,u8");
        all.extend(cut(&LexKey::legacy(), &legacy, &[0x00], key));
    }
    all.found.retain(|reading| format.is_none_or(|format| reading.format == format));
    all.found.sort_by_key(|reading| reading.strangeness);
    all
}

fn fields(types: &str) -> Fields {
    types.parse().unwrap_or_default()
}

/// The readings of a format whose keys are pieces with `separator` between them, and whether there are more.
fn cut<'a>(format: &dyn KeyFormat, fields: &Fields, separator: &[u8], key: &'a [u8]) -> Readings<'a> {
    let mut pieces: BTreeMap<usize, Vec<(Piece<'a>, Option<usize>)>> = BTreeMap::new();
    for start in 0..=key.len() {
        for end in start..=key.len() {
            let (Some(bytes), Some(rest)) = (key.get(start..end), key.get(end..)) else { continue };
            // A piece may be empty only where a separator shows that it is there.
            if bytes.is_empty() && separator.is_empty() {
                continue;
            }
            // The last piece has nothing behind it; behind any other the next begins after the separator.
            let next = match rest.strip_prefix(separator) {
                _ if rest.is_empty() => None,
                Some(_) => Some(end + separator.len()),
                None => continue,
            };
            let meanings = meanings(format, fields, bytes);
            if !meanings.is_empty() {
                pieces.entry(start).or_default().push((Piece { start, bytes, meanings }, next));
            }
        }
    }
    let mut readings = Readings::default();
    let mut paths = vec![(0, Vec::new())];
    while let Some((at, path)) = paths.pop() {
        for (piece, next) in pieces.get(&at).into_iter().flatten() {
            let path: Vec<Piece<'a>> = path.iter().chain([piece]).cloned().collect();
            match next {
                None => readings.found.push(reading(format.name(), path)),
                Some(next) if readings.found.len() + paths.len() < MOST => paths.push((*next, path)),
                Some(_) => readings.more = true,
            }
        }
    }
    readings
}

/// Everything that these bytes could be as a key of one field, the likeliest first.
fn meanings<'a>(format: &dyn KeyFormat, fields: &Fields, bytes: &'a [u8]) -> Vec<(Field, Value<'a>)> {
    let mut meanings: Vec<(Field, Value<'a>)> = fields
        .iter()
        .filter_map(|field| {
            let one: Fields = [field.clone()].into_iter().collect();
            let value = format.decode(&one, bytes).ok()?.pop()?;
            Some((field.clone(), value))
        })
        .collect();
    // Bytes that are text are not worth saying twice.
    if let Some((Value::Str(_), field)) = meanings.first().map(|(field, value)| (value, field.clone())) {
        meanings
            .retain(|(other, value)| !matches!(value, Value::Bytes(_)) || other.direction != field.direction);
    }
    meanings.sort_by_key(|(field, value)| strangeness(field, value));
    meanings
}

fn whole<'a>(format: &dyn KeyFormat, types: &str, key: &'a [u8]) -> Option<Reading<'a>> {
    let fields: Fields = types.parse().ok()?;
    let values = format.decode(&fields, key).ok()?;
    let pieces = fields.iter().zip(values).scan(0, |start, (field, value)| {
        let Value::Bytes(bytes) = &value else { return None };
        let end = *start + 4 + bytes.len();
        let piece = key.get(*start..end)?;
        let piece = Piece { start: *start, bytes: piece, meanings: vec![(field.clone(), text_or(value))] };
        *start = end;
        Some(piece)
    });
    Some(reading(format.name(), pieces.collect()))
}

/// Bytes as text if they are.
fn text_or(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Bytes(bytes) => match std::str::from_utf8(&bytes) {
            Ok(text) => text.to_owned().into(),
            Err(_) => Value::Bytes(bytes),
        },
        value => value,
    }
}

fn reading<'a>(format: &'static str, pieces: Vec<Piece<'a>>) -> Reading<'a> {
    let likeliest =
        |piece: &Piece<'a>| piece.meanings.first().map_or(9, |(field, value)| strangeness(field, value));
    let strangeness = pieces.iter().map(|piece| 2 + likeliest(piece)).sum();
    Reading { format, option: "", pieces, strangeness }
}

/// How unlikely it is that someone wrote this value: nothing for words, ids and times of our days.
fn strangeness(field: &Field, value: &Value<'_>) -> usize {
    let printable = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
    let our_days = |time: &Timestamp| {
        (Timestamp::from_millis(300_000_000_000)..Timestamp::from_millis(4_102_444_800_000)).contains(time)
    };
    let strangeness = match value {
        Value::Str(text) if printable(text) && text.len() > 1 => 0,
        Value::Str(text) if printable(text) => 2,
        Value::Str(text) => 6 + text.len(),
        Value::Uuid(id) if id.get_version().is_some() && id.get_variant() == Variant::RFC4122 => 0,
        Value::Uuid(_) => 5,
        Value::Timestamp(time) if our_days(time) => 0,
        Value::Timestamp(_) => 7,
        Value::Int(n) if n.unsigned_abs() < 1 << 40 => 1,
        Value::Uint(n) if *n < 1 << 40 => 1,
        Value::Float(n) if *n == 0.0 || (1e-9..1e15).contains(&n.abs()) => 3,
        Value::Bool(_) => 3,
        Value::Date(date) if (-36_524..47_482).contains(&date.days()) => 2,
        Value::Decimal(n) if n.digits() < 12 => 3,
        Value::Duration(_) => 5,
        Value::Bytes(bytes) => 6 + bytes.len(),
        _ => 6,
    };
    strangeness + usize::from(field.direction == Direction::Descending)
}
