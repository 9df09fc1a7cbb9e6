//! The threads that connections live on.

use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::task::Context;
use std::time::Duration;

use keyloom_store::Error;
use tokio::runtime::{Builder, Runtime};

/// Threads of the driver's own, so that whoever waits for a statement may do so in any executor, or in none.
#[derive(Debug)]
pub(super) struct Threads(Option<Runtime>);

/// The threads have ended before the work was done.
#[derive(Debug, thiserror::Error)]
#[error("the driver was closed before the cluster answered")]
pub(super) struct Gone;

impl From<Gone> for Error {
    fn from(gone: Gone) -> Self {
        Self::Failed(gone.to_string().into())
    }
}

impl Threads {
    pub(super) fn start() -> Result<Self, Error> {
        Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("keyloom-cassandra")
            .enable_io()
            .enable_time()
            .build()
            .map(|runtime| Self(Some(runtime)))
            .map_err(|error| Error::Failed(format!("cannot start the driver's threads: {error}").into()))
    }

    /// Does work there and waits for it here: one thread hears the answers of all its statements.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Gone> {
        let Self(Some(runtime)) = self else { return Err(Gone) };
        match runtime.spawn(work).await {
            Ok(done) => Ok(done),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(Gone),
            },
        }
    }

    /// Does work here, by the clocks and connections there. No thread has to be woken to begin it or to hear of its end.
    pub(super) async fn poll<T>(&self, work: impl Future<Output = T> + Send) -> Result<T, Gone> {
        let Self(Some(runtime)) = self else { return Err(Gone) };
        let mut work = pin!(work);
        let poll = |context: &mut Context<'_>| {
            let _there = runtime.enter();
            work.as_mut().poll(context)
        };
        Ok(poll_fn(poll).await)
    }

    /// Does work there beside all else.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Self(Some(runtime)) = self {
            runtime.spawn(work);
        }
    }

    /// Waits.
    pub(super) async fn sleep(&self, time: Duration) {
        // A timer must be made where it ticks.
        let _ = self.poll(async move { tokio::time::sleep(time).await }).await;
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Waiting for the threads would panic inside another runtime, and for ever inside this one.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
