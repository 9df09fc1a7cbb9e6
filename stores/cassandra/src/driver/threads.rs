//! Where the connections live.

use std::any::Any;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::Context;
use std::time::Duration;

use keyloom_store::Error;
use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::task::{AbortHandle, JoinError};

/// Where the connections live: in the runtime of whoever connects, if it has several threads, because no thread has to be
/// woken there to ask or to hear of an answer. Else on threads of the driver's own, so that whoever waits may do so in any
/// executor, or in none.
#[derive(Debug)]
pub(super) struct Threads {
    runtime: Handle,
    own: Option<Runtime>,
    /// There while the runtime is, which the task sees to.
    alive: Weak<()>,
    witness: AbortHandle,
}

/// The work was not done to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Gone {
    #[error("the runtime that the store was opened in has ended: open it anew in one that stays")]
    Ended,
    #[error("the driver failed: {0}")]
    Failed(String),
}

impl From<Gone> for Error {
    fn from(gone: Gone) -> Self {
        Self::Failed(gone.to_string().into())
    }
}

impl From<JoinError> for Gone {
    fn from(error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(panic) => Self::Failed(said(&*panic)),
            Err(_) => Self::Ended,
        }
    }
}

/// What a panic said.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied()).unwrap_or("it does not say why").to_owned()
}

impl Threads {
    pub(super) fn start() -> Result<Self, Error> {
        let (runtime, own) = match Handle::try_current() {
            // One thread alone might wait for itself.
            Ok(here)
                if here.runtime_flavor() == RuntimeFlavor::MultiThread
                    && here.metrics().num_workers() > 1 =>
            {
                (here, None)
            }
            _ => {
                let own = Builder::new_multi_thread()
                    .worker_threads(2)
                    .thread_name("keyloom-cassandra")
                    .enable_io()
                    .enable_time()
                    .build();
                let own = own.map_err(|error| {
                    Error::Failed(format!("cannot start the driver's threads: {error}").into())
                })?;
                (own.handle().clone(), Some(own))
            }
        };
        let here = Arc::new(());
        let alive = Arc::downgrade(&here);
        let stay = async move {
            let _here = here;
            pending::<()>().await;
        };
        let witness = runtime.spawn(stay).abort_handle();
        Ok(Self { runtime, own, alive, witness })
    }

    fn runtime(&self) -> Result<&Handle, Gone> {
        if self.alive.strong_count() > 0 { Ok(&self.runtime) } else { Err(Gone::Ended) }
    }

    /// Does work there and waits for it here: one thread hears the answers of all its statements.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Gone> {
        Ok(self.runtime()?.spawn(work).await?)
    }

    /// Does work here, by the clocks and connections there. No thread has to be woken to begin it or to hear of its end.
    pub(super) async fn poll<T>(&self, work: impl Future<Output = T> + Send) -> Result<T, Gone> {
        let mut work = pin!(work);
        let poll = |context: &mut Context<'_>| {
            let _there = self.runtime()?.enter();
            work.as_mut().poll(context).map(Ok)
        };
        poll_fn(poll).await
    }

    /// Does work there beside all else.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Ok(runtime) = self.runtime() {
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
        self.witness.abort();
        // Waiting for the threads would panic inside another runtime, and for ever inside this one.
        if let Some(own) = self.own.take() {
            own.shutdown_background();
        }
    }
}
