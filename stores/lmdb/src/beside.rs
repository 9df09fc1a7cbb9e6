//! Work beside a large transaction, on a thread of its own.

use std::sync::mpsc::{Receiver, Sender, channel};

use keyloom_store::Thread;

/// A thread that is told to end, and waited for, when this is dropped.
#[derive(Debug)]
pub(crate) struct Beside {
    // Dropped in this order: the thread ends when nobody can tell it anything any more.
    _end: Sender<()>,
    _thread: Thread,
}

impl Beside {
    /// Starts the work, which looks at its receiver: when that is disconnected it is to end. `None` if there can be no thread.
    pub(crate) fn start(name: &str, work: impl FnOnce(&Receiver<()>) + Send + 'static) -> Option<Self> {
        let (end, ended) = channel();
        Some(Self { _end: end, _thread: Thread::start(name, move || work(&ended)).ok()? })
    }
}
