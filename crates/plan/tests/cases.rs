//! Defects that others shipped, each as a case that a plan must pass.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

use keyloom_key::{Decimal, Value};
use keyloom_plan::{
    Access, Class, Error, Given, MAX_SPANS, Order, Plan, Query, Shortcut, Statistics, Stretch, Template,
    TreeStatistics, plan, route,
};
use keyloom_schema::{Index, Table, TableBuilder, field, row};

fn table(builder: TableBuilder) -> Table {
    let mut table = builder.build().unwrap();
    table.number_trees(1);
    table
}

fn planned(table: &Table, query: &Query) -> Plan {
    plan(table, &Statistics::default(), query).unwrap()
}

fn stretches(plan: &Plan) -> &[Stretch] {
    match &plan.access {
        Access::InTurn(stretches) | Access::Merged(stretches) => stretches,
        Access::Skip { inner, .. } => inner,
    }
}

fn events() -> TableBuilder {
    Table::named("events").column("device", "str").column("at", "u64").key(["device", "at"])
}

/// One shard was never read: phoenix PR#2109.
#[test]
fn the_last_shard_is_read_too() {
    let events = table(events().shards(5));
    let known = TreeStatistics { rows: 9, distinct: vec![9, 9], samples: vec![] };
    for known in [Statistics::default(), Statistics([(1, known)].into())] {
        let everything = Query::new().allow_scan();
        let range = Query::new().filter(field("device").gt("d"));
        for query in [everything, range.clone(), range.order_by("device").limit(3)] {
            let plan = plan(&events, &known, &query).unwrap();
            let places: Vec<u8> = stretches(&plan).iter().map(|stretch| stretch.span.start[5]).collect();
            assert_eq!(places, [0, 1, 2, 3, 4], "{plan}");
        }
        // Devices enough that each shard has one.
        let names: Vec<String> = (0..64).map(|number| format!("d{number}")).collect();
        let plan = plan(&events, &known, &Query::new().filter(field("device").is_in(names.clone()))).unwrap();
        for name in names {
            let mut key = Vec::new();
            events.primary().key(&[name.as_str().into(), 7_u64.into()], &mut key).unwrap();
            assert_eq!(stretches(&plan).iter().filter(|stretch| stretch.span.contains(&key)).count(), 1);
        }
    }
}

/// The choice went by the name: khora PR#1581.
#[test]
fn renaming_an_index_does_not_change_the_plan() {
    let orders = |first: &str, second: &str| {
        table(
            Table::named("orders")
                .column("id", "u64")
                .column("a", "i64")
                .column("b", "i64")
                .key(["id"])
                .index(Index::on(["a"]).named(first))
                .index(Index::on(["b"]).named(second)),
        )
    };
    let query = Query::new().filter(field("a").eq(1).and(field("b").eq(2)));
    let (one, other) = (planned(&orders("x", "y"), &query), planned(&orders("y", "x"), &query));
    assert_eq!((one.tree, one.access), (other.tree, other.access));
}

/// Permission became a preference: ferrosa PR#404.
#[test]
fn permission_to_scan_does_not_displace_a_keyed_plan() {
    let events = table(events());
    let query = Query::new().filter(field("device").eq("d1"));
    assert_eq!(planned(&events, &query), planned(&events, &query.clone().allow_scan()));
}

/// The first rows by the index were taken for the first by the order: surrealdb#5943.
#[test]
fn an_order_that_no_index_gives_is_sorted_before_the_limit() {
    let orders = table(
        Table::named("orders")
            .column("id", "u64")
            .column("a", "i64")
            .column("b", "i64")
            .column("c", "i64")
            .key(["id"])
            .index(Index::on(["a", "b"])),
    );
    let query = Query::new().filter(field("a").eq(1)).order_by("c").limit(1);
    let plan = planned(&orders, &query);
    assert_eq!(plan.order, Order::Sort(query.order));
    assert_eq!((plan.class, plan.bound), (Class::Partition, None));
    assert_eq!(plan.advice.as_deref(), Some("CREATE INDEX orders_by_a_c ON orders (a, c)"));
}

/// More spans than anyone can read side by side.
#[test]
fn lists_of_values_do_not_multiply_without_end() {
    let events = table(events().shards(16));
    let devices = |count: i64| (0..count).map(|number| format!("d{number}"));
    let query = |count, times: u64| {
        Query::new().filter(field("device").is_in(devices(count)).and(field("at").is_in(0..times)))
    };
    let few = planned(&events, &query(64, 64));
    assert_eq!((stretches(&few).len(), few.class, few.bound), (MAX_SPANS, Class::Constant, Some(4096)));
    let many = planned(&events, &query(64, 65));
    assert_eq!((stretches(&many).len(), many.class), (64, Class::Partition));
    assert!(many.filter.as_ref().unwrap().to_string().starts_with("at IN (0, 1, 2"));
    let most = planned(&events, &query(5000, 1));
    assert_eq!((stretches(&most).len(), most.class), (16, Class::Partition));
    assert!(most.explain().contains("5000 values of device would make more than 4096 spans"));
}

/// Rows of several values come in order only if the columns stand as the order has them.
#[test]
fn columns_with_several_values_stand_as_the_order_has_them() {
    let orders =
        Table::named("orders").column("id", "u64").column("a", "i64").column("b", "i64").column("c", "i64");
    let orders = table(orders.key(["id"]));
    let several = field("c").is_in([1, 2]).and(field("b").eq(3)).and(field("a").is_in([1, 2]));
    let query = Query::new().filter(several).order_by_desc("a").order_by("b").order_by("c").limit(5);
    let Err(Error::Refused(refusal)) = plan(&orders, &Statistics::default(), &query) else { unreachable!() };
    let sql = "CREATE INDEX orders_by_b_a_c ON orders (b, a desc, c)";
    assert_eq!(refusal.index.as_deref(), Some(sql));
}

/// A list that stands behind a free field bounds nothing, though each record is found by one of its elements.
#[test]
fn a_list_that_is_not_reached_does_not_bound() {
    let posts = || {
        Table::named("posts").column("id", "u64").column("day", "u32").column("tags", "list(str)").key(["id"])
    };
    let behind = table(posts().index(Index::on(["day", "tags"])));
    let red = || Query::new().filter(field("tags").eq("red"));
    let Err(Error::Refused(refusal)) = plan(&behind, &Statistics::default(), &red()) else { unreachable!() };
    assert_eq!(refusal.index.as_deref(), Some("CREATE INDEX posts_by_tags ON posts (tags)"));
    let of_a_day = planned(&behind, &red().filter(field("day").between(1_u32, 3_u32)));
    assert_eq!((of_a_day.class, of_a_day.filter), (Class::Partition, None));
    assert_eq!(of_a_day.once.unwrap().to_string(), "tags = 'red'");
    // One element makes one entry: nothing is read over.
    let first = planned(&table(posts().index(Index::on(["tags"]))), &red().limit(5));
    assert_eq!((first.once, first.class, first.bound), (None, Class::Output, Some(6)));
}

/// Each condition on a list may be met by another element: what is read by one is filtered by the other.
#[test]
fn two_conditions_on_a_list_are_both_asked() {
    let posts = Table::named("posts").column("id", "u64").column("tags", "list(i64)").key(["id"]);
    let posts = table(posts.index(Index::on(["tags"])));
    let both = Query::new().filter(field("tags").is_in([1, 2]).and(field("tags").eq(3)));
    let plan = planned(&posts, &both);
    assert_eq!((stretches(&plan)[0].text.as_str(), &plan.once), ("tags = 3", &None));
    assert_eq!(plan.filter.unwrap().to_string(), "tags IN (1, 2)");
}

/// A row was dropped, or misplaced, for a null in a unique index: surrealdb#7129.
#[test]
fn nulls_in_a_unique_index_are_in_the_order_and_not_unique() {
    let users = |nullable: bool| {
        let users = Table::named("users").column("id", "u64").column("age", "u64").key(["id"]);
        let users = if nullable { users.nullable("email", "str") } else { users.column("email", "str") };
        table(users.index(Index::on(["email"]).unique()))
    };
    let by_email = Query::new().order_by("email").limit(5);
    assert_eq!(planned(&users(true), &by_email).index.as_deref(), Some("users_by_email"));
    // Those of one email are one, but those without are many, and stand by their id.
    let then_id = by_email.clone().order_by("id");
    assert_eq!(planned(&users(true), &then_id).order, Order::Free);
    let then_age = by_email.order_by("age").allow_scan();
    assert_eq!(planned(&users(false), &then_age).order, Order::Free);
    assert_eq!(planned(&users(true), &then_age).order, Order::Sort(then_age.order.clone()));
    let known = then_age.filter(field("email").is_not_null());
    assert_eq!(planned(&users(true), &known).order, Order::Free);
}

/// Behind a null in a row nothing is true, before it much may be.
#[test]
fn a_null_in_a_row_is_left_to_the_filter() {
    let pairs = table(
        Table::named("pairs")
            .column("id", "u64")
            .nullable("a", "i64")
            .nullable("b", "i64")
            .key(["id"])
            .index(Index::on(["a", "b"])),
    );
    let compared = row(["a", "b"]).gt([Value::from(1), Value::Null]);
    let plan = planned(&pairs, &Query::new().filter(compared.clone()).allow_scan());
    assert_eq!((stretches(&plan)[0].text.as_str(), &plan.filter), ("a >= 1", &Some(compared)));
}

/// What the key cannot hold, no record has; as a bound, it is left to the filter.
#[test]
fn a_value_that_a_format_refuses_bounds_nothing() {
    let events = table(events().format("composite".parse().unwrap()));
    let none = planned(&events, &Query::new().filter(field("device").eq("tab\t")));
    assert_eq!((stretches(&none).len(), none.class, none.bound), (0, Class::Constant, Some(0)));
    let one = planned(&events, &Query::new().filter(field("device").is_in(["tab\t", "d1"])));
    assert_eq!((stretches(&one).len(), one.class), (1, Class::Output));
    let open = Query::new().filter(field("device").between("tab\t", "x"));
    let Err(Error::Refused(_)) = plan(&events, &Statistics::default(), &open) else { unreachable!() };
    let open = planned(&events, &open.allow_scan());
    assert_eq!(open.filter.unwrap().to_string(), "device BETWEEN 'tab\t' AND 'x'");
}

/// A filter compares tuples as they are, a key by the directions and collations of their fields.
#[test]
fn tuples_bound_spans_only_where_keys_compare_as_filters_do() {
    let with = |kind: &str| {
        let builder = Table::named("t").column("id", "u64").column("pair", kind).key(["id"]);
        table(builder.index(Index::on(["pair"])))
    };
    let pair = |text: &'static str| Value::Tuple(vec![1_i64.into(), text.into()]);
    let query = Query::new().filter(field("pair").between(pair("a"), pair("b")));
    assert_eq!(planned(&with("tuple(i64,str)"), &query).class, Class::Output);
    let twice = Query::new().filter(field("pair").is_in([pair("b"), pair("a"), pair("b")]));
    assert_eq!(stretches(&planned(&with("tuple(i64,str)"), &twice)).len(), 2);
    for kind in ["tuple(i64:desc,str)", "tuple(i64,str:nocase)", "tuple(i64,str:nulls-first)"] {
        let Err(Error::Refused(refusal)) = plan(&with(kind), &Statistics::default(), &query) else {
            unreachable!("{kind}")
        };
        assert_eq!(refusal.index, None);
    }
}

/// Equal numbers are one value, however they are written.
#[test]
fn equal_values_make_one_span() {
    let prices = table(
        Table::named("prices")
            .column("id", "u64")
            .column("price", "decimal")
            .key(["id"])
            .index(Index::on(["price"])),
    );
    let decimal = |text: &str| Value::Decimal(text.parse::<Decimal>().unwrap());
    let plan = planned(
        &prices,
        &Query::new().filter(field("price").is_in([decimal("1"), decimal("1.00"), decimal("2")])),
    );
    assert_eq!(stretches(&plan).len(), 2);
}

/// The law of templates is worth something only if such queries have a shortcut.
#[test]
fn plain_queries_with_values_that_come_later_are_planned_once() {
    let events = table(events().column("kind", "str").index(Index::on(["kind", "at desc"])));
    let newest = Query::new().order_by_desc("at").limit(3);
    let between = [Given::equal("device"), Given::at_least("at"), Given::less("at")];
    let of_kind = Query { filter: field("kind").eq("door"), ..newest.clone() };
    let cases: [(Query, &[Given], Vec<Value<'static>>); 4] = [
        (newest.clone(), &between[..1], vec!["d".into()]),
        (newest.clone(), &between, vec!["d".into(), 3_u64.into(), 9_u64.into()]),
        (of_kind, &[Given::at_most("at")], vec![9_u64.into()]),
        (Query::new(), &[Given::equal("at"), Given::equal("device")], vec![3_u64.into(), "d".into()]),
    ];
    for (query, given, values) in cases {
        let template = Template::new(query, given.iter().cloned());
        let shortcut = Shortcut::of(&events, &template).unwrap();
        let access = shortcut.access(&events, &values).unwrap();
        let bound = template.bind(values.clone()).unwrap();
        let planned = route(&events, &Statistics::default(), &bound).unwrap();
        assert_eq!(Plan { access, ..shortcut.plan().clone() }, planned);
    }
    // Values that nothing is like, or that have no place in the key, are the planner's.
    let template = Template::new(newest, between);
    let shortcut = Shortcut::of(&events, &template).unwrap();
    assert_eq!(shortcut.access(&events, &["d".into(), 9_u64.into(), 3_u64.into()]), None);
    assert_eq!(shortcut.access(&events, &["d".into(), Value::Null, 3_u64.into()]), None);
    assert_eq!(shortcut.access(&events, &["d".into(), "no number".into(), 3_u64.into()]), None);
    assert_eq!(shortcut.access(&events, &["d".into()]), None);
}
