//! The README's tables, from what a run of `all` wrote.

use std::fmt::Write as _;
use std::path::Path;

use keyloom_workload::Error;
use serde_json::Value;

/// A column: its title, and the names that the system has in figures.
const COLUMNS: [(&str, &[&str]); 16] = [
    ("Keyloom on LMDB", &["keyloom-lmdb", "keyloom-buffered"]),
    ("Keyloom on RocksDB", &["keyloom-rocksdb"]),
    ("Keyloom on redb", &["keyloom-redb"]),
    ("Keyloom in memory", &["keyloom-memory"]),
    ("LMDB", &["raw-lmdb"]),
    ("RocksDB", &["raw-rocksdb"]),
    ("redb", &["redb", "redb-none"]),
    ("fjall", &["fjall"]),
    ("Badger", &["badger"]),
    ("Pebble", &["pebble", "pebble-nosync"]),
    ("hash index, in memory", &["hashmap"]),
    ("SQLite, same keys", &["sqlite"]),
    ("the same `WITHOUT ROWID`", &["sqlite-without-rowid"]),
    ("SQLite, columns", &["sqlite-columns"]),
    ("columns, sorted, mapped", &["sqlite-columns-sorted", "sqlite-full", "sqlite-normal", "sqlite-off"]),
    (
        "columns, `WITHOUT ROWID`",
        &[
            "sqlite-columns-clustered",
            "sqlite-clustered-full",
            "sqlite-clustered-normal",
            "sqlite-clustered-off",
        ],
    ),
];

/// A row: its title, the work, what commits promise, and whether less is better.
const ROWS: [(&str, &str, Option<&str>, bool); 15] = [
    ("load, rows", "load", None, false),
    ("get", "get", None, false),
    ("miss", "miss", None, false),
    ("prefix of 100 rows", "prefix100", None, false),
    ("range of 20", "range20", None, false),
    ("the same backward", "range20_rev", None, false),
    ("20 by an index, fetched", "index20", None, false),
    ("full scan, rows", "full_scan", None, false),
    ("16 writers, synced", "synced16", Some("synced"), false),
    ("64 writers, synced", "synced64", Some("synced"), false),
    ("one writer, survives the process", "single_write", Some("written"), false),
    ("one writer, promises less", "single_write", Some("less"), false),
    ("the same for long, survives the process", "sustained_write", Some("written"), false),
    ("bytes to the disk for each of those", "bytes_per_write", Some("written"), true),
    ("bytes to the disk a loaded byte", "bytes_per_loaded_byte", None, true),
];

const MEMORY: [(&str, &str); 4] = [
    ("write", "memory10k_write"),
    ("lookup", "memory10k_lookup"),
    ("prefix of 100 rows", "memory10k_prefix100"),
    ("bytes allocated a lookup", "memory10k_lookup_bytes"),
];

/// What a file says.
struct Run(Value);

impl Run {
    fn number(&self, name: &str) -> u64 {
        self.0.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    fn value(&self, work: &str, promise: Option<&str>, systems: &[&str]) -> Option<f64> {
        let text = |figure: &Value, name: &str| figure.get(name).and_then(Value::as_str).map(str::to_owned);
        let figure = self.0.get("figures")?.as_array()?.iter().find(|figure| {
            text(figure, "work").as_deref() == Some(work)
                && text(figure, "promise").as_deref() == promise
                && text(figure, "system").is_some_and(|system| systems.contains(&system.as_str()))
        })?;
        figure.get("per_second").or_else(|| figure.get("bytes"))?.as_f64()
    }
}

/// The tables, with the command that made them, and where we lose.
pub(crate) fn of(file: &Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let run = Run(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?);
    if run.0.get("figures").is_none() {
        return Err(format!("{}: not written by `compare -- all --json`", file.display()).into());
    }
    let (count, rounds, cores) = (run.number("count"), run.number("rounds"), run.number("cores"));
    let reads = match run.number("read_rounds") {
        0 => String::new(),
        reads => format!(" ({reads} of reads)"),
    };
    let mut out = format!(
        "{} orders and one index, one thread unless it says otherwise, medians of {rounds} interleaved rounds{reads}, {cores} cores, \
         all that was read\nchecked to be the same \
         (`cargo run --release -p keyloom-compare --features rocksdb -- all --count {count} --rounds {rounds}`):\n\n",
        commas(&format!("{count}"))
    );
    orders(&run, &mut out)?;
    losses(&run, &mut out)?;
    memory(&run, &mut out)?;
    Ok(out)
}

fn orders(run: &Run, out: &mut String) -> Result<(), Error> {
    let has =
        |names: &[&str]| ROWS.iter().any(|(_, work, promise, _)| run.value(work, *promise, names).is_some());
    let columns: Vec<_> = COLUMNS.iter().filter(|(_, names)| has(names)).collect();
    let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
    writeln!(out, "| a second | {} |\n|---|{}", titles.join(" | "), "--:|".repeat(titles.len()))?;
    for (title, work, promise, _) in ROWS {
        let values: Vec<_> = columns.iter().map(|(_, names)| run.value(work, promise, names)).collect();
        if values.iter().any(Option::is_some) {
            let cells: Vec<String> =
                values.into_iter().map(|value| value.map(figure).unwrap_or_default()).collect();
            writeln!(out, "| {title} | {} |", cells.join(" | "))?;
        }
    }
    Ok(())
}

/// Every work in which another system is better than Keyloom on LMDB.
fn losses(run: &Run, out: &mut String) -> Result<(), Error> {
    let Some(((_, ours), others)) = COLUMNS.split_first() else { return Ok(()) };
    let mut lost = Vec::new();
    for (title, work, promise, is_less_better) in ROWS {
        let Some(own) = run.value(work, promise, ours) else { continue };
        let better: Vec<String> = others
            .iter()
            .filter_map(|(name, systems)| {
                let other = run.value(work, promise, systems)?;
                let ratio = if is_less_better { other / own } else { own / other };
                (ratio < 0.995).then(|| format!("{ratio:.2} × {name}"))
            })
            .collect();
        if !better.is_empty() {
            lost.push(format!("{title}: {}", better.join(", ")));
        }
    }
    if lost.is_empty() {
        writeln!(out, "\nKeyloom on LMDB is ahead on every line.")?;
    } else {
        writeln!(out, "\nWhere Keyloom on LMDB loses, as a part of what the other does:\n")?;
        lost.iter().try_for_each(|line| writeln!(out, "- {line}"))?;
    }
    Ok(())
}

fn memory(run: &Run, out: &mut String) -> Result<(), Error> {
    let columns = [
        ("Keyloom in memory", "keyloom-memory"),
        ("`BTreeMap`", "btreemap"),
        ("`HashMap`", "hashmap"),
        ("the composite-key specification says of its own", "seed-published"),
    ];
    if run.value("memory10k_write", None, &["keyloom-memory"]).is_none() {
        return Ok(());
    }
    let titles: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
    writeln!(out, "\n10,000 orders in memory, without an index:\n")?;
    writeln!(out, "| a second | {} |\n|---|{}", titles.join(" | "), "--:|".repeat(titles.len()))?;
    for (title, work) in MEMORY {
        let cell = |(_, name)| run.value(work, None, &[name]).map(figure).unwrap_or_default();
        writeln!(out, "| {title} | {} |", columns.map(cell).join(" | "))?;
    }
    Ok(())
}

fn figure(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { commas(&format!("{value:.0}")) }
}

/// Digits in groups of three.
fn commas(digits: &str) -> String {
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::{commas, of};

    #[test]
    fn the_tables_are_made_of_what_a_run_wrote() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let run = r#"{"count": 1000000, "rounds": 5, "read_rounds": 15, "cores": 2, "figures": [
            {"work": "get", "system": "keyloom-lmdb", "per_second": 400000.4},
            {"work": "get", "system": "raw-lmdb", "per_second": 500000},
            {"work": "get", "system": "sqlite", "per_second": 100000},
            {"work": "single_write", "system": "keyloom-lmdb", "per_second": 70000, "promise": "written"},
            {"work": "single_write", "system": "keyloom-buffered", "per_second": 9000, "promise": "less"},
            {"work": "single_write", "system": "sqlite-normal", "per_second": 15000, "promise": "written"},
            {"work": "bytes_per_loaded_byte", "system": "keyloom-lmdb", "bytes": 1.5},
            {"work": "bytes_per_loaded_byte", "system": "raw-lmdb", "bytes": 1.2},
            {"work": "memory10k_write", "system": "keyloom-memory", "per_second": 600000},
            {"work": "memory10k_write", "system": "seed-published", "per_second": 202714}
        ]}"#;
        std::fs::write(file.path(), run).unwrap();
        let tables = of(file.path()).unwrap();
        for line in [
            "| a second | Keyloom on LMDB | LMDB | SQLite, same keys | columns, sorted, mapped |",
            "| get | 400,000 | 500,000 | 100,000 |  |",
            "| one writer, survives the process | 70,000 |  |  | 15,000 |",
            "| one writer, promises less | 9,000 |  |  |  |",
            "- get: 0.80 × LMDB",
            "- bytes to the disk a loaded byte: 0.80 × LMDB",
            "| write | 600,000 |  |  | 202,714 |",
        ] {
            assert!(tables.lines().any(|other| other == line), "no {line} in\n{tables}");
        }
        assert!(!tables.contains("- one writer"), "{tables}");
        assert!(tables.contains("medians of 5 interleaved rounds (15 of reads), 2 cores"), "{tables}");
    }

    #[test]
    fn another_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[]").unwrap();
        assert!(of(file.path()).unwrap_err().to_string().ends_with("not written by `compare -- all --json`"));
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!(["1", "999", "1000", "1234567"].map(commas), ["1", "999", "1,000", "1,234,567"]);
    }
}
