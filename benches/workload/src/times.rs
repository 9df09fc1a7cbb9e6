//! How long things took: medians over rounds, and percentiles over single calls.

use std::time::{Duration, Instant};

/// The times of several rounds.
#[derive(Debug, Clone, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Runs something and keeps how long it took.
    pub fn run<T, E>(&mut self, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let start = Instant::now();
        let result = run()?;
        self.push(start.elapsed());
        Ok(result)
    }

    /// One more, of a clock elsewhere.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The median of the rounds.
    pub fn median(&self) -> Duration {
        self.share(500)
    }

    /// How many a second, when a round does so many.
    #[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
    pub fn per_second(&self, count: usize) -> f64 {
        count as f64 / self.median().as_secs_f64().max(1e-9)
    }

    /// The percentiles, taking every time for one call.
    pub fn latency(&self) -> Latency {
        Latency { p50: self.share(500), p99: self.share(990), p999: self.share(999) }
    }

    /// The time that so many of a thousand do not exceed.
    fn share(&self, thousandths: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted
            .get((sorted.len() * thousandths / 1_000).min(sorted.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    }
}

/// How long single calls took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// Half of them were done by then.
    pub p50: Duration,
    /// 99 of 100.
    pub p99: Duration,
    /// 999 of 1,000.
    pub p999: Duration,
}
