//! Tables and rows to ask, and the entries that each tree has of them.

use std::collections::{BTreeMap, BTreeSet};

use keyloom_key::placement::Stripes;
use keyloom_key::{KeyFormat, Type, Value};
use keyloom_plan::{Statistics, TreeStatistics};
use keyloom_schema::{Error, Format, Index, IndexBuilder, Placement, Predicate, Source, Table, Tree, field};
use proptest::prelude::*;

/// A record: what it holds, and what its table says of it.
#[derive(Debug, Clone)]
pub struct Row {
    pub kinds: BTreeMap<String, Type>,
    pub values: BTreeMap<String, Value<'static>>,
}

impl Row {
    pub fn get(&self, name: &str) -> Value<'static> {
        self.values.get(name).cloned().unwrap_or(Value::Null)
    }
}

impl Source for Row {
    fn value(&self, name: &str) -> Result<Value<'_>, Error> {
        Ok(self.get(name))
    }

    fn kind(&self, name: &str) -> Option<&Type> {
        self.kinds.get(name)
    }
}

/// An element of a list, alone.
pub struct Element<'a>(pub &'a Type, pub &'a Value<'static>);

impl Source for Element<'_> {
    fn value(&self, _: &str) -> Result<Value<'_>, Error> {
        Ok(self.1.clone())
    }

    fn kind(&self, _: &str) -> Option<&Type> {
        Some(self.0)
    }
}

/// An entry of a tree: its key, the number of its row, and the element of a list that it stands for.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: Vec<u8>,
    pub row: usize,
    pub element: Option<Value<'static>>,
}

pub const COLUMNS: [(&str, &str, bool); 9] = [
    ("a", "str", false),
    ("s", "str", false),
    ("b", "i64", true),
    ("c", "u32", false),
    ("d", "str:nocase", true),
    ("x", "f64", true),
    ("n", "decimal", true),
    ("tags", "list(i64)", true),
    ("id", "u64", false),
];

/// Primary keys with their formats.
const KEYS: [(&[&str], &str); 12] = [
    (&["a", "id"], "native"),
    (&["id"], "native"),
    (&["b desc", "d", "id"], "native"),
    (&["c", "b nulls-last", "id desc"], "native"),
    (&["a desc", "s", "c"], "native"),
    (&["a", "id"], "lexkey"),
    (&["a", "s", "id"], "lexkey"),
    (&["a", "s"], "keystone"),
    (&["a", "id"], "composite"),
    (&["a", "s", "id"], "composite escape delimiter=0001"),
    (&["a", "s", "id"], "composite delimiter=ff"),
    (&["a", "id"], "rowkey"),
];

fn indexes() -> Vec<IndexBuilder> {
    vec![
        Index::on(["b"]),
        Index::on(["b desc nulls-first", "a"]),
        Index::on(["d", "c desc"]),
        Index::on(["c"]).unique(),
        Index::on(["b", "d desc"]).unique(),
        Index::on(["tags"]),
        Index::on(["tags", "b desc"]),
        Index::on(["c", "tags desc"]).covering(["tags"]),
        Index::on(["a", "b"]).only(field("c").ge(2_u32)),
        Index::on(["d"]).only(field("b").is_not_null()),
        Index::on(["s", "d"]).only(field("a").begins_with("U1").or(field("c").eq(1_u32))),
        Index::on(["x", "c"]),
        Index::on(["n desc"]),
        Index::on(["a", "c", "b"]).covering(["s"]),
        Index::on(["s"]).format(Format::LexKey),
        Index::on(["c", "s"]).format("composite".parse().unwrap()),
    ]
}

pub fn place(number: u32) -> Placement {
    match number {
        0 => Placement::Ordered,
        1 => "shards 3".parse().unwrap(),
        _ => Placement::Stripes(Stripes::new(4).unwrap()),
    }
}

/// A table with some of the indexes.
fn table(key: usize, primary: u32, chosen: &[(usize, u32)], name: impl Fn(usize) -> String) -> Table {
    let (parts, format) = KEYS[key];
    let mut builder = Table::named("t").format(format.parse().unwrap()).placement(place(primary));
    for (name, kind, nullable) in COLUMNS {
        builder = if nullable { builder.nullable(name, kind) } else { builder.column(name, kind) };
    }
    let mut builder = builder.key(parts.iter().copied());
    for (number, (which, placement)) in chosen.iter().enumerate() {
        let index = indexes().swap_remove(*which).named(name(number)).placement(place(*placement));
        // Some formats do not hold some primary keys.
        if builder.clone().index(index.clone()).build().is_ok() {
            builder = builder.index(index);
        }
    }
    let mut table = builder.build().unwrap();
    table.number_trees(1);
    table
}

/// A table, and the same with its indexes named the other way round.
pub fn tables() -> impl Strategy<Value = (Table, Table)> {
    let chosen = proptest::collection::vec((0..indexes().len(), 0..3_u32), 0..4);
    (0..KEYS.len(), 0..3_u32, chosen).prop_map(|(key, primary, chosen)| {
        let names = |number| format!("i{number}");
        let turned = |number| format!("i{}", 9 - number);
        (table(key, primary, &chosen, names), table(key, primary, &chosen, turned))
    })
}

/// Values of a column that a record may have; the last ones only queries ask for.
pub fn value_of(column: &str) -> BoxedStrategy<Value<'static>> {
    let texts =
        |texts: &'static [&'static str]| proptest::sample::select(texts).prop_map(Value::from).boxed();
    match column {
        "a" => texts(&["", "U1", "U10", "b", "ab", "a\0b", "tab\t"]),
        "s" => texts(&["", "x", "xy", "zzz", "y"]),
        "b" => (-2..4_i64).prop_map(Value::from).boxed(),
        "c" => (0..4_u32).prop_map(Value::from).boxed(),
        "d" => texts(&["A", "a", "ab", "AB", "ß", "SS", "b"]),
        "x" => proptest::sample::select(&[-0.0, 0.0, 1.5, -3.0, f64::NAN][..]).prop_map(Value::from).boxed(),
        "n" => {
            let decimal = |text: &str| Value::Decimal(text.parse().unwrap());
            proptest::sample::select(&["1", "1.0", "2.5", "-7"][..]).prop_map(decimal).boxed()
        }
        "tags" => (-1..3_i64).prop_map(Value::from).boxed(),
        "id" => (0..12_u64).prop_map(Value::from).boxed(),
        _ => (0..3_i64).prop_map(Value::from).boxed(),
    }
}

fn row() -> impl Strategy<Value = BTreeMap<String, Value<'static>>> {
    // No record has a NaN: only queries ask for it.
    let numbered =
        |value| if matches!(value, Value::Float(number) if number.is_nan()) { Value::Null } else { value };
    let maybe =
        |name: &'static str| prop_oneof![1 => Just(Value::Null), 3 => value_of(name).prop_map(numbered)];
    let tags = prop_oneof![
        1 => Just(Value::Null),
        4 => proptest::collection::vec(value_of("tags"), 0..4).prop_map(Value::List),
    ];
    let values = (
        (value_of("a"), value_of("s"), maybe("b"), value_of("c"), maybe("d")),
        (maybe("x"), maybe("n"), tags, value_of("id"), maybe("extra")),
    );
    values.prop_map(|((a, s, b, c, d), (x, n, tags, id, extra))| {
        let names = ["a", "s", "b", "c", "d", "x", "n", "tags", "id", "extra"];
        names.into_iter().map(str::to_owned).zip([a, s, b, c, d, x, n, tags, id, extra]).collect()
    })
}

pub fn rows() -> impl Strategy<Value = Vec<BTreeMap<String, Value<'static>>>> {
    proptest::collection::vec(row(), 0..40)
}

/// The rows that the table can hold together: each has its keys, and no two the same.
pub fn insert(table: &Table, rows: Vec<BTreeMap<String, Value<'static>>>) -> Vec<Row> {
    let kinds: BTreeMap<String, Type> =
        table.columns().iter().map(|column| (column.name.clone(), column.kind.element().clone())).collect();
    let mut kept: Vec<Row> = Vec::new();
    let mut taken = BTreeSet::new();
    for values in rows {
        let row = Row { kinds: kinds.clone(), values };
        let trees = std::iter::once((None, table.primary()))
            .chain(table.indexes().iter().map(|index| (Some(index), index.tree())));
        let keys: Option<Vec<Vec<u8>>> = trees
            .map(|(index, tree)| {
                entries_of(index, tree, &row, 0).map(|all| all.into_iter().map(|one| one.key))
            })
            .collect::<Option<Vec<_>>>()
            .map(|keys| keys.into_iter().flatten().collect());
        let Some(keys) = keys else { continue };
        if keys.iter().all(|key| !taken.contains(key)) {
            taken.extend(keys);
            kept.push(row);
        }
    }
    kept
}

/// The entries of one row in a tree; `None` if its key cannot hold them.
fn entries_of(index: Option<&Index>, tree: &Tree, row: &Row, number: usize) -> Option<Vec<Entry>> {
    if index.and_then(Index::only).is_some_and(|only: &Predicate| !only.holds(row).unwrap()) {
        return Some(Vec::new());
    }
    let list = tree.parts().iter().find(|part| part.many);
    let elements = match list.map(|part| row.get(&part.name)) {
        None => vec![None],
        Some(Value::List(elements)) => elements.into_iter().map(Some).collect(),
        Some(_) => Vec::new(),
    };
    let mut entries: Vec<Entry> = Vec::new();
    for element in elements {
        let values = tree.parts().iter().map(|part| match &element {
            Some(element) if part.many => element.clone(),
            _ => row.get(&part.name),
        });
        let mut values: Vec<Value<'static>> = values.collect();
        let declared = values.iter().take(tree.declared());
        if index.is_some_and(Index::is_unique) && declared.clone().all(|value| *value != Value::Null) {
            values.truncate(tree.declared());
        }
        let mut key = Vec::new();
        tree.key(&values, &mut key).ok()?;
        if !entries.iter().any(|entry| entry.key == key) {
            entries.push(Entry { key, row: number, element });
        }
    }
    Some(entries)
}

/// All entries of a tree, sorted.
pub fn entries(table: &Table, id: u32, rows: &[Row]) -> Vec<Entry> {
    let index = table.indexes().iter().find(|index| index.tree().id() == id);
    let tree = index.map_or(table.primary(), Index::tree);
    let all = rows.iter().enumerate().flat_map(|(number, row)| entries_of(index, tree, row, number).unwrap());
    let mut all: Vec<Entry> = all.collect();
    all.sort_by(|a, b| a.key.cmp(&b.key));
    all
}

/// What can be known of the rows.
pub fn statistics(table: &Table, rows: &[Row]) -> Statistics {
    let mut known = Statistics::default();
    for tree in std::iter::once(table.primary()).chain(table.indexes().iter().map(Index::tree)) {
        let entries = entries(table, tree.id(), rows);
        let first: BTreeSet<Vec<u8>> =
            entries.iter().map(|entry| first_part(tree, &rows[entry.row])).collect();
        let distinct = vec![first.len() as u64, entries.len() as u64];
        let samples = entries.iter().step_by(3).map(|entry| entry.key.clone()).collect();
        known.0.insert(tree.id(), TreeStatistics { rows: entries.len() as u64, distinct, samples });
    }
    known
}

/// The bytes of the first part of a row's key, where it is no list.
pub fn first_part(tree: &Tree, row: &Row) -> Vec<u8> {
    let mut bytes = Vec::new();
    let part = &tree.parts()[0];
    if !part.many {
        tree.format().encode(tree.fields(), &[row.get(&part.name)], &mut bytes).unwrap();
    }
    bytes
}
