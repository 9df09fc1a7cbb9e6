//! Ids, lists of them and the state of a range, as bytes.
//!
//! ```text
//! id        │ 16                                 none: empty
//! list      │ id │ id │ …
//! rows      │ hash 16 │ id │ hash 16 │ id │ …
//! Active    │ 0 │
//! Announce  │ 1 │ to 16 │ since 8 │ from … │
//! Prepare   │ 2 │ to 16 │ since 8 │ from … │
//! Echo      │ 3 │ shard 16 │ start: length 4, bytes │ end: length 4, bytes; none: FFFFFFFF │ …
//! Clear     │ 4 │ the same
//! ```

use keyloom_key::Span;

use crate::cluster::{Fault, State};
use crate::id::Id;

use super::fault::damaged;

const NONE: u32 = u32::MAX;

/// An id.
pub(super) fn id(bytes: &[u8]) -> Result<Id, Fault> {
    bytes.try_into().map(Id::from_bytes).map_err(|_| damaged("id", bytes))
}

/// An id, or none.
pub(super) fn maybe_id(bytes: &[u8]) -> Result<Option<Id>, Fault> {
    if bytes.is_empty() { Ok(None) } else { id(bytes).map(Some) }
}

/// Ids one behind the other.
pub(super) fn stored_ids(ids: &[Id]) -> Vec<u8> {
    ids.iter().flat_map(|id| *id.bytes()).collect()
}

/// What [`stored_ids`] wrote.
pub(super) fn ids(bytes: &[u8]) -> Result<Vec<Id>, Fault> {
    bytes.chunks(16).map(id).collect()
}

/// Hashes and ids one behind the other.
pub(super) fn stored_pairs(rows: &[(u128, Id)]) -> Vec<u8> {
    rows.iter().flat_map(|(hash, id)| hash.to_be_bytes().into_iter().chain(*id.bytes())).collect()
}

/// What [`stored_pairs`] wrote.
pub(super) fn pairs(bytes: &[u8]) -> Result<Vec<(u128, Id)>, Fault> {
    let pair = |bytes: &[u8]| {
        let (hash, own) = bytes.split_first_chunk::<16>().ok_or_else(|| damaged("list of rows", bytes))?;
        Ok((u128::from_be_bytes(*hash), id(own)?))
    };
    bytes.chunks(32).map(pair).collect()
}

/// The state of a range.
pub(super) fn stored_state(state: &State) -> Vec<u8> {
    match state {
        State::Active => vec![0],
        State::Announce { to, from, since } => stored_plan(1, *to, from, *since),
        State::Prepare { to, from, since } => stored_plan(2, *to, from, *since),
        State::Echo { to } => stored_shards(3, to),
        State::Clear { of } => stored_shards(4, of),
    }
}

fn stored_plan(tag: u8, to: Id, from: &[u8], since: i64) -> Vec<u8> {
    [&[tag], to.bytes().as_slice(), &since.to_be_bytes(), from].concat()
}

fn stored_shards(tag: u8, shards: &[(Id, Span)]) -> Vec<u8> {
    let mut bytes = vec![tag];
    for (id, span) in shards {
        bytes.extend(id.bytes());
        for piece in [Some(&span.start), span.end.as_ref()] {
            // Keys are far shorter: Cassandra takes none of 64 KiB.
            let length = piece.map_or(NONE, |piece| u32::try_from(piece.len()).unwrap_or(NONE - 1));
            bytes.extend(length.to_be_bytes());
            bytes.extend(piece.into_iter().flatten());
        }
    }
    bytes
}

/// What [`stored_state`] wrote.
pub(super) fn state(bytes: &[u8]) -> Result<State, Fault> {
    let read = || {
        let (tag, rest) = bytes.split_first()?;
        Some(match tag {
            0 if rest.is_empty() => State::Active,
            1 => plan(rest).map(|(to, from, since)| State::Announce { to, from, since })?,
            2 => plan(rest).map(|(to, from, since)| State::Prepare { to, from, since })?,
            3 => State::Echo { to: shards(rest)? },
            4 => State::Clear { of: shards(rest)? },
            _ => return None,
        })
    };
    read().ok_or_else(|| damaged("state of a range", bytes))
}

fn plan(rest: &[u8]) -> Option<(Id, Vec<u8>, i64)> {
    let (to, rest) = rest.split_first_chunk()?;
    let (since, from) = rest.split_first_chunk()?;
    Some((Id::from_bytes(*to), from.to_vec(), i64::from_be_bytes(*since)))
}

fn shards(mut rest: &[u8]) -> Option<Vec<(Id, Span)>> {
    let mut shards = Vec::new();
    while !rest.is_empty() {
        let (id, after) = rest.split_first_chunk()?;
        rest = after;
        let start = piece(&mut rest)??;
        let end = piece(&mut rest)?;
        shards.push((Id::from_bytes(*id), Span { start, end }));
    }
    Some(shards)
}

/// The next piece with its length before it; the inner `None` is a piece that is none.
fn piece(rest: &mut &[u8]) -> Option<Option<Vec<u8>>> {
    let (length, after) = rest.split_first_chunk()?;
    let length = u32::from_be_bytes(*length);
    if length == NONE {
        *rest = after;
        return Some(None);
    }
    let (piece, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(Some(piece.to_vec()))
}

#[cfg(test)]
mod tests;
