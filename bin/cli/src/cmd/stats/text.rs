//! Statistics for people: a few tables and bars.

use std::fmt::Write as _;

use keyloom::advise::{Measured, Partitions, Place};
use keyloom::schema::{Placement, Table};
use unicode_width::UnicodeWidthStr;

use super::Counted;
use super::figures::{bar, bytes, counted, heading, number, percent};
use crate::output;

/// How many bars a spread has at most: more places are drawn together.
const BARS: usize = 32;

/// How wide a bar is.
const WIDE: usize = 40;

pub(super) fn of(tables: &[Counted]) -> String {
    if tables.is_empty() {
        return "no tables\n".to_owned();
    }
    tables.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(Counted { table, measured }: &Counted) -> String {
    let rows = counted(measured.rows(), "row", "rows");
    let mut text = heading(&format!("{}: {rows}, {}", table.name(), bytes(measured.bytes())));
    text += &trees(measured);
    text += "\n";
    text += &columns(table, measured);
    if measured.rows() == 0 {
        return text;
    }
    if let Some((what, places)) = spread(table, measured) {
        let _ =
            write!(text, "\nspread over {} {what}\n{}", number(count(places.len())), places_drawn(places));
    }
    match &measured.partitions {
        None => text += "\npartitions: each record is its own, because the key has one field\n",
        Some(partitions) => text += &partitions_drawn(partitions, measured.rows()),
    }
    text
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn trees(measured: &Measured) -> String {
    let head = ["tree", "key", "keys", "key bytes", "value bytes", "different first values"];
    let rows = measured.trees.iter().map(|tree| {
        let different: Vec<String> = tree.statistics.distinct.iter().map(|count| number(*count)).collect();
        [
            tree.name.clone(),
            tree.key.clone(),
            number(tree.statistics.rows),
            bytes(tree.key_bytes),
            bytes(tree.value_bytes),
            different.join(" → "),
        ]
    });
    aligned(head, rows.collect(), &[2, 3, 4])
}

fn columns(table: &Table, measured: &Measured) -> String {
    let head = ["column", "type", "different values", "null"];
    let rows = table.columns().iter().zip(&measured.columns).map(|(column, found)| {
        let about = if found.exact { "" } else { "≈ " };
        [
            column.name.clone(),
            column.kind.to_string(),
            format!("{about}{}", number(found.distinct)),
            number(found.nulls),
        ]
    });
    aligned(head, rows.collect(), &[2, 3])
}

/// The places of the records, and what they are called, if they are spread.
pub(crate) fn spread<'m>(table: &Table, measured: &'m Measured) -> Option<(&'static str, &'m [Place])> {
    let what = match table.primary().placement() {
        Placement::Ordered => return None,
        Placement::Shards(_) => "shards",
        Placement::Stripes(_) => "stripes",
    };
    Some((what, measured.trees.first()?.places.as_slice()))
}

/// Places side by side, so many in each group that there are few groups: the first and last number, and what they hold.
pub(crate) fn grouped(places: &[Place], most: usize) -> Vec<(usize, usize, Place)> {
    let each = places.len().div_ceil(most.max(1)).max(1);
    let groups = places.chunks(each).enumerate().map(|(number, group)| {
        let sum = group.iter().fold(Place::default(), |sum, place| Place {
            rows: sum.rows + place.rows,
            bytes: sum.bytes + place.bytes,
        });
        (number * each, number * each + group.len() - 1, sum)
    });
    groups.collect()
}

fn places_drawn(places: &[Place]) -> String {
    let groups = grouped(places, BARS);
    let all = groups.iter().map(|(.., place)| place.rows).sum();
    let named = groups.into_iter().map(|(first, last, place)| {
        let name = if first == last { first.to_string() } else { format!("{first}–{last}") };
        (name, place.rows, bytes(place.bytes))
    });
    bars(named.collect(), all)
}

fn partitions_drawn(partitions: &Partitions, rows: u64) -> String {
    let Partitions { field, count, largest, sizes, newest, .. } = partitions;
    let mut text = format!("\npartitions by {field}: {}\n\nlargest\n", number(*count));
    let named = largest.iter().map(|one| (output::text(&one.value), one.rows, bytes(one.bytes)));
    text += &bars(named.collect(), rows);
    let first = sizes.iter().position(|count| *count > 0).unwrap_or(0);
    let named = sizes.iter().enumerate().skip(first).map(|(power, count)| {
        let low = 1_u64 << power.min(63);
        let high = low.saturating_mul(2) - 1;
        let name = if low == high { number(low) } else { format!("{}–{}", number(low), number(high)) };
        (name, *count, String::new())
    });
    text += "\npartitions of so many rows\n";
    text += &bars(named.collect(), *count);
    match newest {
        None => text += "\nhottest: no column says when a record is of\n",
        Some(newest) => {
            let _ = writeln!(
                text,
                "\nhottest: where the newest {} by {} are",
                counted(newest.rows, "row", "rows"),
                newest.by
            );
            let named =
                newest.partitions.iter().map(|(value, rows)| (output::text(value), *rows, String::new()));
            text += &bars(named.collect(), newest.rows);
        }
    }
    text
}

/// A bar for each name and count, with its share of all and what else there is to say.
fn bars(named: Vec<(String, u64, String)>, all: u64) -> String {
    let largest = named.iter().map(|(_, count, _)| *count).max().unwrap_or_default();
    let name_width = named.iter().map(|(name, ..)| name.width()).max().unwrap_or_default();
    let count_width = named.iter().map(|(_, count, _)| number(*count).len()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, count, more) in named {
        let pad = " ".repeat(name_width.saturating_sub(name.width()));
        let share = percent(count, all);
        let drawn = bar(count, largest, WIDE);
        let more = if more.is_empty() { String::new() } else { format!("{more:>9}  ") };
        let line = format!("  {pad}{name}  {:>count_width$}  {share:>7}  {more}{drawn}", number(count));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Columns under their names; those of these numbers are aligned to the right.
fn aligned<const N: usize>(head: [&str; N], rows: Vec<[String; N]>, right: &[usize]) -> String {
    let widths: [usize; N] = std::array::from_fn(|at| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width());
        cells.chain(head.get(at).map(|name| name.width())).max().unwrap_or_default()
    });
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(widths).enumerate().map(|(at, (cell, width))| {
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            if right.contains(&at) { format!("{pad}{cell}") } else { format!("{cell}{pad}") }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    let mut text = line(&head.map(str::to_owned));
    let _ = writeln!(text, "{}", widths.map(|width| "─".repeat(width)).join("──"));
    rows.iter().for_each(|row| text += &line(row));
    text
}
