//! What is committed as one: writes, and what must hold for them to happen.

use std::fmt;

use keyloom_key::Span;

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::store::Sequence;

/// Writes that are committed as one, if all conditions hold.
///
/// Of several writes to one key the last counts. Keys and values lie in pieces of a megabyte, so that a batch of millions costs
/// some hundred allocations.
///
/// ```
/// use keyloom_store::Batch;
/// let batch = Batch::new().put("user:1", "Ada").delete("user:2").require_absent("user:1");
/// assert_eq!(batch.writes().len(), 2);
/// assert_eq!(batch.writes().next(), Some((b"user:1".as_slice(), Some(b"Ada".as_slice()))));
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Batch {
    /// The key and the value of each write, one behind the other; the last piece is added to until it is [full](PIECE).
    bytes: Vec<Vec<u8>>,
    places: Vec<Place>,
    conditions: Vec<Condition>,
    /// The commit after which all conditions held.
    held_at: Option<Sequence>,
    about: About,
}

/// The room that a batch begins with, in bytes: a record with its entries.
const FIRST: usize = 512;
/// A piece is full when it has so many bytes, and there is another: if it grew on, it would be copied again and again, into
/// memory that is new each time. Tests have few bytes, and several pieces nevertheless.
const PIECE: usize = if cfg!(test) { 16 } else { 1 << 20 };
/// The room behind that, for a write that begins just before.
const MORE: usize = PIECE / 16;

/// How many writes are brought from memory at once.
const AHEAD: usize = 16;
/// The bytes of a line of the cache, and how many lines of a write are brought at most.
const LINE: usize = 64;
const LINES: usize = 8;

/// What the writes of a batch have to do with one another. A store with
/// [atomic batches](crate::Capability::atomic_batch) need not know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum About {
    /// Nothing is known of it.
    #[default]
    Anything,
    /// The record with this key: all other keys are entries that belong to it, and to no other record.
    ///
    /// Without atomic batches, a key that is deleted and is not an entry of this record stays as it is, and a record that
    /// is deleted takes all its entries with it.
    Record(Vec<u8>),
    /// Members of sets: keys without values that come and go by themselves, each as if it were alone.
    Members,
}

/// Where a write lies. Batches have millions, and what they take is brought into the process page by page, so it is small.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    /// The length of the value; [`Self::DELETED`] deletes the key.
    value: usize,
    piece: u32,
    /// The length of the key: of [`Self::TOO_LONG`] if it has so many bytes or more, which no store takes.
    key: u32,
}

impl Place {
    /// No value has so many bytes.
    const DELETED: usize = usize::MAX;
    /// No key that is [checked](Batch::check_keys) has so many.
    const TOO_LONG: u32 = u32::MAX;

    fn new(piece: usize, start: usize, key: usize, value: Option<usize>) -> Self {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(Self::TOO_LONG);
        let value = value.unwrap_or(Self::DELETED);
        Self { start, value, piece: narrow(piece), key: narrow(key) }
    }

    fn piece(&self) -> usize {
        usize::try_from(self.piece).unwrap_or(usize::MAX)
    }

    fn key(&self) -> usize {
        usize::try_from(self.key).unwrap_or(usize::MAX)
    }

    fn value(&self) -> Option<usize> {
        Some(self.value).filter(|length| *length != Self::DELETED)
    }
}

/// What must hold when a batch is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// The key is not there.
    Absent(Vec<u8>),
    /// The key has this value.
    Is {
        /// The key.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// The span holds exactly the keys and values that this is the fingerprint of.
    Unchanged {
        /// The span.
        span: Span,
        /// What it held when it was read.
        fingerprint: Fingerprint,
    },
}

impl fmt::Display for Condition {
    /// What was required, with keys as text where they are text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(key) => write!(f, "key {} is there, and should not be", key.escape_ascii()),
            Self::Is { key, .. } => write!(f, "key {} has not the value it should have", key.escape_ascii()),
            Self::Unchanged { span, fingerprint } => {
                let end =
                    span.end.as_ref().map_or("the end".to_owned(), |end| end.escape_ascii().to_string());
                let rows = fingerprint.rows();
                write!(f, "the {rows} keys from {} to {end} have changed", span.start.escape_ascii())
            }
        }
    }
}

impl Batch {
    /// A batch that does nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and a key gets a value.
    pub fn put(mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.write(key.as_ref(), Some(value.as_ref()));
        self
    }

    /// The same, and a key goes, if it is there.
    pub fn delete(mut self, key: impl AsRef<[u8]>) -> Self {
        self.write(key.as_ref(), None);
        self
    }

    /// Adds a write: a value for a key, or `None` to delete it.
    pub fn write(&mut self, key: &[u8], value: Option<&[u8]>) {
        if self.bytes.last().is_none_or(|piece| piece.len() >= PIECE) {
            let room = if self.bytes.is_empty() { FIRST } else { PIECE + MORE };
            self.bytes.push(Vec::with_capacity(room));
        }
        let piece = self.bytes.len() - 1;
        let Some(bytes) = self.bytes.last_mut() else { return };
        let start = bytes.len();
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value.unwrap_or_default());
        self.places.push(Place::new(piece, start, key.len(), value.map(<[u8]>::len)));
    }

    /// Adds a value for a key that `write` appends; nothing is added if it fails.
    pub fn write_with<E>(
        &mut self,
        key: &[u8],
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.write(key, None);
        let (Some(bytes), Some(place)) = (self.bytes.last_mut(), self.places.last_mut()) else {
            return Ok(());
        };
        let start = place.start + place.key();
        match write(bytes) {
            Ok(()) => place.value = bytes.len().saturating_sub(start),
            Err(error) => {
                bytes.truncate(place.start);
                self.places.pop();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Adds all that another batch has, behind what this one has. Its bytes are not copied.
    pub fn append(&mut self, other: Self) {
        self.held_at = None;
        if self.places.is_empty() {
            (self.bytes, self.places) = (other.bytes, other.places);
            self.conditions.extend(other.conditions);
            return;
        }
        let before = self.bytes.len();
        self.bytes.extend(other.bytes);
        let places = other.places.into_iter();
        let moved =
            |place: Place| Place::new(before + place.piece(), place.start, place.key(), place.value());
        self.places.extend(places.map(moved));
        self.conditions.extend(other.conditions);
    }

    /// Brings the writes into the order of their keys, which is the order that stores write fastest in.
    ///
    /// Writes to one key stay as they are among one another. Returns the first key that is written twice.
    pub fn sort(&mut self) -> Option<&[u8]> {
        // The 16 bytes behind what all keys begin with lie beside their neighbours in memory; the keys themselves are
        // looked at only where those are equal.
        let first = self.places.first().map(|place| self.key(place))?;
        let shared = self.places.iter().fold(first.len(), |shared, place| {
            first.iter().zip(self.key(place)).take(shared).take_while(|(a, b)| a == b).count()
        });
        let head = |place: &Place| {
            let rest = self.key(place).get(shared..).unwrap_or_default();
            let mut words = [[0; 8]; 2];
            let head = words.as_flattened_mut();
            match rest.get(..head.len()) {
                Some(first) => head.copy_from_slice(first),
                None => head.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte),
            }
            words.map(u64::from_be_bytes)
        };
        let mut order: Vec<([u64; 2], usize)> = self.places.iter().map(head).zip(0..).collect();
        let key = |number: usize| self.places.get(number).map(|place| self.key(place)).unwrap_or_default();
        order.sort_unstable_by(|(a, one), (b, other)| {
            a.cmp(b).then_with(|| key(*one).cmp(key(*other))).then(one.cmp(other))
        });
        let next = order.iter().skip(1);
        let twin =
            order.iter().zip(next).position(|((a, one), (b, other))| a == b && key(*one) == key(*other));
        // A place is as large as what is known of it in the order, whose memory it takes.
        self.places = order.into_iter().filter_map(|(_, number)| self.places.get(number).copied()).collect();
        self.places.get(twin?).map(|place| self.key(place))
    }

    fn key(&self, place: &Place) -> &[u8] {
        self.look(place).0
    }

    fn look(&self, place: &Place) -> (&[u8], Option<&[u8]>) {
        let bytes =
            self.bytes.get(place.piece()).and_then(|bytes| bytes.get(place.start..)).unwrap_or_default();
        let (key, rest) = bytes.split_at_checked(place.key()).unwrap_or_default();
        (key, place.value().map(|length| rest.get(..length).unwrap_or_default()))
    }

    /// The same, with the knowledge that all its conditions hold in the state after this commit: while it is the last, a
    /// store need not look.
    pub fn held_at(self, sequence: Sequence) -> Self {
        Self { held_at: Some(sequence), ..self }
    }

    /// The conditions that have to be looked at in a store whose last commit is this.
    pub fn conditions_after(&self, last: Sequence) -> &[Condition] {
        if self.held_at == Some(last) { &[] } else { &self.conditions }
    }

    /// The same, only if this holds.
    pub fn require(mut self, condition: Condition) -> Self {
        self.held_at = None;
        self.conditions.push(condition);
        self
    }

    /// The same, only if the key is not there.
    pub fn require_absent(self, key: impl Into<Vec<u8>>) -> Self {
        self.require(Condition::Absent(key.into()))
    }

    /// The same, only if the key has this value.
    pub fn require_value(self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        self.require(Condition::Is { key: key.into(), value: value.into() })
    }

    /// The same, only if the span holds what it held when it was read.
    pub fn require_unchanged(self, span: Span, fingerprint: Fingerprint) -> Self {
        self.require(Condition::Unchanged { span, fingerprint })
    }

    /// The same, and the writes have this to do with one another.
    pub fn about(self, about: About) -> Self {
        Self { about, ..self }
    }

    /// What the writes have to do with one another.
    pub fn subject(&self) -> &About {
        &self.about
    }

    /// The writes, in the order they were given: each a key with its new value, or `None` if it goes.
    pub fn writes(&self) -> impl ExactSizeIterator<Item = (&[u8], Option<&[u8]>)> {
        self.places.iter().enumerate().map(|(number, place)| {
            if number % AHEAD == 0 {
                self.fetch(number + AHEAD);
            }
            self.look(place)
        })
    }

    /// Brings the bytes of the next writes from memory, all at the same time: sorted, they lie far apart, and each alone
    /// would be waited for.
    fn fetch(&self, from: usize) {
        let next = self.places.get(from..).unwrap_or_default().iter().take(AHEAD);
        let bytes = next.flat_map(|place| {
            let bytes = self.bytes.get(place.piece()).map(Vec::as_slice).unwrap_or_default();
            let end = place.start + place.key() + place.value().unwrap_or(0);
            let row = bytes.get(place.start..end).unwrap_or_default();
            row.iter().step_by(LINE).take(LINES).chain(row.last())
        });
        std::hint::black_box(bytes.fold(0, |sum, byte| sum ^ byte));
    }

    /// Refuses the empty key, and a key of more than `most` bytes: what a store does before it writes anything.
    pub fn check_keys(&self, most: usize) -> Result<(), Error> {
        let is_wrong = |place: &&Place| matches!(place.key, 0 | Place::TOO_LONG) || place.key() > most;
        match self.places.iter().find(is_wrong) {
            None => Ok(()),
            Some(place) if place.key == 0 => Err(Error::Refused("the empty key".into())),
            Some(place) => {
                let start = self.key(place).get(..32).unwrap_or_default().escape_ascii();
                let reason = format!("a key of {} bytes ({start}…), where {most} is the most", place.key());
                Err(Error::Refused(reason.into()))
            }
        }
    }

    /// How many bytes its keys and values have.
    pub fn size(&self) -> usize {
        self.bytes.iter().map(Vec::len).sum()
    }

    /// The conditions.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
}

/// Two batches are equal if they do the same in the same order.
impl PartialEq for Batch {
    fn eq(&self, other: &Self) -> bool {
        self.conditions == other.conditions && self.writes().eq(other.writes())
    }
}

impl Eq for Batch {}

#[cfg(test)]
mod tests;
