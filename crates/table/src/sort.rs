//! Sorting what memory cannot hold: sorted runs in files, merged.
//!
//! ```text
//! rows ─→ run 1 ┐
//! rows ─→ run 2 ├─→ merged, a row of each in memory
//! rows ─────────┘
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use crate::error::Error;

/// The most runs that are merged at once: more would be too many open files.
pub(crate) const WIDEST: usize = 64;

/// How much of a run is read or written at once.
const BUFFER: usize = 64 << 10;

/// A row that can wait in a file.
pub(crate) trait Spill: Ord + Sized {
    /// How many bytes it takes in memory.
    fn size(&self) -> usize;

    /// Appends it to a run.
    fn write(&self, out: &mut impl Write) -> io::Result<()>;

    /// The next row of a run; `None` at its end.
    fn read(run: &mut impl Read) -> io::Result<Option<Self>>;
}

/// Appends bytes behind their length.
pub(crate) fn write_part(part: &[u8], out: &mut impl Write) -> io::Result<()> {
    out.write_all(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes())?;
    out.write_all(part)
}

/// Reads what [`write_part`] wrote; `None` at the end of the run.
pub(crate) fn read_part(run: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match run.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u64::from_be_bytes(length);
    // A damaged length must not ask for memory that no row needs.
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(1 << 16)).unwrap_or(0));
    let read = run.by_ref().take(length).read_to_end(&mut bytes)?;
    if u64::try_from(read).ok() == Some(length) {
        Ok(Some(bytes))
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// Writes rows that are sorted already to a file, which is then at its beginning.
pub(crate) fn write_run<T: Spill>(
    rows: impl IntoIterator<Item = Result<T, Error>>,
    file: File,
) -> Result<File, Error> {
    let mut run = BufWriter::with_capacity(BUFFER, file);
    for row in rows {
        row?.write(&mut run)?;
    }
    let mut file = run.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Rows in memory, which are sorted already, and those of runs, in their order.
pub(crate) fn merge<T: Spill>(
    rows: Vec<T>,
    runs: impl IntoIterator<Item = File>,
) -> Result<impl Iterator<Item = Result<T, Error>>, Error> {
    let mut sources = vec![Source::Memory(rows.into_iter())];
    sources.extend(runs.into_iter().map(|run| Source::File(BufReader::with_capacity(BUFFER, run))));
    let mut heads = BinaryHeap::with_capacity(sources.len());
    for (number, source) in sources.iter_mut().enumerate() {
        if let Some(row) = source.next()? {
            heads.push(Reverse((row, number)));
        }
    }
    Ok(std::iter::from_fn(move || {
        let mut head = heads.peek_mut()?;
        let Reverse((_, number)) = &*head;
        match sources.get_mut(*number).map_or(Ok(None), Source::next) {
            Ok(Some(next)) => {
                // Put in the place of the one that goes: the heap is mended once.
                let number = *number;
                let Reverse((row, _)) = std::mem::replace(&mut *head, Reverse((next, number)));
                Some(Ok(row))
            }
            Ok(None) => {
                let Reverse((row, _)) = std::collections::binary_heap::PeekMut::pop(head);
                Some(Ok(row))
            }
            Err(error) => Some(Err(error)),
        }
    }))
}

/// Takes rows in any order, in bounded memory, and gives them back sorted.
#[derive(Debug)]
pub(crate) struct Sorter<T> {
    memory: usize,
    used: usize,
    rows: Vec<T>,
    runs: Vec<File>,
    pushed: u64,
}

impl<T: Spill> Sorter<T> {
    /// One that keeps about so many bytes in memory.
    pub(crate) fn new(memory: usize) -> Self {
        Self { memory, used: 0, rows: Vec::new(), runs: Vec::new(), pushed: 0 }
    }

    /// How many rows were pushed.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    pub(crate) fn push(&mut self, row: T) -> Result<(), Error> {
        self.pushed += 1;
        self.used += row.size();
        self.rows.push(row);
        if self.used <= self.memory {
            return Ok(());
        }
        self.used = 0;
        self.rows.sort_unstable();
        let rows = std::mem::take(&mut self.rows);
        self.add_run(rows)
    }

    /// Takes rows that are sorted already.
    pub(crate) fn add_run(&mut self, rows: impl IntoIterator<Item = T>) -> Result<(), Error> {
        if self.runs.len() == WIDEST {
            let merged = merge::<T>(Vec::new(), std::mem::take(&mut self.runs))?;
            self.runs.push(write_run(merged, tempfile::tempfile()?)?);
        }
        self.runs.push(write_run(rows.into_iter().map(Ok), tempfile::tempfile()?)?);
        Ok(())
    }

    /// All rows in their order.
    pub(crate) fn finish(mut self) -> Result<impl Iterator<Item = Result<T, Error>>, Error> {
        self.rows.sort_unstable();
        merge(self.rows, self.runs)
    }
}

/// Rows that are sorted already.
enum Source<T> {
    Memory(std::vec::IntoIter<T>),
    File(BufReader<File>),
}

impl<T: Spill> Source<T> {
    fn next(&mut self) -> Result<Option<T>, Error> {
        match self {
            Self::Memory(rows) => Ok(rows.next()),
            Self::File(run) => Ok(T::read(run)?),
        }
    }
}
