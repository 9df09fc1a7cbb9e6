//! Bars: lying ones with their names before them, and standing ones side by side.

use super::html::Html;
use crate::cmd::stats::figures::{number, percent};

/// A bar.
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: u64,
    /// What is said of it beside its number.
    pub(crate) more: String,
    /// Where its name leads.
    pub(crate) link: Option<String>,
}

impl Bar {
    pub(crate) fn new(name: String, value: u64, more: String) -> Self {
        Self { name, value, more, link: None }
    }
}

/// Bars that lie below one another, each with its number and its share of `all`.
pub(crate) fn lying(html: &mut Html, bars: &[Bar], all: u64) {
    let largest = bars.iter().map(|bar| bar.value).max().unwrap_or_default();
    html.element("div", &[("class", "bars")], |html| {
        for bar in bars {
            let width = format!("width:{}%", share(bar.value, largest));
            match &bar.link {
                None => html.text_in("span", "bar-name", &bar.name),
                Some(link) => html.element("a", &[("class", "bar-name"), ("href", link)], |html| {
                    html.text(&bar.name);
                }),
            };
            html.element("span", &[("class", "bar-track")], |html| {
                if bar.value > 0 {
                    html.element("span", &[("class", "bar"), ("style", &width)], |_| ());
                }
            });
            html.text_in("span", "bar-value", &number(bar.value));
            html.text_in("span", "bar-share", &percent(bar.value, all));
            html.text_in("span", "bar-more", &bar.more);
        }
    });
}

/// How much of the largest, in hundredths with two digits behind the point.
fn share(value: u64, largest: u64) -> String {
    let parts = u128::from(value) * 10_000 / u128::from(largest.max(1));
    format!("{}.{:02}", parts / 100, parts % 100)
}

/// The size of a standing chart, in its own units.
const WIDE: usize = 460;
const HIGH: usize = 130;
const UNDER: usize = 18;

/// Bars that stand side by side, their names below, with a line where all would end if all were alike.
pub(crate) fn standing(html: &mut Html, label: &str, bars: &[Bar], even: Option<u64>) {
    let largest = bars.iter().map(|bar| bar.value).max().unwrap_or_default();
    let view = format!("0 0 {WIDE} {}", HIGH + UNDER);
    let attributes =
        [("viewBox", view.as_str()), ("role", "img"), ("aria-label", label), ("class", "standing")];
    let step = WIDE * 100 / bars.len().max(1);
    // Names need room: where there are many bars, only some have theirs.
    let longest = bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(1);
    let named = (longest * 700).div_ceil(step.max(1)).max(1);
    html.element("svg", &attributes, |html| {
        for (at, bar) in bars.iter().enumerate() {
            if bar.value > 0 {
                standing_bar(html, bar, at * step, step, height(bar.value, largest));
            }
            if at.is_multiple_of(named) {
                let middle = units(at * step + step / 2);
                let below = (HIGH + UNDER - 4).to_string();
                html.element("text", &[("x", &middle), ("y", &below), ("text-anchor", "middle")], |html| {
                    html.text(&bar.name);
                });
            }
        }
        let base = HIGH.to_string();
        line(html, "base", &base);
        if let Some(even) = even {
            line(html, "even", &units(HIGH * 100 - height(even, largest)));
        }
    });
}

/// A line from side to side.
fn line(html: &mut Html, class: &str, y: &str) {
    let wide = WIDE.to_string();
    html.element("line", &[("class", class), ("x1", "0"), ("x2", &wide), ("y1", y), ("y2", y)], |_| ());
}

/// A bar in the middle of its room, all in hundredths of a unit.
fn standing_bar(html: &mut Html, bar: &Bar, left: usize, room: usize, high: usize) {
    let wide = (room - room / 5).min(6_400);
    let corner = if high > 300 && wide > 500 { "2" } else { "0" };
    let (x, y) = (units(left + (room - wide) / 2), units(HIGH * 100 - high));
    let (width, height) = (units(wide), units(high));
    let attributes =
        [("class", "bar"), ("x", &x), ("y", &y), ("width", &width), ("height", &height), ("rx", corner)];
    html.element("rect", &attributes, |html| {
        let said = format!("{}: {} {}", bar.name, number(bar.value), bar.more);
        html.text_in("title", "", said.trim_end());
    });
}

/// How high a bar is, in hundredths of a unit. What is there is seen.
fn height(value: u64, largest: u64) -> usize {
    let most = u128::try_from((HIGH - 4) * 100).unwrap_or_default();
    let high = u128::from(value) * most / u128::from(largest.max(1));
    let high = usize::try_from(high).unwrap_or_default();
    if value > 0 { high.max(200) } else { 0 }
}

fn units(hundredths: usize) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}
