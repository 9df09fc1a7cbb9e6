//! From queries and what is measured to the indexes that serve them all.

use std::cmp::Reverse;

use keyloom_plan::{Class, Error as PlanError, Order, Plan, Query, Statistics, Wish, route};
use keyloom_schema::{Index, IndexBuilder, State, Table, quoted};
use keyloom_table::{Error, entry_sizes};

use crate::layout::{Layout, Slot};
use crate::measure::Measured;
use crate::reasons;

/// A query that reads about this many rows or fewer needs no index of its own.
pub const SMALL: u64 = 1_000;

/// What serves a list of queries, and what does not.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Advice {
    /// The indexes to create.
    pub create: Vec<Proposal>,
    /// How each query is answered now, and with those indexes.
    pub queries: Vec<(Served, Served)>,
    /// The indexes that can go.
    pub redundant: Vec<Redundant>,
}

/// An index to create.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// The index.
    pub index: Index,
    /// The statement that creates it.
    pub sql: String,
    /// The numbers of the queries that it serves, from 0.
    pub serves: Vec<usize>,
    /// Why its columns stand as they do.
    pub reasons: Vec<String>,
    /// About how many entries it would have.
    pub entries: u64,
    /// About how many bytes its keys and values would take.
    pub bytes: u64,
}

/// An index that can go.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redundant {
    /// Its name.
    pub index: String,
    /// Why no query misses it.
    pub reason: String,
    /// The statement that drops it.
    pub sql: String,
    /// The bytes that its keys and values take.
    pub bytes: u64,
}

/// How a query is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Served {
    /// It reads a bounded part of a tree.
    By {
        /// The index, or `primary`.
        tree: String,
        /// What bounds the rows that are read.
        class: Class,
        /// Whether they are sorted.
        sorted: bool,
        /// Whether each entry leads to a record that is read too.
        fetch: bool,
        /// About how many rows are read, if that is known.
        rows: Option<u64>,
    },
    /// It is refused.
    Refused {
        /// What would help where no index does.
        hint: Option<String>,
    },
}

impl Served {
    /// By a plan, whose rows another one counts that goes the same way and knows more.
    fn of(plan: &Plan, counted: &Plan) -> Self {
        Self::By {
            tree: plan.index.clone().unwrap_or_else(|| "primary".to_owned()),
            class: plan.class,
            sorted: plan.order != Order::Free,
            fetch: plan.fetch,
            rows: counted.estimate.or(counted.bound),
        }
    }

    /// What is compared: a refusal is the worst, then what bounds the rows, then whether they are sorted.
    fn rank(&self) -> (u8, bool) {
        match self {
            Self::By { class: Class::Constant, sorted, .. } => (0, *sorted),
            Self::By { class: Class::Output, sorted, .. } => (1, *sorted),
            Self::By { class: Class::Partition, sorted, .. } => (2, *sorted),
            Self::By { class: Class::Scan, sorted, .. } => (3, *sorted),
            Self::Refused { .. } => (4, false),
        }
    }

    /// Whether another way of answering is so much better than this one that an index is worth it: by more than the
    /// number of rows, unless this one reads many.
    fn is_much_worse_than(&self, other: &Self) -> bool {
        let many = matches!(self, Self::By { rows: Some(rows), .. } if *rows > SMALL);
        self.rank() > other.rank() || many && self.is_worse_than(other)
    }

    /// Whether another way of answering is better than this one.
    pub fn is_worse_than(&self, other: &Self) -> bool {
        if self.rank() != other.rank() {
            return self.rank() > other.rank();
        }
        match (self, other) {
            (Self::By { fetch: true, .. }, Self::By { fetch: false, .. }) => true,
            (Self::By { rows: Some(own), .. }, Self::By { rows: Some(rows), .. }) => own > rows,
            _ => false,
        }
    }

    fn is_by(&self, index: &Index) -> bool {
        matches!(self, Self::By { tree, .. } if tree == index.name())
    }

    /// Whether it is refused.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

/// Says which indexes serve queries to a table, and which are of no use to them.
///
/// `statistics` are those that the planner has now: whether a query is refused is judged by them.
///
/// # Behavior
/// - With the indexes that are to be created, a query is refused only if no index would serve it.
/// - Without any one of them, some query is refused, has a worse class, is sorted, or reads more than [`SMALL`] rows
///   and more than with it.
/// - Without the redundant ones, no query is answered worse. An index that keeps values unique is never among them.
pub fn advise(
    table: &Table,
    measured: &Measured,
    statistics: &Statistics,
    queries: &[Query],
) -> Result<Advice, Error> {
    let world = World { table, measured, known: statistics, all: measured.statistics(), queries };
    let before = world.answers(table)?;
    let chosen = world.choose(&before)?;
    let (with, chosen) = world.pruned(chosen)?;
    let after = world.answers(&with)?;
    let mut create = Vec::new();
    for (layout, index) in chosen {
        let serves = after.iter().enumerate().filter(|(_, served)| served.is_by(&index));
        let serves = serves.map(|(number, _)| number).collect();
        let (entries, bytes) = world.cost(&index)?;
        let layout = layout.sorted(|slot| world.order(slot));
        create.push(Proposal {
            sql: table.index_to_sql(&index),
            reasons: reasons::of(&layout, measured),
            index,
            serves,
            entries,
            bytes,
        });
    }
    let redundant = world.redundant(&with, &after)?;
    Ok(Advice { create, queries: before.into_iter().zip(after).collect(), redundant })
}

/// What is known while advice is worked out.
struct World<'a> {
    table: &'a Table,
    measured: &'a Measured,
    /// What the planner knows.
    known: &'a Statistics,
    /// What it would know after ANALYZE.
    all: Statistics,
    queries: &'a [Query],
}

/// A layout and the index that it became.
type Chosen = (Layout, Index);

/// A layout, and the queries that it is for, each with how it is to be served.
type Wanted = (Layout, Vec<(usize, Served)>);

impl World<'_> {
    /// How a query is answered by a table like this.
    fn answer(&self, table: &Table, query: &Query) -> Result<Served, Error> {
        // Rows are counted by all that is known, but ANALYZE must not be needed for a query to be served like this.
        match route(table, self.known, query) {
            Err(PlanError::Refused(refusal)) => Ok(Served::Refused { hint: refusal.hint }),
            Err(error) => Err(error.into()),
            Ok(known) => match route(table, &self.all, query) {
                Ok(better) if better.index == known.index => Ok(Served::of(&known, &better)),
                _ => Ok(Served::of(&known, &known)),
            },
        }
    }

    fn answers(&self, table: &Table) -> Result<Vec<Served>, Error> {
        self.queries.iter().map(|query| self.answer(table, query)).collect()
    }

    /// The columns with most values first, and by name where that says nothing.
    fn order(&self, slot: &Slot) -> (Reverse<u64>, String) {
        let distinct = self.measured.column(&slot.name).map_or(0, |column| column.distinct);
        (Reverse(distinct), slot.name.clone())
    }

    /// The table with an index of this layout, ready to be used; nothing if there can be none.
    fn with(&self, table: &Table, layout: &Layout) -> Option<(Table, Index)> {
        let columns = layout.columns(|slot| self.order(slot));
        let builder = Index::on(columns.iter().map(String::as_str));
        let builder = builder.clone().named(free_name(table, builder)?);
        let (table, index) = table.with_index(builder).ok()?;
        let table = table.with_index_state(index.name(), State::Ready);
        Some((table, index.with_state(State::Ready)))
    }

    /// The indexes that serve every query that needs one, merged where one serves several.
    fn choose(&self, before: &[Served]) -> Result<Vec<Chosen>, Error> {
        let mut wanted: Vec<Wanted> = Vec::new();
        for (number, (query, now)) in self.queries.iter().zip(before).enumerate() {
            if self.needs_index(now)
                && let Some((layout, served)) = self.best(query, now)?
            {
                wanted.push((layout, vec![(number, served)]));
            }
        }
        // The longest first: shorter ones mostly are how a longer one begins.
        wanted.sort_by_key(|(layout, _)| Reverse(layout.len()));
        let mut merged: Vec<Wanted> = Vec::new();
        for (layout, targets) in wanted {
            match self.place(&merged, &layout, &targets)? {
                Some((number, both)) => {
                    if let Some(place) = merged.get_mut(number) {
                        place.0 = both;
                        place.1.extend(targets);
                    }
                }
                None => merged.push((layout, targets)),
            }
        }
        // What serves the earliest query comes first.
        merged.sort_by_key(|(_, targets)| targets.iter().map(|(number, _)| *number).min());
        let mut table = self.table.clone();
        let mut chosen = Vec::new();
        for (layout, _) in merged {
            if let Some((with, index)) = self.with(&table, &layout) {
                table = with;
                chosen.push((layout, index));
            }
        }
        Ok(chosen)
    }

    /// The first of some layouts that can be made to serve these queries too, by its number, and what it becomes.
    fn place(
        &self,
        merged: &[Wanted],
        layout: &Layout,
        targets: &[(usize, Served)],
    ) -> Result<Option<(usize, Layout)>, Error> {
        for (number, (other, theirs)) in merged.iter().enumerate() {
            let Some(both) = other.merged(layout) else { continue };
            // Those that are there are served as before if nothing changes for them.
            let theirs = if both == *other { &[][..] } else { theirs };
            if self.keeps(&both, theirs.iter().chain(targets))? {
                return Ok(Some((number, both)));
            }
        }
        Ok(None)
    }

    /// Whether a query should have an index: it is refused, or reads many rows to return a part of them.
    fn needs_index(&self, now: &Served) -> bool {
        match now {
            Served::Refused { .. } | Served::By { class: Class::Scan, .. } => true,
            Served::By { class: Class::Partition, rows, .. } => rows.is_none_or(|rows| rows > SMALL),
            Served::By { .. } => false,
        }
    }

    /// The smallest layout that serves a query best, if one serves it better than now.
    fn best(&self, query: &Query, now: &Served) -> Result<Option<(Layout, Served)>, Error> {
        let mut best: Option<((u8, bool), usize, Layout, Served)> = None;
        for layout in Layout::of(&Wish::of(self.table, query)?) {
            let Some((with, _)) = self.with(self.table, &layout) else { continue };
            let served = self.answer(&with, query)?;
            let (rank, length) = (served.rank(), layout.len());
            let better = best.as_ref().is_none_or(|(best, long, ..)| (rank, length) < (*best, *long));
            if rank < now.rank() && better {
                best = Some((rank, length, layout, served));
            }
        }
        Ok(best.map(|(.., layout, served)| (layout, served)))
    }

    /// Whether an index of this layout serves these queries as well as their own would.
    fn keeps<'s>(
        &self,
        layout: &Layout,
        targets: impl Iterator<Item = &'s (usize, Served)>,
    ) -> Result<bool, Error> {
        let Some((with, _)) = self.with(self.table, layout) else { return Ok(false) };
        for (number, target) in targets {
            let Some(query) = self.queries.get(*number) else { continue };
            if self.answer(&with, query)?.rank() > target.rank() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The table with those indexes that some query would miss, and they.
    fn pruned(&self, chosen: Vec<Chosen>) -> Result<(Table, Vec<Chosen>), Error> {
        let mut table = self.table.clone();
        for (layout, _) in &chosen {
            if let Some((with, _)) = self.with(&table, layout) {
                table = with;
            }
        }
        let (mut answers, mut kept) = (self.answers(&table)?, chosen);
        // Once more when one has gone: queries may go other ways since, and miss less.
        loop {
            let before = kept.len();
            for at in (0..before).rev() {
                let Some((_, index)) = kept.get(at) else { continue };
                let without = table.without_index(index.name());
                if let Some(others) = self.unless_missed(&without, &answers, Served::is_much_worse_than)? {
                    (table, answers) = (without, others);
                    kept.remove(at);
                }
            }
            if kept.len() == before {
                return Ok((table, kept));
            }
        }
    }

    /// How queries are answered without an index; nothing if one of them is answered worse.
    fn unless_missed(
        &self,
        without: &Table,
        answers: &[Served],
        is_worse: fn(&Served, &Served) -> bool,
    ) -> Result<Option<Vec<Served>>, Error> {
        let mut others = Vec::with_capacity(answers.len());
        for (query, served) in self.queries.iter().zip(answers) {
            // Also those that do not use it: without statistics of all, the planner may go another way then.
            let other = self.answer(without, query)?;
            if is_worse(&other, served) {
                return Ok(None);
            }
            others.push(other);
        }
        Ok(Some(others))
    }

    /// About how many entries an index would have and how many bytes they would take, by those of the sample.
    fn cost(&self, index: &Index) -> Result<(u64, u64), Error> {
        let sample = &self.measured.sample;
        let (mut entries, mut bytes) = (0_u64, 0_u64);
        for document in sample {
            for (key, value) in entry_sizes(self.table, index, document)? {
                entries += 1;
                bytes += u64::try_from(key + value).unwrap_or(u64::MAX);
            }
        }
        let count = u128::try_from(sample.len()).unwrap_or(u128::MAX).max(1);
        let scaled = |sum: u64| {
            u64::try_from(u128::from(sum) * u128::from(self.measured.rows()) / count).unwrap_or(u64::MAX)
        };
        Ok((scaled(entries), scaled(bytes)))
    }

    /// The indexes that are there and that no query misses, with all that is to be created.
    fn redundant(&self, with: &Table, after: &[Served]) -> Result<Vec<Redundant>, Error> {
        let (mut left, mut answers) = (with.clone(), after.to_vec());
        let mut redundant = Vec::new();
        for index in self.table.indexes().iter().filter(|index| !index.is_unique()) {
            let without = left.without_index(index.name());
            let Some(others) = self.unless_missed(&without, &answers, Served::is_worse_than)? else {
                continue;
            };
            let tree = self.measured.trees.iter().find(|tree| tree.name == index.name());
            redundant.push(Redundant {
                index: index.name().to_owned(),
                reason: reasons::of_redundant(&without, index),
                sql: format!("DROP INDEX {} ON {}", quoted(index.name()), quoted(self.table.name())),
                bytes: tree.map_or(0, |tree| tree.key_bytes + tree.value_bytes),
            });
            (left, answers) = (without, others);
        }
        Ok(redundant)
    }
}

/// The name that an index would have by itself, or one like it if that is taken.
fn free_name(table: &Table, index: IndexBuilder) -> Option<String> {
    let name = table.describe_index(index).ok()?.name().to_owned();
    let mut numbered = (2..).map(|number| format!("{name}_{number}"));
    let taken = |name: &String| table.index(name).is_some();
    if !taken(&name) { Some(name) } else { numbered.find(|name| !taken(name)) }
}
