//! The laws that a key format obeys, as functions over rows of values.
//!
//! | law | holds when |
//! |---|---|
//! | order | comparing bytes is comparing values, field by field; where only the rest sorts, among equal beginnings |
//! | injective | different values never give the same bytes |
//! | prefix-free | no key is a prefix of another |
//! | round trip | what was encoded is read back, and what is read back encodes to the same bytes |
//! | ends | the span of a prefix holds the keys with these first values, and no others |
//! | ranges | the span of a range holds the keys whose next value lies within it, and no others; where keys do not sort it is refused |
//!
//! A law over pairs is checked on neighbours of a sorted list: the order of bytes is transitive, and what lies
//! between a key and a longer one that starts with it starts with it too. So n rows stand for all n² pairs.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;

use keyloom_key::{DecodeKey, EncodeKey, Field, Fields, KeyFormat, Promises, Span, Value};

/// A row of values, one for each field.
pub type Row = Vec<Value<'static>>;

/// What was found against a law: its name, and the rows and bytes that break it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The law's name.
    pub law: &'static str,
    /// The rows and their bytes.
    pub story: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} broken: {}", self.law, self.story)
    }
}

impl std::error::Error for Violation {}

/// Checks all that the format promises for these fields, on these rows.
///
/// Rows that the format refuses by [`Error::Value`](keyloom_key::Error::Value) are left out: refusing is how
/// a format keeps a promise. A refusal must leave the buffer as it was.
pub fn check(format: &impl KeyFormat, fields: &Fields, rows: &[Row]) -> Result<(), Violation> {
    let promises = format
        .promises(fields)
        .map_err(|error| Violation { law: "promises", story: format!("({fields}) {error}") })?;
    let mut keyed = encode_all(format, fields, rows)?;
    let sorts = (0..fields.len().max(1))
        .map(|at| format.sorts_after(fields, at))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Violation { law: "promises", story: format!("({fields}) {error}") })?;
    if sorts.first() != Some(&promises.order) {
        let story = format!("({fields}) promises {promises:?}, but after each field it sorts {sorts:?}");
        return Err(Violation { law: "promises", story });
    }
    check_order(format, fields, &mut keyed, &sorts)?;
    keyed.sort_by(|a, b| a.key.cmp(&b.key));
    if promises.injective {
        check_injective(format, fields, &keyed)?;
    }
    if promises.prefix_free {
        check_prefix_free(format, fields, &keyed)?;
    }
    if promises.decodable {
        check_round_trip(format, fields, &keyed)?;
    }
    if promises.injective {
        check_ends(format, fields, &keyed)?;
        check_ranges(format, fields, &keyed, &sorts)?;
    }
    Ok(())
}

/// Which of the four promises hold on these rows, whatever the format says of itself.
///
/// With it a test can show that a promise that is not made could not be made.
pub fn holding(format: &impl KeyFormat, fields: &Fields, rows: &[Row]) -> Promises {
    let Ok(mut keyed) = encode_all(format, fields, rows) else {
        return Promises { order: false, injective: false, prefix_free: false, decodable: false };
    };
    let order = check_order(format, fields, &mut keyed, &[true]).is_ok();
    keyed.sort_by(|a, b| a.key.cmp(&b.key));
    Promises {
        order,
        injective: check_injective(format, fields, &keyed).is_ok(),
        prefix_free: check_prefix_free(format, fields, &keyed).is_ok(),
        decodable: check_round_trip(format, fields, &keyed).is_ok(),
    }
}

/// A row and its key.
struct Keyed<'a> {
    row: &'a Row,
    key: Vec<u8>,
}

fn broken(
    law: &'static str,
    format: &impl KeyFormat,
    fields: &Fields,
    rows: &[&Keyed<'_>],
) -> Result<(), Violation> {
    let rows: Vec<String> = rows.iter().map(|k| format!("{:?} = {}", k.row, hex(&k.key))).collect();
    Err(Violation { law, story: format!("{} ({fields}): {}", format.name(), rows.join(" and ")) })
}

/// `sorts`: for each number of equal first values, whether the keys that agree on them must sort.
fn check_order(
    format: &impl KeyFormat,
    fields: &Fields,
    keyed: &mut [Keyed<'_>],
    sorts: &[bool],
) -> Result<(), Violation> {
    keyed.sort_by(|a, b| fields.compare(a.row, b.row));
    for (a, b) in neighbours(keyed) {
        let order = fields.compare(a.row, b.row);
        if a.key.cmp(&b.key) == order {
            continue;
        }
        let values = fields.iter().zip(a.row.iter().zip(b.row));
        let shared = values.take_while(|(field, (a, b))| field.compare(a, b) == Ordering::Equal).count();
        if sorts.iter().take(shared + 1).any(|sorts| *sorts) {
            return broken("order", format, fields, &[a, b]);
        }
    }
    Ok(())
}

fn check_injective(format: &impl KeyFormat, fields: &Fields, keyed: &[Keyed<'_>]) -> Result<(), Violation> {
    let collides =
        |(a, b): &(&Keyed<'_>, &Keyed<'_>)| a.key == b.key && fields.compare(a.row, b.row) != Ordering::Equal;
    let found = neighbours(keyed).find(collides);
    found.map_or(Ok(()), |(a, b)| broken("injective", format, fields, &[a, b]))
}

fn check_prefix_free(format: &impl KeyFormat, fields: &Fields, keyed: &[Keyed<'_>]) -> Result<(), Violation> {
    let found = neighbours(keyed).find(|(a, b)| a.key != b.key && b.key.starts_with(&a.key));
    found.map_or(Ok(()), |(a, b)| broken("prefix-free", format, fields, &[a, b]))
}

fn check_round_trip(format: &impl KeyFormat, fields: &Fields, keyed: &[Keyed<'_>]) -> Result<(), Violation> {
    for k in keyed {
        let mut again = Vec::new();
        match format.decode(fields, &k.key) {
            Ok(values)
                if fields.compare(&values, k.row) == Ordering::Equal
                    && format.encode(fields, &values, &mut again).is_ok()
                    && again == k.key => {}
            _ => return broken("round trip", format, fields, &[k]),
        }
    }
    Ok(())
}

/// How many rows give the spans that are tried against all keys, at least.
const SPANS: usize = 24;

/// How often a span meets a key: few enough rows all give their spans.
const MEETINGS: usize = 20_000;

/// Every row, or an even part of them where they are too many.
fn samples<'a, 'b>(keyed: &'b [Keyed<'a>]) -> impl Iterator<Item = &'b Keyed<'a>> + Clone {
    let count = (MEETINGS / keyed.len().max(1)).max(SPANS);
    keyed.iter().step_by(keyed.len().div_ceil(count).max(1))
}

fn check_ends(format: &impl KeyFormat, fields: &Fields, keyed: &[Keyed<'_>]) -> Result<(), Violation> {
    for prefix in samples(keyed) {
        for length in 0..=fields.len() {
            let Some(values) = prefix.row.get(..length) else { continue };
            let ends = |story: String| {
                Err(Violation { law: "ends", story: format!("{} ({fields}): {story}", format.name()) })
            };
            let span = match format.prefix(fields, values) {
                Ok(span) => span,
                Err(error) => return ends(format!("no span for {values:?}: {error}")),
            };
            for k in keyed {
                let within =
                    k.row.get(..length).is_some_and(|row| fields.compare(row, values) == Ordering::Equal);
                if span.contains(&k.key) != within {
                    let Span { start, end } = &span;
                    let end = end.as_deref().map_or("no end".to_owned(), hex);
                    let verb = if within { "misses" } else { "holds" };
                    return ends(format!(
                        "the span {} … {end} of {values:?} {verb} {:?} = {}",
                        hex(start),
                        k.row,
                        hex(&k.key)
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Ranges between the values of sampled rows, wherever the format says that keys sort.
fn check_ranges(
    format: &impl KeyFormat,
    fields: &Fields,
    keyed: &[Keyed<'_>],
    sorts: &[bool],
) -> Result<(), Violation> {
    let samples = samples(keyed);
    for (from, to) in samples.clone().zip(samples.clone().skip(1).chain(samples.take(1))) {
        for (at, (field, (low, high))) in fields.iter().zip(from.row.iter().zip(to.row)).enumerate() {
            let equal = from.row.get(..at).unwrap_or_default();
            if !sorts.get(at).is_some_and(|sorts| *sorts) {
                if format.range(fields, equal, Bound::Unbounded, Bound::Unbounded).is_ok() {
                    let story = format!(
                        "{} ({fields}): a range after {equal:?}, where keys do not sort",
                        format.name()
                    );
                    return Err(Violation { law: "ranges", story });
                }
                continue;
            }
            if *low == Value::Null || *high == Value::Null {
                continue;
            }
            for (lower, upper) in [
                (Bound::Included(low), Bound::Included(high)),
                (Bound::Excluded(low), Bound::Excluded(high)),
                (Bound::Unbounded, Bound::Included(high)),
                (Bound::Excluded(low), Bound::Unbounded),
            ] {
                let broken = |story: String| {
                    let story = format!(
                        "{} ({fields}): {equal:?} then {lower:?} to {upper:?} {story}",
                        format.name()
                    );
                    Err(Violation { law: "ranges", story })
                };
                let span = match format.range(fields, equal, lower, upper) {
                    Ok(span) => span,
                    Err(error) => return broken(error.to_string()),
                };
                for k in keyed {
                    let agrees =
                        k.row.get(..at).is_some_and(|row| fields.compare(row, equal) == Ordering::Equal);
                    let within =
                        agrees && k.row.get(at).is_some_and(|value| lies_within(field, value, lower, upper));
                    if span.contains(&k.key) != within {
                        return broken(format!(
                            "{} {:?} = {}",
                            if within { "misses" } else { "holds" },
                            k.row,
                            hex(&k.key)
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Whether a value lies between two others, whichever way the field runs; null lies nowhere.
fn lies_within(field: &Field, value: &Value<'_>, lower: Bound<&Value<'_>>, upper: Bound<&Value<'_>>) -> bool {
    let ascending = Field::from(field.kind.clone());
    let above = match lower {
        Bound::Unbounded => true,
        Bound::Included(low) => ascending.compare(value, low) != Ordering::Less,
        Bound::Excluded(low) => ascending.compare(value, low) == Ordering::Greater,
    };
    let below = match upper {
        Bound::Unbounded => true,
        Bound::Included(high) => ascending.compare(value, high) != Ordering::Greater,
        Bound::Excluded(high) => ascending.compare(value, high) == Ordering::Less,
    };
    above && below && *value != Value::Null
}

fn encode_all<'a>(
    format: &impl KeyFormat,
    fields: &Fields,
    rows: &'a [Row],
) -> Result<Vec<Keyed<'a>>, Violation> {
    let mut keyed = Vec::with_capacity(rows.len());
    for row in rows {
        let mut key = b"kept".to_vec();
        match format.encode(fields, row, &mut key) {
            Ok(()) => keyed.push(Keyed { row, key: key.split_off(4) }),
            Err(keyloom_key::Error::Value { .. }) if key == b"kept" => {}
            Err(keyloom_key::Error::Value { .. }) => {
                return Err(Violation {
                    law: "untouched on error",
                    story: format!("{row:?} left {}", hex(&key)),
                });
            }
            Err(error) => {
                return Err(Violation { law: "promises", story: format!("({fields}) {row:?}: {error}") });
            }
        }
    }
    Ok(keyed)
}

/// Checks the laws on values of a Rust type: their keys sort as they do, are different where they are, are no
/// prefixes of one another, read back, and are the bytes that the dynamic format gives.
pub fn check_type<T>(values: &[T]) -> Result<(), Violation>
where
    T: EncodeKey + Ord + fmt::Debug + for<'a> DecodeKey<'a>,
{
    let mut keyed = Vec::with_capacity(values.len());
    for value in values {
        let key = value
            .to_key()
            .map_err(|error| Violation { law: "encode", story: format!("{value:?}: {error}") })?;
        match T::decode_key(&key) {
            Ok(again) if again == *value => keyed.push((value, key)),
            other => {
                return Err(Violation {
                    law: "round trip",
                    story: format!("{value:?} = {} → {other:?}", hex(&key)),
                });
            }
        }
    }
    keyed.sort_by_key(|(value, _)| *value);
    for ((a, key_a), (b, key_b)) in neighbours(&keyed) {
        let story = || format!("{a:?} = {} and {b:?} = {}", hex(key_a), hex(key_b));
        if key_a.cmp(key_b) != a.cmp(b) {
            return Err(Violation { law: "order", story: story() });
        }
        if key_a != key_b && key_b.starts_with(key_a) {
            return Err(Violation { law: "prefix-free", story: story() });
        }
    }
    Ok(())
}

fn neighbours<T>(list: &[T]) -> impl Iterator<Item = (&T, &T)> {
    list.iter().zip(list.iter().skip(1))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
