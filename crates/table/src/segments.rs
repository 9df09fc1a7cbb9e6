//! A whole table in parts that can be read side by side: for exports and for work on every record.

use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_schema::{self as schema, Placement};
use keyloom_store::{Direction, Limits, Store};

use crate::error::Error;
use crate::execute::Examined;
use crate::row::Row;
use crate::table::Table;

/// A part of a table: some of its shards or stripes, or a stretch of its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The tree that the records are in: one that is given up is never used again.
    tree: u32,
    spans: Vec<Span>,
}

impl<S: Store> Table<S> {
    /// Splits the table in at most `count` parts, which together hold every record once.
    ///
    /// A table with shards or stripes is split between them. An ordered one is split by its statistics, and is one part
    /// until it has been [analyzed](crate::Database::analyze).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use keyloom_schema::{Document, Table};
    /// use keyloom_store::{MemoryStore, Wait};
    /// use keyloom_table::Database;
    ///
    /// let database = Database::open(MemoryStore::new()).wait()?;
    /// let users = Table::named("users").column("user", "str").key(["user"]).stripes(256);
    /// let users = database.create_table(users).wait()?;
    /// users.load((0..1_000).map(|number| Document::new().with("user", format!("U{number}"))), |_| ()).wait()?;
    ///
    /// let segments = users.segments(4)?;
    /// let count = std::thread::scope(|threads| {
    ///     let read = |segment| users.scan(segment, |_| Ok(ControlFlow::Continue(()))).wait();
    ///     let reading: Vec<_> = segments.iter().map(|segment| threads.spawn(move || read(segment))).collect();
    ///     reading.into_iter().map(|read| read.join().unwrap().map(|read| read.returned)).sum::<Result<u64, _>>()
    /// });
    /// assert_eq!(count?, 1_000);
    /// # Ok::<(), keyloom_table::Error>(())
    /// ```
    pub fn segments(&self, count: usize) -> Result<Vec<Segment>, Error> {
        let catalog = self.database().catalog();
        let tree = catalog.table(self.name())?.primary();
        let count = count.max(1);
        if tree.placement() != Placement::Ordered {
            let mut segments = vec![Segment { tree: tree.id(), spans: Vec::new() }; count];
            for (place, segment) in (0..tree.placement().count()).zip((0..count).cycle()) {
                let whole = tree.at(place, &Span { start: Vec::new(), end: None });
                if let Some(segment) = segments.get_mut(segment) {
                    segment.spans.push(whole);
                }
            }
            segments.retain(|segment| !segment.spans.is_empty());
            return Ok(segments);
        }
        let samples = catalog.statistics.0.get(&tree.id()).map_or(&[][..], |statistics| &statistics.samples);
        let cuts = (1..count).filter_map(|number| samples.get(number * samples.len() / count));
        let mut left = tree.span();
        let mut segments = Vec::with_capacity(count);
        for cut in cuts.filter(|cut| tree.span().contains(cut)) {
            if *cut > left.start {
                let next = Span { start: cut.clone(), end: left.end.clone() };
                left.end = Some(cut.clone());
                segments.push(Segment { tree: tree.id(), spans: vec![left] });
                left = next;
            }
        }
        segments.push(Segment { tree: tree.id(), spans: vec![left] });
        Ok(segments)
    }

    /// Shows every record of a segment to `visit`, as it lies in the store, until it breaks.
    ///
    /// It is read page by page, each of one state of the store, so that a long read keeps nothing from being reused. The
    /// closure must not call the store: it may hold a lock.
    ///
    /// It is [`Error::Conflict`] if the segment is of another table, or of what this one was before it was dropped or loaded
    /// anew. If that happens while it is read, what was shown is a part.
    pub async fn scan(
        &self,
        segment: &Segment,
        mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Examined, Error> {
        let table = self.definition()?;
        self.check_holds(segment, &table)?;
        let now = self.database().now();
        let mut examined = Examined::default();
        for span in &segment.spans {
            let mut left = Some(span.clone());
            while let Some(span) = left.take() {
                let (mut wrong, mut enough) = (None, false);
                let look = |key: &[u8], payload: &[u8]| {
                    let shown = Row::record(&table, key, payload).and_then(|row| {
                        if row.is_expired(now)? {
                            return Ok(ControlFlow::Continue(()));
                        }
                        examined.returned += 1;
                        examined.returned_bytes += u64::try_from(row.size()).unwrap_or(u64::MAX);
                        visit(&row)
                    });
                    match shown {
                        Ok(flow) => {
                            enough = flow.is_break();
                            flow
                        }
                        Err(error) => {
                            wrong = Some(error);
                            ControlFlow::Break(())
                        }
                    }
                };
                let page =
                    self.database().store().scan(&span, Direction::Forward, Limits::default(), look).await?;
                examined.seeks += 1;
                examined.rows += u64::try_from(page.rows).unwrap_or(u64::MAX);
                examined.bytes += u64::try_from(page.bytes).unwrap_or(u64::MAX);
                if let Some(error) = wrong {
                    return Err(error);
                }
                if enough {
                    return Ok(examined);
                }
                left = page.rest;
            }
        }
        // If the tree is the table's now, it was so all the time, and nobody has cleared it meanwhile.
        let newest = self.database().newest().await?;
        self.check_holds(segment, newest.table(self.name())?)?;
        Ok(examined)
    }

    /// Refuses a segment that does not hold records of the table as it is defined here.
    fn check_holds(&self, segment: &Segment, table: &schema::Table) -> Result<(), Error> {
        if segment.tree == table.primary().id() {
            return Ok(());
        }
        let name = self.name();
        let reason =
            format!("the segment is not of {name} as it is now: ask the table for its segments again");
        Err(Error::Conflict(reason.into()))
    }
}
