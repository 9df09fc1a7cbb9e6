//! Why an index is what it is, in words.

use keyloom_schema::{Index, Part, Table, Tree};

use crate::layout::{Layout, Role, Slot};
use crate::measure::Measured;

/// Below this many different values a column narrows little.
const LOW: u64 = 1_000;

/// Why the columns of a layout stand as they do: one sentence for each rule that had a part in it.
pub(crate) fn of(layout: &Layout, measured: &Measured) -> Vec<String> {
    let mut reasons = Vec::new();
    let equal: Vec<&Slot> = layout.0.iter().flatten().take_while(|slot| slot.role == Role::Equal).collect();
    let distinct = |slot: &Slot| measured.column(&slot.name).map_or(0, |column| column.distinct);
    if !equal.is_empty() {
        reasons.push(format!("{} first: compared with = or IN", listed(equal.iter().copied())));
    }
    for group in &layout.0 {
        if let [first, .., last] = group.as_slice()
            && distinct(first) > distinct(last)
        {
            let values = (number(distinct(first)), number(distinct(last)));
            reasons.push(format!(
                "{} before {}: {} different values narrow more than {}",
                first.name, last.name, values.0, values.1
            ));
        }
    }
    for (at, (before, behind)) in layout.0.iter().zip(layout.0.iter().skip(1)).enumerate() {
        if let ([.., one], [two, ..]) = (before.as_slice(), behind.as_slice())
            && one.role == Role::Equal
            && two.role == Role::Equal
        {
            let upto = listed(layout.0.iter().take(at + 1).flatten());
            reasons.push(format!(
                "{} before {}: another query has only {upto}",
                listed(before.iter()),
                two.name
            ));
        }
    }
    let last = layout.0.iter().flatten().last();
    for slot in layout.0.iter().flatten() {
        match slot.role {
            Role::Equal => {}
            Role::Range if last == Some(slot) => {
                reasons.push(format!("{} last: behind a range nothing bounds a read", slot.name));
            }
            Role::Range => reasons.push(format!("{} there: another query reads a range of it", slot.name)),
            Role::Order => reasons.push(format!("{} gives the order, so nothing is sorted", slot.name)),
        }
    }
    if let [only] = equal.as_slice()
        && (1..LOW).contains(&distinct(only))
        && layout.len() == 1
    {
        let values = distinct(only);
        reasons.push(format!(
            "{} has only {} different values: each is about {} rows",
            only.name,
            number(values),
            number(measured.rows() / values.max(1))
        ));
    }
    reasons
}

fn listed<'s>(slots: impl Iterator<Item = &'s Slot>) -> String {
    slots.map(|slot| slot.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A number with commas.
fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Why no query misses an index that `table` has no more.
pub(crate) fn of_redundant(table: &Table, index: &Index) -> String {
    let begins = |tree: &Tree| {
        let own = declared(index.tree());
        declared(tree).starts_with(own)
            && tree.format() == index.tree().format()
            && tree.placement() == index.tree().placement()
    };
    if index.only().is_none() && begins(table.primary()) {
        return "the primary key begins with the same columns".to_owned();
    }
    let same = |other: &&Index| begins(other.tree()) && other.only() == index.only();
    match table.indexes().iter().find(same) {
        Some(other) => format!("{} begins with the same columns", other.name()),
        None => "no query needs it".to_owned(),
    }
}

fn declared(tree: &Tree) -> &[Part] {
    tree.parts().get(..tree.declared()).unwrap_or_default()
}
