//! Whether this thread asks for keys that are not there: whoever does mostly goes on.
//!
//! A [filter](crate::filter) answers those who do, and takes time from those who do not. Nothing is shared between threads,
//! so that none waits to say what it has found.

use std::cell::Cell;

/// What a key that is not there counts, and the most that is remembered. One that is there counts one less.
const MISS: u8 = 8;
const MOST: u8 = 64;
/// From here on it is worth asking the filter first.
const WORTH: u8 = 16;

thread_local! {
    static MISSES: Cell<u8> = const { Cell::new(0) };
}

/// Whether it has lately asked for keys that were not there.
pub(crate) fn expects_nothing() -> bool {
    MISSES.get() >= WORTH
}

/// Remembers whether a key was there.
pub(crate) fn found(is_there: bool) {
    let misses = MISSES.get();
    MISSES.set(if is_there { misses.saturating_sub(1) } else { misses.saturating_add(MISS).min(MOST) });
}

#[cfg(test)]
mod tests;
