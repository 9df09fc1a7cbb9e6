//! LMDB's pages, read without LMDB: the same rows for fewer steps, and with the memory of the next asked for ahead.
//!
//! ```text
//! page  │number, 8│0, 2│flags, 2│end of the places, 2│-, 2│places of its nodes, 2 each …│   …│nodes│
//! node  │low half, 2│high half, 2│flags, 2│length of the key, 2│key│value│
//! ```
//!
//! All numbers are little-endian. In a branch the two halves and the flags are the number of a page, whose keys are none
//! smaller than the node's; the first node has no key. In a leaf the halves are the length of the value, which stands
//! there or, by a flag, on pages of its own.
//!
//! What a read transaction sees is never changed, and stays mapped: what LMDB gives to those who read is lent from the
//! same memory. All that is read of a page is checked to lie within it, and each page to lie within the file.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::marker::PhantomData;
use std::ops::Bound;
use std::path::Path;

use heed::RoTxn;
use keyloom_store::{Direction, Error};

use crate::prefetch;

mod rows;

pub(crate) use rows::Rows;

/// The bytes before a page's places, and before a node's key.
pub(crate) const PAGE_HEAD: usize = 16;
const NODE_HEAD: usize = 8;

/// What a page is, by its flags.
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const KINDS: u16 = 0x6F;

/// A node whose value is on pages of its own, and one whose value is the root of a table.
const BIG: u16 = 0x01;
const TABLE: u16 = 0x02;

/// The only size of pages that is read so: no map begins between two of them, whatever the machine.
const PAGE: usize = 4096;
const PAGE_BYTES: u64 = 4096;

/// What the first page says of the file, behind its head: that it is one of LMDB, of the first format.
const FORMAT: [u8; 8] = [0xDE, 0xC0, 0xEF, 0xBE, 1, 0, 0, 0];

/// More levels than a tree of any size has.
const DEEPEST: usize = 32;

/// For how many steps of a search what they may compare is asked for at once.
const LEVELS: usize = 3;
/// How many keys go down a tree side by side.
const ABREAST: usize = 8;
/// A row that is not large.
const ROW: usize = 256;
/// With so few rows of a leaf left, a search asks for them whole: it ends at one of them.
const FEW: usize = 3;
/// What most comparisons look at of a node: its head and three words of its key.
const BEGINNING: usize = NODE_HEAD + 24;
/// The head of a page and the places of most nodes.
const PLACES: usize = 256;

/// A key and its value as they lie in the file.
pub(crate) type Row<'t> = (&'t [u8], &'t [u8]);

/// Where a file's pages are in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Map {
    base: usize,
}

impl Map {
    /// The map of a file that these bytes, lent by LMDB to a reader, are on a page of; `None` if it is not what is read here.
    #[allow(unsafe_code, reason = "what lies around bytes that LMDB has lent")]
    pub(crate) fn around(lent: &[u8], page_size: u32, path: &Path) -> Option<Self> {
        let here = usize::BITS == 64 && cfg!(target_endian = "little");
        if !here || heed::lmdb_version().major != 0 || usize::try_from(page_size) != Ok(PAGE) {
            return None;
        }
        let address = lent.as_ptr().expose_provenance() & !(PAGE - 1);
        // SAFETY: the page that something lent lies on is mapped whole, and is not changed while that is lent.
        let page: &[u8] =
            unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), PAGE) };
        let number = number(page, 0)?;
        // A page that is damaged may say that it is another: it is believed if the file has the same there.
        let mut file = File::open(path).ok()?;
        let mut first = [0; PAGE];
        file.read_exact(&mut first).ok()?;
        let mut there = [0; PAGE];
        file.seek(SeekFrom::Start(number.checked_mul(PAGE_BYTES)?)).ok()?;
        file.read_exact(&mut there).ok()?;
        let known = *first.get(PAGE_HEAD..)?.first_chunk::<8>()? == FORMAT && page == there;
        let base = address.checked_sub(usize::try_from(number).ok()?.checked_mul(PAGE)?)?;
        known.then_some(Self { base })
    }

    /// The same of a file that was mapped without LMDB.
    pub(crate) fn of(file: &[u8]) -> Option<Self> {
        let here = usize::BITS == 64 && cfg!(target_endian = "little");
        let known = *file.get(PAGE_HEAD..)?.first_chunk::<8>()? == FORMAT;
        (here && known).then(|| Self { base: file.as_ptr().expose_provenance() })
    }
}

/// The root of a tree in one state of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root {
    page: u64,
    /// How many rows the tree has.
    entries: u64,
    /// How many levels it has. What is asked for ahead goes by it, and nothing else.
    depth: usize,
    /// How many pages the file has.
    pages: u64,
}

impl Root {
    /// By what LMDB keeps of a table under its name, in a file of so many pages.
    pub(crate) fn of(table: &[u8], pages: u64) -> Option<Self> {
        let depth = table.get(6..)?.first_chunk().map(|depth| u16::from_le_bytes(*depth))?;
        Some(Self { page: number(table, 40)?, entries: number(table, 32)?, depth: depth.into(), pages })
    }
}

/// A tree as a transaction sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree<'t> {
    map: Map,
    root: Root,
    /// What keeps its pages as they are: a transaction, or a map of the whole file.
    kept: PhantomData<&'t [u8]>,
}

impl<'t> Tree<'t> {
    /// The tree with a root that the transaction has been asked for.
    pub(crate) fn new(map: Map, root: Root, _: &'t RoTxn<'_>) -> Self {
        Self { map, root, kept: PhantomData }
    }

    /// The same of a file that is mapped and that nobody writes to: `pages` says no more than it has.
    pub(crate) fn of_file(file: &'t [u8], root: Root) -> Option<Self> {
        let pages = u64::try_from(file.len() / PAGE).ok()?;
        Some(Self { map: Map::of(file)?, root: Root { pages, ..root }, kept: PhantomData })
    }

    /// How many rows it has.
    pub(crate) fn entries(&self) -> u64 {
        self.root.entries
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<&'t [u8]>, Error> {
        match self.top()? {
            None => Ok(None),
            Some(top) => self.find(top, key),
        }
    }

    /// Does what [`get`](Self::get) does, and `meanwhile` while the leaf is on its way from memory.
    pub(crate) fn get_meanwhile<W>(
        &self,
        key: &[u8],
        meanwhile: impl FnOnce() -> W,
    ) -> Result<(W, Option<&'t [u8]>), Error> {
        let Some(mut page) = self.top()? else { return Ok((meanwhile(), None)) };
        for _ in 2..self.root.depth.min(DEEPEST) {
            if !page.is_leaf {
                page = self.page(page.child(page.towards(key)?)?)?;
            }
        }
        if page.is_leaf {
            return Ok((meanwhile(), self.find(page, key)?));
        }
        let leaf = page.child(page.towards(key)?)?;
        prefetch::fetch_all(self.bytes(leaf, PAGE)?);
        let done = meanwhile();
        Ok((done, self.find(self.page(leaf)?, key)?))
    }

    /// The value of a key that is below a page, if it is anywhere.
    #[inline]
    fn find(&self, mut page: Page<'t>, key: &[u8]) -> Result<Option<&'t [u8]>, Error> {
        for _ in 0..DEEPEST {
            if page.is_leaf {
                return page.search(0, key)?.value(self, &page);
            }
            page = self.page(page.child(page.towards(key)?)?)?;
        }
        Err(too_deep())
    }

    /// Shows the values of several keys, in their order.
    ///
    /// The keys go down the tree side by side: while one is compared, the memory that the others need is on its way.
    pub(crate) fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&'t [u8]>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let top = self.top()?.unwrap_or(Page::EMPTY);
        for (group, keys) in keys.chunks(ABREAST).enumerate() {
            let found = self.abreast(top, keys)?;
            for (leaf, search) in found.iter().filter(|(_, search)| search.is_there) {
                leaf.ask_for_row(search.low);
            }
            for (number, (leaf, search)) in found.iter().enumerate().take(keys.len()) {
                look(group * ABREAST + number, search.value(self, leaf)?)?;
            }
        }
        Ok(())
    }

    /// The leaf of each key, searched for it.
    fn abreast<K: AsRef<[u8]>>(
        &self,
        top: Page<'t>,
        keys: &[K],
    ) -> Result<[(Page<'t>, Search); ABREAST], Error> {
        let mut pages = [top; ABREAST];
        for _ in 0..DEEPEST {
            // All leaves are equally deep.
            let is_leaf = pages.iter().any(|page| page.is_leaf);
            let mut searched = pages.map(|page| (page, Search::of(&page, usize::from(!is_leaf))));
            let mut goes_on = true;
            while std::mem::take(&mut goes_on) {
                for ((page, search), key) in searched.iter_mut().zip(keys) {
                    if is_leaf {
                        search.ask_next(page);
                    }
                    goes_on |= search.step(page, key.as_ref())?;
                }
            }
            if is_leaf {
                return Ok(searched);
            }
            let mut below = [0; ABREAST];
            for (below, (page, search)) in below.iter_mut().zip(&searched) {
                *below = page.child(search.towards())?;
                prefetch::fetch(self.bytes(*below, PLACES)?);
            }
            for (page, below) in pages.iter_mut().zip(below) {
                *page = self.page(below)?;
            }
        }
        Err(too_deep())
    }

    /// The rows from one bound to another, in a direction: the least of them first, or backward the greatest.
    pub(crate) fn rows<'b>(
        &self,
        from: Bound<&[u8]>,
        until: Bound<&'b [u8]>,
        direction: Direction,
    ) -> Result<Rows<'t, 'b>, Error> {
        let mut rows = Rows::new(*self, direction, until);
        if let Some(top) = self.top()? {
            rows.descend(top, |page| match from {
                Bound::Unbounded => Ok(page.edge(direction)),
                Bound::Included(key) | Bound::Excluded(key) if page.is_leaf => {
                    let Search { low: at, is_there, .. } = page.search(0, key)?;
                    // Between the rows before it and those behind it; its own is on the side that is read, or not.
                    let own = (direction == Direction::Forward) == matches!(from, Bound::Excluded(_));
                    Ok(at + usize::from(is_there && own))
                }
                Bound::Included(key) | Bound::Excluded(key) => page.towards(key),
            })?;
        }
        Ok(rows)
    }

    fn top(&self) -> Result<Option<Page<'t>>, Error> {
        // An empty tree has no page.
        if self.root.page == u64::MAX { Ok(None) } else { self.page(self.root.page).map(Some) }
    }

    /// A page of the tree.
    #[inline]
    fn page(&self, number: u64) -> Result<Page<'t>, Error> {
        let bytes: &[u8; PAGE] = self.bytes(number, PAGE)?.first_chunk().ok_or_else(out)?;
        // The head says where the first comparison is: what lies beside it comes with it.
        prefetch::fetch(bytes.get(prefetch::LINE..PLACES).unwrap_or_default());
        let head = bytes.first_chunk().ok_or_else(out)?;
        let &[a, b, c, d, e, f, g, h, _, _, i, j, k, l, _, _]: &[u8; PAGE_HEAD] = head;
        let (flags, end) = (u16::from_le_bytes([i, j]), usize::from(u16::from_le_bytes([k, l])));
        let is_leaf = flags & KINDS == LEAF;
        if u64::from_le_bytes([a, b, c, d, e, f, g, h]) != number || !(is_leaf || flags & KINDS == BRANCH) {
            return Err(damaged("a page that is not of the tree"));
        }
        let (places, _) = bytes.get(PAGE_HEAD..end).ok_or_else(out)?.as_chunks();
        Ok(Page { bytes, places, is_leaf })
    }

    /// So many bytes from the start of a page on.
    #[allow(unsafe_code, reason = "pages of a map are borrowed from it")]
    #[inline]
    fn bytes(&self, number: u64, length: usize) -> Result<&'t [u8], Error> {
        let count = u64::try_from(length.div_ceil(PAGE)).unwrap_or(u64::MAX);
        if number.checked_add(count).is_none_or(|end| end > self.root.pages) {
            return Err(damaged("a page that the file does not have"));
        }
        let address = self.map.base + usize::try_from(number).unwrap_or(0) * PAGE;
        // SAFETY: these pages are among those of the file when the transaction had begun, all of which are mapped while it
        // is open (it is, for 't), and nobody writes to those that it can reach. Or they are of a file that is mapped for 't.
        Ok(unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), length) })
    }

    /// The value of a leaf's node.
    #[inline]
    fn value(&self, node: Node<'t>) -> Result<&'t [u8], Error> {
        let length = usize::try_from(node.halves).unwrap_or(usize::MAX);
        if node.flags == 0 || node.flags == TABLE {
            return node.rest.get(..length).ok_or_else(out);
        }
        if node.flags != BIG {
            return Err(damaged("a node of another kind"));
        }
        let number = number(node.rest, 0).ok_or_else(out)?;
        let bytes = self.bytes(number, PAGE_HEAD.saturating_add(length))?;
        let (head, value) = bytes.split_first_chunk::<PAGE_HEAD>().ok_or_else(out)?;
        let &[.., a, b, _, _, _, _] = head;
        if u16::from_le_bytes([a, b]) & KINDS != OVERFLOW {
            return Err(damaged("a page that has no value"));
        }
        Ok(value)
    }
}

/// A page of a tree.
#[derive(Debug, Clone, Copy)]
struct Page<'t> {
    bytes: &'t [u8; PAGE],
    places: &'t [[u8; 2]],
    is_leaf: bool,
}

/// A node of a page.
struct Node<'t> {
    halves: u32,
    flags: u16,
    key: &'t [u8],
    rest: &'t [u8],
}

impl<'t> Page<'t> {
    const EMPTY: Self = Self { bytes: &[0; PAGE], places: &[], is_leaf: true };

    /// The bytes of a node and what follows it on the page.
    #[inline]
    fn at(&self, index: usize) -> Option<&'t [u8]> {
        self.bytes.get(usize::from(u16::from_le_bytes(*self.places.get(index)?))..)
    }

    #[inline]
    fn node(&self, index: usize) -> Result<Node<'t>, Error> {
        let node = self.at(index).and_then(<[u8]>::split_first_chunk::<NODE_HEAD>);
        let (&[a, b, c, d, e, f, g, h], rest) = node.ok_or_else(out)?;
        let (key, rest) = rest.split_at_checked(u16::from_le_bytes([g, h]).into()).ok_or_else(out)?;
        Ok(Node { halves: u32::from_le_bytes([a, b, c, d]), flags: u16::from_le_bytes([e, f]), key, rest })
    }

    /// The page below a node.
    #[inline]
    fn child(&self, index: usize) -> Result<u64, Error> {
        let node = self.node(index)?;
        Ok(u64::from(node.flags) << 32 | u64::from(node.halves))
    }

    /// The key of a node, which is all that a search looks at: its length stands behind the halves and the flags.
    #[inline]
    fn key(&self, index: usize) -> Option<&'t [u8]> {
        let (length, key) = self.at(index)?.get(6..)?.split_first_chunk()?;
        key.get(..u16::from_le_bytes(*length).into())
    }

    /// Searches the nodes from one on.
    #[inline]
    fn search(&self, first: usize, key: &[u8]) -> Result<Search, Error> {
        let mut search = Search::of(self, first);
        loop {
            search.ask_ahead(self);
            for _ in 0..LEVELS {
                if !search.step(self, key)? {
                    return Ok(search);
                }
            }
        }
    }

    /// The node of a branch whose page has the key, if any has.
    #[inline]
    fn towards(&self, key: &[u8]) -> Result<usize, Error> {
        Ok(self.search(1, key)?.towards())
    }

    /// Where a direction begins: before the first row or behind the last, or at the first branch or the last.
    fn edge(&self, direction: Direction) -> usize {
        match direction {
            Direction::Forward => 0,
            Direction::Backward if self.is_leaf => self.places.len(),
            Direction::Backward => self.places.len().saturating_sub(1),
        }
    }

    /// The node that comes next in a direction.
    #[inline]
    fn beside(&self, node: usize, direction: Direction) -> Option<usize> {
        match direction {
            Direction::Forward => Some(node + 1).filter(|next| *next < self.places.len()),
            Direction::Backward => node.checked_sub(1),
        }
    }

    /// Asks for a node that is not large.
    #[inline]
    fn ask_for_row(&self, index: usize) {
        let node = self.at(index).unwrap_or_default();
        prefetch::fetch(node.get(..ROW).unwrap_or(node));
    }

    /// Asks for the rows from one on.
    #[inline]
    fn ask_for_rows(&self, first: usize, direction: Direction) {
        if let Some(place) = self.places.get(first) {
            prefetch::fetch_rows(self.bytes, u16::from_le_bytes(*place).into(), direction);
        }
    }

    /// Asks for the beginning of a node.
    #[inline]
    fn ask_for(&self, index: usize) {
        if let Some(place) = self.places.get(index) {
            let node = self.bytes.as_ptr().wrapping_add(u16::from_le_bytes(*place).into());
            // Every other one lies in two lines.
            prefetch::fetch_line(node);
            prefetch::fetch_line(node.wrapping_add(BEGINNING - 1));
        }
    }
}

/// A search on a page, by halving: the node, if there is one, is one of these.
#[derive(Debug, Clone, Copy)]
struct Search {
    /// At the end, the first node whose key is not smaller.
    low: usize,
    high: usize,
    /// Whether that has the key.
    is_there: bool,
}

impl Search {
    /// Among the nodes from one on.
    #[inline]
    fn of(page: &Page<'_>, first: usize) -> Self {
        Self { low: first, high: page.places.len(), is_there: false }
    }

    /// Asks for all that the next [`LEVELS`] steps may compare, whichever way they go.
    #[inline(always)]
    fn ask_ahead(&self, page: &Page<'_>) {
        if page.is_leaf && self.high.saturating_sub(self.low) <= FEW {
            return (self.low..self.high).for_each(|row| page.ask_for_row(row));
        }
        let middle = self.low.midpoint(self.high);
        page.ask_for(middle);
        for half in [Self { high: middle, ..*self }, Self { low: middle, ..*self }] {
            page.ask_for(half.low.midpoint(half.high));
            half.ask_next(page);
        }
    }

    /// Asks for what the step behind the next may compare.
    #[inline(always)]
    fn ask_next(&self, page: &Page<'_>) {
        let middle = self.low.midpoint(self.high);
        page.ask_for(self.low.midpoint(middle));
        page.ask_for(middle.midpoint(self.high));
    }

    /// Compares a node; `false` if none is left.
    #[inline(always)]
    fn step(&mut self, page: &Page<'_>, key: &[u8]) -> Result<bool, Error> {
        if self.low >= self.high {
            return Ok(false);
        }
        let middle = self.low.midpoint(self.high);
        match compare(page.key(middle).ok_or_else(out)?, key) {
            Ordering::Less => self.low = middle + 1,
            Ordering::Greater => self.high = middle,
            Ordering::Equal => *self = Self { low: middle, high: middle, is_there: true },
        }
        Ok(true)
    }

    /// The node of a branch, searched from its second on, whose page has the key, if any has.
    #[inline]
    fn towards(&self) -> usize {
        if self.is_there { self.low } else { self.low.saturating_sub(1) }
    }

    /// The value that was found on a leaf.
    #[inline]
    fn value<'t>(&self, tree: &Tree<'t>, leaf: &Page<'t>) -> Result<Option<&'t [u8]>, Error> {
        self.is_there.then(|| tree.value(leaf.node(self.low)?)).transpose()
    }
}

/// How two keys compare: eight bytes at a time, because they differ soon, and a call would take longer.
#[inline]
pub(crate) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let ((ones, one), (others, other)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    for (one, other) in ones.iter().zip(others) {
        if one != other {
            return u64::from_be_bytes(*one).cmp(&u64::from_be_bytes(*other));
        }
    }
    match ones.len().cmp(&others.len()) {
        Ordering::Equal => one.cmp(other),
        Ordering::Less => one.cmp(others.get(ones.len()..).unwrap_or_default().as_flattened()),
        Ordering::Greater => ones.get(others.len()..).unwrap_or_default().as_flattened().cmp(other),
    }
}

/// A number of eight bytes.
#[inline]
fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|number| u64::from_le_bytes(*number))
}

#[cold]
fn too_deep() -> Error {
    damaged("a tree that is too deep")
}

#[cold]
fn out() -> Error {
    damaged("a page whose nodes do not lie within it")
}

#[cold]
fn damaged(what: &'static str) -> Error {
    Error::Damaged(format!("the file has {what}: restore it from a copy").into())
}

#[cfg(test)]
mod tests;
