//! The thread that syncs the log: all commits that wait share a sync.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use crate::buffer::Buffer;
use crate::writer::PATIENCE;

/// Syncs whenever someone waits, until nobody can ask any more.
pub(crate) fn run(buffer: &Buffer, asked: &Receiver<()>) {
    while asked.recv().is_ok() {
        loop {
            let start = Instant::now();
            let answered = buffer.sync();
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
