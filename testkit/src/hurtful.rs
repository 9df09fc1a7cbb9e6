//! Values built to hurt: zeros, ones, `FF`, nothing at all, prefixes of each other, extremes.

use keyloom_key::{Date, Decimal, Duration, Field, Fields, Precision, Timestamp, Type, Uuid, Value};

use crate::laws::Row;

/// The most rows that [`rows`] gives.
pub const MAX_ROWS: usize = 20_000;

/// Values of this type that have broken key formats before.
pub fn values(kind: &Type) -> Vec<Value<'static>> {
    match kind {
        Type::Null | Type::End => vec![Value::Null],
        Type::Bool => vec![false.into(), true.into()],
        Type::Int(width) => {
            let highest = i64::MAX >> (64 - width.bits());
            let edges = integers().flat_map(|n| [n, -n, n - 1, 1 - n]).chain([!highest, highest]);
            distinct(edges.filter(|n| width.holds_int(*n)).map(Value::from))
        }
        Type::Uint(width) => {
            let edges =
                integers().map(i64::unsigned_abs).flat_map(|n| [n, n.wrapping_sub(1), !n, u64::MAX - n]);
            let edges = edges.chain([u64::MAX >> (64 - width.bits())]);
            distinct(edges.filter(|n| width.holds_uint(*n)).map(Value::from))
        }
        Type::Varint => {
            let edges = [
                0,
                240,
                241,
                2287,
                2288,
                67823,
                67824,
                1 << 24,
                1 << 32,
                1 << 40,
                1 << 48,
                1 << 56,
                u64::MAX,
            ];
            distinct(
                edges.into_iter().flat_map(|n| [n, n.wrapping_sub(1), n.wrapping_add(1)]).map(Value::from),
            )
        }
        Type::F32 => floats().into_iter().map(|v| Value::Float(f64::from(narrow(v)))).collect(),
        Type::F64 => {
            let wide = [5e-324, f64::MIN_POSITIVE, f64::MAX].into_iter().flat_map(|v| [v, -v]);
            wide.chain(floats()).map(Value::Float).collect()
        }
        Type::Decimal(scale) => decimals()
            .into_iter()
            .filter(|value| scale.is_none_or(|scale| scale.check(*value).is_ok()))
            .map(Value::Decimal)
            .collect(),
        Type::Str(_) => TEXTS.iter().map(|text| Value::from(*text)).collect(),
        Type::Bytes => BYTES.iter().map(|bytes| Value::from(bytes.to_vec())).collect(),
        Type::Uuid => [
            0,
            1,
            0xFF,
            0x0100,
            1 << 127,
            u128::MAX,
            u128::MAX - 1,
            0x550e_8400_e29b_41d4_a716_4466_5544_0001,
        ]
        .into_iter()
        .map(|n| Uuid::from_u128(n).into())
        .collect(),
        Type::Timestamp(precision) => instants(*precision),
        Type::Date => [i32::MIN, -1, 0, 1, 255, 256, 19_782, i32::MAX]
            .into_iter()
            .map(|n| Date::from_days(n).into())
            .collect(),
        Type::Duration => [i64::MIN, -1, 0, 1, 255, 256, i64::MAX]
            .into_iter()
            .map(|n| Duration::from_nanos(n).into())
            .collect(),
        Type::Tuple(fields) => tuples(fields),
        _ => Vec::new(),
    }
}

/// Values for this field, null among them where it may be.
pub fn field_values(field: &Field) -> Vec<Value<'static>> {
    let mut values = values(&field.kind);
    if field.nulls.is_some() && !values.contains(&Value::Null) {
        values.push(Value::Null);
    }
    values
}

/// Every combination of the values of these fields, or an even part of them where they are too many.
pub fn rows(fields: &Fields) -> Vec<Row> {
    let columns: Vec<Vec<Value<'static>>> = fields.iter().map(field_values).collect();
    let all: usize = columns.iter().map(Vec::len).fold(1, usize::saturating_mul);
    // A step that shares no factor with the columns' sizes meets every value of every column.
    let meets_all = |step: &usize| columns.iter().all(|column| shared_factor(*step, column.len()) == 1);
    let step = if all <= MAX_ROWS { 1 } else { (all.div_ceil(MAX_ROWS)..).find(meets_all).unwrap_or(1) };
    (0..all.min(MAX_ROWS))
        .map(|index| {
            let mut rest = index.wrapping_mul(step) % all.max(1);
            columns
                .iter()
                .map(|column| {
                    let value = column.get(rest % column.len().max(1)).cloned().unwrap_or(Value::Null);
                    rest /= column.len().max(1);
                    value
                })
                .collect()
        })
        .collect()
}

fn shared_factor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { shared_factor(b, a % b) }
}

fn integers() -> impl Iterator<Item = i64> {
    [
        0,
        1,
        2,
        127,
        128,
        255,
        256,
        257,
        32_767,
        32_768,
        65_535,
        65_536,
        1 << 23,
        1 << 31,
        1 << 32,
        1 << 55,
        1 << 62,
    ]
    .into_iter()
}

fn floats() -> Vec<f64> {
    let positive = [
        0.0,
        f64::from(f32::from_bits(1)),
        f64::from(f32::MIN_POSITIVE),
        0.5,
        1.0,
        1.5,
        2.0,
        255.0,
        256.0,
        f64::from(f32::MAX),
        f64::INFINITY,
    ];
    positive.into_iter().flat_map(|v| [v, -v]).collect()
}

#[allow(clippy::cast_possible_truncation, reason = "the values above are all 32-bit floats")]
fn narrow(value: f64) -> f32 {
    value as f32
}

fn decimals() -> Vec<Decimal> {
    let positive = [
        "0",
        "1",
        "10",
        "100",
        "0.1",
        "0.01",
        "0.001",
        "9",
        "99",
        "9.9",
        "1.01",
        "1.001",
        "12.34",
        "123.4",
        "1234",
        "0.99",
        "1.1",
        "1e-130",
        "1.1e-130",
        "9.99e125",
        "1e125",
        "1e38",
        "99999999999999999999999999999999999999",
        "9.9999999999999999999999999999999999999",
        "0.00000000000000000000000000000000000001",
        "12345678901234567890.12",
    ];
    positive
        .into_iter()
        .flat_map(|text| [text.parse(), format!("-{text}").parse()])
        .filter_map(Result::ok)
        .collect()
}

/// Texts with zeros, ones, prefixes of each other, case, and every length around a word.
const TEXTS: &[&str] = &[
    "",
    "\0",
    "\0\0",
    "\0\u{1}",
    "\u{1}",
    "\u{1}\0",
    "a",
    "a\0",
    "a\0\0",
    "a\0b",
    "a\u{1}",
    "a\u{2}",
    "ab",
    "b",
    "A",
    "aB",
    "U1",
    "U10",
    "\u{1e}",
    "\u{1f}",
    "a\u{1f}",
    "a\tb",
    " ",
    "a ",
    "a!",
    "~",
    "\u{7f}",
    "ÿ",
    "é",
    "É",
    "ß",
    "ss",
    "ẞ",
    "日本語",
    "\u{10FFFF}",
    "1234567",
    "12345678",
    "123456789",
    "1234567\0",
    "12345678\0",
    "\x0012345678",
    "1234567890123456",
    "12345678901234567",
    "12345678901234567890123\0",
    "123456789012345678901234567890123",
    "12345678901234567890123456789012",
    "1234567890123456789012345678901\0",
    "\x00234567890123456789012345678901234567890",
];

const BYTES: &[&[u8]] = &[
    b"",
    b"\0",
    b"\0\0",
    b"\0\x01",
    b"\0\xFF",
    b"\x01",
    b"\x01\0",
    b"\xFE",
    b"\xFF",
    b"\xFF\0",
    b"\xFF\xFF",
    b"a",
    b"a\0",
    b"a\0\xFF",
    b"a\0\x01",
    b"ab",
    b"\x1F",
    b"\x20",
    b"\0\0\x01",
    b"\0\x01\0",
    b"12345678\0",
    b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
];

/// Instants around 1970, whole milliseconds in every precision, and the ends of what nanoseconds reach.
fn instants(precision: Precision) -> Vec<Value<'static>> {
    let unit = 10_i64.pow(9 - u32::from(precision.digits()));
    let counts = [
        i64::MIN,
        i64::MIN / unit,
        -1,
        0,
        1,
        255,
        256,
        1_000_000,
        1_737_100_800_000,
        1_737_100_800_000_000_000,
        i64::MAX / unit,
        i64::MAX,
    ];
    distinct(counts.into_iter().map(|count| Timestamp::new(count, precision).into()))
}

/// Tuples of every length up to the declared one, with a few values in each place.
fn tuples(fields: &Fields) -> Vec<Value<'static>> {
    let mut tuples: Vec<Row> = vec![Vec::new()];
    let mut longest: Vec<Row> = vec![Vec::new()];
    for field in fields.iter() {
        let mut values = field_values(field);
        // Null and the ends of the list, which are the extremes.
        let keep = values.len().saturating_sub(3);
        values.rotate_left(keep);
        values.truncate(6);
        longest = longest
            .iter()
            .flat_map(|row| {
                values.iter().map(move |value| row.iter().cloned().chain([value.clone()]).collect())
            })
            .collect();
        tuples.extend(longest.iter().cloned());
    }
    tuples.into_iter().map(Value::Tuple).collect()
}

fn distinct(values: impl Iterator<Item = Value<'static>>) -> Vec<Value<'static>> {
    let mut kept = Vec::new();
    for value in values {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_field_is_in_some_row() {
        for text in
            ["str", "str,str,u8", "i64,str,i64", "str,i64,bool,bytes", "decimal,str:nulls-last,f64,u64"]
        {
            let fields: Fields = text.parse().unwrap();
            let rows = rows(&fields);
            for (at, field) in fields.iter().enumerate() {
                for value in field_values(field) {
                    assert!(
                        rows.iter().any(|row| row[at] == value),
                        "{text}: no {value:?} in field {}",
                        at + 1
                    );
                }
            }
        }
    }
}
