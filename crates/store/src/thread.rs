//! Threads that stores have.

use std::thread::JoinHandle;

use crate::error::Error;

/// A thread that is waited for when this is dropped.
///
/// ```
/// # use std::sync::mpsc::channel;
/// let (work, worked) = channel::<u64>();
/// let thread = keyloom_store::Thread::start("adder", move || assert_eq!(worked.iter().sum::<u64>(), 3))?;
/// work.send(1).and_then(|()| work.send(2)).unwrap();
/// // It ends when nobody can send to it.
/// drop(work);
/// drop(thread);
/// # Ok::<(), keyloom_store::Error>(())
/// ```
#[derive(Debug)]
pub struct Thread(Option<JoinHandle<()>>);

impl Thread {
    /// Starts one; its name says what it is.
    pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<Self, Error> {
        let thread = std::thread::Builder::new().name(format!("keyloom-{name}")).spawn(work);
        let thread =
            thread.map_err(|error| Error::Failed(format!("no thread for the {name}: {error}").into()))?;
        Ok(Self(Some(thread)))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}
