//! The figures as a page: throughput, single calls, growth.

use std::time::Duration;

use keyloom_workload::{Latency, seed};

use super::figure::{About, Figure, whole};
use super::run::GROWTH;
use crate::cmd::stats::figures::{bytes, counted, number};
use crate::page::chart::{self, Bar};
use crate::page::plot::{self, Line};
use crate::page::{self, Html};

/// What a work is, for people.
fn title(work: &str) -> &str {
    match work {
        "load" => "Load, rows",
        "get" => "Get a record by its key",
        "miss" => "A key that is not there",
        "prefix100" => "All orders of a user, about 100 rows",
        "range20" => "20 orders of a user from a date on",
        "range20_rev" => "The same, backward",
        "index20" => "20 records by an index",
        "full_scan" => "Full scan, rows",
        "single_write" => "One writer, a commit each",
        "synced16" => "16 writers, every commit to be synced",
        "memory10k_write" => "Write",
        "memory10k_lookup" => "Look up by key",
        "memory10k_prefix100" => "Scan 100 rows",
        other => other,
    }
}

pub(super) fn page(about: &About, figures: &[Figure]) -> String {
    let in_memory: Vec<&Figure> = figures.iter().filter(|figure| is_in_memory(figure)).collect();
    let orders: Vec<&Figure> = figures.iter().filter(|figure| !is_in_memory(figure)).collect();
    page::of("Benchmark", |html| {
        header(html, about);
        if !orders.is_empty() {
            let full: Vec<&Figure> =
                orders.iter().copied().filter(|figure| figure.rows == about.count).collect();
            let stores = distinct(full.iter().map(|figure| figure.store.as_str()));
            throughput(html, &full);
            calls(html, &full, &stores);
            growth(html, &orders, &stores);
        }
        if !in_memory.is_empty() {
            memory(html, &in_memory);
        }
        footer(html, about);
    })
}

fn is_in_memory(figure: &Figure) -> bool {
    figure.work.starts_with("memory10k")
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut distinct, one| {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
        distinct
    })
}

fn header(html: &mut Html, about: &About) {
    html.element("header", &[], |html| {
        html.text_in("p", "eyebrow", "Keyloom bench");
        html.text_in("h1", "", "How fast the stores are");
        let size = |size: usize| number(u64::try_from(size).unwrap_or(u64::MAX));
        page::figures(
            html,
            &[
                (&size(about.count), "orders"),
                (&size(about.rounds), if about.rounds == 1 { "round" } else { "rounds" }),
                (&size(about.cores), if about.cores == 1 { "core" } else { "cores" }),
            ],
        );
    });
}

/// A section with a block for each work.
fn section(
    html: &mut Html,
    heading: &str,
    said: &str,
    stores: &[&str],
    works: &[&'static str],
    mut block: impl FnMut(&mut Html, &'static str),
) {
    html.element("section", &[], |html| {
        html.text_in("h2", "", heading);
        html.text_in("p", "quiet", said);
        if !stores.is_empty() {
            plot::legend(html, stores);
        }
        html.element("div", &[("class", "split")], |html| {
            for work in works {
                html.element("div", &[("class", "block")], |html| {
                    html.text_in("h3", "", title(work));
                    block(html, work);
                });
            }
        });
    });
}

fn throughput(html: &mut Html, full: &[&Figure]) {
    let works = distinct(full.iter().map(|figure| figure.work));
    let said = "Operations a second, the median of the rounds. The share is of the fastest. Beside what is written stands \
                what a commit promised there.";
    section(html, "Throughput", said, &[], &works, |html, work| {
        let of_work = full.iter().filter(|figure| figure.work == work);
        let bars: Vec<Bar> = of_work
            .map(|figure| {
                let promise = figure.promise.unwrap_or_default().to_owned();
                Bar::new(figure.store.clone(), whole(figure.per_second), promise)
            })
            .collect();
        chart::lying(html, &bars, bars.iter().map(|bar| bar.value).max().unwrap_or_default());
    });
}

fn calls(html: &mut Html, full: &[&Figure], stores: &[&str]) {
    let timed: Vec<&Figure> = full.iter().copied().filter(|figure| figure.latency.is_some()).collect();
    let works = distinct(timed.iter().map(|figure| figure.work));
    if works.is_empty() {
        return;
    }
    let said = "How long single calls take: half of them, 99 of 100, and 999 of 1,000 are done by then.";
    let steps = ["p50", "p99", "p99.9"].map(str::to_owned);
    let shares: [fn(&Latency) -> Duration; 3] = [|of| of.p50, |of| of.p99, |of| of.p999];
    section(html, "Single calls", said, stores, &works, |html, work| {
        let of_work = timed.iter().filter(|figure| figure.work == work);
        let lines: Vec<Line> = of_work
            .map(|figure| {
                let values = shares.map(|share| figure.latency.as_ref().map(share)).to_vec();
                line(stores, &figure.store, values)
            })
            .collect();
        plot::lines(html, &format!("{}: percentiles", title(work)), &steps, &lines);
    });
}

fn growth(html: &mut Html, orders: &[&Figure], stores: &[&str]) {
    let sizes = distinct(orders.iter().map(|figure| figure.rows));
    let works: Vec<&'static str> = distinct(orders.iter().map(|figure| figure.work));
    let works: Vec<&'static str> = works.into_iter().filter(|work| GROWTH.contains(work)).collect();
    if sizes.len() < 2 || works.is_empty() {
        return;
    }
    let steps: Vec<String> =
        sizes.iter().map(|size| number(u64::try_from(*size).unwrap_or(u64::MAX))).collect();
    let said = "How long half of the calls take at most, by the number of orders.";
    section(html, "Growth", said, stores, &works, |html, work| {
        let lines: Vec<Line> = stores
            .iter()
            .map(|store| {
                let at = |size: &usize| {
                    let is = |figure: &&&Figure| {
                        figure.rows == *size && figure.work == work && figure.store == *store
                    };
                    orders.iter().find(is).map(|figure| figure.time())
                };
                line(stores, store, sizes.iter().map(at).collect())
            })
            .collect();
        plot::lines(html, &format!("{}: growth", title(work)), &steps, &lines);
    });
}

fn line(stores: &[&str], store: &str, values: Vec<Option<Duration>>) -> Line {
    let colour = stores.iter().position(|other| *other == store).unwrap_or_default();
    Line { name: store.to_owned(), colour, values }
}

/// Keyloom in memory, beside the maps of the standard library and what the specification says.
fn memory(html: &mut Html, figures: &[&Figure]) {
    let said = "Operations a second, and the bytes that each allocates. Keyloom's memory store beside the maps of Rust's \
                library with the same bytes, and what the composite-key specification published of its own in Go.";
    let works = seed::Work::ALL.map(Figure::in_memory_name).to_vec();
    section(html, "10,000 orders in memory", said, &[], &works, |html, work| {
        let mut bars: Vec<Bar> = figures
            .iter()
            .filter(|figure| figure.work == work)
            .map(|figure| {
                let more = figure.bytes.map(|count| bytes(whole(count))).unwrap_or_default();
                Bar::new(figure.store.clone(), whole(figure.per_second), more)
            })
            .collect();
        if let Some(work) = seed::Work::ALL.into_iter().find(|one| Figure::in_memory_name(*one) == work) {
            let (per_second, count) = work.published();
            bars.push(Bar::new("published".to_owned(), whole(per_second), bytes(whole(count))));
        }
        chart::lying(html, &bars, bars.iter().map(|bar| bar.value).max().unwrap_or_default());
    });
}

fn footer(html: &mut Html, about: &About) {
    html.element("footer", &[], |html| {
        let rounds = counted(u64::try_from(about.rounds).unwrap_or(u64::MAX), "round", "rounds");
        let version = env!("CARGO_PKG_VERSION");
        let promise = about.durability;
        html.text_in(
            "p",
            "",
            &format!(
                "Keyloom {version}, {rounds} in which every store is asked in turn. The commits of one writer were asked to be {promise}. \
                 The figures hold for the machine and the moment that they were taken on."
            ),
        );
    });
}
