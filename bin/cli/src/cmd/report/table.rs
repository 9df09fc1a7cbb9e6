//! A table on the page: its keys as bytes, its columns, where its records lie.

use keyloom::advise::{Partitions, Place, TreeMeasure};
use keyloom::key::json::plain_to_json;
use keyloom::schema::{Format, Index, Placement};
use keyloom::{KeyMeaning, KeyPiece};

use super::{Shown, advice};
use crate::cmd::stats::figures::{bytes, counted, number, percent};
use crate::cmd::stats::{grouped, spread};
use crate::output;
use crate::page::chart::{self, Bar};
use crate::page::{Html, figures};

/// How many standing bars there are at most.
const BARS: usize = 64;

pub(super) fn section(html: &mut Html, at: usize, shown: &Shown, asked: bool) {
    let (table, measured) = (&shown.counted.table, &shown.counted.measured);
    html.element("section", &[("id", &format!("table-{at}"))], |html| {
        html.text_in("h2", "", table.name());
        let indexes: u64 = measured.trees.iter().skip(1).map(|tree| tree.key_bytes + tree.value_bytes).sum();
        let records = measured.bytes() - indexes;
        let place = table.primary().placement();
        let placed = match place {
            Placement::Ordered => ("one order".to_owned(), "of all keys"),
            Placement::Shards(shards) => (number(shards.count().into()), "shards"),
            Placement::Stripes(stripes) => (number(stripes.count().into()), "stripes"),
        };
        figures(
            html,
            &[
                (&number(measured.rows()), if measured.rows() == 1 { "record" } else { "records" }),
                (&bytes(records), "of records"),
                (&bytes(indexes), "of indexes"),
                (&placed.0, placed.1),
            ],
        );
        keys(html, shown);
        if measured.rows() > 0 {
            html.element("div", &[("class", "split")], |html| {
                columns(html, shown);
                html.element("div", &[("class", "block")], |html| {
                    if let Some((what, places)) = spread(table, measured) {
                        spread_over(html, what, places, shown);
                    }
                    if let Some(found) = measured.partitions.as_ref().filter(|found| found.count > 1) {
                        sizes(html, found);
                    }
                });
            });
            if let Some(found) = &measured.partitions {
                partitions(html, found, measured.rows());
            }
        }
        advice::block(html, shown, asked);
        html.element("details", &[], |html| {
            html.text_in("summary", "", "Definition");
            html.text_in("pre", "", &table.to_sql());
        });
    });
}

/// Every tree with a real key of it, drawn as bytes.
fn keys(html: &mut Html, shown: &Shown) {
    html.text_in("h3", "", "Keys");
    let indexes = std::iter::once(None).chain(shown.counted.table.indexes().iter().map(Some));
    for ((tree, index), key) in shown.counted.measured.trees.iter().zip(indexes).zip(&shown.keys) {
        html.element("div", &[("class", "tree")], |html| {
            html.element("div", &[("class", "tree-head")], |html| {
                html.text_in("span", "tree-name", &tree.name);
                html.text_in("code", "", &tree.key);
                for word in words(shown, index) {
                    html.text_in("span", "tag", &word);
                }
                if tree.statistics.rows > 0 {
                    html.text_in("span", "tree-size", &size(tree));
                }
            });
            match key {
                Some((key, meaning)) => draw(html, key, meaning, &colours(shown)),
                None => {
                    html.text_in("p", "quiet", "No key yet.");
                }
            }
        });
    }
}

/// What there is to say of an index in single words.
fn words(shown: &Shown, index: Option<&Index>) -> Vec<String> {
    let tree = index.map_or(shown.counted.table.primary(), Index::tree);
    let mut words = Vec::new();
    if let Some(index) = index {
        words.extend(index.is_unique().then(|| "unique".to_owned()));
        words.extend(index.is_multi_valued().then(|| "an entry for each element".to_owned()));
        words.extend(index.only().map(|only| format!("only {only}")));
        let covered = index.covering().iter().filter_map(|id| shown.counted.table.column_by_id(*id));
        let covered: Vec<&str> = covered.map(|column| column.name.as_str()).collect();
        if !covered.is_empty() {
            words.push(format!("carries {}", covered.join(", ")));
        }
    }
    if *tree.format() != Format::Native {
        words.push(tree.format().to_string());
    }
    words
}

fn size(tree: &TreeMeasure) -> String {
    let rows = tree.statistics.rows;
    let average = (tree.key_bytes * 10).checked_div(rows).unwrap_or_default();
    format!(
        "{} of {}.{} bytes · {} of keys · {} of values",
        counted(rows, "key", "keys"),
        average / 10,
        average % 10,
        bytes(tree.key_bytes),
        bytes(tree.value_bytes)
    )
}

/// How many colours fields have.
const COLOURS: usize = 6;

/// The columns that are in keys, in the order of their colours: a column has the same in every key.
fn colours(shown: &Shown) -> Vec<&str> {
    let table = &shown.counted.table;
    let trees = std::iter::once(table.primary()).chain(table.indexes().iter().map(Index::tree));
    let mut names: Vec<&str> = Vec::new();
    for part in trees.flat_map(|tree| tree.parts()) {
        if !names.contains(&part.name.as_str()) {
            names.push(&part.name);
        }
    }
    names
}

/// A key's bytes, each piece in its colour with its name and value below.
fn draw(html: &mut Html, key: &[u8], meaning: &KeyMeaning, colours: &[&str]) {
    html.element("div", &[("class", "key")], |html| {
        for piece in &meaning.pieces {
            let colour =
                colours.iter().position(|name| *name == piece.name).filter(|_| piece.field.is_some());
            let class = match colour {
                None => "piece".to_owned(),
                Some(colour) => format!("piece f{}", colour % COLOURS),
            };
            html.element("div", &[("class", &class)], |html| {
                html.element("div", &[("class", "bytes")], |html| {
                    for byte in key.get(piece.bytes.clone()).unwrap_or_default() {
                        html.text_in("b", "", &format!("{byte:02x}"));
                    }
                });
                html.text_in("span", "piece-name", &piece.name);
                html.text_in("span", "piece-value", &said(piece));
            });
        }
    });
}

fn said(piece: &KeyPiece) -> String {
    match &piece.value {
        None => String::new(),
        Some(value) if piece.field.is_some() => plain_to_json(value).to_string(),
        Some(value) => output::text(value),
    }
}

fn columns(html: &mut Html, shown: &Shown) {
    let (table, measured) = (&shown.counted.table, &shown.counted.measured);
    html.element("div", &[("class", "block")], |html| {
        html.text_in("h3", "", "Columns");
        html.element("table", &[], |html| {
            html.element("tr", &[], |html| {
                for name in ["column", "type"] {
                    html.text_in("th", "", name);
                }
                for name in ["different values", "null"] {
                    html.text_in("th", "right", name);
                }
            });
            for (column, found) in table.columns().iter().zip(&measured.columns) {
                html.element("tr", &[], |html| {
                    let about = if found.exact { "" } else { "≈ " };
                    html.text_in("td", "", &column.name);
                    html.element("td", &[], |html| {
                        html.text_in("code", "", &column.kind.to_string());
                    });
                    html.text_in("td", "right", &format!("{about}{}", number(found.distinct)));
                    let nulls = if found.nulls == 0 {
                        "–".to_owned()
                    } else {
                        percent(found.nulls, measured.rows())
                    };
                    html.text_in("td", "right", &nulls);
                });
            }
        });
    });
}

fn spread_over(html: &mut Html, what: &'static str, places: &[Place], shown: &Shown) {
    let (table, rows) = (&shown.counted.table, shown.counted.measured.rows());
    let groups = grouped(places, BARS).into_iter();
    let bars: Vec<Bar> = groups
        .map(|(first, last, place)| {
            let name = if first == last { first.to_string() } else { format!("{first}–{last}") };
            Bar::new(name, place.rows, format!("records, {}", bytes(place.bytes)))
        })
        .collect();
    let even = rows.checked_div(count(bars.len()));
    html.text_in("h3", "", &format!("Spread over {} {what}", number(count(places.len()))));
    chart::standing(html, "Records in each place", &bars, even);
    let most = places.iter().map(|place| place.rows).max().unwrap_or_default();
    let (share, fair) = (percent(most, rows), percent(1, count(places.len())));
    let mut said =
        format!("The fullest holds {share} of the records. The dashed line is an even spread, {fair} each.");
    let empty = count(places.iter().filter(|place| place.rows == 0).count());
    if empty > 0 {
        let first = table.primary().parts().first().map_or("", |part| part.name.as_str());
        said.push_str(&format!(" {} of them hold nothing: no {first} leads there.", number(empty)));
    }
    html.text_in("p", "quiet", &said);
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// How many partitions have so many rows.
fn sizes(html: &mut Html, found: &Partitions) {
    html.text_in("h3", "", "Partitions by their rows");
    let first = found.sizes.iter().position(|count| *count > 0).unwrap_or_default();
    let bars: Vec<Bar> = found
        .sizes
        .iter()
        .enumerate()
        .skip(first)
        .map(|(power, count)| Bar::new(short(1_u64 << power.min(63)), *count, "partitions".to_owned()))
        .collect();
    chart::standing(html, "How many partitions have so many rows", &bars, None);
    html.text_in("p", "quiet", "Each bar counts the partitions of so many rows, up to the next bar.");
}

fn partitions(html: &mut Html, found: &Partitions, rows: u64) {
    html.element("div", &[("class", "split")], |html| {
        html.element("div", &[("class", "block")], |html| {
            html.text_in(
                "h3",
                "",
                &format!("Largest of {} by {}", counted(found.count, "partition", "partitions"), found.field),
            );
            let largest = found.largest.iter();
            let bars: Vec<Bar> =
                largest.map(|one| Bar::new(output::text(&one.value), one.rows, bytes(one.bytes))).collect();
            chart::lying(html, &bars, rows);
        });
        html.element("div", &[("class", "block")], |html| match &found.newest {
            None => {
                html.text_in("h3", "", "Hottest partitions");
                let text = "No column says when a record is of, and nobody counts what is asked how often.";
                html.text_in("p", "quiet", text);
            }
            Some(newest) => {
                let title = format!("Hottest: the newest {} records by {}", number(newest.rows), newest.by);
                html.text_in("h3", "", &title);
                let named = newest.partitions.iter();
                let bars: Vec<Bar> =
                    named.map(|(value, rows)| Bar::new(output::text(value), *rows, String::new())).collect();
                chart::lying(html, &bars, newest.rows);
            }
        });
    });
}

/// A power of two in few letters: `4k`.
fn short(count: u64) -> String {
    match count {
        0..1_024 => count.to_string(),
        1_024..1_048_576 => format!("{}k", count / 1_024),
        1_048_576..1_073_741_824 => format!("{}M", count / 1_048_576),
        _ => format!("{}G", count / 1_073_741_824),
    }
}
