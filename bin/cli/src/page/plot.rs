//! Lines over steps, times upward: each step of the height is ten times the one below it.

use std::time::Duration;

use super::Html;

/// A line, with a value at each step where there is one.
pub(crate) struct Line {
    pub(crate) name: String,
    /// Which of the colours it has: lines of one name have one colour on a page.
    pub(crate) colour: usize,
    pub(crate) values: Vec<Option<Duration>>,
}

/// The size of a plot, in its own units, and the room for what stands beside it.
const WIDE: f64 = 460.0;
const HIGH: f64 = 190.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 10.0;
const UNDER: f64 = 28.0;

/// How many colours there are.
const COLOURS: usize = 6;

/// The class that gives a line its colour.
pub(crate) fn colour(number: usize) -> String {
    format!("s{}", number % COLOURS)
}

/// A time as people read it: `1.5 µs`.
pub(crate) fn time(time: Duration) -> String {
    let nanos = time.as_secs_f64() * 1e9;
    let (value, unit) = match nanos {
        nanos if nanos < 999.5 => (nanos, "ns"),
        nanos if nanos < 999_500.0 => (nanos / 1e3, "µs"),
        nanos if nanos < 999_500_000.0 => (nanos / 1e6, "ms"),
        nanos => (nanos / 1e9, "s"),
    };
    let digits = usize::from(value < 99.95 && unit != "ns");
    let text = format!("{value:.digits$}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// Which colour is whose.
pub(crate) fn legend(html: &mut Html, names: &[&str]) {
    html.element("div", &[("class", "legend")], |html| {
        for (number, name) in names.iter().enumerate() {
            html.text_in("span", &colour(number), name);
        }
    });
}

/// Draws lines over steps.
pub(crate) fn lines(html: &mut Html, label: &str, steps: &[String], lines: &[Line]) {
    let tens = |time: &Duration| (time.as_secs_f64() * 1e9).max(1.0).log10();
    let heights = || lines.iter().flat_map(|line| line.values.iter().flatten()).map(tens);
    let lowest = heights().fold(f64::INFINITY, f64::min).floor();
    let highest = heights().fold(f64::NEG_INFINITY, f64::max).ceil().max(lowest + 1.0);
    if !lowest.is_finite() {
        html.text_in("p", "quiet", "There is nothing to draw.");
        return;
    }
    let view = format!("0 0 {WIDE} {}", HIGH + UNDER);
    let attributes = [("viewBox", view.as_str()), ("role", "img"), ("aria-label", label), ("class", "plot")];
    let y = |tens: f64| HIGH - (tens - lowest) / (highest - lowest) * (HIGH - TOP);
    let room = (WIDE - LEFT - RIGHT) / ordinal(steps.len().max(2) - 1);
    let x = |step: usize| LEFT + ordinal(step) * room;
    html.element("svg", &attributes, |html| {
        let mut ten = lowest;
        while ten <= highest {
            let at = format!("{:.1}", y(ten));
            let right = format!("{:.1}", WIDE - RIGHT);
            let from = format!("{LEFT:.1}");
            html.element(
                "line",
                &[("class", "grid"), ("x1", &from), ("x2", &right), ("y1", &at), ("y2", &at)],
                |_| (),
            );
            let text = time(Duration::from_secs_f64(10_f64.powf(ten) / 1e9));
            label_at(html, LEFT - 8.0, y(ten) + 4.0, "end", &text);
            ten += 1.0;
        }
        for (step, name) in steps.iter().enumerate() {
            label_at(html, x(step), HIGH + UNDER - 6.0, "middle", name);
        }
        for line in lines {
            let points: Vec<(usize, &Duration)> = line
                .values
                .iter()
                .enumerate()
                .filter_map(|(step, time)| Some((step, time.as_ref()?)))
                .collect();
            draw(html, line, &points, steps, |step, time| (x(step), y(tens(time))));
        }
    });
}

/// A line through its points, and each of them with what it says.
fn draw(
    html: &mut Html,
    line: &Line,
    points: &[(usize, &Duration)],
    steps: &[String],
    place: impl Fn(usize, &Duration) -> (f64, f64),
) {
    let path: Vec<String> = points
        .iter()
        .map(|(step, time)| {
            let (x, y) = place(*step, time);
            format!("{x:.1},{y:.1}")
        })
        .collect();
    let colour = colour(line.colour);
    html.element("polyline", &[("class", &format!("line {colour}")), ("points", &path.join(" "))], |_| ());
    for (step, value) in points {
        let (x, y) = place(*step, value);
        let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
        html.element(
            "circle",
            &[("class", &format!("dot {colour}")), ("cx", &x), ("cy", &y), ("r", "4")],
            |html| {
                let step = steps.get(*step).map(String::as_str).unwrap_or_default();
                html.text_in("title", "", &format!("{}, {step}: {}", line.name, time(**value)));
            },
        );
    }
}

fn label_at(html: &mut Html, x: f64, y: f64, anchor: &str, text: &str) {
    let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
    html.element("text", &[("x", &x), ("y", &y), ("text-anchor", anchor)], |html| {
        html.text(text);
    });
}

fn ordinal(number: usize) -> f64 {
    u32::try_from(number).unwrap_or(u32::MAX).into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Line, lines, time};
    use crate::page::Html;

    #[test]
    fn times_are_as_people_write_them() {
        let said = [0, 7, 999, 1_000, 1_540, 99_950, 100_400, 999_499, 999_500, 2_500_000_000]
            .map(|nanos| time(Duration::from_nanos(nanos)));
        let expected =
            ["0 ns", "7 ns", "999 ns", "1 µs", "1.5 µs", "100 µs", "100 µs", "999 µs", "1 ms", "2.5 s"];
        assert_eq!(said, expected);
    }

    #[test]
    fn ten_times_as_long_is_one_line_higher() {
        let values = [100, 1_000, 10_000].map(|nanos| Some(Duration::from_nanos(nanos)));
        let line = Line { name: "a".to_owned(), colour: 0, values: values.to_vec() };
        let mut html = Html::page();
        lines(&mut html, "growth", &["1".to_owned(), "2".to_owned(), "3".to_owned()], &[line]);
        let page = html.finish();
        // 100 ns is the lowest line and 10 µs the highest.
        assert!(page.contains("points=\"54.0,190.0 242.0,100.0 430.0,10.0\""), "{page}");
    }
}
