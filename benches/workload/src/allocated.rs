//! Counts the bytes that are allocated, when asked to.
//!
//! A binary that wants to count declares `#[global_allocator] static HEAP: Counting = Counting;`. While nothing is counted
//! an allocation costs a load and a branch more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The system's allocator, with a counter that can be switched on.
#[derive(Debug)]
pub struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicU64 = AtomicU64::new(0);

fn note(bytes: usize) {
    if ON.load(Ordering::Relaxed) {
        BYTES.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

// SAFETY: every call is the system allocator's, with the same arguments; counting touches only two static numbers.
#[allow(unsafe_code, reason = "an allocator is unsafe to be, and counting what is allocated needs to be one")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The whole of the new size: it is what a move would allocate.
        note(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The bytes that all threads allocate while this runs, or `None` if the binary has another allocator.
pub fn bytes<T>(run: impl FnOnce() -> T) -> (T, Option<u64>) {
    BYTES.store(0, Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
    drop(std::hint::black_box(Box::new(0_u8)));
    let is_counted = BYTES.swap(0, Ordering::Relaxed) > 0;
    let result = run();
    ON.store(false, Ordering::Relaxed);
    (result, is_counted.then(|| BYTES.load(Ordering::Relaxed)))
}
