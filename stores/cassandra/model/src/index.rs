//! A record with one index entry: updaters race, a reader ignores dead rows and deletes them.
//!
//! ```text
//! read the cell → insert a row (base = the version read) → set the cell IF version = base → delete the row before
//!                                                              └ lost: delete the own row, once more from the start
//! ```
//!
//! A write, its version and its row have the same id. Row 0 is there from the start, with key 0.

use stateright::{Model, Property};

/// A way to get it wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A reader deletes a row that its record does not list, though the write that made it may yet commit.
    EarlyDelete,
    /// The cell is set before its row is there.
    CellFirst,
    /// A conditional write whose outcome is unknown is sent again, and its answer believed.
    BlindRetry,
    /// The same after a look that showed the old version: the first one may have come in between.
    RepeatBelieved,
    /// An update gives an entry that stays as it is a new row.
    RenewedRow,
    /// The cell of a deleted record goes while writes that began before are under way.
    EarlyVanish,
    /// A loser deletes all rows that the record does not list, not only its own.
    GreedyUndo,
}

/// What an updater does with the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// Its entry gets this key.
    Put(u8),
    /// It is deleted.
    Delete,
}

/// The model: one record, two or three updaters with two attempts each, one reader.
pub struct Index {
    /// Whether the record is there at the start.
    pub exists: bool,
    /// What each updater does.
    pub updates: Vec<Update>,
    /// What is wrong with the protocol, if anything.
    pub broken: Option<Broken>,
}

/// A write, its version and its row: 0 at the start, then two for each updater.
type Id = u8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Cell {
    version: Id,
    /// The write before it. One is kept, so that *neither* happens too.
    past: Option<Id>,
    /// The row that counts; none if the record is deleted.
    row: Option<Id>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Start,
    Insert {
        seen: Option<Cell>,
        cell: Cell,
    },
    Set {
        seen: Option<Cell>,
        cell: Cell,
        repeated: bool,
    },
    Answer {
        seen: Option<Cell>,
        cell: Cell,
    },
    Clear {
        seen: Option<Cell>,
        cell: Cell,
    },
    Undo,
    Done,
    /// The caller was told that the outcome is unknown.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Updater {
    attempt: u8,
    step: Step,
}

/// A conditional write under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Conditional {
    expected: Option<Id>,
    cell: Cell,
}

/// A state of the model. Sets of ids have a bit each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    cell: Option<Cell>,
    inserted: u8,
    deleted: u8,
    base: [Option<Id>; 7],
    inserts: u8,
    deletes: u8,
    /// Of each updater: the one that it waits for, and those that timed out.
    sent: Vec<Option<Conditional>>,
    stray: Vec<Option<Conditional>>,
    updaters: Vec<Updater>,
    /// Rows that the reader has read, before it reads the cell.
    reader: Option<u8>,
    missed: bool,
    committed: u8,
    told_won: u8,
    told_lost: u8,
}

impl State {
    fn rows(&self) -> u8 {
        self.inserted & !self.deleted
    }

    fn idle(&self) -> bool {
        let ended = |updater: &Updater| matches!(updater.step, Step::Start | Step::Done | Step::Unknown);
        self.updaters.iter().all(ended) && self.inserts == 0 && self.stray.iter().all(Option::is_none)
    }

    /// Sets the cell if its version is the expected one.
    fn set(&mut self, write: Conditional) -> bool {
        let applies = self.cell.map(|cell| cell.version) == write.expected;
        if applies {
            self.cell = Some(write.cell);
            self.committed |= 1 << write.cell.version;
        }
        applies
    }
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The insertion of a row takes effect.
    Inserted(Id),
    /// The deletion of a row takes effect.
    Deleted(Id),
    /// An updater takes its next step.
    Next(usize),
    /// An updater's conditional write takes effect, if it may, and the answer comes.
    Answered(usize),
    /// The answer does not come; the write is still under way.
    TimesOut(usize),
    /// A conditional write that timed out takes effect, if it may.
    Late(usize),
    /// The reader reads the rows.
    ReadRows,
    /// The reader reads the cell and deletes what is dead.
    ReadCell,
    /// The cell of a deleted record goes after its time.
    Vanish,
}

impl Index {
    fn is(&self, broken: Broken) -> bool {
        self.broken == Some(broken)
    }

    fn key(&self, row: Id) -> u8 {
        match row.checked_sub(1).map(|id| self.updates[usize::from(id / 2)]) {
            Some(Update::Put(key)) => key,
            Some(Update::Delete) | None => 0,
        }
    }

    fn next(&self, number: usize, state: &mut State) -> Option<()> {
        let Updater { attempt, step } = state.updaters[number];
        let own = u8::try_from(number).ok()? * 2 + attempt + 1;
        let gone = |rows: u8| state.deletes & rows == 0;
        let step = match step {
            Step::Start => {
                let seen = state.cell;
                let before = seen.and_then(|cell| cell.row);
                let row = match self.updates[number] {
                    Update::Delete if before.is_none() => None,
                    Update::Delete => Some(None),
                    Update::Put(key) => {
                        let stays =
                            before.filter(|row| self.key(*row) == key && !self.is(Broken::RenewedRow));
                        Some(Some(stays.unwrap_or(own)))
                    }
                };
                match row {
                    None => Step::Done,
                    Some(row) => {
                        let cell = Cell { version: own, past: seen.map(|cell| cell.version), row };
                        if row == Some(own) {
                            state.base[usize::from(own)] = seen.map(|cell| cell.version);
                            state.inserts |= 1 << own;
                        }
                        Step::Insert { seen, cell }
                    }
                }
            }
            Step::Insert { seen, cell } => {
                if state.inserts & 1 << own != 0 && !self.is(Broken::CellFirst) {
                    return None;
                }
                state.sent[number] = Some(Conditional { expected: seen.map(|cell| cell.version), cell });
                Step::Set { seen, cell, repeated: false }
            }
            // What is not known is read: at SERIAL, where what was accepted counts.
            Step::Answer { seen, cell } => {
                let base = seen.map(|cell| cell.version);
                let now = state.cell.map(|cell| cell.version);
                let past = state.cell.and_then(|cell| cell.past);
                if now == Some(own) || past == Some(own) {
                    state.told_won |= 1 << own;
                    Step::Clear { seen, cell }
                } else if now == base {
                    state.sent[number] = Some(Conditional { expected: base, cell });
                    Step::Set { seen, cell, repeated: true }
                } else if past == base && now.is_some() {
                    state.told_lost |= 1 << own;
                    Step::Undo
                } else {
                    Step::Unknown
                }
            }
            Step::Clear { seen, cell } => {
                let before = seen.and_then(|cell| cell.row).filter(|row| cell.row != Some(*row));
                let before = before.map_or(0, |row| 1 << row);
                if before & !state.deleted != 0 {
                    if state.deletes & before != 0 {
                        return None;
                    }
                    state.deletes |= before;
                    Step::Clear { seen, cell }
                } else {
                    Step::Done
                }
            }
            Step::Undo => {
                let listed = state.cell.and_then(|cell| cell.row).map_or(0, |row| 1 << row);
                let undone = if self.is(Broken::GreedyUndo) { state.rows() & !listed } else { 1 << own };
                let undone = undone & (state.inserted | state.inserts) & !state.deleted;
                if undone != 0 {
                    if !gone(undone) {
                        return None;
                    }
                    state.deletes |= undone;
                    Step::Undo
                } else if attempt == 0 {
                    state.updaters[number].attempt = 1;
                    Step::Start
                } else {
                    Step::Done
                }
            }
            Step::Set { .. } | Step::Done | Step::Unknown => return None,
        };
        state.updaters[number].step = step;
        Some(())
    }
}

impl Model for Index {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let cell = Cell { version: 0, past: None, row: Some(0) };
        let there = u8::from(self.exists);
        vec![State {
            cell: self.exists.then_some(cell),
            inserted: there,
            deleted: 0,
            base: [None; 7],
            inserts: 0,
            deletes: 0,
            sent: vec![None; self.updates.len()],
            stray: vec![None; self.updates.len()],
            updaters: vec![Updater { attempt: 0, step: Step::Start }; self.updates.len()],
            reader: None,
            missed: false,
            committed: there,
            told_won: 0,
            told_lost: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for id in 0..7 {
            actions.extend((state.inserts & 1 << id != 0).then_some(Action::Inserted(id)));
            actions.extend((state.deletes & 1 << id != 0).then_some(Action::Deleted(id)));
        }
        for number in 0..self.updates.len() {
            actions.push(Action::Next(number));
            if state.sent[number].is_some() {
                actions.extend([Action::Answered(number), Action::TimesOut(number)]);
            }
            actions.extend(state.stray[number].is_some().then_some(Action::Late(number)));
        }
        actions.push(if state.reader.is_none() { Action::ReadRows } else { Action::ReadCell });
        actions.push(Action::Vanish);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Inserted(id) => {
                state.inserts &= !(1 << id);
                state.inserted |= 1 << id;
            }
            Action::Deleted(id) => {
                state.deletes &= !(1 << id);
                state.deleted |= 1 << id;
            }
            Action::Next(number) => self.next(number, &mut state)?,
            Action::Answered(number) => {
                let write = state.sent[number].take()?;
                let Step::Set { seen, cell, repeated } = state.updaters[number].step else { return None };
                let believed = !repeated || self.is(Broken::BlindRetry) || self.is(Broken::RepeatBelieved);
                let own = cell.version;
                state.updaters[number].step = match state.set(write) {
                    true => {
                        state.told_won |= 1 << own;
                        Step::Clear { seen, cell }
                    }
                    false if believed => {
                        state.told_lost |= 1 << own;
                        Step::Undo
                    }
                    false => Step::Answer { seen, cell },
                };
            }
            Action::TimesOut(number) => {
                let write = state.sent[number].take()?;
                let Step::Set { seen, cell, .. } = state.updaters[number].step else { return None };
                state.stray[number] = Some(write);
                state.updaters[number].step = if self.is(Broken::BlindRetry) {
                    state.sent[number] = Some(write);
                    Step::Set { seen, cell, repeated: true }
                } else {
                    Step::Answer { seen, cell }
                };
            }
            Action::Late(number) => {
                let write = state.stray[number].take()?;
                state.set(write);
            }
            Action::ReadRows => state.reader = Some(state.rows()),
            Action::ReadCell => {
                let rows = state.reader.take()?;
                let listed = state.cell.and_then(|cell| cell.row).map_or(0, |row| 1 << row);
                let stays = self.exists && self.updates.iter().all(|update| *update == Update::Put(0));
                state.missed |= stays && rows & listed == 0;
                let version = state.cell.map(|cell| cell.version);
                for id in (0..7_u8).filter(|id| rows & !listed & 1 << id != 0) {
                    if state.base[usize::from(id)] != version || self.is(Broken::EarlyDelete) {
                        state.deletes |= 1 << id & !state.deleted;
                    }
                }
            }
            Action::Vanish => {
                let deleted = state.cell.is_some_and(|cell| cell.row.is_none());
                if !deleted || !(state.idle() || self.is(Broken::EarlyVanish)) {
                    return None;
                }
                state.cell = None;
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("every entry of a committed write is there", |_, state: &State| {
                let listed = state.cell.and_then(|cell| cell.row);
                listed.is_none_or(|row| state.rows() & 1 << row != 0)
            }),
            Property::always("nobody is told a wrong outcome", |_, state: &State| {
                state.told_won & !state.committed == 0 && state.told_lost & state.committed == 0
            }),
            Property::always("no ghost is left after the end", |_, state: &State| {
                let ended = state.updaters.iter().all(|updater| updater.step == Step::Done);
                let under_way = state.inserts | state.deletes != 0;
                let listed = state.cell.and_then(|cell| cell.row).map_or(0, |row| 1 << row);
                !ended || under_way || state.rows() == listed
            }),
            Property::always("a scan finds a record that was there all along", |_, state: &State| {
                !state.missed
            }),
            Property::sometimes("it comes to its end", |_, state: &State| {
                state.updaters.iter().all(|updater| updater.step == Step::Done)
            }),
        ];
        if self.updates.iter().any(|update| matches!(update, Update::Put(1..))) {
            properties.push(Property::sometimes("a reader clears what a crash left", |_, state: &State| {
                // An updater stands at its first conditional write, and its row is gone.
                state.updaters.iter().enumerate().any(|(number, updater)| {
                    let stopped = matches!(updater, Updater { attempt: 0, step: Step::Set { .. } });
                    stopped && state.deleted & 1 << (number * 2 + 1) != 0
                })
            }));
        }
        properties
    }
}
