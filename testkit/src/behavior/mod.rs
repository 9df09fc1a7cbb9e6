//! What every store must do, as cases that a store runs by its capabilities.
//!
//! A store joins with a test target of its own (`harness = false`):
//!
//! ```no_run
//! use keyloom_store::MemoryStore;
//! use keyloom_testkit::behavior;
//!
//! fn main() -> std::process::ExitCode {
//!     behavior::main("memory", MemoryStore::new)
//! }
//! ```
//!
//! A store that can be opened in several ways joins with the [`trials`] of each, which [`run`] takes together.
//!
//! Files are named by the promise they test: [`reads`], [`scans`], [`commits`], [`records`], [`snapshots`]; [`model`] runs random
//! operations beside a map.

pub mod commits;
pub mod model;
pub mod reads;
pub mod records;
pub mod scans;
pub mod snapshots;

use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Batch, Blocking, Capability, Direction, Limits, Page, Read, Store};
use libtest_mimic::{Arguments, Trial};

/// How a case ends.
pub type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// One promise of the trait, as a test on an empty store.
pub struct Case<S> {
    /// The promise, as a sentence with underscores.
    pub name: &'static str,
    /// Whether a store with these capabilities makes it.
    pub made_by: fn(&Capability) -> bool,
    /// The test.
    pub run: fn(&Blocking<S>) -> Outcome,
}

impl<S> fmt::Debug for Case<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Whether snapshots live long enough for a test that holds some.
pub(crate) fn lasting(capability: &Capability) -> bool {
    capability.snapshot && capability.snapshot_age.is_none_or(|age| age >= Duration::from_secs(10))
}

/// Every case there is.
pub fn cases<S: Store>() -> Vec<Case<S>> {
    let mut cases = reads::cases();
    cases.extend(scans::cases());
    cases.extend(commits::cases());
    cases.extend(records::cases());
    cases.extend(snapshots::cases());
    cases.extend(model::cases());
    cases
}

/// Runs every case that the store's capabilities call for, each on a store that `open` made, and says how it went.
pub fn main<S: Store + 'static>(
    name: &'static str,
    open: impl Fn() -> S + Send + Sync + 'static,
) -> ExitCode {
    run(trials(name, cases(), open))
}

/// Runs tests, of one store or of several, as the arguments of the program ask, and says how it went.
pub fn run(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// These cases as tests, those ignored that the store's capabilities do not call for.
pub fn trials<S: Store + 'static>(
    name: &str,
    cases: Vec<Case<S>>,
    open: impl Fn() -> S + Send + Sync + 'static,
) -> Vec<Trial> {
    let open = Arc::new(open);
    let capability = open().capability();
    let trial = |case: Case<S>| {
        let open = Arc::clone(&open);
        let run = move || (case.run)(&Blocking::new(open())).map_err(|error| error.to_string().into());
        Trial::test(format!("{name}::{}", case.name), run).with_ignored_flag(!(case.made_by)(&capability))
    };
    cases.into_iter().map(trial).collect()
}

/// Ends a case with what is wrong, unless it holds.
macro_rules! ensure {
    ($holds:expr, $($said:tt)+) => {
        if !$holds {
            return Err(format!($($said)+).into());
        }
    };
}

/// Ends a case unless both are equal.
macro_rules! ensure_eq {
    ($left:expr, $right:expr $(,)?) => {{
        let (left, right) = (&$left, &$right);
        if left != right {
            return Err(format!("{} is {left:?} and should be {right:?}", stringify!($left)).into());
        }
    }};
}

pub(crate) use {ensure, ensure_eq};

/// A key and its value.
pub(crate) type Row = (Vec<u8>, Vec<u8>);

/// The value of a key.
pub(crate) fn value<R: Read>(
    store: &Blocking<R>,
    key: &[u8],
) -> Result<Option<Vec<u8>>, keyloom_store::Error> {
    store.get(key, <[u8]>::to_vec)
}

/// The rows of one page.
pub(crate) fn page<R: Read>(
    store: &Blocking<R>,
    span: &Span,
    direction: Direction,
    limits: Limits,
) -> Result<(Vec<Row>, Page), keyloom_store::Error> {
    let mut rows = Vec::new();
    let page = store.scan(span, direction, limits, |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok((rows, page))
}

/// The rows of a span, page by page.
pub(crate) fn rows<R: Read>(
    store: &Blocking<R>,
    span: &Span,
    direction: Direction,
    limits: Limits,
) -> Result<Vec<Row>, keyloom_store::Error> {
    let mut all = Vec::new();
    let mut rest = Some(span.clone());
    while let Some(span) = rest {
        let (rows, page) = page(store, &span, direction, limits)?;
        all.extend(rows);
        rest = page.rest;
    }
    Ok(all)
}

/// A span that holds every key.
pub(crate) fn everything() -> Span {
    Span::prefix(Vec::new())
}

/// Commits writes as one, or one after the other where a store takes only those of one record as one.
pub(crate) fn commit<S: Store>(store: &Blocking<S>, batch: Batch) -> Result<(), keyloom_store::Error> {
    if store.capability().atomic_batch {
        return store.commit(batch).map(drop);
    }
    for (key, value) in batch.writes() {
        let mut one = Batch::new();
        one.write(key, value);
        store.commit(one)?;
    }
    Ok(())
}

/// A batch that puts these.
pub(crate) fn puts<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Batch {
    rows.into_iter().fold(Batch::new(), |batch, (key, value)| batch.put(key, value))
}
