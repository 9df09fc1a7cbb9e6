//! Figures as a table for people and as JSON for programs.

use std::io::IsTerminal;
use std::path::Path;

use serde_json::{Value, json};

/// What one system reaches in one piece of work.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    pub(crate) work: &'static str,
    pub(crate) system: &'static str,
    pub(crate) unit: Unit,
    pub(crate) value: f64,
    /// What a commit of it promises, where that matters.
    pub(crate) promise: Option<&'static str>,
}

impl Figure {
    pub(crate) fn new(work: &'static str, system: &'static str, unit: Unit, value: f64) -> Self {
        Self { work, system, unit, value, promise: None }
    }
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds: less is better.
    Ns,
    /// Operations a second: more is better.
    PerSecond,
    /// Bytes: less is better.
    Bytes,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::PerSecond => "per_second",
            Self::Bytes => "bytes",
        }
    }

    /// How many times as good the one is as the other.
    pub(crate) fn ratio(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Ns | Self::Bytes => other / one,
            Self::PerSecond => one / other,
        }
    }

    /// How many digits a figure has behind its point.
    fn digits(self, value: f64) -> usize {
        usize::from(self == Self::Ns || value < 100.0)
    }
}

/// A table: a row for each piece of work and system, and how many times as good ours is beside it. Of ours, the first that
/// did the work counts.
pub(crate) fn table(figures: &[Figure], ours: &[&str]) -> String {
    let mut table = format!(
        "| {:<22} | {:<18} | {:>12} | {:<10} | {:>9} |\n",
        "work", "system", "figure", "unit", "keyloom"
    );
    table += "|------------------------|--------------------|-------------:|------------|----------:|\n";
    for figure in figures {
        let Figure { work, system, unit, value, promise } = figure;
        let own = ours.iter().find_map(|ours| {
            figures.iter().find(|other| {
                other.work == *work
                    && other.system == *ours
                    && (other.promise == *promise || other.unit == Unit::Bytes)
            })
        });
        let ratio = own.map(|own| format!("{:.2} ×", unit.ratio(own.value, *value))).unwrap_or_default();
        let (digits, unit) = (unit.digits(*value), unit.name());
        table += &format!("| {work:<22} | {system:<18} | {value:>12.digits$} | {unit:<10} | {ratio:>9} |\n");
    }
    table
}

/// The figures as an array of {"work", "system", the unit's name, and "promise" where there is one}.
pub(crate) fn json(figures: &[Figure]) -> Value {
    let rows = figures.iter().map(|figure| {
        let mut row = json!({"work": figure.work, "system": figure.system, figure.unit.name(): figure.value});
        if let (Some(promise), Some(row)) = (figure.promise, row.as_object_mut()) {
            row.insert("promise".to_owned(), promise.into());
        }
        row
    });
    Value::Array(rows.collect())
}

pub(crate) fn write(json: &Value, path: &Path) -> Result<(), String> {
    std::fs::write(path, format!("{json:#}\n")).map_err(|error| format!("{}: {error}", path.display()))
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
