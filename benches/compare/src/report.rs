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

    /// As people read it, and of what.
    fn shown(&self) -> (String, &'static str) {
        let (value, name) = match self.unit {
            Unit::Ns => (self.value / 1_000.0, "µs"),
            Unit::PerSecond => (self.value, "a second"),
            Unit::Bytes => (self.value / f64::from(1 << 20), "MiB"),
        };
        let digits = match value {
            ..10.0 => 3,
            ..1_000.0 => 1,
            _ => 0,
        };
        (format!("{value:.digits$}"), name)
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

/// Two systems that are compared with each other: what that is called, and their names.
pub(crate) type Pair = (&'static str, [&'static str; 2]);

/// A table of pairs: a row for each piece of work, and how many times the first figure the second is. Where there are
/// several pairs it says which.
pub(crate) fn pairs(figures: &[Figure], pairs: &[Pair], heads: [&str; 2]) -> String {
    let part = |text: &str| if pairs.len() > 1 { format!(" {text:<15} |") } else { String::new() };
    let line = |work: &str, name: &str, [one, other]: [&str; 2], unit: &str, ratio: &str| {
        let part = part(name);
        format!("| {work:<12} |{part} {one:>16} | {other:>16} | {unit:<8} | {ratio:>7} |\n")
    };
    let mut table = line("work", "part", heads, "unit", "ratio");
    let part = if pairs.len() > 1 { "-----------------|" } else { "" };
    table += &format!("|--------------|{part}-----------------:|-----------------:|----------|--------:|\n");
    for one in figures {
        let Some((name, [_, second])) = pairs.iter().find(|(_, [first, _])| one.system == *first) else {
            continue;
        };
        let other = figures.iter().find(|other| other.work == one.work && other.system == *second);
        let Some(other) = other else { continue };
        let ((of_one, unit), (of_other, _)) = (one.shown(), other.shown());
        let ratio = format!("{:.2} ×", other.value / one.value);
        table += &line(one.work, name, [&of_one, &of_other], unit, &ratio);
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
    doing(&format!("{work}: round {round} of {rounds}"));
    if round == rounds {
        doing("");
    }
}

/// Tells someone at a terminal what is being done, instead of what was; nothing at the end.
pub(crate) fn doing(what: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    }
}

/// The median of some times.
pub(crate) fn median(mut times: Vec<std::time::Duration>) -> std::time::Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Figure, Unit, pairs};

    #[test]
    fn pairs_stand_side_by_side() {
        let figures = [
            Figure::new("load", "1x", Unit::PerSecond, 400_000.0),
            Figure::new("load", "10x", Unit::PerSecond, 300_000.0),
            Figure::new("get", "1x", Unit::Ns, 1_000.0),
            Figure::new("get", "10x", Unit::Ns, 1_500.0),
            Figure::new("memory", "file", Unit::Bytes, 150.0 * 1_048_576.0),
        ];
        let growth = ("", ["1x", "10x"]);
        let table = "\
| work         |               1× |              10× | unit     |   ratio |
|--------------|-----------------:|-----------------:|----------|--------:|
| load         |           400000 |           300000 | a second |  0.75 × |
| get          |            1.000 |            1.500 | µs       |  1.50 × |
";
        assert_eq!(pairs(&figures, &[growth], ["1×", "10×"]), table);
        let several = pairs(&figures, &[growth, ("again", ["1x", "1x"])], ["1×", "10×"]);
        assert!(several.starts_with("| work         | part            |"), "{several}");
    }
}
