//! Key codecs on (string of 9 to 32 bytes, u64, uuid): the fields of an order.

use std::borrow::Cow;
use std::hint::black_box;
use std::time::Instant;

use keyloom::key::{DecodeKey, EncodeKey, KeyStr, Uuid};
use serde::Serialize;

use crate::report::{Figure, Unit, median};

/// The fields of one key.
struct Row {
    text: String,
    number: u64,
    id: Uuid,
}

/// Rows that look like users, times and order ids; the same in every run.
fn rows(count: usize) -> Vec<Row> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count)
        .map(|_| {
            let length = usize::try_from(9 + next() % 24).unwrap_or(9);
            let text = format!("USR_{:016x}{:016x}", next(), next()).chars().take(length).collect();
            Row { text, number: next(), id: Uuid::from_u64_pair(next(), next()) }
        })
        .collect()
}

/// One codec: how it writes a row, and how it reads one.
struct Codec {
    system: &'static str,
    encode: fn(&[Row]),
    fresh: fn(&[Row]),
    /// Not every codec can read.
    decode: Option<Decode>,
}

/// Keys of the rows, and what reads them all.
#[derive(Clone, Copy)]
struct Decode {
    keys: fn(&[Row]) -> Vec<Vec<u8>>,
    read_all: fn(&[Vec<u8>]),
}

/// Makes a codec out of an expression that appends a row to a buffer and one that reads a key.
macro_rules! codec {
    ($system:literal, |$row:ident, $out:ident| $write:expr, fresh |$fresh_row:ident| $fresh:expr $(, |$key:ident| $read:expr)?) => {{
        #[inline(always)]
        fn write($row: &Row, $out: &mut Vec<u8>) {
            let _ = $write;
        }
        #[inline(always)]
        fn fresh($fresh_row: &Row) -> Vec<u8> {
            $fresh
        }
        fn encode(rows: &[Row]) {
            let mut out = Vec::with_capacity(256);
            for row in rows {
                out.clear();
                write(black_box(row), &mut out);
                black_box(out.as_slice());
            }
        }
        fn encode_fresh(rows: &[Row]) {
            for row in rows {
                black_box(fresh(black_box(row)));
            }
        }
        #[allow(unused_mut, unused_assignments)]
        let mut decode = None;
        $(
            fn keys(rows: &[Row]) -> Vec<Vec<u8>> {
                rows.iter().map(|row| { let mut out = Vec::new(); write(row, &mut out); out }).collect()
            }
            fn read_all(keys: &[Vec<u8>]) {
                for key in keys {
                    let $key: &[u8] = black_box(key);
                    let _ = black_box($read);
                }
            }
            decode = Some(Decode { keys, read_all });
        )?
        Codec { system: $system, encode, fresh: encode_fresh, decode }
    }};
}

fn codecs() -> Vec<Codec> {
    vec![
        codec!(
            "keyloom",
            |row, out| (row.text.as_str(), row.number, row.id).encode_key(out),
            fresh | row | (row.text.as_str(), row.number, row.id).to_key().unwrap_or_default(),
            |key| <(KeyStr, u64, Uuid)>::decode_key(key)
        ),
        codec!(
            "raw-copy",
            |row, out| {
                out.extend_from_slice(row.text.as_bytes());
                out.extend_from_slice(&row.number.to_be_bytes());
                out.extend_from_slice(row.id.as_bytes());
            },
            fresh | row | {
                let mut out = Vec::with_capacity(row.text.len() + 24);
                out.extend_from_slice(row.text.as_bytes());
                out.extend_from_slice(&row.number.to_be_bytes());
                out.extend_from_slice(row.id.as_bytes());
                out
            },
            |key| {
                let (head, id) = key.split_last_chunk::<16>().unwrap_or((key, &[0; 16]));
                let (text, number) = head.split_last_chunk::<8>().unwrap_or((head, &[0; 8]));
                (text, u64::from_be_bytes(*number), Uuid::from_bytes(*id))
            }
        ),
        codec!(
            "foundationdb-tuple",
            |row, out| foundationdb_tuple::pack_into(&(row.text.as_str(), row.number, row.id), out),
            fresh | row | foundationdb_tuple::pack(&(row.text.as_str(), row.number, row.id)),
            |key| foundationdb_tuple::unpack::<(Cow<str>, u64, Uuid)>(key)
        ),
        codec!(
            "storekey",
            |row, out| storekey::encode(out, &(row.text.as_str(), row.number, row.id)),
            fresh | row | storekey::encode_vec(&(row.text.as_str(), row.number, row.id)).unwrap_or_default(),
            |key| storekey::decode_borrow::<(Cow<str>, u64, Uuid)>(key)
        ),
        codec!(
            "memcomparable",
            |row, out| serde_row(row).serialize(&mut memcomparable::Serializer::new(out)),
            fresh | row | memcomparable::to_vec(&serde_row(row)).unwrap_or_default(),
            |key| memcomparable::from_slice::<(String, u64, u64, u64)>(key)
        ),
        codec!(
            "lexkey-rs",
            |row, out| lexkey::LexKey::encode_composite_into(
                out,
                &[row.text.as_bytes(), &row.number.to_be_bytes(), row.id.as_bytes()]
            ),
            fresh | row | {
                let mut out = Vec::with_capacity(row.text.len() + 26);
                lexkey::LexKey::encode_composite_into(
                    &mut out,
                    &[row.text.as_bytes(), &row.number.to_be_bytes(), row.id.as_bytes()],
                );
                out
            }
        ),
    ]
}

fn read_all_as_str(keys: &[Vec<u8>]) {
    for key in keys {
        let _ = black_box(<(Cow<str>, u64, Uuid)>::decode_key(black_box(key)));
    }
}

/// A row as memcomparable takes it, through serde: it has no 16 bytes of fixed width, so the id is two numbers.
fn serde_row(row: &Row) -> (&str, u64, u64, u64) {
    let (high, low) = row.id.as_u64_pair();
    (&row.text, row.number, high, low)
}

/// Runs every codec `rounds` times over `count` rows, one after the other in each round.
pub(crate) fn measure(count: usize, rounds: usize) -> Vec<Figure> {
    let rows = rows(count);
    let codecs = codecs();
    let mut figures = Vec::new();
    figures.extend(interleave(
        "encode",
        count,
        rounds,
        codecs.iter().map(|c| (c.system, || (c.encode)(&rows))),
    ));
    figures.extend(interleave(
        "encode_fresh",
        count,
        rounds,
        codecs.iter().map(|c| (c.system, || (c.fresh)(&rows))),
    ));
    let mut keys: Vec<_> = codecs
        .iter()
        .filter_map(|c| c.decode.map(|decode| (c.system, (decode.keys)(&rows), decode.read_all)))
        .collect();
    // The others check at once that text is UTF-8; ours does if it is asked for a str.
    if let Some((_, ours, _)) = keys.first() {
        keys.push(("keyloom-str", ours.clone(), read_all_as_str));
    }
    figures.extend(interleave(
        "decode",
        count,
        rounds,
        keys.iter().map(|(system, keys, read)| (*system, || read(keys))),
    ));
    figures
}

/// The median of each system's rounds; every round runs all systems, so that noise meets all alike.
fn interleave<F: Fn()>(
    work: &'static str,
    count: usize,
    rounds: usize,
    systems: impl Iterator<Item = (&'static str, F)>,
) -> Vec<Figure> {
    let mut systems: Vec<_> = systems.map(|(system, run)| (system, run, Vec::new())).collect();
    for round in 1..=rounds {
        crate::report::progress(work, round, rounds);
        for (_, run, times) in &mut systems {
            let start = Instant::now();
            run();
            times.push(start.elapsed());
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
    let figure = |time: std::time::Duration| time.as_nanos() as f64 / count as f64;
    systems
        .into_iter()
        .map(|(system, _, times)| Figure::new(work, system, Unit::Ns, figure(median(times))))
        .collect()
}
