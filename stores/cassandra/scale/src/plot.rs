//! Plots as SVG: lines, two axes, a legend.

use std::fmt::Write;

/// One line of a plot.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// How an axis runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    /// From 0, evenly.
    Even,
    /// By powers of ten.
    Powers,
}

const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 240.0;
const COLORS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7f7f7f"];

/// Where values lie on an axis of length 1, and which are written at it.
struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
}

impl Scale {
    fn new(axis: Axis, values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|value| axis == Axis::Even || *value > 0.0).collect();
        let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let least = values.iter().copied().fold(most, f64::min);
        match axis {
            Axis::Even => {
                let step = 10_f64.powf((most / 4.0).log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * step);
                let step = step.into_iter().find(|step| step * 5.0 >= most).unwrap_or(most);
                Self { axis, low: 0.0, high: (most / step).ceil() * step }
            }
            Axis::Powers => Self { axis, low: least.log10().floor(), high: most.log10().ceil() },
        }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.axis == Axis::Powers { value.max(f64::MIN_POSITIVE).log10() } else { value };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn marks(&self) -> Vec<f64> {
        match self.axis {
            Axis::Even => (0..=4).map(|mark| self.high * f64::from(mark) / 4.0).collect(),
            Axis::Powers => {
                let steps = (-6..=14).map(f64::from).filter(|step| (self.low..=self.high).contains(step));
                steps.map(|step| 10_f64.powf(step)).collect()
            }
        }
    }
}

/// A number as an axis shows it.
fn short(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (value, unit) = units
        .into_iter()
        .find(|(size, _)| value >= *size)
        .map_or((value, ""), |(size, unit)| (value / size, unit));
    let text = format!("{value:.2}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// Draws lines.
pub(crate) fn plot(
    title: &str,
    (x_name, x): (&str, Axis),
    (y_name, y): (&str, Axis),
    lines: &[Line],
) -> String {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let (across, up) =
        (Scale::new(x, points().map(|point| point.0)), Scale::new(y, points().map(|point| point.1)));
    let left = |value| LEFT + WIDTH * across.place(value);
    let top = |value| TOP + HEIGHT * (1.0 - up.place(value));
    let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 330\" width=\"640\" height=\"330\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"640\" height=\"330\" fill=\"#fff\"/>\n",
    );
    let mut text = |x: f64, y: f64, anchor: &str, words: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(svg, "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{words}</text>");
    };
    text(LEFT, 20.0, "start", title);
    text(LEFT + WIDTH / 2.0, bottom + 36.0, "middle", x_name);
    text(LEFT, TOP - 6.0, "start", y_name);
    for mark in across.marks() {
        text(left(mark), bottom + 18.0, "middle", &short(mark));
    }
    for mark in up.marks() {
        text(LEFT - 6.0, top(mark) + 4.0, "end", &short(mark));
    }
    for (number, (line, _)) in lines.iter().zip(COLORS).enumerate() {
        text(right + 30.0, TOP + 14.0 + 20.0 * number as f64, "start", &line.name);
    }
    for mark in up.marks() {
        let y = top(mark);
        let _ = writeln!(svg, "<path d=\"M{LEFT:.0} {y:.1}H{right:.0}\" stroke=\"#ddd\"/>");
    }
    for (number, (line, color)) in lines.iter().zip(COLORS).enumerate() {
        let places: Vec<String> =
            line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", left(*x), top(*y))).collect();
        let y = TOP + 10.0 + 20.0 * number as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{:.0} {y:.0}h16\" stroke=\"{color}\" stroke-width=\"2\"/>\n\
             <polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            right + 10.0,
            places.join(" ")
        );
    }
    svg.push_str("</svg>\n");
    svg
}
