//! Sorting rows: in memory, only the first n where no more are wanted, in a temporary file where memory ends.

use std::collections::BinaryHeap;
use std::io::{self, Read, Write};

use crate::error::Error;
use crate::row::Stored;
use crate::sort::{self, Spill, read_part, write_part};

/// A row and what it is sorted by: the order's bytes, then the record's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sorted {
    pub(crate) order: Vec<u8>,
    pub(crate) record: Vec<u8>,
    pub(crate) key: Vec<u8>,
    pub(crate) row: Stored,
}

impl Ord for Sorted {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.order, &self.record).cmp(&(&other.order, &other.record))
    }
}

impl PartialOrd for Sorted {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Spill for Sorted {
    fn size(&self) -> usize {
        // The four vectors beside their bytes.
        self.order.len() + self.record.len() + self.key.len() + self.row.payload.len() + 104
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for part in [&self.order, &self.record, &self.key, &self.row.payload] {
            write_part(part, out)?;
        }
        out.write_all(&[u8::from(self.row.whole)])
    }

    fn read(run: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(order) = read_part(run)? else { return Ok(None) };
        let mut next = || read_part(run)?.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof));
        let (record, key, payload) = (next()?, next()?, next()?);
        let mut whole = [0];
        run.read_exact(&mut whole)?;
        Ok(Some(Self { order, record, key, row: Stored { payload, whole: whole == [1] } }))
    }
}

/// Takes rows in any order, gives them back sorted: all of them, or the first.
#[derive(Debug)]
pub(crate) struct Sorter {
    rows: sort::Sorter<Sorted>,
    /// Only so many of the first are wanted.
    top: Option<usize>,
    /// The first rows so far, greatest on top, where only some are wanted.
    first: BinaryHeap<Sorted>,
}

impl Sorter {
    pub(crate) fn new(memory: usize, top: Option<u64>) -> Self {
        // A limit that memory may not hold is no help: everything is sorted then.
        let top = top.and_then(|top| usize::try_from(top).ok()).filter(|top| *top <= 10_000);
        Self { rows: sort::Sorter::new(memory), top, first: BinaryHeap::new() }
    }

    pub(crate) fn push(&mut self, row: Sorted) -> Result<(), Error> {
        let Some(top) = self.top else { return self.rows.push(row) };
        if self.first.len() < top {
            self.first.push(row);
        } else if let Some(mut greatest) = self.first.peek_mut()
            && row < *greatest
        {
            *greatest = row;
        }
        Ok(())
    }

    /// The rows in their order.
    pub(crate) fn finish(mut self) -> Result<impl Iterator<Item = Result<Sorted, Error>>, Error> {
        self.first.into_iter().try_for_each(|row| self.rows.push(row))?;
        self.rows.finish()
    }
}
