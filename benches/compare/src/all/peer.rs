//! What a run asks of a system, whichever it is.

use std::time::{Duration, Instant};

use keyloom_workload::{Error, Order, Questions, Tally, Work, Writes, write_with};

/// What a commit promises when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// It survives the machine.
    Synced,
    /// It survives the process, and not the machine.
    Written,
    /// Less than that; the system's name says what.
    Less,
}

impl Promise {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Synced => "synced",
            Self::Written => "written",
            Self::Less => "less",
        }
    }
}

/// A system with the orders in it. It holds the clock, because some are other programs.
pub(crate) trait Peer {
    /// Becomes what is read and written from now on, where that is another form than what loads fastest.
    fn settle(&mut self, orders: &[Order]) -> Result<(), Error> {
        let _ = orders;
        Ok(())
    }
    /// Answers all questions of a work; `None` if it cannot.
    fn read(&mut self, work: Work, questions: &Questions) -> Result<Option<(Duration, Tally)>, Error>;
    /// From now on commits promise this. Tells its name in this mode; `None` if it cannot.
    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error>;
    /// Adds orders, each a commit of its own, from so many clients.
    fn write(&mut self, clients: usize, orders: &[Order]) -> Result<Duration, Error>;
    /// Has what was written in its files, where it waits in a log for them to be written as one.
    fn rest(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Reads orders back.
    fn check(&mut self, orders: &[Order]) -> Result<Tally, Error>;
    /// What all its keys and values make together, if it has those of Keyloom.
    fn fingerprint(&mut self) -> Result<Option<u64>, Error>;
}

/// A system of this program.
pub(crate) trait Here: Writes {
    /// Whether it can answer the questions of a work.
    fn can(&self, work: Work) -> bool {
        let _ = work;
        true
    }
    fn settle(&mut self, orders: &[Order]) -> Result<(), Error> {
        let _ = orders;
        Ok(())
    }
    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error>;
    fn fingerprint(&self) -> Result<Option<u64>, Error> {
        Ok(None)
    }
}

impl<T: Here> Peer for T {
    fn settle(&mut self, orders: &[Order]) -> Result<(), Error> {
        Here::settle(self, orders)
    }

    fn read(&mut self, work: Work, questions: &Questions) -> Result<Option<(Duration, Tally)>, Error> {
        if !self.can(work) {
            return Ok(None);
        }
        let start = Instant::now();
        let tally = questions.ask(work, self)?;
        Ok(Some((start.elapsed(), tally)))
    }

    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        Here::promise(self, promise)
    }

    fn write(&mut self, clients: usize, orders: &[Order]) -> Result<Duration, Error> {
        let start = Instant::now();
        write_with(clients, self, orders)?;
        Ok(start.elapsed())
    }

    fn check(&mut self, orders: &[Order]) -> Result<Tally, Error> {
        self.get(orders)
    }

    fn fingerprint(&mut self) -> Result<Option<u64>, Error> {
        Here::fingerprint(self)
    }
}

/// What bytes make together: FNV-1a, which the program in Go has too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fingerprint(pub(crate) u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fingerprint {
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        for byte in key.iter().chain(value) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}
