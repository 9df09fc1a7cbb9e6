//! One unique value that two records want: claims, and how they pass on from owners that do not come back.
//!
//! ```text
//! read the cell → claim IF NOT EXISTS → set the cell IF version = base, listing the claim → release the claim before
//!                     └ there is one: does its owner list it? refused
//!                                     can its owner still commit it? shut it out: give its cell a new version
//!                                     take it over IF id = …
//! ```
//!
//! A write, its version and its claim have the same id. A claim is held by the record, not by the write: of two writers of
//! one record that claim the value on the same base, at most one commits.

use std::collections::BTreeSet;

use stateright::{Model, Property};

/// A way to get it wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// A claim is taken over while its owner can still commit.
    NotShutOut,
    /// A writer that lost releases its claim, though another writer of the same record may rely on it.
    CarelessRelease,
    /// A writer that was overtaken tries again with the claim of its first attempt.
    KeptClaim,
    /// A claim is replaced without a look at its id.
    BlindTakeover,
}

/// What a writer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Gives a record the value.
    Take(usize),
    /// Takes it from a record.
    Drop(usize),
}

/// The model: two records, writers with two attempts each.
pub struct Claims {
    /// Whether the records are there at the start, without the value.
    pub exist: bool,
    /// What each writer does.
    pub writers: Vec<Write>,
    /// How often a conditional write may time out, in all.
    pub timeouts: u8,
    /// What is wrong with the protocol, if anything.
    pub broken: Option<Broken>,
}

type Id = u8;

/// A record: its version, all before it (a bit each), and the claim that it lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Cell {
    version: Id,
    past: u32,
    lists: Option<Id>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Claim {
    id: Id,
    owner: usize,
    base: Option<Id>,
}

/// A conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Conditional {
    Cell { record: usize, expected: Option<Id>, cell: Cell },
    Claim { expected: Option<Id>, claim: Option<Claim> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Start,
    /// Looks at the claim.
    Look {
        seen: Option<Cell>,
    },
    /// Looks at the record of the claim that it found.
    Owner {
        seen: Option<Cell>,
        found: Claim,
    },
    /// Waits for the claim.
    Claiming {
        seen: Option<Cell>,
    },
    /// Waits for the owner's cell.
    ShuttingOut,
    /// Has the claim, or needs none.
    Claimed {
        seen: Option<Cell>,
    },
    /// Waits for its own cell.
    Setting {
        seen: Option<Cell>,
    },
    /// Reads its own cell to know how that went.
    Check {
        seen: Option<Cell>,
    },
    /// Releases a claim: and then has won, or tries again.
    Release {
        id: Id,
        won: bool,
    },
    Releasing {
        won: bool,
    },
    Won,
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Writer {
    attempt: u8,
    step: Step,
    sent: Option<Conditional>,
}

/// A state of the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    cells: [Option<Cell>; 2],
    claim: Option<Claim>,
    writers: Vec<Writer>,
    /// Conditional writes that timed out and may still take effect.
    stray: BTreeSet<Conditional>,
    timeouts: u8,
}

impl State {
    fn version(&self, record: usize) -> Option<Id> {
        self.cells[record].map(|cell| cell.version)
    }

    fn lists(&self, record: usize) -> Option<Id> {
        self.cells[record].and_then(|cell| cell.lists)
    }

    fn apply(&mut self, write: Conditional, blind: bool) -> bool {
        match write {
            Conditional::Cell { record, expected, cell } => {
                let applies = self.version(record) == expected;
                if applies {
                    self.cells[record] = Some(cell);
                }
                applies
            }
            Conditional::Claim { expected, claim } => {
                let applies = self.claim.map(|claim| claim.id) == expected || blind && claim.is_some();
                if applies {
                    self.claim = claim;
                }
                applies
            }
        }
    }
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A writer takes its next step.
    Next(usize),
    /// A writer's conditional write takes effect, if it may, and the answer comes.
    Answered(usize),
    /// The answer does not come; the write is still under way.
    TimesOut(usize),
    /// A conditional write that timed out takes effect, if it may.
    Late(usize),
}

impl Claims {
    fn is(&self, broken: Broken) -> bool {
        self.broken == Some(broken)
    }

    fn own(number: usize, attempt: u8) -> Id {
        u8::try_from(number * 2).unwrap_or(0) + attempt + 1
    }

    /// The cell as the writer wants it.
    fn cell(&self, number: usize, own: Id, seen: Option<Cell>) -> Cell {
        let claim = if self.is(Broken::KeptClaim) { Self::own(number, 0) } else { own };
        let lists = match self.writers[number] {
            Write::Take(_) => Some(claim),
            Write::Drop(_) => None,
        };
        Cell { version: own, past: past(seen), lists }
    }

    fn next(&self, number: usize, state: &mut State) -> Option<()> {
        let Writer { attempt, step, sent: None } = state.writers[number] else { return None };
        let own = Self::own(number, attempt);
        let (Write::Take(record) | Write::Drop(record)) = self.writers[number];
        let take = self.writers[number] == Write::Take(record);
        let base = |seen: Option<Cell>| seen.map(|cell| cell.version);
        let mut send = None;
        let step = match step {
            Step::Start => {
                let seen = state.cells[record];
                match seen.and_then(|cell| cell.lists) {
                    Some(_) if take => Step::Won,
                    None if !take => Step::Won,
                    _ if take => Step::Look { seen },
                    _ => Step::Claimed { seen },
                }
            }
            Step::Look { seen } => match state.claim {
                Some(claim) if claim.id == own => Step::Claimed { seen },
                Some(claim) if self.is(Broken::KeptClaim) && claim.id == Self::own(number, 0) => {
                    Step::Claimed { seen }
                }
                Some(found) => Step::Owner { seen, found },
                None => {
                    let claim = Some(Claim { id: own, owner: record, base: base(seen) });
                    send = Some(Conditional::Claim { expected: None, claim });
                    Step::Claiming { seen }
                }
            },
            Step::Owner { seen, found } => {
                let before = state.cells[found.owner];
                let listed = before.and_then(|cell| cell.lists);
                if found.owner == record && base(before) != base(seen) {
                    Self::again(&mut state.writers[number].attempt)
                } else if found.owner != record && listed.is_some() {
                    Step::Lost
                } else if found.owner != record && base(before) == found.base && !self.is(Broken::NotShutOut)
                {
                    let cell = Cell { version: own + 16, past: past(before), lists: listed };
                    send = Some(Conditional::Cell { record: found.owner, expected: found.base, cell });
                    Step::ShuttingOut
                } else {
                    // Left behind, or of another writer of the same record: a claim is the record's.
                    let claim = Some(Claim { id: own, owner: record, base: base(seen) });
                    send = Some(Conditional::Claim { expected: Some(found.id), claim });
                    Step::Claiming { seen }
                }
            }
            Step::Claimed { seen } => {
                send = Some(Conditional::Cell {
                    record,
                    expected: base(seen),
                    cell: self.cell(number, own, seen),
                });
                Step::Setting { seen }
            }
            Step::Check { seen } => {
                let now = state.cells[record];
                if now.is_some_and(|cell| cell.version == own || cell.past >> own & 1 == 1) {
                    won(seen)
                } else if base(now) == base(seen) {
                    Step::Claimed { seen }
                } else if take
                    && (now.is_some_and(|cell| cell.lists.is_none()) || self.is(Broken::CarelessRelease))
                {
                    Step::Release { id: own, won: false }
                } else {
                    Self::again(&mut state.writers[number].attempt)
                }
            }
            Step::Release { id: _, won: false } if self.is(Broken::KeptClaim) => {
                Self::again(&mut state.writers[number].attempt)
            }
            Step::Release { id, won } => {
                send = Some(Conditional::Claim { expected: Some(id), claim: None });
                Step::Releasing { won }
            }
            Step::Claiming { .. } | Step::ShuttingOut | Step::Setting { .. } | Step::Releasing { .. } => {
                return None;
            }
            Step::Won | Step::Lost => return None,
        };
        state.writers[number].step = step;
        state.writers[number].sent = send;
        Some(())
    }

    fn again(attempt: &mut u8) -> Step {
        *attempt += 1;
        if *attempt > 1 { Step::Lost } else { Step::Start }
    }

    /// Goes on with the answer; none if it did not come.
    fn answered(&self, number: usize, state: &mut State, answer: Option<bool>) {
        let writer = &mut state.writers[number];
        writer.step = match (writer.step, answer) {
            (Step::Claiming { seen }, Some(true)) => Step::Claimed { seen },
            (Step::Claiming { seen }, _) => Step::Look { seen },
            // The own record may have been the owner: it is read again.
            (Step::ShuttingOut, _) => Self::again(&mut writer.attempt),
            (Step::Setting { seen }, Some(true)) => won(seen),
            (Step::Setting { seen }, _) => Step::Check { seen },
            // A claim that was not released is taken over by whoever wants it.
            (Step::Releasing { won: true }, _) => Step::Won,
            (Step::Releasing { won: false }, _) => Self::again(&mut writer.attempt),
            (step, _) => step,
        };
    }
}

fn past(seen: Option<Cell>) -> u32 {
    seen.map_or(0, |cell| cell.past | 1 << cell.version)
}

fn won(seen: Option<Cell>) -> Step {
    seen.and_then(|cell| cell.lists).map_or(Step::Won, |id| Step::Release { id, won: true })
}

impl Model for Claims {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let cell = self.exist.then_some(Cell { version: 0, past: 0, lists: None });
        let writer = Writer { attempt: 0, step: Step::Start, sent: None };
        vec![State {
            cells: [cell; 2],
            claim: None,
            writers: vec![writer; self.writers.len()],
            stray: BTreeSet::new(),
            timeouts: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (number, writer) in state.writers.iter().enumerate() {
            if writer.sent.is_none() {
                actions.push(Action::Next(number));
            } else {
                actions.push(Action::Answered(number));
                actions.extend((state.timeouts < self.timeouts).then_some(Action::TimesOut(number)));
            }
        }
        actions.extend((0..state.stray.len()).map(Action::Late));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        let blind = self.is(Broken::BlindTakeover);
        match action {
            Action::Next(number) => self.next(number, &mut state)?,
            Action::Answered(number) => {
                let write = state.writers[number].sent.take()?;
                let answer = state.apply(write, blind);
                self.answered(number, &mut state, Some(answer));
            }
            Action::TimesOut(number) => {
                let write = state.writers[number].sent.take()?;
                state.stray.insert(write);
                state.timeouts += 1;
                self.answered(number, &mut state, None);
            }
            Action::Late(number) => {
                let write = state.stray.iter().nth(number).copied()?;
                state.stray.remove(&write);
                state.apply(write, blind);
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a unique value has one owner", |_, state: &State| {
                state.lists(0).is_none() || state.lists(1).is_none()
            }),
            Property::always("whoever has the value has its claim", |_, state: &State| {
                let owner = state.claim.map(|claim| claim.owner);
                [0, 1].iter().all(|record| state.lists(*record).is_none() || owner == Some(*record))
            }),
            Property::always("no claim is left after the end", |_, state: &State| {
                let ended = |writer: &Writer| matches!(writer.step, Step::Won | Step::Lost);
                let ended = state.writers.iter().all(ended) && state.timeouts == 0;
                let listed = |claim: Claim| state.lists(claim.owner).is_some();
                !ended || state.claim.is_none_or(listed)
            }),
            Property::sometimes("a claim passes on from an owner that stopped", |_, state: &State| {
                matches!(state.writers[0].step, Step::Setting { .. }) && state.lists(1).is_some()
            }),
        ]
    }
}
