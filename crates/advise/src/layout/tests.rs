use keyloom_key::{Direction, Nulls};

use super::{Layout, Role, Slot};

/// `a b | c | day-` as a layout: groups between bars, `-` runs down, `+` up, `~` is a range.
fn layout(text: &str) -> Layout {
    let slot = |word: &str| {
        let (name, role, order) = match word.split_at(word.len() - 1) {
            (name, "-") => (name, Role::Order, Some((Direction::Descending, Nulls::Last))),
            (name, "+") => (name, Role::Order, Some((Direction::Ascending, Nulls::First))),
            (name, "~") => (name, Role::Range, None),
            _ => (word, Role::Equal, None),
        };
        Slot { name: name.to_owned(), role, order }
    };
    Layout(text.split('|').map(|group| group.split_whitespace().map(slot).collect()).collect())
}

fn merged(one: &str, two: &str) -> Option<String> {
    let both = layout(one).merged(&layout(two))?;
    let columns = |group: &Vec<Slot>| {
        let mut names: Vec<String> = group.iter().map(Slot::text).collect();
        names.sort();
        names.join(" ")
    };
    Some(both.0.iter().map(columns).collect::<Vec<_>>().join(" | "))
}

#[test]
fn what_begins_alike_is_merged() {
    for (one, two, both) in [
        ("a", "a", "a"),
        ("a b", "b a", "a b"),
        ("a b", "a", "a | b"),
        ("a b c", "c", "c | a b"),
        ("a", "a | day-", "a | day desc"),
        ("a b", "a | day~ ", ""),
        ("a | b+", "a b", "a | b"),
        ("a | b~ ", "a | b-", "a | b desc"),
        ("a | b- | c+", "a | b+ | c-", "a | b desc | c"),
        ("a | b- | c+", "a | b+ | c+", ""),
        ("a b | c", "a | b | c d", "a | b | c | d"),
        ("a", "b", ""),
        ("a b", "a c", ""),
        ("a b c | x~", "b", "b | a c | x"),
    ] {
        let expected = if both.is_empty() { None } else { Some(both.to_owned()) };
        assert_eq!(merged(one, two), expected, "{one} with {two}");
        // The other way round only the ends of an order may be turned.
        assert_eq!(merged(two, one).is_some(), expected.is_some(), "{two} with {one}");
    }
}

#[test]
fn groups_are_ordered_by_rank_and_keep_their_places() {
    let columns = layout("b a | c-").columns(|slot| slot.name.clone());
    assert_eq!(columns, ["a", "b", "c desc"]);
}
