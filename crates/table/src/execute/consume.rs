//! What becomes of each entry: fetched, filtered, sorted, shown.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use keyloom_key::{Direction, Field, Fields, KeyFormat, Native, Nulls, Type, Value};
use keyloom_plan::{Budget, Order, Plan, Position};
use keyloom_schema::{Index, Predicate, Source, Table, Tree};
use keyloom_store::Read;

use super::most::Most;
use super::pending::{Pending, Waiting};
use super::sort::{Sorted, Sorter};
use super::{Examined, PageLimits, Ran, Run};
use crate::entries::{EntryValue, index_entries};
use crate::error::Error;
use crate::row::Row;

/// What looks at the rows.
pub(super) trait Visit: FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send {}
impl<V: FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send> Visit for V {}

/// The most records that are fetched at once.
const BATCH: usize = 256;

/// Takes entries in their order.
pub(super) struct Consumer<'a, V> {
    table: &'a Table,
    plan: &'a Plan,
    tree: &'a Tree,
    now: keyloom_key::Timestamp,
    budget: Budget,
    page: Option<PageLimits>,
    most: Most,
    visit: V,
    pub(super) examined: Examined,
    /// Entries that wait for their records.
    pending: Pending,
    sorter: Option<(Fields, Sorter)>,
    /// The last entry that was dealt with.
    last: Option<(usize, Vec<u8>)>,
    /// Why no more entries are wanted.
    stop: Option<Stop>,
    error: Option<Error>,
    after: Option<&'a Position>,
    /// Whether every row that is read is wanted.
    all: bool,
    /// The index whose entries may have changed when their records are fetched.
    moving: Option<&'a Index>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// All that was asked for is there.
    Enough,
    /// The page is full, and there may be more.
    Page,
}

impl<'a, V: Visit> Consumer<'a, V> {
    pub(super) fn new<R>(run: &Run<'a, R>, tree: &'a Tree, visit: V) -> Result<Self, Error> {
        let sorter = match &run.plan.order {
            Order::Free => None,
            Order::Sort(order) => {
                let fields = order.iter().map(|by| {
                    let kind = run
                        .table
                        .column(&by.field)
                        .map_or(Type::Null, |column| column.kind.element().clone());
                    Field { kind, direction: by.direction, nulls: Some(by.nulls) }
                });
                let top = run.plan.limit.filter(|_| run.after.is_none());
                Some((fields.collect(), Sorter::new(run.budget.sort_memory, top)))
            }
        };
        Ok(Self {
            table: run.table,
            plan: run.plan,
            tree,
            now: run.now,
            budget: run.budget,
            page: run.page,
            most: Most::of(run),
            visit,
            examined: Examined::default(),
            pending: Pending::default(),
            sorter,
            last: None,
            stop: None,
            error: None,
            after: run.after,
            all: run.plan.filter.is_none() && run.plan.once.is_none() && run.table.expiry().is_none(),
            moving: if run.one_state { None } else { index(run.table, tree) },
        })
    }

    /// How many rows of a span are read ahead in a merge: none if rows that are not wanted would be read.
    pub(super) fn chunk(&self) -> usize {
        let bounded = self.plan.limit.is_some() || self.page.is_some();
        if self.sorter.is_none() && bounded { 1 } else { BATCH }
    }

    /// Counts rows that were read.
    pub(super) fn count(&mut self, rows: usize, bytes: usize) {
        self.examined.rows += u64::try_from(rows).unwrap_or(u64::MAX);
        self.examined.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
    }

    /// Takes an entry; breaks if it wants no more for now.
    pub(super) fn entry(&mut self, stretch: usize, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        self.count(1, key.len() + value.len());
        self.counted(stretch, key, value)
    }

    /// The same of an entry that was counted when it was read.
    pub(super) fn counted(&mut self, stretch: usize, key: &[u8], value: &[u8]) -> ControlFlow<()> {
        match self.take(stretch, key, value) {
            Ok(flow) => flow,
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    #[inline]
    fn take(&mut self, stretch: usize, key: &[u8], value: &[u8]) -> Result<ControlFlow<()>, Error> {
        if self.over_budget() {
            if self.page.is_none() || self.sorter.is_some() {
                return Err(self.budget_error());
            }
            self.stop = Some(Stop::Page);
        }
        if self.plan.fetch {
            let found =
                EntryValue::parse(value).ok_or_else(|| self.damaged("is not what an entry is", key))?;
            let full = self.full();
            self.pending.push(stretch, key, found.primary_key, full);
            return Ok(if self.pending.len() >= full || self.stop.is_some() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            });
        }
        let (table, tree) = (self.table, self.tree);
        if self.plan.index.is_none() {
            let row = Row::record(table, key, value)?;
            self.row(stretch, key, key, None, &row)?;
        } else {
            let found =
                EntryValue::parse(value).ok_or_else(|| self.damaged("is not what an entry is", key))?;
            let row = Row::new(table, tree, key, found.primary_key, found.covered, found.whole)?;
            self.row(stretch, key, found.primary_key, Some(key), &row)?;
        }
        Ok(if self.stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Ends the run at this place, between two values that are skipped to, if it has cost what it may.
    pub(super) fn may_end_at(&mut self, place: usize, reached: &[u8]) -> Result<ControlFlow<()>, Error> {
        if !self.over_budget() {
            return Ok(ControlFlow::Continue(()));
        }
        if self.page.is_none() || self.sorter.is_some() {
            return Err(self.budget_error());
        }
        self.last = Some((place, reached.to_vec()));
        self.stop = Some(Stop::Page);
        Ok(ControlFlow::Break(()))
    }

    /// Whether as many entries wait as are worth a fetch, or as may still be wanted.
    pub(super) fn is_full(&self) -> bool {
        self.pending.len() >= self.full()
    }

    fn full(&self) -> usize {
        match self.wanted() {
            Some(wanted) if self.is_exact() => usize::try_from(wanted).unwrap_or(BATCH).clamp(1, BATCH),
            Some(_) => BATCH / 8,
            None => BATCH,
        }
    }

    /// Whether an entry that is read is a record that is returned, as far as the plan knows.
    fn is_exact(&self) -> bool {
        self.sorter.is_none() && self.plan.filter.is_none() && self.plan.once.is_none()
    }

    /// The most entries that are taken before the consumer breaks: a scan that ends there by itself is one that a cache
    /// can answer when it is repeated.
    pub(super) fn most(&self) -> usize {
        let most = match self.wanted() {
            _ if self.plan.fetch => self.full().saturating_sub(self.pending.len()),
            Some(wanted) if self.is_exact() => usize::try_from(wanted).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        most.max(1)
    }

    /// How many records may still be returned.
    fn wanted(&self) -> Option<u64> {
        let limits = [self.plan.limit, self.page.map(|page| page.records)];
        let most = limits.into_iter().flatten().min()?;
        Some(most.saturating_sub(self.examined.returned))
    }

    /// Deals with what waits; breaks if no more is wanted.
    pub(super) async fn settle(&mut self, read: &impl Read) -> Result<ControlFlow<()>, Error> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.pending.len() > 0 {
            self.fetch(read).await?;
        }
        Ok(if self.stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    async fn fetch(&mut self, read: &impl Read) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        let page_full = self.stop.take();
        let keys = pending.records();
        self.examined.seeks += u64::try_from(keys.len()).unwrap_or(u64::MAX);
        // A store may answer in any order, and the rows have theirs: what comes too early is kept.
        let (mut result, mut next) = (Ok(()), 0);
        let mut early: BTreeMap<usize, Option<Vec<u8>>> = BTreeMap::new();
        let look = |number: usize, payload: Option<&[u8]>| {
            if number != next {
                early.insert(number, payload.map(<[u8]>::to_vec));
                return;
            }
            let mut fetched = |number: usize, payload: Option<&[u8]>| {
                if let (Some(waiting), true) = (pending.get(number), result.is_ok()) {
                    result = self.fetched(waiting, payload);
                }
            };
            fetched(next, payload);
            next += 1;
            while let Some(payload) = early.remove(&next) {
                fetched(next, payload.as_deref());
                next += 1;
            }
        };
        read.get_many(&keys, look).await?;
        if self.stop.is_none() {
            self.stop = page_full;
        }
        result
    }

    /// Takes the record of an entry, unless no more are wanted.
    fn fetched(&mut self, waiting: Waiting<'_>, payload: Option<&[u8]>) -> Result<(), Error> {
        let Waiting { stretch, entry, record } = waiting;
        if self.stop.is_some() {
            return Ok(());
        }
        let Some(payload) = payload else {
            if self.moving.is_none() {
                return Err(self.damaged("leads to no record", entry));
            }
            // It has gone since.
            self.passed(stretch, entry);
            return Ok(());
        };
        self.count(0, record.len() + payload.len());
        let row = Row::record(self.table, record, payload)?;
        if let Some(index) = self.moving {
            let entries = index_entries(self.table, index, &row.to_document()?, record)?;
            if entries.iter().all(|own| own.key != entry) {
                self.passed(stretch, entry);
                return Ok(());
            }
        }
        self.row(stretch, entry, record, Some(entry), &row)
    }

    /// Takes a row: its place in the tree, its record's key, and the index entry that led to it.
    #[inline]
    fn row(
        &mut self,
        stretch: usize,
        key: &[u8],
        record: &[u8],
        entry: Option<&[u8]>,
        row: &Row<'_>,
    ) -> Result<(), Error> {
        let wanted = self.all || self.is_wanted(entry, row)?;
        if let Some((fields, sorter)) = &mut self.sorter {
            if wanted {
                let order = sort_key(fields, self.plan, row)?;
                if !is_past(self.after, &order, record) {
                    return Ok(());
                }
                sorter.push(Sorted {
                    order,
                    record: record.to_vec(),
                    key: row.found_at().to_vec(),
                    row: row.stored(),
                })?;
            }
            return Ok(());
        }
        if wanted {
            self.returned(row);
            if (self.visit)(row)?.is_break() {
                self.stop = Some(Stop::Enough);
            }
            if self.plan.limit.is_some_and(|limit| self.examined.returned >= limit) {
                self.stop = Some(Stop::Enough);
            } else if self.page.is_some_and(|page| self.examined.returned >= page.records)
                && self.stop.is_none()
            {
                self.stop = Some(Stop::Page);
            }
        }
        self.passed(stretch, key);
        Ok(())
    }

    /// Remembers the last place in the tree that was dealt with.
    fn passed(&mut self, stretch: usize, key: &[u8]) {
        if self.page.is_some() {
            let last = self.last.get_or_insert_default();
            last.0 = stretch;
            last.1.clear();
            last.1.extend_from_slice(key);
        }
    }

    fn returned(&mut self, row: &Row<'_>) {
        self.examined.returned += 1;
        self.examined.returned_bytes += u64::try_from(row.size()).unwrap_or(u64::MAX);
    }

    fn is_wanted(&self, entry: Option<&[u8]>, row: &Row<'_>) -> Result<bool, Error> {
        if row.is_expired(self.now)? {
            return Ok(false);
        }
        if let Some(filter) = &self.plan.filter
            && !filter.holds(row)?
        {
            return Ok(false);
        }
        match (&self.plan.once, entry) {
            (Some(once), Some(entry)) => is_first_element(self.tree, once, entry, row),
            _ => Ok(true),
        }
    }

    fn over_budget(&self) -> bool {
        self.most.is_passed(&self.examined)
    }

    fn budget_error(&self) -> Error {
        let budget = match self.page {
            Some(page) => format!("{} rows, {} bytes, {:?} a page", page.rows, page.bytes, page.time),
            None => {
                format!("{} rows, {} bytes, {:?}", self.budget.rows, self.budget.bytes, self.budget.time)
            }
        };
        let query = match &self.plan.filter {
            Some(filter) => format!("`{filter}`"),
            None => "the sort".to_owned(),
        };
        Error::Budget { table: self.table.name().to_owned(), query, budget, advice: String::new() }
    }

    fn damaged(&self, what: &str, key: &[u8]) -> Error {
        let index = self.plan.index.as_deref().unwrap_or("the primary key");
        Error::Damaged(
            format!("{}: an entry of {index} {what}: {}", self.table.name(), key.escape_ascii()).into(),
        )
    }

    /// How a run in the order of its keys ended.
    pub(super) fn finish(self) -> Result<Ran, Error> {
        let rest = match (self.stop, self.last) {
            (Some(Stop::Page), Some((stretch, key))) => {
                Some(Position::Key { stretch: u32::try_from(stretch).unwrap_or(u32::MAX), key })
            }
            _ => None,
        };
        Ok(Ran { examined: self.examined, rest })
    }

    /// Shows the sorted rows, and says how the run ended.
    pub(super) fn finish_sorted(mut self) -> Result<Ran, Error> {
        let Some((_, sorter)) = self.sorter.take() else { return self.finish() };
        let mut rest = None;
        let mut rows = sorter.finish()?.peekable();
        while let Some(sorted) = rows.next() {
            let Sorted { order, record, key, row } = sorted?;
            let tree = if self.plan.fetch { self.table.primary() } else { self.tree };
            let shown = Row::new(self.table, tree, &key, &record, &row.payload, row.whole)?;
            self.returned(&shown);
            let enough = (self.visit)(&shown)?.is_break()
                || self.plan.limit.is_some_and(|limit| self.examined.returned >= limit);
            if enough {
                break;
            }
            if self.page.is_some_and(|page| self.examined.returned >= page.records) && rows.peek().is_some() {
                rest = Some(Position::Sorted { order, key: record });
                break;
            }
        }
        Ok(Ran { examined: self.examined, rest })
    }
}

/// The index that a tree is of.
fn index<'t>(table: &'t Table, tree: &Tree) -> Option<&'t Index> {
    table.indexes().iter().find(|index| index.tree().id() == tree.id())
}

/// The bytes that a row is sorted by.
fn sort_key(fields: &Fields, plan: &Plan, row: &Row<'_>) -> Result<Vec<u8>, Error> {
    let Order::Sort(order) = &plan.order else { return Ok(Vec::new()) };
    let values = order.iter().map(|by| row.get(&by.field));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let mut key = Vec::new();
    Native.encode(fields, &values, &mut key)?;
    Ok(key)
}

/// Whether a row comes after where an earlier page ended.
fn is_past(after: Option<&Position>, order: &[u8], record: &[u8]) -> bool {
    match after {
        Some(Position::Sorted { order: last, key }) => (order, record) > (last.as_slice(), key.as_slice()),
        _ => true,
    }
}

/// Whether an entry of a multi-valued index is the one that its record is given at: that of the smallest element that
/// the condition holds for. An entry of another element is none, though a span may hold it.
fn is_first_element(tree: &Tree, once: &Predicate, entry: &[u8], row: &Row<'_>) -> Result<bool, Error> {
    let Some((number, part)) = tree.parts().iter().enumerate().find(|(_, part)| part.many) else {
        return Ok(true);
    };
    let values = match tree.values(entry) {
        Ok(values) => values,
        Err(_) => tree.declared_values(entry)?,
    };
    let Some(own) = values.get(number) else { return Ok(true) };
    let ascending =
        Field { kind: part.field.kind.clone(), direction: Direction::Ascending, nulls: Some(Nulls::First) };
    let holds = |value: &Value<'_>| once.holds(&Element { name: &part.name, kind: &part.field.kind, value });
    // The spans need not reach the list: then entries of other elements are read too.
    if !holds(own)? {
        return Ok(false);
    }
    let Value::List(elements) = row.get(&part.name)? else { return Ok(false) };
    for element in &elements {
        if ascending.compare(element, own).is_lt() && holds(element)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One element of a list, asked as if it were the field.
struct Element<'a> {
    name: &'a str,
    kind: &'a Type,
    value: &'a Value<'a>,
}

impl Source for Element<'_> {
    fn value(&self, name: &str) -> Result<Value<'_>, keyloom_schema::Error> {
        Ok(if name == self.name { self.value.borrowed() } else { Value::Null })
    }

    fn kind(&self, name: &str) -> Option<&Type> {
        (name == self.name).then_some(self.kind)
    }
}
