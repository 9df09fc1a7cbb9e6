//! Splitting and merging, while writers write and a reader reads.
//!
//! ```text
//! split  key 1 moves from shard 0 to a fresh shard; key 0 stays
//! merge  keys 0 and 1 move from shards 0 and 1 to a fresh one
//! ```
//!
//! Both are one move: Announce (deletions go to both shards) → wait → Prepare (insertions too) → wait → copy → Echo → wait →
//! Clear → wait → delete what was left behind → Active. Two movers race; either may stop for good at any step (it just takes no more), and the other goes on from what the map says.
//!
//! A statement is sent and takes effect at some later step, or never. Time is in the leases alone: a stale copy of the map
//! expires at any moment, and a mover that waits goes on when all copies older than what it saw have expired.

mod mover;

use stateright::{Model, Property};

use mover::Mover;

/// What is done to the shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Key 1 moves out of shard 0.
    Split,
    /// Both keys move into one shard.
    Merge,
}

/// A way to get it wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Insertions go to both shards while some clients delete only in one.
    NoAnnounce,
    /// Writers write only to where rows are read.
    NoDualWrite,
    /// Movers do not wait for the leases.
    NoWait,
    /// Writers acknowledge what ended after their lease.
    LateAcknowledgement,
    /// Readers believe what they read after their lease.
    LateRead,
    /// The map is changed by two writes: the old range goes, then the new one comes.
    TwoWrites,
    /// A merge moves rows into a shard that has been split before: a range deletion lies there.
    OldShard,
    /// Rows are copied with the time of the copy.
    CopiedAsNew,
    /// The map is changed without a look at its version.
    NoEpoch,
}

/// A row of the model: its key and its id in one number.
pub type Row = usize;

/// What a writer does with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// It comes.
    Insert(Row),
    /// It goes.
    Delete(Row),
}

/// Rows 0 and 1 have key 1, rows 2 and 3 key 0.
const KEY: [usize; 4] = [1, 1, 0, 0];
/// Rows that are there from the start.
const FIRST: u8 = 0b0101;

/// The model: one change, two movers, two writers, one reader.
pub struct Shards {
    /// What the movers do.
    pub change: Change,
    /// What each writer does, in its order.
    pub writers: [Vec<Write>; 2],
    /// What is wrong with the protocol, if anything.
    pub broken: Option<Broken>,
}

/// Where the rows of a key are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    shard: usize,
    state: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Active,
    Announce { to: usize },
    Prepare { to: usize },
    Echo { to: usize },
    Clear { of: usize },
}

/// The map, by key. A key without a place is a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Map {
    version: u8,
    places: [Option<Place>; 2],
}

/// A partition: a bit a row, a bit a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Shard {
    inserted: u8,
    deleted: u8,
    cleared: u8,
}

impl Shard {
    /// What a reader sees: a deletion counts over an insertion of the same time, a range deletion over all before it.
    fn rows(self, key: usize) -> u8 {
        if self.cleared >> key & 1 == 1 { 0 } else { self.inserted & !self.deleted & rows_of(key) }
    }
}

fn rows_of(key: usize) -> u8 {
    (0..KEY.len()).filter(|row| KEY[*row] == key).fold(0, |rows, row| rows | 1 << row)
}

/// A writer: the write that it is at, whom it sent it to, and its copy of the map; none if that has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Writer {
    at: usize,
    sent: bool,
    copy: Option<Map>,
}

/// A state of the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    map: Map,
    shards: [Shard; 4],
    /// Statements under way: to each shard, a bit a row.
    inserts: [u8; 4],
    deletes: [u8; 4],
    copies: [u8; 4],
    writers: [Writer; 2],
    movers: [Mover; 2],
    /// The reader's copy; none if that has expired. Whatever it reads by it must be right.
    reader: Option<Map>,
    /// A copy that has expired, of a reader that does not care.
    late: Option<Map>,
    /// Fresh shards that were taken.
    taken: u8,
    /// Rows whose insertion was acknowledged, whose deletion has begun, and was acknowledged.
    acknowledged: u8,
    going: u8,
    gone: u8,
}

impl State {
    /// What is read by a copy of the map.
    fn read(&self, map: Map) -> u8 {
        let rows = |(key, place): (usize, &Option<Place>)| {
            place.map_or(0, |place| self.shards[place.shard].rows(key))
        };
        map.places.iter().enumerate().map(rows).fold(0, |all, rows| all | rows)
    }
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// An insertion takes effect.
    Inserted(usize, Row),
    /// A deletion takes effect.
    Deleted(usize, Row),
    /// The insertion of a copied row takes effect.
    Copied(usize, Row),
    /// A writer's lease ends.
    WriterExpires(usize),
    /// A writer sends its statements, after it has read the map if its lease had ended.
    Send(usize),
    /// A writer acknowledges.
    Acknowledge(usize),
    /// A mover takes its next step.
    Move(usize),
    /// A mover that stood still sees that the map is another.
    LookAgain(usize),
    /// A mover gives the change up.
    Abandon(usize),
    /// The reader's lease ends.
    ReaderExpires,
    /// The reader reads the map.
    ReaderFetches,
}

impl Shards {
    fn is(&self, broken: Broken) -> bool {
        self.broken == Some(broken)
    }

    /// The keys that move.
    fn moving(&self) -> &'static [usize] {
        match self.change {
            Change::Split => &[1],
            Change::Merge if self.is(Broken::OldShard) => &[1],
            Change::Merge => &[0, 1],
        }
    }

    /// The shard that had the key before the change.
    fn origin(&self, key: usize) -> usize {
        match self.change {
            Change::Split => 0,
            Change::Merge => key,
        }
    }

    /// The shard that a mover moves to.
    fn fresh(&self, mover: usize) -> usize {
        if self.is(Broken::OldShard) { 0 } else { 2 + mover }
    }

    /// The shards that a write goes to.
    fn targets(&self, write: Write, place: Place) -> u8 {
        let also = match (place.state, write) {
            _ if self.is(Broken::NoDualWrite) => 0,
            (Phase::Announce { to }, Write::Delete(_)) => 1 << to,
            (Phase::Prepare { to } | Phase::Echo { to }, _) => 1 << to,
            _ => 0,
        };
        1 << place.shard | also
    }

    /// Whether all copies that are older than this map have expired.
    fn waited(&self, state: &State, map: Map) -> bool {
        let copies = state.writers.iter().filter_map(|writer| writer.copy).chain(state.reader);
        self.is(Broken::NoWait) || copies.into_iter().all(|copy| copy.version >= map.version)
    }

    /// Changes the map if it is still the one that was seen.
    fn swap(&self, state: &mut State, seen: Map, place: impl Fn(usize, Place) -> Option<Place>) {
        if state.map.version == seen.version || self.is(Broken::NoEpoch) {
            state.map.version += 1;
            for &key in self.moving() {
                state.map.places[key] = seen.places[key].and_then(|before| place(key, before));
            }
        }
    }

    /// The maps that someone may read by now.
    fn read_by(state: &State) -> impl Iterator<Item = Map> {
        [Some(state.map), state.reader, state.late].into_iter().flatten()
    }
}

impl Model for Shards {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let place = |key| Some(Place { shard: self.origin(key), state: Phase::Active });
        let map = Map { version: 0, places: [place(0), place(1)] };
        let mut shards = [Shard::default(); 4];
        for key in [0, 1] {
            shards[self.origin(key)].inserted |= FIRST & rows_of(key);
        }
        if self.change == Change::Merge {
            // It was split once.
            shards[0].cleared = 0b10;
        }
        vec![State {
            map,
            shards,
            inserts: [0; 4],
            deletes: [0; 4],
            copies: [0; 4],
            writers: [0, 1].map(|number: usize| {
                let copy = self.writers[number].first().map(|_| map);
                Writer { at: 0, sent: false, copy }
            }),
            movers: [Mover::Look; 2],
            reader: Some(map),
            late: None,
            taken: 0,
            acknowledged: FIRST,
            going: 0,
            gone: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for shard in 0..4 {
            for row in 0..KEY.len() {
                let bit = |rows: [u8; 4]| rows[shard] >> row & 1 == 1;
                actions.extend(bit(state.inserts).then_some(Action::Inserted(shard, row)));
                actions.extend(bit(state.deletes).then_some(Action::Deleted(shard, row)));
                actions.extend(bit(state.copies).then_some(Action::Copied(shard, row)));
            }
        }
        let stale = |copy: Option<Map>| copy.is_some_and(|copy| copy.version < state.map.version);
        for (number, writer) in state.writers.iter().enumerate() {
            if self.writers[number].get(writer.at).is_some() {
                actions.extend(stale(writer.copy).then_some(Action::WriterExpires(number)));
                actions.extend([Action::Send(number), Action::Acknowledge(number)]);
            }
        }
        for mover in [0, 1] {
            actions.extend([Action::Move(mover), Action::LookAgain(mover), Action::Abandon(mover)]);
        }
        actions.extend(stale(state.reader).then_some(Action::ReaderExpires));
        actions.extend(state.reader.is_none().then_some(Action::ReaderFetches));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Inserted(shard, row) => {
                state.inserts[shard] &= !(1 << row);
                state.shards[shard].inserted |= 1 << row;
            }
            Action::Deleted(shard, row) => {
                state.deletes[shard] &= !(1 << row);
                state.shards[shard].deleted |= 1 << row;
            }
            Action::Copied(shard, row) => {
                state.copies[shard] &= !(1 << row);
                state.shards[shard].inserted |= 1 << row;
                if self.is(Broken::CopiedAsNew) {
                    state.shards[shard].deleted &= !(1 << row);
                }
            }
            // What was sent may still take effect, and is sent again by a fresh copy.
            Action::WriterExpires(number) => state.writers[number].copy = None,
            Action::Send(number) => {
                let Writer { at, sent, copy } = state.writers[number];
                if sent && copy.is_some() {
                    return None;
                }
                let copy = copy.unwrap_or(state.map);
                // Who deletes a row has seen it.
                if matches!(self.writers[number][at], Write::Delete(row) if state.acknowledged >> row & 1 == 0)
                {
                    return None;
                }
                let write = self.writers[number][at];
                let (Write::Insert(row) | Write::Delete(row)) = write;
                let targets = self.targets(write, copy.places[KEY[row]]?);
                let under_way = match write {
                    Write::Insert(_) => &mut state.inserts,
                    Write::Delete(_) => &mut state.deletes,
                };
                (0..4)
                    .filter(|shard| targets >> shard & 1 == 1)
                    .for_each(|shard| under_way[shard] |= 1 << row);
                state.going |= if let Write::Delete(row) = write { 1 << row } else { 0 };
                state.writers[number] = Writer { at, sent: true, copy: Some(copy) };
            }
            Action::Acknowledge(number) => {
                let Writer { at, sent: true, copy } = state.writers[number] else { return None };
                let write = self.writers[number][at];
                let (under_way, row) = match write {
                    Write::Insert(row) => (state.inserts, row),
                    Write::Delete(row) => (state.deletes, row),
                };
                let place = copy.and_then(|copy| copy.places[KEY[row]]);
                let targets = place.map_or(u8::MAX, |place| self.targets(write, place));
                let ended = (0..4).all(|shard| (targets >> shard) & (under_way[shard] >> row) & 1 == 0);
                if !ended || copy.is_none() && !self.is(Broken::LateAcknowledgement) {
                    return None;
                }
                match write {
                    Write::Insert(row) => state.acknowledged |= 1 << row,
                    Write::Delete(row) => state.gone |= 1 << row,
                }
                state.writers[number] = Writer { at: at + 1, sent: false, copy };
                if at + 1 == self.writers[number].len() {
                    state.writers[number].copy = None;
                }
            }
            Action::Move(mover) => self.step(mover, &mut state)?,
            Action::LookAgain(mover) => {
                let (Mover::Copy(seen) | Mover::Clear(seen)) = state.movers[mover] else { return None };
                if seen.version == state.map.version {
                    return None;
                }
                state.movers[mover] = Mover::Look;
            }
            Action::Abandon(mover) => self.abandon(mover, &mut state)?,
            Action::ReaderExpires => {
                let copy = state.reader.take();
                state.late = copy.filter(|_| self.is(Broken::LateRead));
            }
            Action::ReaderFetches => state.reader = Some(state.map),
        }
        self.settle(&mut state);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no acknowledged row is lost", |_, state: &State| {
                let must = state.acknowledged & !state.going;
                Shards::read_by(state).all(|map| must & !state.read(map) == 0)
            }),
            Property::always("no deleted row comes back", |_, state: &State| {
                Shards::read_by(state).all(|map| state.gone & state.read(map) == 0)
            }),
            Property::sometimes("it comes to its end", |model: &Shards, state: &State| {
                let at = state.writers.iter().map(|writer| writer.at);
                let moved = state.map.places[1].is_some_and(|place| place.shard != model.origin(1));
                at.eq(model.writers.iter().map(Vec::len)) && moved && state.movers.contains(&Mover::Done)
            }),
        ]
    }
}
