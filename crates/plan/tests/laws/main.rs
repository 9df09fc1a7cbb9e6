//! The laws of the planner: whatever the table, the rows and the query, a plan finds each row that is asked for once and
//! no other, in the order that is asked for, and goes on where a page ended.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    unreachable_pub,
    missing_docs,
    reason = "tests"
)]

mod ask;
mod world;

use keyloom_key::Value;
use keyloom_plan::{
    Access, Class, Cursor, Error, Order, Plan, Position, Query, Shortcut, Statistics, Template, plan, route,
};
use keyloom_schema::{Index, Predicate, Table};
use keyloom_testkit::template::given_later;
use proptest::prelude::*;

use world::{Element, Entry, Row, entries, first_part};

/// An entry that a plan reads, with the number of its stretch.
type Read = (usize, Entry);

/// The entries that a plan reads, in the order in which it reads them, before any filter.
fn read(table: &Table, plan: &Plan, rows: &[Row]) -> Vec<Read> {
    let index = table.indexes().iter().find(|index| index.tree().id() == plan.tree);
    let tree = index.map_or(table.primary(), Index::tree);
    let all = entries(table, plan.tree, rows);
    let mut found: Vec<Read> = Vec::new();
    match &plan.access {
        Access::InTurn(stretches) | Access::Merged(stretches) => {
            for (number, stretch) in stretches.iter().enumerate() {
                let inside = all.iter().filter(|entry| stretch.span.contains(&entry.key));
                found.extend(inside.map(|entry| (number, entry.clone())));
            }
            if let Access::Merged(_) = plan.access {
                found.sort_by(|(m, a), (n, b)| {
                    let suffix =
                        |number: &usize, entry: &Entry| entry.key[stretches[*number].shared..].to_vec();
                    let order = suffix(m, a).cmp(&suffix(n, b));
                    if plan.backward { order.reverse() } else { order }.then(m.cmp(n))
                });
            } else if plan.backward {
                found.reverse();
            }
        }
        Access::Skip { places, parts, inner, .. } => {
            assert_eq!((*parts, plan.backward), (1, false));
            for (number, place) in places.iter().enumerate() {
                for entry in all.iter().filter(|entry| place.contains(&entry.key)) {
                    let skipped = tree.head_length() + first_part(tree, &rows[entry.row]).len();
                    let times =
                        inner.iter().filter(|inner| inner.span.contains(&entry.key[skipped..])).count();
                    found.extend(std::iter::repeat_n((number, entry.clone()), times));
                }
            }
        }
    }
    found
}

/// Whether an entry is the one that its record is given at.
fn is_first(once: &Predicate, row: &Row, element: &Value<'static>) -> bool {
    let field = once.fields()[0];
    let kind = &row.kinds[field];
    let Value::List(elements) = row.get(field) else { return false };
    let like = elements.iter().filter(|element| once.holds(&Element(kind, element)).unwrap());
    like.min_by(|a, b| a.compare(b).unwrap()).is_some_and(|least| least == element)
}

/// What a plan answers.
fn answer(table: &Table, plan: &Plan, rows: &[Row]) -> Vec<Read> {
    let mut found = read(table, plan, rows);
    found.retain(|(_, entry)| {
        let row = &rows[entry.row];
        let once = plan.once.as_ref().is_none_or(|once| is_first(once, row, entry.element.as_ref().unwrap()));
        once && plan.filter.as_ref().is_none_or(|filter| filter.holds(row).unwrap())
    });
    found
}

/// Every row that is asked for comes once, and no other.
fn check_rows(table: &Table, rows: &[Row], query: &Query, plan: &Plan) {
    let wanted = query.filter.clone().bind(table).unwrap();
    let expected: Vec<usize> = (0..rows.len()).filter(|row| wanted.holds(&rows[*row]).unwrap()).collect();
    let mut found: Vec<usize> = answer(table, plan, rows).into_iter().map(|(_, entry)| entry.row).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{plan}");
}

/// The rows come in the order that is asked for, if the plan says so.
fn check_order(table: &Table, rows: &[Row], query: &Query, plan: &Plan) {
    if plan.order != Order::Free {
        return;
    }
    for pair in answer(table, plan, rows).windows(2) {
        let [a, b] = [&pair[0], &pair[1]].map(|(_, entry)| &rows[entry.row]);
        assert!(ask::in_order(table, &query.order, a, b), "{:?} before {:?}\n{plan}", a.values, b.values);
    }
}

/// What is read is as bounded as the plan says.
fn check_class(table: &Table, rows: &[Row], plan: &Plan) {
    let (read, found) = (read(table, plan, rows), answer(table, plan, rows));
    match plan.class {
        Class::Constant => assert!(read.len() as u64 <= plan.bound.unwrap(), "{plan}"),
        Class::Output => {
            assert_eq!(read.len(), found.len(), "{plan}");
            assert!(plan.order == Order::Free || plan.limit.is_none(), "{plan}");
        }
        Class::Partition | Class::Scan => assert_eq!(plan.bound, None),
    }
}

/// A page that ends at any row goes on with the next one, whatever is known of the table by then.
fn check_pages(table: &Table, rows: &[Row], query: &Query, plan_of_first: &Plan, now: &Statistics) {
    let whole = answer(table, plan_of_first, rows);
    for (at, (stretch, entry)) in whole.iter().enumerate() {
        let position = if plan_of_first.order == Order::Free {
            Position::Key { stretch: *stretch as u32, key: entry.key.clone() }
        } else {
            Position::Sorted { order: vec![1, 2], key: entry.key.clone() }
        };
        let cursor = Cursor::new(table, query, plan_of_first, &position, Some(5));
        let text: Cursor = cursor.to_string().parse().unwrap();
        let next = query.clone().after(text.clone());
        let resume = text.read(table, &next).unwrap();
        assert_eq!((&resume.position, resume.remaining), (&position, Some(5)));
        let again = plan(table, now, &next).unwrap();
        assert_eq!((&again.access, again.limit), (&plan_of_first.access, Some(5)));
        if let Position::Key { .. } = position {
            let rest = answer(table, &again.resume(&position), rows);
            let left: Vec<_> = whole[at + 1..].iter().map(|(number, entry)| (*number, &entry.key)).collect();
            let rest: Vec<_> = rest.iter().map(|(number, entry)| (*number, &entry.key)).collect();
            assert_eq!(rest, left, "{again}");
        }
    }
}

/// A scan is refused unless it is allowed, and permission changes nothing else.
fn check_permission(table: &Table, known: &Statistics, query: &Query, allowed: &Plan) {
    match plan(table, known, &Query { allow_scan: false, ..query.clone() }) {
        // As text: a filter may ask for a NaN, which equals nothing.
        Ok(plan) => assert_eq!(format!("{plan:?}"), format!("{allowed:?}")),
        Err(Error::Refused(refusal)) => {
            assert_eq!(allowed.class, Class::Scan);
            assert_eq!(refusal.index, allowed.advice);
        }
        Err(other) => unreachable!("{other}"),
    }
}

/// A plan that is only run is the same without its words, and a query that is refused is refused with all of them.
fn check_route(table: &Table, known: &Statistics, query: &Query, allowed: &Plan) {
    let mut silent = allowed.clone();
    (silent.key, silent.rejected, silent.advice) = (String::new(), Vec::new(), None);
    match &mut silent.access {
        Access::InTurn(stretches) | Access::Merged(stretches) | Access::Skip { inner: stretches, .. } => {
            stretches.iter_mut().for_each(|stretch| stretch.text.clear());
        }
    }
    let run = route(table, known, &query.clone().allow_scan()).unwrap();
    assert_eq!(format!("{run:?}"), format!("{silent:?}"));
    let words = |planned: Result<Plan, Error>| planned.err().map(|error| error.to_string());
    assert_eq!(words(route(table, known, query)), words(plan(table, known, query)));
}

/// A query whose values are given later has the plan that it has with them.
fn check_template(table: &Table, known: &Statistics, rows: &[Row], query: &Query) {
    for each in [1, 2] {
        let (rest, given, values) = given_later(query, each);
        let template = Template::new(rest, given);
        let bound = template.bind(values.iter().cloned()).unwrap();
        let planned = route(table, known, &bound).unwrap();
        check_rows(table, rows, &bound, &planned);
        assert!(template.bind(values.iter().cloned().chain([Value::Null])).is_err());
        let Some(shortcut) = Shortcut::of(table, &template) else { continue };
        if let Some(access) = shortcut.access(table, &values) {
            let plan = Plan { access, estimate: planned.estimate, ..shortcut.plan().clone() };
            assert_eq!(format!("{plan:?}"), format!("{planned:?}"));
        }
    }
}

/// An index that answers alone has what is asked for.
fn check_covered(table: &Table, plan: &Plan) {
    let Some(index) = plan.index.as_deref().and_then(|name| table.index(name)).filter(|_| !plan.fetch) else {
        return;
    };
    let asked = plan.filter.iter().chain(&plan.once).flat_map(Predicate::fields);
    for name in plan.select.as_ref().unwrap().iter().map(String::as_str).chain(asked) {
        let id = table.column(name).unwrap().id;
        let mut exact = index.tree().parts().iter().filter(|part| part.is_exact() && !part.many);
        assert!(index.covering().contains(&id) || exact.any(|part| part.column == id), "{plan}");
    }
}

fn cases(usual: u32) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    // A number in the environment asks for more.
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = usual;
    }
    config
}

/// The plan for each tree, whichever would be chosen: that of a cursor which stands in it.
fn forced(table: &Table, query: &Query, chosen: &Plan) -> Vec<Plan> {
    let trees = std::iter::once(table.primary()).chain(table.indexes().iter().map(Index::tree));
    let skip = Access::Skip { places: Vec::new(), parts: 1, inner: Vec::new(), values: 3 };
    let ways = [(false, Access::InTurn(Vec::new())), (true, Access::InTurn(Vec::new())), (false, skip)];
    let pages = trees.flat_map(|tree| ways.clone().map(|(backward, access)| (tree.id(), backward, access)));
    let plans = pages.filter_map(|(tree, backward, access)| {
        let page = Plan { tree, backward, access, ..chosen.clone() };
        let position = Position::Key { stretch: 0, key: Vec::new() };
        let cursor = Cursor::new(table, query, &page, &position, query.limit);
        plan(table, &Statistics::default(), &query.clone().after(cursor)).ok()
    });
    plans.collect()
}

proptest! {
    #![proptest_config(cases(4096))]

    #[test]
    fn a_plan_finds_what_is_asked_for(
        ((table, twin), query) in world::tables().prop_flat_map(|tables| {
            let queries = ask::queries(&tables.0);
            (Just(tables), queries)
        }),
        rows in world::rows(),
        informed in any::<bool>(),
    ) {
        let rows = world::insert(&table, rows);
        let known = world::statistics(&table, &rows);
        let (first, later) = if informed { (known, Statistics::default()) } else { (Statistics::default(), known) };
        let query = query.allow_scan();
        let chosen = plan(&table, &first, &query).unwrap();
        let renamed = plan(&twin, &first, &query).unwrap();
        prop_assert_eq!((renamed.tree, &renamed.access), (chosen.tree, &chosen.access));
        check_permission(&table, &first, &query, &chosen);
        check_route(&table, &first, &query, &chosen);
        check_template(&table, &first, &rows, &query);
        let forced = forced(&table, &query, &chosen);
        prop_assert!(!forced.is_empty());
        for plan in forced.iter().chain([&chosen]) {
            check_rows(&table, &rows, &query, plan);
            check_order(&table, &rows, &query, plan);
            check_class(&table, &rows, plan);
            check_covered(&table, plan);
            check_pages(&table, &rows, &query, plan, &later);
        }
    }
}
