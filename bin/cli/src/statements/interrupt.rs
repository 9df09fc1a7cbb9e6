//! Ctrl-C: ends the statement that runs, and a command that waits for statements.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::failure::{Failure, STOPPED};

/// Whether someone wants a statement to end. Clones are the same wish.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    waiting: Arc<AtomicBool>,
}

/// Nothing is done, until this is dropped.
pub(crate) struct Waiting<'a>(&'a Stop);

impl Stop {
    /// Asked for by ctrl-c, which ends the command if it is pressed twice, or while it waits.
    pub(crate) fn command() -> Result<Self, Failure> {
        let stop = Self::default();
        // In this order: the first ctrl-c finds that nobody has asked before.
        flag::register_conditional_shutdown(SIGINT, STOPPED.into(), Arc::clone(&stop.waiting))?;
        flag::register_conditional_shutdown(SIGINT, STOPPED.into(), Arc::clone(&stop.asked))?;
        flag::register(SIGINT, Arc::clone(&stop.asked))?;
        Ok(stop)
    }

    /// Asked for by ctrl-c, which never ends the command.
    pub(crate) fn shell() -> Result<Self, Failure> {
        let stop = Self::default();
        flag::register(SIGINT, Arc::clone(&stop.asked))?;
        Ok(stop)
    }

    #[cfg(test)]
    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Forgets what was asked before: someone types the next line.
    pub(crate) fn forget(&self) {
        self.asked.store(false, Ordering::Relaxed);
    }

    /// Waits for what to do next.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiting.store(true, Ordering::Relaxed);
        Waiting(self)
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.store(false, Ordering::Relaxed);
    }
}
