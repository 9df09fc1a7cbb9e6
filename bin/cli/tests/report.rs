//! The pages in a real browser: they draw what they say, at every width, in light and dark, and run nothing.
//!
//! The screenshots are kept in the target folder, under `tmp`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use keyloom::key::{Timestamp, Value};
use keyloom::{Document, Location, Wait};
use serde_json::Value as Json;

/// What someone might name a table, a column or a record to make a page do something.
const HOSTILE: &str =
    "</code></style><script>window.hacked=1</script><img src=x onerror=\"window.hacked=1\">'&\"";

/// What the test asks of the page from within; the answer is the title of the page that frames it.
const LOOK: &str = "<script>
const bars = [...document.querySelectorAll('.bar')].map(bar => bar.getBoundingClientRect());
const outside = [...document.querySelectorAll('body *')].filter(one => {
  const { left, right, width } = one.getBoundingClientRect();
  return width > 0 && (left < -0.5 || right > document.documentElement.clientWidth + 0.5);
});
const paint = one => getComputedStyle(one).backgroundColor;
top.document.title = JSON.stringify({
  width: document.documentElement.clientWidth,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  outside: outside.map(one => one.className + ' ' + one.textContent.slice(0, 30)),
  bars: bars.length,
  flat: bars.filter(bar => bar.width < 1 || bar.height < 1).length,
  widest: Math.max(...bars.map(bar => bar.width)),
  bytes: document.querySelectorAll('.bytes b').length,
  lines: document.querySelectorAll('.plot .line').length,
  dots: document.querySelectorAll('.plot .dot').length,
  strays: [...document.querySelectorAll('.plot *:not(title)')].filter(one => {
    const [own, plot] = [one, one.closest('.plot')].map(box => box.getBoundingClientRect());
    return own.left < plot.left - 8 || own.right > plot.right + 8 || own.top < plot.top - 8 || own.bottom > plot.bottom + 8;
  }).map(one => one.textContent),
  strokes: new Set([...document.querySelectorAll('.plot .line')].map(one => getComputedStyle(one).stroke)).size,
  colours: new Set([...document.querySelectorAll('.piece .bytes')].map(paint)).size,
  paper: paint(document.body),
  scripts: document.scripts.length,
  images: document.images.length,
  handlers: document.querySelectorAll('[onerror], [onload], [onclick]').length,
  requests: performance.getEntriesByType('resource').length,
  hacked: 'hacked' in window,
  headings: [...document.querySelectorAll('h2')].map(heading => heading.textContent),
  texts: document.body.innerText,
});
</script>";

/// Runs the command; tells what it prints.
fn keyloom(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_keyloom")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "a page is written without a word");
    String::from_utf8(output.stdout).unwrap()
}

/// A browser at a page; what it prints and what went wrong.
fn browser(folder: &Path, options: &[&str], page: &Path) -> (String, String) {
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            &profile,
        ])
        .args(options)
        .arg(page)
        .output()
        .expect("chromium is missing: apt-get install chromium, or run ./test, which installs it");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr))
}

/// What the page says of itself in a window so wide.
fn looked(folder: &Path, page: &str, wide: u32, more: &[&str]) -> Json {
    // A window has a least width, a frame has not.
    let inner =
        page.replace("</body>", &format!("{LOOK}</body>")).replace('&', "&amp;").replace('"', "&quot;");
    let style = format!("border:0;width:{wide}px;height:1200px");
    let outer = format!(
        "<!doctype html><title>-</title><body><iframe style=\"{style}\" srcdoc=\"{inner}\"></iframe>"
    );
    let path = folder.join("looked.html");
    std::fs::write(&path, outer).unwrap();
    let options = [&["--dump-dom", "--window-size=1400,1200"], more].concat();
    let (dom, log) = browser(folder, &options, &path);
    assert!(!log.contains("CONSOLE"), "{log}");
    let title = dom.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
    let title = title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&nbsp;", " ");
    serde_json::from_str(&title).unwrap()
}

/// Writes the report of a database and keeps a picture of it.
fn report(folder: &Path, database: &Path, queries: &str, name: &str, dark: bool) -> String {
    let (page, asked) = (folder.join("report.html"), folder.join("queries.sql"));
    std::fs::write(&asked, queries).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let said = keyloom(&["report", &path(database), "-o", &path(&page), "--queries", &path(&asked)]);
    assert!(said.is_empty(), "a report is written without a word");
    picture(folder, &page, name, dark)
}

/// Keeps a picture of a page; returns the page.
fn picture(folder: &Path, page: &Path, name: &str, dark: bool) -> String {
    let picture = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&picture);
    let shot = format!("--screenshot={}", picture.display());
    let scheme: &[&str] = if dark { &["--blink-settings=preferredColorScheme=0"] } else { &[] };
    browser(folder, &[&[shot.as_str(), "--window-size=1180,2400"], scheme].concat(), page);
    assert!(std::fs::metadata(&picture).unwrap().len() > 20_000, "the picture is empty");
    std::fs::read_to_string(page).unwrap()
}

/// A shop: 3,000 orders in 16 shards, half of them of one user, and a table without records.
fn shop(path: &Path) {
    let location: Location = path.to_str().unwrap().parse().unwrap();
    let database = location.open().wait().unwrap();
    database
        .define(
            "CREATE TABLE orders (user_id TEXT, at TIMESTAMP, number INTEGER, status TEXT, city TEXT, tags TEXT[],
                 PRIMARY KEY (user_id, at DESC, number)) WITH (shards = 16);
             CREATE INDEX by_status ON orders (status) INCLUDE (city);
             CREATE INDEX by_tag ON orders (tags);
             CREATE UNIQUE INDEX by_number ON orders (number);
             CREATE TABLE empty (id UUID PRIMARY KEY) WITH (stripes = 256);",
        )
        .wait()
        .unwrap();
    let order = |number: i64| {
        let user = if number % 2 == 0 { 0 } else { number % 211 };
        Document::new()
            .with("user_id", format!("U{user}"))
            .with("at", Timestamp::from_micros(1_735_000_000_000_000 + number * 60_000_000))
            .with("number", number)
            .with("status", ["open", "paid", "shipped"][usize::try_from(number % 3).unwrap()])
            .with("city", format!("C{}", number % 97))
            .with("tags", Value::List(vec![format!("t{}", number % 5).into()]))
    };
    let orders = database.table("orders").wait().unwrap();
    orders.load((0..3_000).map(order), |_| ()).wait().unwrap();
}

const QUERIES: &str = "SELECT * FROM orders WHERE user_id = 'U7' ORDER BY at DESC LIMIT 10;
SELECT * FROM orders WHERE city = 'C7';
SELECT * FROM orders WHERE city = 'C7' AND status = 'open' ORDER BY number LIMIT 10;
SELECT * FROM orders;";

#[test]
fn the_page_is_drawn_at_every_width_in_light_and_dark() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("shop.klm");
    shop(&database);
    let page = report(folder.path(), &database, QUERIES, "report.png", false);
    report(folder.path(), &database, QUERIES, "report_dark.png", true);
    needs_nothing(&page);
    for wide in [360, 800, 1_280] {
        let seen = looked(folder.path(), &page, wide, &[]);
        assert_eq!((&seen["width"], &seen["overflow"]), (&wide.into(), &0.into()), "{:?}", seen["outside"]);
        assert_eq!(seen["outside"], serde_json::json!([]), "{wide}");
        assert_eq!((&seen["requests"], &seen["scripts"]), (&0.into(), &1.into()));
        // 1 table with records, 10 partitions, 10 newest, their sizes, and the shards that hold something.
        assert!(seen["bars"].as_u64().unwrap() >= 1 + 10 + 10 + 3 + 8, "{seen}");
        assert!(seen["widest"].as_f64().unwrap() > 100.0, "{seen}");
        assert_eq!(seen["flat"], 0, "{seen}");
        // Four real keys of 12 to 50 bytes, in the colours of six columns and one for what is no field.
        assert!((60..250).contains(&seen["bytes"].as_u64().unwrap()), "{seen}");
        assert_eq!(seen["colours"], 6, "{seen}");
        assert_eq!(seen["headings"], serde_json::json!(["empty", "orders"]));
        let text = seen["texts"].as_str().unwrap();
        for said in [
            "3,000",
            "Spread over 16 shards",
            "CREATE INDEX",
            "refused: set a limit",
            "DROP INDEX by_tag",
            "No key yet.",
        ] {
            assert!(text.contains(said), "{wide}: {said} is not in {text}");
        }
    }
    let light = looked(folder.path(), &page, 1_180, &[]);
    let dark = looked(folder.path(), &page, 1_180, &["--blink-settings=preferredColorScheme=0"]);
    assert_eq!(light["paper"], "rgb(251, 250, 248)");
    assert_eq!(dark["paper"], "rgb(23, 22, 20)");
}

/// A page that is whole by itself.
fn needs_nothing(page: &str) {
    for outside in ["http:", "https:", "//", "<script", "@import", "url("] {
        assert!(!page.contains(outside), "the page needs {outside}");
    }
}

#[test]
fn a_benchmark_is_drawn_at_every_width_in_light_and_dark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.html");
    let page = path.to_str().unwrap();
    let said =
        keyloom(&["bench", "--count", "1500", "--rounds", "1", "--store", "memory,lmdb", "--html", page]);
    assert!(said.contains("range20_rev"), "{said}");
    let page = picture(folder.path(), &path, "bench.png", false);
    picture(folder.path(), &path, "bench_dark.png", true);
    needs_nothing(&page);
    for wide in [360, 1_180] {
        let seen = looked(folder.path(), &page, wide, &[]);
        assert_eq!((&seen["width"], &seen["overflow"]), (&wide.into(), &0.into()), "{:?}", seen["outside"]);
        assert_eq!(seen["outside"], serde_json::json!([]), "{wide}");
        let headings = ["Throughput", "Single calls", "Growth", "10,000 orders in memory"];
        assert_eq!(seen["headings"], serde_json::json!(headings));
        // Ten works of two stores, and in memory 3 + 3 + 2 systems and what was published.
        assert_eq!((&seen["bars"], &seen["flat"]), (&(10 * 2 + 8 + 3).into(), &0.into()), "{seen}");
        // Seven works of two stores at three percentiles, and five works at two sizes.
        assert_eq!(seen["lines"], 7 * 2 + 5 * 2, "{seen}");
        assert_eq!(seen["dots"], 7 * 2 * 3 + 5 * 2 * 2, "{seen}");
        assert_eq!((&seen["strays"], &seen["strokes"]), (&serde_json::json!([]), &2.into()), "{seen}");
    }
    let dark = looked(folder.path(), &page, 1_180, &["--blink-settings=preferredColorScheme=0"]);
    assert_eq!(dark["paper"], "rgb(23, 22, 20)");
}

#[test]
fn names_and_values_are_text_whatever_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile<b>.klm");
    let location: Location = path.to_str().unwrap().parse().unwrap();
    let database = location.open().wait().unwrap();
    let quoted = HOSTILE.replace('"', "\"\"");
    let sql = format!(
        "CREATE TABLE \"{quoted}\" (\"{quoted}\" TEXT, n INTEGER, PRIMARY KEY (\"{quoted}\", n)) WITH (shards = 2);
         CREATE INDEX \"{quoted}\" ON \"{quoted}\" (n) WHERE \"{quoted}\" = '{}'",
        HOSTILE.replace('\'', "''")
    );
    database.define(&sql).wait().unwrap();
    let table = database.table(HOSTILE).wait().unwrap();
    let long = "x".repeat(300);
    for value in [HOSTILE, &long, "\0\u{1b}[31m\u{202e}"] {
        table.put(Document::new().with(HOSTILE, value.to_owned()).with("n", 1_i64)).wait().unwrap();
    }
    drop((table, database));
    let queries = format!("SELECT * FROM \"{quoted}\" WHERE n = 1 AND \"{quoted}\" = '<script>x</script>'");
    let page = report(folder.path(), &path, &queries, "report_hostile.png", false);
    for wide in [360, 1_180] {
        let seen = looked(folder.path(), &page, wide, &[]);
        assert_eq!(seen["hacked"], false);
        assert_eq!((&seen["scripts"], &seen["images"], &seen["handlers"]), (&1.into(), &0.into(), &0.into()));
        assert_eq!(seen["headings"], serde_json::json!([HOSTILE]));
        assert_eq!(seen["overflow"], 0, "{wide}: {:?}", seen["outside"]);
    }
}
