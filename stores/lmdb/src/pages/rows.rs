//! The rows of a tree in the order of their keys, leaf after leaf.

use std::ops::Bound;

use keyloom_store::{Direction, Error};
use smallvec::SmallVec;

use super::{DEEPEST, PAGE_HEAD, Page, Row, Tree, too_deep};
use crate::prefetch;

/// With so many rows of a leaf left, the first of the next are asked for.
const LAST_ROWS: usize = 3;

/// The rows of a tree, one after the other.
#[derive(Debug)]
pub(crate) struct Rows<'t, 'b> {
    tree: Tree<'t>,
    /// The branches above the leaf, the root first, each with the node that was taken.
    above: SmallVec<[(Page<'t>, usize); 4]>,
    leaf: Page<'t>,
    /// How many rows of the leaf lie before this place: the next is the first behind it, or backward the last before it.
    at: usize,
    direction: Direction,
    /// Where they end.
    until: Bound<&'b [u8]>,
    /// Whether all rows of the leaf come before that.
    is_inside: bool,
}

impl<'t, 'b> Rows<'t, 'b> {
    /// None yet.
    pub(super) fn new(tree: Tree<'t>, direction: Direction, until: Bound<&'b [u8]>) -> Self {
        let (above, leaf) = (SmallVec::new(), Page::EMPTY);
        Self { tree, above, leaf, at: 0, direction, until, is_inside: true }
    }

    /// Goes from a page down to a leaf, where `choose` says at each.
    pub(super) fn descend(
        &mut self,
        mut page: Page<'t>,
        choose: impl Fn(&Page<'t>) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        while !page.is_leaf {
            if self.above.len() == DEEPEST {
                return Err(too_deep());
            }
            page = self.below(page, choose(&page)?)?;
        }
        (self.leaf, self.at) = (page, choose(&page)?);
        self.is_inside = self.knows_inside();
        if let Some(at) = self.next_at() {
            self.leaf.ask_for_rows(at, self.direction);
        }
        Ok(())
    }

    /// Whether the branch above says of all rows of the leaf that they come before the end: that is one comparison, on a
    /// page that is in a cache, for all of them.
    fn knows_inside(&self) -> bool {
        let edge = self.above.last().and_then(|(branch, node)| match self.direction {
            // Rows are none smaller than the key of their node, whose first has none, and smaller than the key of the next.
            Direction::Forward => branch.key(node + 1),
            Direction::Backward => branch.key(*node).filter(|_| *node > 0),
        });
        match (edge, self.until, self.direction) {
            (_, Bound::Unbounded, _) => true,
            (Some(edge), Bound::Included(end) | Bound::Excluded(end), Direction::Forward) => edge <= end,
            (Some(edge), Bound::Included(end), Direction::Backward) => edge >= end,
            (Some(edge), Bound::Excluded(end), Direction::Backward) => edge > end,
            (None, ..) => false,
        }
    }

    /// Whether a row comes before the end.
    fn is_before_end(&self, key: &[u8]) -> bool {
        match (self.until, self.direction) {
            (Bound::Unbounded, _) => true,
            (Bound::Included(end), Direction::Forward) => key <= end,
            (Bound::Excluded(end), Direction::Forward) => key < end,
            (Bound::Included(end), Direction::Backward) => key >= end,
            (Bound::Excluded(end), Direction::Backward) => key > end,
        }
    }

    /// Goes to the page below a node of a branch, and asks for the one beside it.
    fn below(&mut self, branch: Page<'t>, node: usize) -> Result<Page<'t>, Error> {
        let beside =
            branch.beside(node, self.direction).map(|next| self.tree.bytes(branch.child(next)?, PAGE_HEAD));
        if let Some(Ok(head)) = beside {
            prefetch::fetch_line(head.as_ptr());
        }
        self.above.push((branch, node));
        self.tree.page(branch.child(node)?)
    }

    /// The row of the leaf that comes next.
    #[inline]
    fn next_at(&self) -> Option<usize> {
        match self.direction {
            Direction::Forward => Some(self.at).filter(|at| *at < self.leaf.places.len()),
            Direction::Backward => self.at.checked_sub(1),
        }
    }

    /// Goes to the next leaf; whether there is one.
    fn turn(&mut self) -> Result<bool, Error> {
        while let Some((page, node)) = self.above.pop() {
            if let Some(next) = page.beside(node, self.direction) {
                let below = self.below(page, next)?;
                let direction = self.direction;
                self.descend(below, |page| Ok(page.edge(direction)))?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Asks for the two rows that come first on the leaf beside; its head was asked for when this leaf was chosen.
    fn ask_beside(&self) -> Option<()> {
        let (branch, node) = self.above.last()?;
        let leaf = self.tree.page(branch.child(branch.beside(*node, self.direction)?).ok()?).ok()?;
        let first = match self.direction {
            Direction::Forward => 0,
            Direction::Backward => leaf.places.len().checked_sub(1)?,
        };
        leaf.ask_for_row(first);
        leaf.ask_for_row(leaf.beside(first, self.direction)?);
        Some(())
    }

    fn row(&mut self) -> Result<Option<Row<'t>>, Error> {
        let at = loop {
            match self.next_at() {
                Some(at) => break at,
                None if !self.turn()? => return Ok(None),
                None => {}
            }
        };
        let left;
        (self.at, left) = match self.direction {
            Direction::Forward => (at + 1, self.leaf.places.len() - at),
            Direction::Backward => (at, at + 1),
        };
        if left == LAST_ROWS {
            // What is damaged there is told when it is read.
            let _asked = self.ask_beside();
        }
        let node = self.leaf.node(at)?;
        let key = node.key;
        if !self.is_inside && !self.is_before_end(key) {
            return Ok(None);
        }
        Ok(Some((key, self.tree.value(node)?)))
    }
}

impl<'t> Iterator for Rows<'t, '_> {
    type Item = Result<Row<'t>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.row().transpose()
    }
}
