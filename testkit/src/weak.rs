//! A store in memory that can do no more than a cluster: it commits one record with its entries as one, judges conditions
//! on other keys by what it read a lease ago, and has no snapshots.
//!
//! What a layer above asks beyond that is refused, so whatever passes on it asks for no more.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use keyloom_key::Span;
use keyloom_store::{
    About, Batch, Capability, Condition, Counter, Direction, Error, Limits, Page, Read, Sequence, Store,
};

/// How many rows of a page are of one state.
const CHUNK: usize = 3;

/// A client of a store with a cluster's limits. A clone is another client of the same store.
///
/// A client that knows a key by a [condition](Condition) goes by what it knows for the whole lease: as late as it may.
#[derive(Debug)]
pub struct Weak {
    shared: Arc<Mutex<State>>,
    lease: Duration,
    /// The values of keys that conditions were on, and when they were read.
    copies: Mutex<BTreeMap<Vec<u8>, Known>>,
    calls: AtomicUsize,
    /// How many commits this client has made: like a cluster's, it does not know of those of others.
    commits: AtomicU64,
}

/// When a key was read, and its value.
type Known = (Instant, Option<Vec<u8>>);

#[derive(Debug, Default)]
struct State {
    rows: BTreeMap<Vec<u8>, Held>,
}

/// A value, and what it is.
#[derive(Debug, Clone)]
struct Held {
    value: Vec<u8>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Record,
    /// An entry of the record with this key.
    Entry(Vec<u8>),
    Member,
}

impl Clone for Weak {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), ..Self::new(self.lease) }
    }
}

impl Weak {
    /// An empty store, whose clients go by what they know for so long.
    pub fn new(lease: Duration) -> Self {
        let (calls, commits) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { shared: Arc::default(), lease, copies: Mutex::default(), calls, commits }
    }

    /// Takes an entry away behind everybody's back.
    pub fn lose(&self, key: &[u8]) {
        self.state().rows.remove(key);
    }

    /// Gives a record an entry behind everybody's back.
    pub fn invent(&self, key: &[u8], value: &[u8], record: &[u8]) {
        let held = Held { value: value.to_vec(), kind: Kind::Entry(record.to_vec()) };
        self.state().rows.insert(key.to_vec(), held);
    }

    /// How many keys there are, and how many of them are entries of records that are not there.
    pub fn count(&self) -> (usize, usize) {
        let state = self.state();
        let lost =
            |held: &&Held| matches!(&held.kind, Kind::Entry(record) if !state.rows.contains_key(record));
        (state.rows.len(), state.rows.values().filter(lost).count())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets others go first every now and then, so that calls of one task meet.
    async fn turn(&self) {
        let mut wait = self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(3);
        poll_fn(|context| {
            if !std::mem::take(&mut wait) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Whether a condition on a key that is not written holds, by what this client knows of it.
    fn holds_by_copy(&self, state: &State, key: &[u8], expected: Option<&[u8]>) -> bool {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let known = copies.get(key).filter(|(read, _)| read.elapsed() < self.lease);
        // One that denies is read anew: only what allows may be old.
        if known.is_some_and(|(_, value)| value.as_deref() == expected) {
            return true;
        }
        let now = state.rows.get(key).map(|held| held.value.clone());
        let holds = now.as_deref() == expected;
        copies.insert(key.to_vec(), (Instant::now(), now));
        holds
    }

    fn unsupported(what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
        Error::Unsupported { store: "weak", what: what.into() }
    }

    fn commit_now(&self, batch: &Batch) -> Result<Sequence, Error> {
        let writes: BTreeMap<&[u8], Option<&[u8]>> = batch.writes().collect();
        if writes.contains_key(&b""[..]) {
            return Err(Error::Refused("a key must not be empty".into()));
        }
        let mut state = self.state();
        for condition in batch.conditions() {
            let (key, expected) = match condition {
                Condition::Absent(key) => (key, None),
                Condition::Is { key, value } => (key, Some(value.as_slice())),
                _ => return Err(Self::unsupported("see whether a span is unchanged")),
            };
            let holds = match writes.contains_key(key.as_slice()) {
                true => state.rows.get(key).map(|held| held.value.as_slice()) == expected,
                false => self.holds_by_copy(&state, key, expected),
            };
            if !holds {
                return Err(Error::Conflict(Box::new(condition.clone())));
            }
        }
        match batch.subject() {
            About::Record(record) => state.write_record(record, &writes)?,
            About::Members => state.write_members(&writes)?,
            _ => match writes.first_key_value() {
                Some(_) if writes.len() > 1 => {
                    return Err(Self::unsupported(
                        "commit several keys that have nothing to do with each other",
                    ));
                }
                Some((key, _)) => state.write_record(key, &writes)?,
                None => {}
            },
        }
        Ok(Sequence(self.commits.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

impl State {
    fn write_record(&mut self, record: &[u8], writes: &BTreeMap<&[u8], Option<&[u8]>>) -> Result<(), Error> {
        if self.rows.get(record).is_some_and(|held| held.kind != Kind::Record) {
            return Err(Weak::unsupported(format!("take {} for a record", record.escape_ascii())));
        }
        let own = Kind::Entry(record.to_vec());
        let stays = writes.get(record).map_or(self.rows.contains_key(record), Option::is_some);
        for (key, value) in writes.iter().filter(|(key, _)| **key != record) {
            let other = self.rows.get(*key).filter(|held| held.kind != own);
            // What is not its own stays, if it is not to be: only a record or a member cannot be an entry at all.
            let wrong = match other.map(|held| &held.kind) {
                Some(Kind::Entry(_)) => value.is_some(),
                Some(Kind::Record | Kind::Member) => true,
                None => value.is_some() && !stays,
            };
            if wrong {
                let (key, record) = (key.escape_ascii(), record.escape_ascii());
                return Err(Weak::unsupported(format!("take {key} for an entry of {record}")));
            }
        }
        for (key, value) in writes {
            let kind = if *key == record { Kind::Record } else { own.clone() };
            match value {
                Some(value) => drop(self.rows.insert(key.to_vec(), Held { value: value.to_vec(), kind })),
                None if self.rows.get(*key).is_some_and(|held| held.kind == kind) => {
                    self.rows.remove(*key);
                }
                None => {}
            }
        }
        if !stays {
            self.rows.retain(|_, held| held.kind != own);
        }
        Ok(())
    }

    fn write_members(&mut self, writes: &BTreeMap<&[u8], Option<&[u8]>>) -> Result<(), Error> {
        for (key, value) in writes {
            let other = self.rows.get(*key).is_some_and(|held| held.kind != Kind::Member);
            if other || value.is_some_and(|value| !value.is_empty()) {
                return Err(Weak::unsupported(format!("take {} for a member", key.escape_ascii())));
            }
            match value {
                Some(_) => {
                    self.rows.insert(key.to_vec(), Held { value: Vec::new(), kind: Kind::Member });
                }
                None => drop(self.rows.remove(*key)),
            }
        }
        Ok(())
    }

    /// The next rows of a span.
    fn chunk(&self, span: &Span, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
        let rows = self.rows.range::<[u8], _>(span.bounds());
        let row = |(key, held): (&Vec<u8>, &Held)| (key.clone(), held.value.clone());
        match direction {
            Direction::Forward => rows.take(CHUNK).map(row).collect(),
            Direction::Backward => rows.rev().take(CHUNK).map(row).collect(),
        }
    }
}

impl Read for Weak {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        self.turn().await;
        let value = self.state().rows.get(key).map(|held| held.value.clone());
        Ok(value.as_deref().map(look))
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        for (number, key) in keys.iter().enumerate() {
            self.turn().await;
            // Not under the lock: whoever looks may write.
            let value = self.state().rows.get(key.as_ref()).map(|held| held.value.clone());
            look(number, value.as_deref());
        }
        Ok(())
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        let mut counter = Counter::new(limits);
        let mut left = span.clone();
        loop {
            self.turn().await;
            let rows = self.state().chunk(&left, direction);
            if rows.is_empty() {
                return Ok(counter.finished());
            }
            for (key, value) in rows {
                let more = counter.count(&key, &value);
                if look(&key, &value).is_break() || !more {
                    return Ok(counter.stopped(span, direction, &key));
                }
                match direction {
                    Direction::Forward => left.start = [&*key, &[0]].concat(),
                    Direction::Backward => left.end = Some(key),
                }
            }
        }
    }
}

impl Store for Weak {
    type Snapshot = Never;

    fn capability(&self) -> Capability {
        let mut capability = Capability::least("weak");
        capability.record_batch = true;
        capability.conditions = true;
        capability.ordered = true;
        capability.lease = Some(self.lease);
        capability
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        self.turn().await;
        self.commit_now(&batch)
    }

    async fn sequence(&self) -> Result<Sequence, Error> {
        Ok(Sequence(self.commits.load(Ordering::Relaxed)))
    }

    async fn snapshot(&self) -> Result<Never, Error> {
        Err(Self::unsupported("hold a state"))
    }
}

/// The snapshot that there never is.
#[derive(Debug)]
pub enum Never {}

impl Read for Never {
    async fn get<T: Send>(&self, _: &[u8], _: impl FnOnce(&[u8]) -> T + Send) -> Result<Option<T>, Error> {
        match *self {}
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        _: &[K],
        _: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        match *self {}
    }

    async fn scan(
        &self,
        _: &Span,
        _: Direction,
        _: Limits,
        _: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        match *self {}
    }
}
