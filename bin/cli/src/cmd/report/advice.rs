//! What is advised for a table, on the page.

use keyloom::advise::{Advice, Served};

use super::Shown;
use crate::cmd::advise::queries::Asked;
use crate::cmd::advise::text::{queries, said, writes};
use crate::cmd::stats::figures::{bytes, number};
use crate::page::Html;

pub(super) fn block(html: &mut Html, shown: &Shown, asked: bool) {
    let warnings = shown.counted.table.warnings();
    html.text_in("h3", "", "Advice");
    let nothing = shown
        .advised
        .as_ref()
        .is_none_or(|(_, advice)| advice.create.is_empty() && advice.redundant.is_empty());
    if warnings.is_empty() && nothing {
        let text = match (&shown.advised, asked) {
            (Some(_), _) => "There is nothing to create and nothing to drop.",
            (None, true) => "No query asks for this table.",
            (None, false) => {
                "The keys are well ordered. With --queries, the indexes that queries need are advised here."
            }
        };
        html.text_in("p", "quiet", text);
    }
    if let Some((_, advice)) = &shown.advised {
        proposals(html, advice);
    }
    // What queries make of an index says more than its columns do.
    let told = |index: &str| {
        let (_, advice) = shown.advised.as_ref()?;
        advice.redundant.iter().find(|redundant| redundant.index == index)
    };
    for warning in warnings.iter().filter(|warning| told(&warning.index).is_none()) {
        card(html, "note", &warning.index, &[("why", &warning.reason)]);
    }
    if let Some((asked, advice)) = &shown.advised {
        answers(html, asked, advice);
    }
}

fn proposals(html: &mut Html, advice: &Advice) {
    for proposal in &advice.create {
        let costs = format!(
            "{} in about {} entries; {}",
            bytes(proposal.bytes),
            number(proposal.entries),
            writes(proposal)
        );
        let serves = queries(&proposal.serves);
        let why = proposal.reasons.join("; ");
        let lines = [("serves", serves.as_str()), ("why", &why), ("costs", &costs)];
        card(html, "create", &format!("{};", proposal.sql), &lines);
    }
    for redundant in &advice.redundant {
        let frees = format!("{}, and its part of every write", bytes(redundant.bytes));
        let lines = [("why", redundant.reason.as_str()), ("frees", &frees)];
        card(html, "drop", &format!("{};", redundant.sql), &lines);
    }
}

/// A piece of advice: what kind, a line of code, and what there is to say of it.
fn card(html: &mut Html, kind: &str, code: &str, lines: &[(&str, &str)]) {
    html.element("div", &[("class", &format!("card {kind}"))], |html| {
        html.element("p", &[], |html| {
            html.text_in("span", "tag", kind);
            html.text_in("code", "", code);
        });
        html.element("dl", &[], |html| {
            for (name, text) in lines {
                html.text_in("dt", "", name);
                html.text_in("dd", "", text);
            }
        });
    });
}

/// How each query is answered, now and then.
fn answers(html: &mut Html, asked: &[Asked], advice: &Advice) {
    html.text_in("h3", "", "Queries");
    html.element("table", &[("class", "queries")], |html| {
        html.element("tr", &[], |html| {
            for name in ["", "query", "now", "with the advice"] {
                html.text_in("th", "", name);
            }
        });
        for (number, (asked, (before, after))) in (1..).zip(asked.iter().zip(&advice.queries)) {
            html.element("tr", &[], |html| {
                html.text_in("td", "right quiet", &number.to_string());
                html.element("td", &[], |html| {
                    html.text_in("code", "", &asked.text);
                });
                html.text_in("td", class(before), &said(before));
                let then = if before == after { "the same".to_owned() } else { said(after) };
                html.text_in("td", if before == after { "quiet" } else { class(after) }, &then);
            });
        }
    });
}

fn class(served: &Served) -> &'static str {
    if served.is_refused() { "bad" } else { "" }
}
