//! Asking the processor for memory before it is needed.
//!
//! LMDB puts the rows of a page one below the other: whoever reads them in the order of their keys goes through memory
//! backward, from page to page, which processors foresee badly. A hint at the start of each page makes a long scan of rows
//! that are in no cache a third faster. A search by halving asks for all that its next steps may compare, and a scan for the
//! page beside the one that it reads.

use keyloom_store::Direction;

/// The bytes of a line of the cache, and how many lines are asked for at once.
pub(crate) const LINE: usize = 64;
const AHEAD: usize = 16;

/// Asks for the rows of a page from the one that begins `at` a place on, in the direction that they are read in.
///
/// Lines are asked for in that direction too, one after the other: processors go on that way by themselves.
#[inline]
pub(crate) fn fetch_rows(page: &[u8], at: usize, direction: Direction) {
    let row = page.as_ptr().wrapping_add(at);
    let left = match direction {
        Direction::Forward => at,
        Direction::Backward => page.len().saturating_sub(at),
    };
    for distance in (0..left.min(AHEAD * LINE)).step_by(LINE) {
        fetch_line(match direction {
            Direction::Forward => row.wrapping_sub(distance),
            Direction::Backward => row.wrapping_add(distance),
        });
    }
}

/// Asks for what is about to be read, or for its beginning.
#[inline]
pub(crate) fn fetch<T>(what: &[T]) {
    for line in (0..size_of_val(what).min(AHEAD * LINE)).step_by(LINE) {
        fetch_line(what.as_ptr().cast::<u8>().wrapping_add(line));
    }
}

/// Asks for all of what will be read somewhere, in some time.
#[inline]
pub(crate) fn fetch_all(what: &[u8]) {
    what.chunks(LINE).for_each(|line| fetch_line(line.as_ptr()));
}

/// Asks for the line that this is in.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the hint is an instruction of the processor")]
#[inline]
pub(crate) fn fetch_line(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it is a hint, which reads nothing: any address may be given.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn fetch_line(_: *const u8) {}
