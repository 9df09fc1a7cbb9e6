//! Time that has passed.

use std::time::Duration;

/// A clock that never goes back, and goes on while the machine sleeps: a lease must not outlive a night with the lid
/// closed. The standard library's stands still meanwhile on Linux.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    #[cfg(target_os = "linux")]
    start: Duration,
    #[cfg(not(target_os = "linux"))]
    start: std::time::Instant,
}

#[cfg(target_os = "linux")]
impl Clock {
    pub(super) fn start() -> Self {
        Self { start: since_boot() }
    }

    pub(super) fn elapsed(&self) -> Duration {
        since_boot().saturating_sub(self.start)
    }
}

#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
impl Clock {
    pub(super) fn start() -> Self {
        Self { start: std::time::Instant::now() }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
