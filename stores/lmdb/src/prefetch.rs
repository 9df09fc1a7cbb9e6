//! Asking the processor for memory before it is needed.
//!
//! LMDB puts the rows of a page one below the other: whoever reads them in the order of their keys goes through memory
//! backward, from page to page, which processors foresee badly. A hint at the start of each page makes a long scan of rows
//! that are in no cache a third faster. A search by halving asks for what it may compare next.

use keyloom_store::Direction;

/// The bytes of a line of the cache, and how many lines are asked for at once.
const LINE: usize = 64;
const AHEAD: usize = 16;
/// No page of LMDB is smaller.
const PAGE: usize = 4096;

/// The page that was read last, by its address.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    last: usize,
}

impl Pages {
    /// Says that this key is read now. If it is the first of its page, what probably follows is asked for.
    #[inline]
    pub(crate) fn read(&mut self, key: &[u8], direction: Direction) {
        let (page, within) = (key.as_ptr().addr() / PAGE, key.as_ptr().addr() % PAGE);
        if page == self.last {
            return;
        }
        self.last = page;
        let lines = match direction {
            Direction::Forward => within.min(AHEAD * LINE) / LINE,
            Direction::Backward => (PAGE - within).min(AHEAD * LINE) / LINE,
        };
        for line in 1..=lines {
            fetch_line(match direction {
                Direction::Forward => key.as_ptr().wrapping_sub(line * LINE),
                Direction::Backward => key.as_ptr().wrapping_add(line * LINE),
            });
        }
    }
}

/// Asks for what is about to be read, or for its beginning.
#[inline]
pub(crate) fn fetch<T>(what: &[T]) {
    for line in (0..size_of_val(what).min(AHEAD * LINE)).step_by(LINE) {
        fetch_line(what.as_ptr().cast::<u8>().wrapping_add(line));
    }
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
