//! The thread that syncs the log: all commits that wait share a sync, and so do those that need not.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::buffer::Buffer;
use crate::writer::{PATIENCE, PAUSE};

/// Syncs whenever someone waits, until nobody can ask any more.
pub(crate) fn run(buffer: &Buffer, asked: &Receiver<()>) {
    while asked.recv().is_ok() {
        loop {
            let start = Instant::now();
            let (answered, _) = buffer.sync();
            if answered == 0 {
                break;
            }
            // Who is answered now mostly comes again at once: to wait a moment for them all costs less than another sync.
            let end = Instant::now() + start.elapsed() / PATIENCE;
            let mut back = asked.try_iter().count();
            while back < answered && asked.recv_timeout(end.saturating_duration_since(Instant::now())).is_ok()
            {
                back += 1;
            }
        }
    }
}

/// Syncs when what is asked for has waited for the interval, or much has gathered, or someone waits, until nobody can ask
/// any more. What cannot be synced is told, and tried again.
pub(crate) fn run_soon(buffer: &Buffer, interval: Duration, asked: &Receiver<()>) {
    while asked.recv().is_ok() {
        let due = Instant::now() + interval;
        while !buffer.is_pressing()
            && asked.recv_timeout(due.saturating_duration_since(Instant::now())).is_ok()
        {}
        while let (told, Err(error)) = buffer.sync() {
            if told == 0 {
                buffer.report(error);
            }
            if asked.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }
}
