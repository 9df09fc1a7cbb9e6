//! Figures as a table for people and as JSON for programs.

use std::io::IsTerminal;
use std::path::Path;

/// What one system reaches in one piece of work.
pub(crate) struct Figure {
    pub(crate) work: &'static str,
    pub(crate) system: &'static str,
    pub(crate) value: f64,
}

/// What the figures of a suite count.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Nanoseconds: less is better.
    Ns,
    /// Operations a second: more is better.
    PerSecond,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::PerSecond => "per_second",
        }
    }

    /// How many times as fast the one is as the other.
    fn ratio(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Ns => other / one,
            Self::PerSecond => one / other,
        }
    }
}

/// A table: a row for each piece of work and system, and how many times as fast `ours` is beside it.
pub(crate) fn table(figures: &[Figure], unit: Unit, ours: &str) -> String {
    let mut table = format!("| {:<12} | {:<18} | {:>10} | {ours:>12} |\n", "work", "system", unit.name());
    table += "|--------------|--------------------|-----------:|-------------:|\n";
    for Figure { work, system, value } in figures {
        let own = figures.iter().find(|other| other.work == *work && other.system == ours);
        let ratio = own.map_or(f64::NAN, |own| unit.ratio(own.value, *value));
        let digits = usize::from(matches!(unit, Unit::Ns));
        table += &format!("| {work:<12} | {system:<18} | {value:>10.digits$} | {ratio:>10.2} × |\n");
    }
    table
}

/// Writes the figures as an array of {"work", "system", and the unit's name}.
pub(crate) fn write_json(figures: &[Figure], unit: Unit, path: &Path) -> Result<(), String> {
    let rows: Vec<_> = figures
        .iter()
        .map(|figure| {
            serde_json::json!({"work": figure.work, "system": figure.system, unit.name(): figure.value})
        })
        .collect();
    let text = format!("{:#}\n", serde_json::Value::Array(rows));
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Tells someone at a terminal how far it is.
pub(crate) fn progress(work: &str, round: usize, rounds: usize) {
    if std::io::stderr().is_terminal() {
        let end = if round == rounds { "\r\x1b[K" } else { "" };
        eprint!("\r\x1b[K{work}: round {round} of {rounds}{end}");
    }
}

/// The median of some times.
pub(crate) fn median(mut times: Vec<std::time::Duration>) -> std::time::Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
