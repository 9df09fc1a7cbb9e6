//! Waiting without a runtime: a thread sleeps, and wakes whoever waits.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

/// Waits this long, and keeps nobody else on this thread from working.
pub(crate) async fn pause(time: Duration) {
    let state: Arc<Mutex<State>> = Arc::default();
    let lock = |state: &Arc<Mutex<State>>, change: &dyn Fn(&mut State)| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.clone()
    };
    let sleeper = Arc::clone(&state);
    let sleep = move || {
        thread::sleep(time);
        if let Some(waker) = lock(&sleeper, &|state| state.over = true).waker {
            waker.wake();
        }
    };
    if thread::Builder::new().spawn(sleep).is_err() {
        thread::sleep(time);
        return;
    }
    poll_fn(|context| {
        let waker = context.waker();
        match lock(&state, &|state| state.waker = Some(waker.clone())).over {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

#[derive(Debug, Clone, Default)]
struct State {
    over: bool,
    waker: Option<Waker>,
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn nobody_is_woken_too_early() {
        let started = Instant::now();
        keyloom_store::wait(pause(Duration::from_millis(30)));
        assert!(started.elapsed() >= Duration::from_millis(30));
    }
}
