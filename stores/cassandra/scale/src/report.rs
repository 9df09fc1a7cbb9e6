//! The files: tables as text and CSV, plots as SVG.

use std::fmt::Write;

use crate::cache::misses;
use crate::costs::Costs;
use crate::growth::{CLIENT, growth, limits};
use crate::keys::Keys;
use crate::plot::{Axis, Line, plot};
use crate::splits::{Moment, Splits};
use crate::spread::fullest;

/// How much is simulated.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Rows that are written.
    pub rows: u64,
    /// Rows at which a shard is split. What comes out is in shards and shares, so it need not be the real limit.
    pub limit: usize,
    /// Points of a line.
    pub moments: u64,
    /// Ranges that a client looks up.
    pub lookups: u64,
    /// The largest cluster.
    pub nodes: usize,
}

impl Size {
    /// What `docs/scale.md` shows.
    pub const PAGE: Self =
        Self { rows: 5_000_000, limit: 50_000, moments: 100, lookups: 200_000, nodes: 1_000 };
    /// Enough to see that it works.
    pub const SMALL: Self = Self { rows: 60_000, limit: 1_000, moments: 20, lookups: 5_000, nodes: 30 };
}

/// Thousandths as a decimal.
fn thousandths(value: u64) -> String {
    format!("{}.{:03}", value / 1_000, value % 1_000)
}

/// A part of a whole, in thousandths.
fn share(part: u64, whole: u64) -> u64 {
    part * 1_000 / whole.max(1)
}

/// A number with commas.
fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// Lines of cells, in columns: numbers to the right, words to the left.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let words = |column: usize| {
            rows.iter()
                .skip(1)
                .filter_map(|row| row.get(column))
                .any(|cell| cell.starts_with(char::is_alphabetic))
        };
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match words(column) {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Lines of cells with commas between them, so none within.
fn csv(rows: &[Vec<String>]) -> String {
    let line =
        |row: &Vec<String>| row.iter().map(|cell| cell.replace(',', "")).collect::<Vec<_>>().join(",") + "\n";
    rows.iter().map(line).collect()
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// All files, by name. `figures.txt` has every table of the page.
pub fn report(costs: &Costs, size: Size) -> Vec<(String, String)> {
    let mut figures = String::new();
    let mut files = Vec::new();
    let mut show = |title: &str, text: &str| {
        // Writing to a String cannot fail.
        let _ = write!(figures, "{title}\n\n{text}\n");
    };
    let figure = |cost: &crate::costs::Cost| {
        vec![count(cost.value), if cost.measured { "measured" } else { "assumed" }.into(), cost.what.into()]
    };
    show("Costs", &table(&costs.all().iter().map(figure).collect::<Vec<_>>()));

    let rate = costs.inserts.value;
    let runs: Vec<Run> = Keys::ALL.into_iter().map(|keys| Run::new(costs, size, keys, rate, false)).collect();
    let uneven = Run::new(costs, size, Keys::Uniform, rate, true);
    let uniform = runs.first().map_or((1, 0), Run::shape);
    let rows = [head(&[
        "keys",
        "shards",
        "rows a shard",
        "largest ever",
        "copied a row",
        "twice a row",
        "hottest",
        "splits at once",
    ])];
    let rows: Vec<_> = rows.into_iter().chain(runs.iter().chain([&uneven]).map(Run::row)).collect();
    show("Splits", &table(&rows));
    files.push(("splits.csv".into(), moments(&runs)));
    files.extend(split_plots(&runs));

    let rates = [1, 5, 20].map(|times| times * costs.inserts.value);
    let mut rows = vec![head(&["rows/s, keys by time", "rows a shard", "largest ever", "copied a row"])];
    for rate in rates {
        let run = Run::new(costs, size, Keys::Time, rate, false);
        let (mean, copied) = run.shape();
        rows.push(vec![count(rate), count(mean), count(run.largest), thousandths(copied)]);
    }
    show("Rates", &table(&rows));
    files.push(("rates.csv".into(), csv(&rows)));

    let (text, plot) = spread(costs, size);
    show("Spread", &table(&text));
    files.push(("spread.csv".into(), csv(&text)));
    files.push(("spread.svg".into(), plot));

    let (text, plot) = map(costs, size);
    show("Map", &table(&text));
    files.push(("map.csv".into(), csv(&text)));
    files.push(("map.svg".into(), plot));

    let (text, plot) = grown(costs, size, uniform);
    show("Growth", &table(&text));
    files.push(("growth.csv".into(), csv(&text)));
    files.push(("growth.svg".into(), plot));

    show("Limits of one table", &table(&limited(costs, size, uniform.0)));
    files.push(("figures.txt".into(), figures));
    files
}

/// How one kind of keys went.
struct Run {
    name: String,
    moments: Vec<Moment>,
    largest: u64,
    most: usize,
}

impl Run {
    fn new(costs: &Costs, size: Size, keys: Keys, rate: u64, uneven: bool) -> Self {
        let mut splits = Splits::new(costs, size.limit, uneven);
        let moments = splits.run(keys, size.rows, rate, size.moments);
        let name = if uneven { format!("{}, uneven limits", keys.name()) } else { keys.name().to_owned() };
        Self { name, moments, largest: splits.largest as u64, most: splits.most }
    }

    /// Rows a shard, and rows copied for a thousand written.
    fn shape(&self) -> (u64, u64) {
        let Some(last) = self.moments.last() else { return (1, 0) };
        ((last.written / last.shards.max(1) as u64).max(1), share(last.copied, last.written))
    }

    fn row(&self) -> Vec<String> {
        let Some(last) = self.moments.last() else { return Vec::new() };
        let (mean, copied) = self.shape();
        vec![
            self.name.clone(),
            count(last.shards as u64),
            count(mean),
            count(self.largest),
            thousandths(copied),
            thousandths(share(last.doubled, last.written)),
            thousandths(share(last.hottest, last.window)),
            self.most.to_string(),
        ]
    }
}

fn moments(runs: &[Run]) -> String {
    let mut text =
        String::from("keys,written,shards,largest,copied,written_twice,splits_running,hottest_share\n");
    for run in runs {
        for moment in &run.moments {
            let Moment { written, shards, largest, copied, doubled, running, hottest, window } = moment;
            let name = run.name.replace(", ", " ");
            let hottest = thousandths(share(*hottest, *window));
            let _ =
                writeln!(text, "{name},{written},{shards},{largest},{copied},{doubled},{running},{hottest}");
        }
    }
    text
}

/// A line of each run.
fn lines(runs: &[Run], value: impl Fn(&Moment) -> f64) -> Vec<Line> {
    let line = |run: &Run| {
        let points = run.moments.iter().map(|moment| (moment.written as f64, value(moment))).collect();
        Line { name: run.name.clone(), points }
    };
    runs.iter().map(line).collect()
}

fn split_plots(runs: &[Run]) -> [(String, String); 3] {
    let x = ("rows written", Axis::Even);
    let shards = lines(runs, |moment| moment.shards as f64);
    let traffic = lines(runs, |moment| (moment.copied + moment.doubled) as f64 / moment.written as f64);
    let hottest = lines(runs, |moment| moment.hottest as f64 / moment.window as f64);
    [
        ("shards.svg".into(), plot("Shards", x, ("", Axis::Even), &shards)),
        (
            "traffic.svg".into(),
            plot("Rows copied or written twice, for each row written", x, ("", Axis::Even), &traffic),
        ),
        (
            "hottest.svg".into(),
            plot("Share of the hottest shard in the last writes", x, ("", Axis::Even), &hottest),
        ),
    ]
}

/// Murmur3 tokens of shard ids: the fullest node, by nodes and shards a node.
fn spread(costs: &Costs, size: Size) -> (Vec<Vec<String>>, String) {
    let densities = [10_u64, 100, 1_000];
    let mut rows = vec![head(&["nodes", "10 shards a node", "100", "1,000"])];
    let mut lines: Vec<Line> = densities
        .iter()
        .map(|density| Line { name: format!("{} a node", count(*density)), points: Vec::new() })
        .collect();
    let copies = usize::try_from(costs.replication.value).unwrap_or(1);
    for nodes in [3, 10, 30, 100, 300, 1_000].into_iter().filter(|nodes| *nodes <= size.nodes) {
        let most = densities.map(|density| fullest(nodes, nodes as u64 * density, copies));
        rows.push([count(nodes as u64)].into_iter().chain(most.map(thousandths)).collect());
        for (line, most) in lines.iter_mut().zip(most) {
            line.points.push((nodes as f64, most as f64 / 1_000.0));
        }
    }
    let svg = plot("The fullest node, times the mean", ("nodes", Axis::Powers), ("", Axis::Even), &lines);
    (rows, svg)
}

/// What a client asks of the map.
fn map(costs: &Costs, size: Size) -> (Vec<Vec<String>>, String) {
    let mut rows = vec![head(&["shards", "uniform: unknown", "expired", "zipf: unknown", "expired"])];
    let mut lines =
        ["uniform", "zipf", "uniform, lease × 12"].map(|name| Line { name: name.into(), points: Vec::new() });
    let cache = usize::try_from(costs.cache.value).unwrap_or(usize::MAX);
    for shards in [100, 1_000, 10_000, 100_000, 1_000_000] {
        let asked = |zipf, lease| misses(shards, cache, lease, CLIENT, zipf, size.lookups);
        let lease = costs.lease.value;
        let all = [asked(false, lease), asked(true, lease), asked(false, 12 * lease)];
        let shown = all.iter().take(2).flat_map(|misses| [misses.unknown, misses.expired]);
        rows.push([count(u64::from(shards))].into_iter().chain(shown.map(thousandths)).collect());
        for (line, misses) in lines.iter_mut().zip(all) {
            line.points.push((f64::from(shards), (misses.unknown + misses.expired) as f64 / 1_000.0));
        }
    }
    let svg = plot(
        "Share of writes that read the map first, 1,000 rows/s a client",
        ("shards", Axis::Powers),
        ("", Axis::Even),
        &lines,
    );
    (rows, svg)
}

/// The model to 10¹¹ rows.
fn grown(costs: &Costs, size: Size, (mean, copied): (u64, u64)) -> (Vec<Vec<String>>, String) {
    let names = [
        "rows",
        "nodes",
        "shards",
        "map MB",
        "writes/s",
        "splits/h",
        "copied kB/s",
        "map reads/s",
        "missed",
        "map swaps/h",
    ];
    let mut rows = vec![head(&names)];
    let mut lines = ["map reads/s", "what 3 nodes give", "map MB", "100 MB"]
        .map(|name| Line { name: name.into(), points: Vec::new() });
    for power in 6..=11 {
        let it = growth(costs, 10_u64.pow(power), mean, copied, size.lookups);
        rows.push(vec![
            format!("10^{power}"),
            count(it.nodes),
            count(it.shards),
            thousandths(it.map / 1_000),
            count(it.writes),
            count(it.splits),
            count(it.copied / 1_000),
            count(it.reads),
            thousandths(it.misses),
            count(it.swaps),
        ]);
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let reads = [it.reads, costs.inserts.value].map(|reads| reads as f64);
        let values = reads.into_iter().chain([it.map, costs.partition.value].map(megabytes));
        for (line, value) in lines.iter_mut().zip(values) {
            line.points.push((it.rows as f64, value));
        }
    }
    let svg = plot("One table: its map, as it grows", ("rows", Axis::Powers), ("", Axis::Powers), &lines);
    (rows, svg)
}

/// Where what breaks.
fn limited(costs: &Costs, size: Size, mean: u64) -> Vec<Vec<String>> {
    let limits = limits(costs, mean, size.lookups);
    let lines = [
        (limits.reads, "map reads/s from one partition: all that three nodes give"),
        (limits.reads_nodes, "nodes, whose writes with uniform keys read one map more often than that"),
        (limits.half_missed, "rows, of which every second write with uniform keys reads the map"),
        (limits.record, "conditional writes/s of one record, and changes/s of one map"),
        (limits.swaps_nodes, "nodes, whose writes split shards as often as that"),
        (limits.shards, "shards, whose map is as large as a partition should be"),
        (limits.rows, "rows in so many shards"),
        (limits.rows_nodes, "nodes, with so many rows"),
    ];
    lines.iter().map(|(value, what)| vec![count(*value), (*what).to_owned()]).collect()
}
