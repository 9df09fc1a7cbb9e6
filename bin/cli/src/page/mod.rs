//! Pages for a browser: one file each, without a script, light and dark, from a phone to a sheet of paper.

pub(crate) mod chart;
mod html;
pub(crate) mod plot;

pub(crate) use html::Html;

/// A page with this title, and in it what `inner` writes.
pub(crate) fn of(title: &str, inner: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::page();
    html.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |html| {
            html.empty("meta", &[("charset", "utf-8")]);
            html.empty("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
            html.empty("meta", &[("name", "color-scheme"), ("content", "light dark")]);
            html.text_in("title", "", &format!("{title} · Keyloom"));
            html.style(include_str!("style.css"));
        });
        html.element("body", &[], |html| {
            html.element("main", &[], inner);
        });
    });
    html.finish()
}

/// Large numbers with what they count below.
pub(crate) fn figures(html: &mut Html, figures: &[(&str, &str)]) {
    html.element("div", &[("class", "figures")], |html| {
        for (figure, what) in figures {
            html.element("div", &[], |html| {
                html.text_in("span", "figure", figure);
                html.text_in("span", "what", what);
            });
        }
    });
}
