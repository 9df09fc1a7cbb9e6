//! The simulation is the same each time, loses no row, and docs/scale.md shows what it prints.
//!
//! `KEYLOOM_REWRITE=1 cargo test --release -p keyloom-scale` writes docs/scale anew; the page itself is written by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use std::path::Path;

use keyloom_scale::{Costs, Keys, Size, Splits, report};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs");

/// Numbers and bold text of the page, and blocks of text, must have been printed.
fn untrue(page: &str, figures: &str) -> Vec<String> {
    let mut untrue = Vec::new();
    let (mut block, mut prose) = (None, String::new());
    for line in page.lines() {
        match (line, &mut block) {
            ("```text", None) => block = Some(String::new()),
            ("```", Some(text)) => {
                untrue.extend((!figures.contains(text.as_str())).then(|| text.clone()));
                block = None;
            }
            (line, Some(text)) => text.extend([line, "\n"]),
            (line, None) => prose.extend([line, "\n"]),
        }
    }
    let printed: Vec<&str> = figures.split_whitespace().collect();
    let bold = prose.split("**").skip(1).step_by(2);
    untrue.extend(bold.filter(|number| !printed.contains(number)).map(str::to_owned));
    untrue
}

#[test]
fn the_page_shows_what_is_printed() {
    let files = report(&Costs::default(), Size::PAGE);
    for (name, text) in &files {
        let path = Path::new(DOCS).join("scale").join(name);
        if std::env::var_os("KEYLOOM_REWRITE").is_some() {
            std::fs::write(&path, text).unwrap();
        }
        assert_eq!(&std::fs::read_to_string(&path).unwrap(), text, "{}", path.display());
    }
    let page = std::fs::read_to_string(format!("{DOCS}/scale.md")).unwrap();
    let (_, figures) = files.iter().find(|(name, _)| name == "figures.txt").unwrap();
    assert_eq!(untrue(&page, figures), Vec::<String>::new());
    // A page without figures would be true as well.
    assert!(page.matches("```text").count() >= 5 && page.matches("**").count() >= 20);
    for (name, _) in files.iter().filter(|(name, _)| name.ends_with(".svg")) {
        assert!(page.contains(&format!("(scale/{name})")), "{name} is not shown");
    }
}

#[test]
fn a_wrong_number_is_found() {
    let figures = "Costs\n\n1,100  inserts/s\n";
    assert_eq!(untrue("it does **1,100** a second\n\n```text\n1,100  inserts/s\n```\n", figures), [""; 0]);
    assert_eq!(untrue("it does **1,10** a second\n", figures), ["1,10"]);
    assert_eq!(untrue("```text\n1,200  inserts/s\n```\n", figures), ["1,200  inserts/s\n"]);
}

#[test]
fn it_is_the_same_each_time() {
    let once = report(&Costs::default(), Size::SMALL);
    assert_eq!(once, report(&Costs::default(), Size::SMALL));
}

#[test]
fn rows_are_neither_lost_nor_made_and_shards_end_below_the_limit() {
    for keys in Keys::ALL {
        for uneven in [false, true] {
            let size = Size::SMALL;
            let mut splits = Splits::new(&Costs::default(), size.limit, uneven);
            let moments = splits.run(keys, size.rows, 50, size.moments);
            let rows: usize = splits.sizes().map(|(_, rows)| rows).sum();
            assert_eq!(rows as u64, size.rows, "{keys:?}");
            assert!(splits.is_sorted(), "{keys:?}: a row is in the wrong shard");
            assert!(splits.sizes().all(|(_, rows)| rows <= size.limit), "{keys:?}: a shard is too large");
            let last = moments.last().unwrap();
            assert_eq!(last.running, 0, "{keys:?}: a split did not end");
            assert!(last.shards > 50 && last.copied > 0 && last.doubled > 0, "{keys:?}: {last:?}");
            // Every split copies some rows, and makes one shard more.
            assert!(last.copied >= last.shards as u64 - 1, "{keys:?}: {last:?}");
        }
    }
}

#[test]
fn only_keys_by_time_make_one_shard_hot() {
    let hottest = |keys: Keys| {
        let mut splits = Splits::new(&Costs::default(), Size::SMALL.limit, false);
        let moments = splits.run(keys, Size::SMALL.rows, 50, Size::SMALL.moments);
        let last = moments.last().unwrap();
        last.hottest * 100 / last.window
    };
    assert!(hottest(Keys::Time) > 40);
    assert!(hottest(Keys::Spread) < 20);
    assert!(hottest(Keys::Uniform) < 20);
}
