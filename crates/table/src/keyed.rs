//! A row of the store as bytes, to be sorted by its key.

use std::cmp::Ordering;
use std::io::{self, Read, Write};

use keyloom_schema::Tree;

use crate::entries;
use crate::sort::{Spill, read_part, write_part};

/// A record or an entry as the store has it. Of rows with the same key, the one that was pushed last sorts last.
#[derive(Debug)]
pub(crate) struct Keyed {
    /// The first bytes of the key behind the tree's number, which lie beside their neighbours' while rows are sorted.
    head: u128,
    number: u64,
    /// The key, then the value.
    bytes: Vec<u8>,
    key: usize,
}

impl Keyed {
    /// The row of this key, which `bytes` begin with; its value follows. It was pushed as number `number`.
    pub(crate) fn new(number: u64, bytes: Vec<u8>, key: usize) -> Self {
        let mut head = [0; 16];
        let rest = bytes.get(Tree::ID..key).unwrap_or_default();
        head.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
        Self { head: u128::from_be_bytes(head), number, bytes, key }
    }

    /// A row that no other has the key of.
    pub(crate) fn row(key: &[u8], value: &[u8]) -> Self {
        Self::new(0, [key, value].concat(), key.len())
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.bytes.get(..self.key).unwrap_or_default()
    }

    /// The key behind the tree's number, by which rows are sorted: one that was pushed before its table was made has another.
    fn rest(&self) -> &[u8] {
        self.bytes.get(Tree::ID..self.key).unwrap_or_default()
    }

    pub(crate) fn value(&self) -> &[u8] {
        self.bytes.get(self.key..).unwrap_or_default()
    }

    /// The same row in the tree of this number, which it had not when it was pushed.
    pub(crate) fn in_tree(mut self, id: u32) -> Self {
        self.bytes.iter_mut().zip(id.to_be_bytes()).for_each(|(place, byte)| *place = byte);
        self
    }

    /// The same entry of a record in the tree of this number.
    pub(crate) fn of_record_in(mut self, id: u32) -> Self {
        entries::set_tree(self.bytes.get_mut(self.key..).unwrap_or_default(), id);
        self
    }

    /// Its bytes in the store.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl Ord for Keyed {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_head = self.head.cmp(&other.head);
        by_head.then_with(|| (self.rest(), self.number).cmp(&(other.rest(), other.number)))
    }
}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Keyed {}

impl Spill for Keyed {
    fn size(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write_part(&self.bytes, out)?;
        out.write_all(&u64::try_from(self.key).unwrap_or(u64::MAX).to_be_bytes())?;
        out.write_all(&self.number.to_be_bytes())
    }

    fn read(run: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(bytes) = read_part(run)? else { return Ok(None) };
        let mut number = || -> io::Result<u64> {
            let mut bytes = [0; 8];
            run.read_exact(&mut bytes)?;
            Ok(u64::from_be_bytes(bytes))
        };
        let key = usize::try_from(number()?).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Some(Self::new(number()?, bytes, key)))
    }
}
