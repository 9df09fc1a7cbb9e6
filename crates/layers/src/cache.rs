//! The cache: what gets and scans have found, as long as nobody has written there.
//!
//! An entry has the [note](crate::slots) of its key's slot, and a page that of a prefix which its whole span has: it is
//! used only while the slot is as it was. So a read that began before a commit may leave what is old, and nobody uses
//! it; and a commit marks a few slots for each key, however many pages there are.
//!
//! ```text
//! get  U1/2024-01-05  ─→ slot of the key
//! scan U1/2024…       ─→ slot of U1/2024, or of a shorter prefix that commits are told of
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keyloom_key::Span;
use keyloom_store::bloom::hash;
use keyloom_store::{Direction, Limits};
use quick_cache::{Equivalent, sync};

use crate::layers::CacheOptions;
use crate::lengths::{Lengths, Told};
use crate::rows::Rows;
use crate::slots::{Moment, Note, Slots};

/// What an entry takes beside its key and value.
const OVERHEAD: usize = 128;

/// Values by their keys, pages by their spans.
#[derive(Debug)]
pub(crate) struct Cache {
    entries: sync::Cache<Name, Entry, Weight>,
    slots: Slots,
    lengths: Lengths,
    /// The hashes of spans, and of keys among many, that were asked for lately.
    asked: Box<[AtomicU64]>,
    largest: usize,
    time_to_live: Duration,
}

/// What the cache says.
pub(crate) enum Cached<T> {
    Known(T),
    /// Nothing: read the store, and leave what it says with this note.
    Unknown(Note),
    /// Nothing, and nothing is to be left.
    Passing,
}

/// What a commit has marked.
#[derive(Debug)]
pub(crate) struct Marked {
    slots: Vec<usize>,
    told: Told,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Name {
    Key(Box<[u8]>),
    Page(Box<Span>, Direction),
}

/// A [`Name`] that is asked for. Both hash alike.
#[derive(Hash)]
enum Asked<'a> {
    Key(&'a [u8]),
    Page(&'a Span, Direction),
}

impl Equivalent<Name> for Asked<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        match (self, name) {
            (Self::Key(asked), Name::Key(key)) => *asked == &**key,
            (Self::Page(asked, way), Name::Page(span, direction)) => *asked == &**span && way == direction,
            _ => false,
        }
    }
}

#[derive(Debug, Clone)]
struct Entry {
    kept: Kept,
    note: Note,
    read: Instant,
}

#[derive(Debug, Clone)]
enum Kept {
    /// The value of a key, or `None` if it is not there.
    Value(Option<Arc<[u8]>>),
    Page(Arc<Rows>),
}

#[derive(Debug, Clone)]
struct Weight;

impl quick_cache::Weighter<Name, Entry> for Weight {
    fn weight(&self, name: &Name, entry: &Entry) -> u64 {
        let name = match name {
            Name::Key(key) => key.len(),
            Name::Page(span, _) => {
                size_of::<Span>() + span.start.len() + span.end.as_ref().map_or(0, Vec::len)
            }
        };
        let kept = match &entry.kept {
            Kept::Value(value) => value.as_ref().map_or(0, |value| value.len()),
            Kept::Page(rows) => rows.size(),
        };
        (name + kept + OVERHEAD) as u64
    }
}

impl Cache {
    pub(crate) fn new(CacheOptions { bytes, time_to_live }: CacheOptions) -> Self {
        // A commit moves all that belongs to a slot, so there are many: with the spans that were asked for they take a
        // thirtieth of the cache, and 32 MiB at most.
        let count = (bytes / 512).clamp(64, 1 << 21).next_power_of_two();
        Self {
            entries: sync::Cache::with_weighter(bytes / 256, bytes as u64, Weight),
            slots: Slots::new(count),
            lengths: Lengths::default(),
            asked: std::iter::repeat_with(AtomicU64::default).take(count).collect(),
            largest: bytes / 8,
            time_to_live,
        }
    }

    /// The moment before what is read next.
    pub(crate) fn now(&self) -> Moment {
        self.slots.now()
    }

    /// The most bytes that a page may have.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// Looks for a key, as it is now and was at a moment.
    pub(crate) fn get(&self, key: &[u8], hash: u64, since: Option<Moment>) -> Cached<Option<Arc<[u8]>>> {
        // Before the entry: if nothing has begun by now, what the entry says is so.
        let Some(note) = self.slots.note(self.slots.of(hash), since) else { return Cached::Passing };
        match self.entries.get(&Asked::Key(key)).and_then(|entry| self.valid(entry, note)) {
            Some(Kept::Value(value)) => Cached::Known(value),
            _ => Cached::Unknown(note),
        }
    }

    /// Looks for a page, as it is now and was at a moment.
    pub(crate) fn page(
        &self,
        (span, direction, limits): (&Span, Direction, Limits),
        since: Option<Moment>,
    ) -> Cached<Arc<Rows>> {
        let asked = Asked::Page(span, direction);
        let entry = self.entries.get(&asked);
        // Most scans are never repeated. To copy their rows, and mark the prefixes of what is written, would be in vain.
        let end = span.end.as_deref().unwrap_or_default();
        if entry.is_none() && !self.was_asked(hash(&span.start).rotate_left(1) ^ hash(end)) {
            return Cached::Passing;
        }
        let length = self.lengths.up_to(shared(span), since, &self.slots);
        let prefix = length.and_then(|length| span.start.get(..length));
        let Some(note) = prefix.and_then(|prefix| self.slots.note(self.slots.of(hash(prefix)), since)) else {
            return Cached::Passing;
        };
        match entry.and_then(|entry| self.valid(entry, note)) {
            Some(Kept::Page(rows)) if rows.answer(limits) => Cached::Known(rows),
            _ => Cached::Unknown(note),
        }
    }

    fn valid(&self, entry: Entry, note: Note) -> Option<Kept> {
        (entry.note == note && entry.read.elapsed() < self.time_to_live).then_some(entry.kept)
    }

    /// Whether this hash was asked for lately: it is from now on.
    pub(crate) fn was_asked(&self, hash: u64) -> bool {
        let place = self.asked.get(self.slots.of(hash));
        place.is_some_and(|place| place.swap(hash, Ordering::Relaxed) == hash)
    }

    /// Leaves the value that the store has for a key.
    pub(crate) fn leave(&self, key: &[u8], value: Option<Arc<[u8]>>, note: Note) {
        let entry = Entry { kept: Kept::Value(value), note, read: Instant::now() };
        self.entries.insert(Name::Key(key.into()), entry);
    }

    /// Leaves the rows that the store has in a span.
    pub(crate) fn leave_page(&self, span: &Span, direction: Direction, rows: Rows, note: Note) {
        let entry = Entry { kept: Kept::Page(Arc::new(rows)), note, read: Instant::now() };
        self.entries.insert(Name::Page(Box::new(span.clone()), direction), entry);
    }

    /// A commit of these keys is about to begin.
    pub(crate) fn begin<'k>(&self, keys: impl Iterator<Item = (&'k [u8], u64)>) -> Marked {
        let told = self.lengths.begin();
        let (mut slots, mut before) = (Vec::new(), [].as_slice());
        for (key, whole) in keys {
            slots.push(self.slots.of(whole));
            // Neighbours have their prefixes in common.
            let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
            let prefixes =
                told.lengths().filter(|length| *length > same).map_while(|length| key.get(..length));
            slots.extend(prefixes.map(|prefix| self.slots.of(hash(prefix))));
            before = key;
        }
        slots.sort_unstable();
        slots.dedup();
        self.slots.begin(&slots);
        Marked { slots, told }
    }

    /// The commit has ended, or nobody knows whether it will.
    pub(crate) fn end(&self, Marked { slots, told }: &Marked, lost: bool) {
        match lost {
            true => self.slots.lose(slots),
            false => self.slots.end(slots),
        }
        self.lengths.end(*told, lost, &self.slots);
    }

    pub(crate) fn entries(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.entries.weight()
    }
}

/// How many bytes all keys of a span begin with.
fn shared(span: &Span) -> usize {
    let start = span.start.as_slice();
    let all_ff = |bytes: &[u8]| bytes.iter().take_while(|byte| **byte == 0xFF).count();
    let Some(end) = &span.end else { return all_ff(start) };
    let same = start.iter().zip(end).take_while(|(a, b)| a == b).count();
    match (start.split_at_checked(same + 1), end.get(same..)) {
        // The end of a prefix is the next byte and nothing else: every key has the byte before.
        (Some((head, behind)), Some([next]))
            if head.last().is_some_and(|last| last.checked_add(1) == Some(*next)) =>
        {
            same + 1 + all_ff(behind)
        }
        _ => same,
    }
}

#[cfg(test)]
mod tests;
