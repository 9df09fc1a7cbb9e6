//! How far long work has come: on a terminal a bar with the rate and the time that is left, else nothing.

use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{HumanBytes, HumanFloatCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Shows how far a work has come, until it is dropped.
pub(crate) struct Progress(ProgressBar);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Rows,
    Bytes,
}

impl Progress {
    /// `what` is being done, `total` times if that is known.
    pub(crate) fn new(what: &'static str, unit: Unit, total: Option<u64>) -> Self {
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        if !stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = match (unit, total) {
            (Unit::Rows, Some(_)) => "{msg} {bar:30} {human_pos}/{human_len} ({rate}, {eta} left)",
            (Unit::Rows, None) => "{msg} {spinner} {human_pos} ({rate})",
            (Unit::Bytes, Some(_)) => "{msg} {bar:30} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)",
            (Unit::Bytes, None) => "{msg} {spinner} {bytes} ({bytes_per_sec})",
        };
        let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // Nobody reads parts of a row.
            let _ = write!(out, "{:.0}/s", HumanFloatCount(state.per_sec()));
        };
        let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", rate));
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// `what` is being done, and writes this file.
    pub(crate) fn of_file(what: &'static str, file: PathBuf) -> Self {
        let progress = Self::new(what, Unit::Bytes, None);
        let style = ProgressStyle::with_template("{msg} {spinner} {length}");
        let length = move |_: &ProgressState, to: &mut dyn std::fmt::Write| {
            let length = file.metadata().map(|file| file.len()).unwrap_or_default();
            // A bar that cannot be drawn is not drawn.
            let _ = write!(to, "{}", HumanBytes(length));
        };
        if let Ok(style) = style {
            progress.0.set_style(style.with_key("length", length));
        }
        progress
    }

    /// So many steps are taken, each of its own length; [`tell`](Self::tell) says which.
    pub(crate) fn of_steps(total: u64) -> Self {
        let progress = Self::new("", Unit::Rows, Some(total));
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
            progress.0.set_style(style);
        }
        progress
    }

    /// Now this is being done.
    pub(crate) fn tell(&self, what: String) {
        self.0.set_message(what);
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// So much is done by now.
    pub(crate) fn set(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
