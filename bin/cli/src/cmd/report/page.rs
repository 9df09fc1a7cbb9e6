//! The page: what there is at a glance, then table by table.

use super::{Shown, table};
use crate::cmd::stats::figures::{bytes, number};
use crate::page::chart::{self, Bar};
use crate::page::{self, Html, figures};

pub(super) fn of(title: &str, tables: &[Shown], asked: bool) -> String {
    page::of(title, |html| {
        header(html, title, tables);
        for (at, shown) in tables.iter().enumerate() {
            table::section(html, at, shown, asked);
        }
        footer(html);
    })
}

fn header(html: &mut Html, title: &str, tables: &[Shown]) {
    html.element("header", &[], |html| {
        html.text_in("p", "eyebrow", "Keyloom report");
        html.text_in("h1", "", title);
        if tables.is_empty() {
            html.text_in("p", "quiet", "There are no tables yet.");
            return;
        }
        let sum = |count: fn(&Shown) -> u64| tables.iter().map(count).sum::<u64>();
        let count = u64::try_from(tables.len()).unwrap_or(u64::MAX);
        let records = sum(|shown| shown.counted.measured.rows());
        let indexes = sum(|shown| u64::try_from(shown.counted.table.indexes().len()).unwrap_or(u64::MAX));
        let keys = sum(|shown| shown.counted.measured.trees.iter().map(|tree| tree.key_bytes).sum());
        let values = sum(|shown| shown.counted.measured.trees.iter().map(|tree| tree.value_bytes).sum());
        figures(
            html,
            &[
                (&number(count), if count == 1 { "table" } else { "tables" }),
                (&number(records), if records == 1 { "record" } else { "records" }),
                (&number(indexes), if indexes == 1 { "index" } else { "indexes" }),
                (&bytes(keys), "of keys"),
                (&bytes(values), "of values"),
            ],
        );
        if tables.len() > 1 {
            contents(html, tables);
        }
    });
}

/// The tables, each with how many of the records it has, and the way to it.
fn contents(html: &mut Html, tables: &[Shown]) {
    let bars: Vec<Bar> = tables
        .iter()
        .enumerate()
        .map(|(at, Shown { counted, .. })| {
            let (name, size) = (counted.table.name().to_owned(), bytes(counted.measured.bytes()));
            Bar { link: Some(format!("#table-{at}")), ..Bar::new(name, counted.measured.rows(), size) }
        })
        .collect();
    html.text_in("h3", "", "Records by table");
    chart::lying(html, &bars, bars.iter().map(|bar| bar.value).sum());
}

fn footer(html: &mut Html) {
    html.element("footer", &[], |html| {
        let version = env!("CARGO_PKG_VERSION");
        html.text_in(
            "p",
            "",
            &format!(
                "Keyloom {version}. Every key was read once. Different values are exact up to 4,096 and estimated beyond, \
                 to within a few in a hundred. A partition is what shares the first field of the primary key."
            ),
        );
    });
}
