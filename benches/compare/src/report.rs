//! Figures as a table for people and as JSON for programs.

use std::io::IsTerminal;
use std::path::Path;

/// How long one system takes for one piece of work.
pub(crate) struct Figure {
    pub(crate) work: &'static str,
    pub(crate) system: &'static str,
    pub(crate) ns: f64,
}

/// A table: a row for each piece of work and system, the ratio to Keyloom beside it.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut table = format!("| {:<12} | {:<18} | {:>7} | {:>8} |\n", "work", "system", "ns", "keyloom");
    table += "|--------------|--------------------|--------:|---------:|\n";
    for figure in figures {
        let ours = figures.iter().find(|other| other.work == figure.work && other.system == "keyloom");
        let ratio = ours.map_or(f64::NAN, |ours| figure.ns / ours.ns);
        table += &format!(
            "| {:<12} | {:<18} | {:>7.1} | {:>6.2} × |\n",
            figure.work, figure.system, figure.ns, ratio
        );
    }
    table
}

/// Writes the figures as an array of {"work", "system", "ns"}.
pub(crate) fn write_json(figures: &[Figure], path: &Path) -> Result<(), String> {
    let rows: Vec<_> = figures
        .iter()
        .map(|figure| serde_json::json!({"work": figure.work, "system": figure.system, "ns": figure.ns}))
        .collect();
    let text = format!("{:#}\n", serde_json::Value::Array(rows));
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Tells someone at a terminal how far it is.
pub(crate) fn progress(work: &str, round: usize, rounds: usize) {
    if std::io::stderr().is_terminal() {
        let end = if round == rounds { "\r\x1b[K" } else { "" };
        eprint!("\r{work}: round {round} of {rounds}{end}");
    }
}
