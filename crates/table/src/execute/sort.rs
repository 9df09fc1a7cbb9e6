//! Sorting rows: in memory, only the first n where no more are wanted, in a temporary file where memory ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use crate::error::Error;
use crate::row::Stored;

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

impl Sorted {
    fn size(&self) -> usize {
        // The four vectors beside their bytes.
        self.order.len() + self.record.len() + self.key.len() + self.row.payload.len() + 104
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for part in [&self.order, &self.record, &self.key, &self.row.payload] {
            out.write_all(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes())?;
            out.write_all(part)?;
        }
        out.write_all(&[u8::from(self.row.whole)])
    }

    /// The next row of a run; `None` at its end.
    fn read(run: &mut impl Read) -> io::Result<Option<Self>> {
        let mut length = [0; 8];
        match run.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let mut part = |length: [u8; 8]| -> io::Result<Vec<u8>> {
            let length = u64::from_be_bytes(length);
            let mut bytes = Vec::new();
            let read = run.by_ref().take(length).read_to_end(&mut bytes)?;
            if u64::try_from(read).ok() == Some(length) {
                Ok(bytes)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        };
        let order = part(length)?;
        let mut next = || -> io::Result<Vec<u8>> {
            let length: [u8; 8] = part(8_u64.to_be_bytes())?.try_into().unwrap_or_default();
            part(length)
        };
        let (record, key, payload) = (next()?, next()?, next()?);
        let mut whole = [0];
        run.read_exact(&mut whole)?;
        Ok(Some(Self { order, record, key, row: Stored { payload, whole: whole == [1] } }))
    }
}

/// Takes rows in any order, gives them back sorted.
#[derive(Debug)]
pub(crate) struct Sorter {
    memory: usize,
    /// Only so many of the first are wanted.
    top: Option<usize>,
    used: usize,
    rows: Vec<Sorted>,
    /// The first rows so far, greatest on top, where only some are wanted.
    first: BinaryHeap<Sorted>,
    runs: Vec<File>,
}

impl Sorter {
    pub(crate) fn new(memory: usize, top: Option<u64>) -> Self {
        // A limit that memory may not hold is no help: everything is sorted then.
        let top = top.and_then(|top| usize::try_from(top).ok()).filter(|top| *top <= 10_000);
        Self { memory, top, used: 0, rows: Vec::new(), first: BinaryHeap::new(), runs: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Sorted) -> Result<(), Error> {
        if let Some(top) = self.top {
            if self.first.len() < top {
                self.first.push(row);
            } else if let Some(mut greatest) = self.first.peek_mut()
                && row < *greatest
            {
                *greatest = row;
            }
            return Ok(());
        }
        self.used += row.size();
        self.rows.push(row);
        if self.used > self.memory {
            self.spill()?;
        }
        Ok(())
    }

    /// Writes what is in memory as a sorted run.
    fn spill(&mut self) -> Result<(), Error> {
        self.rows.sort_unstable();
        let mut run = BufWriter::new(tempfile::tempfile()?);
        for row in self.rows.drain(..) {
            row.write(&mut run)?;
        }
        let mut file = run.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        self.used = 0;
        Ok(())
    }

    /// The rows in their order.
    pub(crate) fn finish(mut self) -> Result<impl Iterator<Item = Result<Sorted, Error>>, Error> {
        self.rows.extend(std::mem::take(&mut self.first).into_vec());
        self.rows.sort_unstable();
        let mut sources = vec![Run::Memory(self.rows.into_iter())];
        sources.extend(self.runs.into_iter().map(|run| Run::File(BufReader::new(run))));
        let mut heads = BinaryHeap::with_capacity(sources.len());
        for (number, source) in sources.iter_mut().enumerate() {
            if let Some(row) = source.next()? {
                heads.push(Reverse((row, number)));
            }
        }
        Ok(std::iter::from_fn(move || {
            let Reverse((row, number)) = heads.pop()?;
            match sources.get_mut(number).map_or(Ok(None), Run::next) {
                Ok(Some(next)) => heads.push(Reverse((next, number))),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
            Some(Ok(row))
        }))
    }
}

/// Rows that are sorted already.
enum Run {
    Memory(std::vec::IntoIter<Sorted>),
    File(BufReader<File>),
}

impl Run {
    fn next(&mut self) -> Result<Option<Sorted>, Error> {
        match self {
            Self::Memory(rows) => Ok(rows.next()),
            Self::File(run) => Ok(Sorted::read(run)?),
        }
    }
}
