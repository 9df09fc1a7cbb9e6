//! Which tree a key lies in: the one that all share, or a family of its stripe.
//!
//! ```text
//! prefix │ stripe │ …        16 stripes, 4 families:   stripes 0–3 → 0, 4–7 → 1, 8–11 → 2, 12–15 and above → 3
//! ```
//!
//! Stripes that are neighbours lie in one family or in neighbours, so a span is read family after family and nothing has
//! to be merged. What lies where is a function of the key and of what the folder says of its prefix; it never changes.

use std::collections::BTreeMap;
use std::ops::Bound;

use keyloom_key::{Span, prefix_end};
use keyloom_store::Batch;

/// The family of a key; `None` is the tree that all share.
pub(crate) type Family = Option<u8>;

/// Prefixes behind which a stripe stands in one byte.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces(BTreeMap<Vec<u8>, Striped>);

/// How many stripes there are, and in how many families they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Striped {
    pub(crate) stripes: u16,
    pub(crate) families: u16,
}

impl Striped {
    /// In no more families than there are stripes, and one at least.
    pub(crate) fn new(stripes: u16, families: u16) -> Self {
        let stripes = stripes.clamp(1, 256);
        Self { stripes, families: families.clamp(1, stripes) }
    }

    fn family(self, stripe: u8) -> u8 {
        let number = u32::from(stripe) * u32::from(self.families) / u32::from(self.stripes);
        u8::try_from(number.min(u32::from(self.families) - 1)).unwrap_or(u8::MAX)
    }

    /// The first stripe of a family.
    fn first(self, family: u8) -> u8 {
        let stripe = (u32::from(family) * u32::from(self.stripes)).div_ceil(u32::from(self.families));
        u8::try_from(stripe).unwrap_or(u8::MAX)
    }

    pub(crate) fn to_bytes(self) -> [u8; 4] {
        let ([a, b], [c, d]) = (self.stripes.to_be_bytes(), self.families.to_be_bytes());
        [a, b, c, d]
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, d] = *<&[u8; 4]>::try_from(bytes).ok()?;
        let (stripes, families) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let parsed = Self::new(stripes, families);
        (parsed == Self { stripes, families }).then_some(parsed)
    }
}

impl Pieces {
    /// Adds a prefix; whether it can be: none may begin with another.
    pub(crate) fn add(&mut self, prefix: &[u8], striped: Striped) -> bool {
        let free = !self.0.keys().any(|other| other.starts_with(prefix) || prefix.starts_with(other));
        if free {
            self.0.insert(prefix.to_vec(), striped);
        }
        free
    }

    /// The family of a key.
    pub(crate) fn family(&self, key: &[u8]) -> Family {
        let up_to = (Bound::Unbounded, Bound::Included(key));
        let (prefix, striped) = self.0.range::<[u8], _>(up_to).next_back()?;
        let rest = key.strip_prefix(prefix.as_slice())?;
        Some(striped.family(rest.first().copied().unwrap_or(0)))
    }

    /// The family that has all keys of a batch; `None` if it has keys of several, or none.
    pub(crate) fn only_family(&self, batch: &Batch) -> Option<Family> {
        let mut families = batch.writes().map(|(key, _)| self.family(key));
        let first = families.next()?;
        families.all(|family| family == first).then_some(first)
    }

    /// The parts of a span in their order, each with the family that has all of its keys.
    pub(crate) fn parts(&self, span: &Span) -> Vec<(Family, Span)> {
        let mut parts = Vec::new();
        let mut from = span.start.clone();
        for (prefix, striped) in &self.0 {
            let whole = Span::prefix(prefix.as_slice());
            if whole.end.as_ref().is_some_and(|end| *end <= from) {
                continue;
            }
            if span.end.as_ref().is_some_and(|end| *end <= *prefix) {
                break;
            }
            push(&mut parts, None, Span { start: from.clone(), end: Some(prefix.clone()) });
            for (family, part) in families(prefix, *striped, &from, span.end.as_deref()) {
                push(&mut parts, Some(family), part);
            }
            match prefix_end(prefix.as_slice()) {
                Some(end) => from = from.max(end),
                None => return parts,
            }
        }
        push(&mut parts, None, Span { start: from, end: span.end.clone() });
        parts
    }
}

fn push(parts: &mut Vec<(Family, Span)>, family: Family, part: Span) {
    if !part.is_empty() {
        parts.push((family, part));
    }
}

/// The families of a prefix that have keys between two keys, each with its span there, in their order.
fn families(
    prefix: &[u8],
    striped: Striped,
    from: &[u8],
    to: Option<&[u8]>,
) -> impl Iterator<Item = (u8, Span)> {
    let of =
        |key: &[u8]| key.strip_prefix(prefix).map(|rest| striped.family(rest.first().copied().unwrap_or(0)));
    let last = u8::try_from(striped.families - 1).unwrap_or(u8::MAX);
    let whole = Span::prefix(prefix);
    let (first_read, last_read) = (of(from).unwrap_or(0), to.and_then(of).unwrap_or(last));
    (first_read..=last_read).map(move |family| {
        // The border before the first family, and the one behind the last, are those of the prefix.
        let start =
            if family == 0 { whole.start.clone() } else { [prefix, &[striped.first(family)]].concat() };
        let end = if family == last {
            whole.end.clone()
        } else {
            Some([prefix, &[striped.first(family + 1)]].concat())
        };
        let end = match (end, to) {
            (Some(end), Some(to)) if end.as_slice() > to => Some(to.to_vec()),
            (None, to) => to.map(<[u8]>::to_vec),
            (end, _) => end,
        };
        (family, Span { start: if start.as_slice() < from { from.to_vec() } else { start }, end })
    })
}

#[cfg(test)]
mod tests;
