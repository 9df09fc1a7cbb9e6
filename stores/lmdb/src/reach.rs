//! Whether a file that is shorter than it says has all that anything leads to.
//!
//! LMDB counts pages that it never writes: those of a value that is deleted in the transaction that it was put in. If they are
//! the last ones, the file ends before them. Nothing leads to them until they are written, so nothing is missing; but a file
//! that was cut says the same of itself, and to read it would kill the process.

use std::fs::File;
use std::ops::Bound;
use std::path::Path;

use keyloom_store::{Direction, Error};
use memmap2::MmapOptions;

use crate::pages::{PAGE_HEAD, Root, Tree};

/// Where the first two pages have the roots of the trees, one of free pages and one of tables, and how long each is.
const ROOTS: [usize; 2] = [PAGE_HEAD + 24, PAGE_HEAD + 72];
const ROOT: usize = 48;
/// Where they have the number of their transaction: the greater counts.
const TRANSACTION: usize = PAGE_HEAD + 128;

/// Whether all that the newest state of the file leads to is among its first `length` bytes. The file is read whole.
pub(crate) fn ends_within(path: &Path, length: u64) -> bool {
    let Ok(length) = usize::try_from(length) else { return false };
    File::open(path).is_ok_and(|file| is_whole(&file, length).unwrap_or(false))
}

#[allow(unsafe_code, reason = "mapping a file is unsafe: another program may change it behind the map")]
fn is_whole(file: &File, length: usize) -> Result<bool, Error> {
    // SAFETY: all of what is mapped is there. LMDB writes no page that the newest state leads to, and files of stores are not
    // made shorter than that while they are open; that other programs do not change them is asked of the user in the README.
    let Ok(file) = (unsafe { MmapOptions::new().len(length).map(file) }) else { return Ok(false) };
    let Some(newest) = newest(&file) else { return Ok(false) };
    for root in ROOTS {
        let Some(tree) = tree(&file, newest.get(root..root + ROOT).unwrap_or_default()) else {
            return Ok(false);
        };
        for row in tree.rows(Bound::Unbounded, Bound::Unbounded, Direction::Forward)? {
            let (_, value) = row?;
            if root == ROOTS[1] {
                let Some(table) = self::tree(&file, value) else { return Ok(false) };
                for row in table.rows(Bound::Unbounded, Bound::Unbounded, Direction::Forward)? {
                    row?;
                }
            }
        }
    }
    Ok(true)
}

/// The one of the first two pages that counts.
fn newest(file: &[u8]) -> Option<&[u8]> {
    let (first, rest) = file.split_at_checked(4096)?;
    let second = rest.get(..4096)?;
    let transaction =
        |page: &[u8]| page.get(TRANSACTION..)?.first_chunk().map(|number| u64::from_le_bytes(*number));
    Some(if transaction(second)? > transaction(first)? { second } else { first })
}

fn tree<'f>(file: &'f [u8], root: &[u8]) -> Option<Tree<'f>> {
    Tree::of_file(file, Root::of(root, 0)?)
}
