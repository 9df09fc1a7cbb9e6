//! Reading: rows in their order, of which those count that their records' cells list.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use futures_util::future::try_join_all;
use keyloom_key::Span;
use keyloom_store::{Counter, Direction, Error, Limits, Page};

use crate::cell::{self, Verdict};
use crate::cluster::{Cell, Cluster, Consistency, Fault, Kind, Row};
use crate::id::Id;
use crate::mistake::Mistake;
use crate::page::Rows;
use crate::store::{ClusterStore, MAX_KEY, failed};

/// The most rows that are asked for at once.
const CHUNK: usize = 1_000;

/// The most cells that are asked for at once before it is known how large they are.
const FIRST: usize = 128;

/// How often a key is looked at again whose rows change while they are read.
const LOOKS: u32 = 64;

/// The cells of records, as they were read.
type Cells = BTreeMap<Vec<u8>, Option<Cell>>;

/// What the rows of a key say.
enum Found {
    Value(Vec<u8>),
    Nothing,
    /// The key is there, by a row that was written after the rows were read.
    Newer,
}

impl<C: Cluster> ClusterStore<C> {
    /// The value of a key.
    pub(crate) async fn value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if !is_key(key) {
            return Ok(None);
        }
        let cell = self.cell(key, Consistency::Quorum).await.map_err(failed)?;
        match cell.and_then(|cell| cell.value) {
            Some(value) => Ok(Some(value)),
            None => self.entry(key).await.map_err(failed),
        }
    }

    /// The values of keys, in their order.
    pub(crate) async fn values(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let mut values: BTreeMap<&[u8], Option<Vec<u8>>> =
            keys.iter().map(|key| (key.as_slice(), None)).collect();
        let asked = values.keys().filter(|key| is_key(key)).map(|key| key.to_vec()).collect();
        for (key, cell) in self.cells(asked).await.map_err(failed)? {
            if let Some(value) = values.get_mut(key.as_slice()) {
                *value = cell.and_then(|cell| cell.value);
            }
        }
        let left = values.iter().filter(|(key, value)| is_key(key) && value.is_none());
        let left: Vec<_> = left.map(|(key, _)| *key).collect();
        for keys in left.chunks(FIRST) {
            let entries = try_join_all(keys.iter().map(|key| self.entry(key))).await.map_err(failed)?;
            values.extend(keys.iter().copied().zip(entries));
        }
        Ok(keys.iter().map(|key| values.get(key.as_slice()).cloned().flatten()).collect())
    }

    /// The value of a key that has no cell: an entry or a member.
    async fn entry(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        for look in 0..LOOKS {
            let rows = self.order().read(key).await?;
            let cells = self.cells_of(rows.iter()).await?;
            self.clean(rows.iter(), &cells);
            match found(&rows, &cells) {
                Found::Value(value) => return Ok(Some(value)),
                Found::Nothing => return Ok(None),
                Found::Newer if self.errs(Mistake::OneLook) => return Ok(None),
                Found::Newer => self.pause(look).await,
            }
        }
        Err(Fault::Unknown(format!("key {} changes all the time", key.escape_ascii())))
    }

    /// The cells that decide which of these rows count.
    async fn cells_of<'r>(&self, rows: impl Iterator<Item = &'r Row>) -> Result<Cells, Fault> {
        self.cells(owners(rows)).await
    }

    async fn cells(&self, keys: Vec<Vec<u8>>) -> Result<Cells, Fault> {
        if keys.is_empty() {
            return Ok(Cells::new());
        }
        let mut attempt = 0;
        loop {
            match self.cluster().cells(&keys).await {
                Ok(cells) => return Ok(keys.into_iter().zip(cells).collect()),
                Err(Fault::Unknown(_)) if attempt < 3 => self.pause(attempt).await,
                Err(fault) => return Err(fault),
            }
            attempt += 1;
        }
    }

    /// The first rows of a span, and the cells of their first group.
    async fn chunk(&self, span: &Span, direction: Direction, wanted: usize) -> Result<(Rows, Cells), Fault> {
        let found = self.order().scan(span, direction, wanted).await?;
        let first = groups(&found.rows).into_iter().next().unwrap_or_default();
        let cells = self.cells_of(first.iter()).await?;
        Ok((found, cells))
    }

    /// One page of a scan.
    pub(crate) async fn page(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        let mut counter = Counter::new(limits);
        let mut left = Some(span.clone()).filter(|span| !span.is_empty());
        let wanted = limits.rows.clamp(1, CHUNK);
        while let Some(part) = left {
            let chunk = self.near(|store| async move { store.chunk(&part, direction, wanted).await });
            let (Rows { rows, rest }, first) = chunk.await.map_err(failed)?.map_err(failed)?;
            let mut first = Some(first);
            for group in groups(&rows) {
                let cells = match first.take() {
                    Some(cells) => cells,
                    None => {
                        let keys = owners(group.iter());
                        let cells = self.near(|store| async move { store.cells(keys).await });
                        cells.await.map_err(failed)?.map_err(failed)?
                    }
                };
                self.clean(group.iter(), &cells);
                for rows in group.chunk_by(|one, other| one.key == other.key) {
                    let Some(key) = rows.first().map(|row| row.key.as_slice()) else { continue };
                    let value = match found(rows, &cells) {
                        Found::Value(value) => Some(value),
                        Found::Nothing => None,
                        Found::Newer if self.errs(Mistake::OneLook) => None,
                        Found::Newer => self.value(key).await?,
                    };
                    let Some(value) = value else { continue };
                    let more = counter.count(key, &value);
                    if look(key, &value).is_break() || !more {
                        return Ok(counter.stopped(span, direction, key));
                    }
                }
            }
            left = rest;
        }
        Ok(counter.finished())
    }

    /// Deletes rows that can never count, beside the reader's work.
    fn clean<'r>(&self, rows: impl Iterator<Item = &'r Row>, cells: &Cells) {
        let now = self.cluster().wall();
        let suspects = rows.filter_map(|row| {
            let (owner, base) = cell::owner(row)?;
            let cell = cells.get(owner)?.as_ref();
            let listed = cell.is_some_and(|cell| cell.lists(row));
            let eager = self.errs(Mistake::EagerReader);
            let verdict = if eager { Verdict::Dead } else { Cell::verdict(cell, base, false, now) };
            (!listed && verdict != Verdict::Pending).then(|| (row.clone(), verdict))
        });
        let suspects: Vec<(Row, Verdict)> = suspects.collect();
        if suspects.is_empty() || self.0.cleaning.swap(true, Ordering::AcqRel) {
            return;
        }
        let store = self.clone();
        self.cluster().spawn(async move {
            // What is not deleted now is met again.
            let _ = store.delete_dead(suspects).await;
            store.0.cleaning.store(false, Ordering::Release);
        });
    }

    async fn delete_dead(&self, suspects: Vec<(Row, Verdict)>) -> Result<(), Fault> {
        let mut dead: Vec<(Vec<u8>, Id)> = Vec::new();
        for (row, verdict) in suspects {
            let is_dead = match (verdict, cell::owner(&row)) {
                (Verdict::Dead, _) => true,
                (Verdict::Unsure, Some((owner, base))) => {
                    let cell = self.cell(owner, Consistency::Serial).await?;
                    let listed = cell.as_ref().is_some_and(|cell| cell.lists(&row));
                    !listed
                        && Cell::verdict(cell.as_ref(), base, true, self.cluster().wall()) == Verdict::Dead
                }
                _ => false,
            };
            if is_dead {
                dead.push((row.key, row.id));
            }
        }
        self.order().delete(dead).await
    }
}

/// Whether there can be such a key.
fn is_key(key: &[u8]) -> bool {
    (1..=MAX_KEY).contains(&key.len())
}

/// The records that these rows are of.
fn owners<'r>(rows: impl Iterator<Item = &'r Row>) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = rows.filter_map(cell::owner).map(|(key, _)| key.to_vec()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// What the rows of a key say, by the cells of their records.
fn found(rows: &[Row], cells: &Cells) -> Found {
    let mut newer = false;
    for row in rows {
        let cell = cell::owner(row).and_then(|(owner, _)| cells.get(owner)?.as_ref());
        match &row.kind {
            Kind::Member => return Found::Value(row.value.clone()),
            // By whichever of its rows: the cell has the value.
            Kind::Record { .. } => {
                if let Some(value) = cell.and_then(|cell| cell.value.clone()) {
                    return Found::Value(value);
                }
            }
            Kind::Entry { .. } => match cell {
                Some(cell) if cell.lists(row) => return Found::Value(row.value.clone()),
                Some(cell) => newer |= cell.row_of(&row.key).is_some(),
                None => {}
            },
        }
    }
    if newer { Found::Newer } else { Found::Nothing }
}

/// Rows in groups whose cells are asked for at once, no key in two of them.
fn groups(rows: &[Row]) -> Vec<&[Row]> {
    let mut groups = Vec::new();
    let mut rest = rows;
    while !rest.is_empty() {
        let mut end = rest.len().min(FIRST);
        let key = |place: usize| rest.get(place).map(|row| &row.key);
        while end < rest.len() && key(end) == key(end - 1) {
            end += 1;
        }
        let (group, behind) = rest.split_at(end);
        groups.push(group);
        rest = behind;
    }
    groups
}
