//! A small world: tables, records and questions of few values, so that they meet.

pub mod ask;
pub mod run;
pub mod steps;

use keyloom_key::placement::Stripes;
use keyloom_key::{Timestamp, Value};
use keyloom_schema::{Document, Format, Index, IndexBuilder, Placement, Table, TableBuilder, field};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The name of every table.
pub const TABLE: &str = "t";

/// Columns: name, type, whether it may be null.
const COLUMNS: [(&str, &str, bool); 13] = [
    ("a", "str", false),
    ("s", "str", false),
    ("b", "i64", true),
    ("c", "u32", false),
    ("d", "str:nocase", true),
    ("x", "f64", true),
    ("n", "decimal", true),
    ("tags", "list(i64)", true),
    ("words", "list(str:nocase)", true),
    ("ends", "timestamp", true),
    ("raw", "bytes", true),
    ("flag", "bool", true),
    ("id", "u64", false),
];

/// Primary keys, and the formats that hold them.
const KEYS: [(&[&str], &[&str]); 12] = [
    (&["id"], &["native", "lexkey", "lexkey-legacy", "rowkey", "composite"]),
    (&["a", "id"], &["native", "lexkey", "lexkey-legacy", "rowkey", "composite", "composite escape"]),
    (&["a", "s"], &["native", "lexkey", "keystone", "rowkey", "composite pad=1:32 pad=2:8"]),
    (
        &["a", "s", "id"],
        &["native", "lexkey", "rowkey", "composite escape delimiter=0001", "composite delimiter=ff"],
    ),
    (&["a desc", "s", "c"], &["native"]),
    (&["b desc", "d", "id"], &["native"]),
    (&["c", "b nulls-last", "id desc"], &["native"]),
    (&["d", "c"], &["native"]),
    (&["n", "x desc", "c"], &["native"]),
    (&["ends desc", "id"], &["native"]),
    (&["flag", "raw desc", "id"], &["native"]),
    (&["c", "a"], &["native", "lexkey", "composite"]),
];

/// Indexes to choose from.
const INDEXES: usize = 37;

fn index(which: usize) -> IndexBuilder {
    match which {
        0 => Index::on(["b"]),
        1 => Index::on(["b desc nulls-first", "a"]),
        2 => Index::on(["d", "c desc"]),
        3 => Index::on(["c"]).unique(),
        4 => Index::on(["b", "d desc"]).unique(),
        5 => Index::on(["tags"]),
        6 => Index::on(["tags", "b desc"]),
        7 => Index::on(["c", "tags desc"]).covering(["tags"]),
        8 => Index::on(["a", "b"]).only(field("c").ge(2_u32)),
        9 => Index::on(["d"]).only(field("b").is_not_null()),
        10 => Index::on(["s", "d"]).only(field("a").begins_with("U1").or(field("c").eq(1_u32))),
        11 => Index::on(["x", "c"]),
        12 => Index::on(["n desc"]).covering(["a", "x", "n"]),
        13 => Index::on(["a", "c", "b"]).covering(["s", "d"]),
        14 => Index::on(["s"]).format(Format::LexKey),
        15 => Index::on(["c", "s"]).format("composite".parse().unwrap()),
        16 => Index::on(["tags"]).unique(),
        17 => Index::on(["words", "c"]).unique(),
        18 => Index::on(["words"]).covering(["b", "words"]),
        19 => Index::on(["d"]).unique().covering(["d", "s"]),
        20 => Index::on(["ends"]),
        21 => Index::on(["n"]).unique().only(field("b").ge(0_i64)),
        22 => Index::on(["a"]).covering(["b", "tags", "ends"]),
        23 => Index::on(["raw desc"]),
        24 => Index::on(["flag", "raw"]).covering(["c"]),
        25 => Index::on(["flag desc nulls-first", "c"]).only(field("flag").is_not_null()),
        26 => Index::on(["id"]).unique(),
        // Of the columns of some keys alone, or nearly so.
        27 => Index::on(["id"]),
        28 => Index::on(["s desc", "a"]),
        29 => Index::on(["c"]).covering(["b", "tags"]),
        30 => Index::on(["c desc"]).only(field("c").ge(1_u32)),
        31 => Index::on(["id desc"]).only(field("a").begins_with("U1")).covering(["d"]),
        32 => Index::on(["x", "n desc"]),
        33 => Index::on(["c", "d desc"]).only(field("d").eq("a")),
        34 => Index::on(["id", "c"]).only(field("b").is_null()),
        35 => Index::on(["raw", "flag"]).only(field("flag").eq(true)),
        _ => Index::on(["id"]).only(field("ends").ge(instant(9)).or(field("extra").eq(1_i64))),
    }
}

/// How a tree lies: which index or key, and where its keys go.
#[derive(Debug, Clone)]
pub struct IndexSpec {
    which: usize,
    place: u32,
}

impl IndexSpec {
    pub fn build(&self) -> IndexBuilder {
        index(self.which).named(self.name()).placement(place(self.place))
    }

    pub fn name(&self) -> String {
        format!("i{}", self.which)
    }
}

/// A table, as few numbers.
#[derive(Debug, Clone)]
pub struct TableSpec {
    key: usize,
    format: usize,
    place: u32,
    expires: bool,
    /// Whether it has only those of the indexes whose entries follow from the keys of their records.
    of_key: bool,
    indexes: Vec<IndexSpec>,
}

pub fn place(number: u32) -> Placement {
    match number {
        0 => Placement::Ordered,
        1 => "shards 3".parse().unwrap(),
        2 => "shards 2 xxhash".parse().unwrap(),
        _ => Placement::Stripes(Stripes::new(4).unwrap()),
    }
}

impl TableSpec {
    /// The table, as the builder has it; an index that a format cannot hold is left out, or one that is there already.
    pub fn build(&self) -> TableBuilder {
        let (parts, formats) = KEYS[self.key];
        let format = formats[self.format % formats.len()].parse().unwrap();
        let mut builder = Table::named(TABLE).format(format).placement(place(self.place));
        for (name, kind, nullable) in COLUMNS {
            builder = if nullable { builder.nullable(name, kind) } else { builder.column(name, kind) };
        }
        if self.expires {
            builder = builder.expires_by("ends");
        }
        let mut builder = builder.key(parts.iter().copied());
        for spec in &self.indexes {
            let with = builder.clone().index(spec.build());
            let fits = |index: &Index| index.is_of_key() || !self.of_key;
            if with.clone().build().is_ok_and(|table| table.index(&spec.name()).is_some_and(fits)) {
                builder = with;
            }
        }
        builder
    }

    /// The same table with its trees elsewhere and otherwise written; the answers must not change.
    #[allow(dead_code, reason = "not every test moves it")]
    pub fn moved(&self, place: u32, format: usize) -> Self {
        let indexes = self.indexes.iter().map(|spec| IndexSpec { place: (spec.place + place) % 4, ..*spec });
        Self { place: (self.place + place) % 4, format, indexes: indexes.collect(), ..*self }
    }

    /// The values of the primary key in a document.
    pub fn key_of(&self, document: &Document) -> Vec<Value<'static>> {
        let names = KEYS[self.key].0.iter().map(|part| part.split(' ').next().unwrap());
        names.map(|name| document.get(name).cloned().unwrap_or(Value::Null)).collect()
    }
}

pub fn index_specs() -> impl Strategy<Value = IndexSpec> {
    (0..INDEXES, 0..4_u32).prop_map(|(which, place)| IndexSpec { which, place })
}

pub fn tables() -> impl Strategy<Value = TableSpec> {
    let indexes = prop_oneof![
        3 => (Just(false), vec(index_specs(), 0..5)),
        // Most are left out.
        1 => (Just(true), vec(index_specs(), 4..16)),
    ];
    (0..KEYS.len(), 0..6_usize, 0..4_u32, prop::bool::weighted(0.4), indexes).prop_map(
        |(key, format, place, expires, (of_key, indexes))| TableSpec {
            key,
            format,
            place,
            expires,
            of_key,
            indexes,
        },
    )
}

/// An instant of the world's clock.
pub fn instant(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

/// A value of a column, or of its elements.
pub fn value_of(column: &str) -> BoxedStrategy<Value<'static>> {
    let texts = |texts: &'static [&'static str]| select(texts).prop_map(Value::from).boxed();
    match column {
        "a" => texts(&["U1", "U10", "b", "ab", "U1#", "a\0b", ""]),
        "s" => texts(&["x", "xy", "zzz", "y"]),
        "b" => (-2..4_i64).prop_map(Value::from).boxed(),
        "c" => (0..4_u32).prop_map(Value::from).boxed(),
        "d" => texts(&["A", "a", "ab", "AB", "ß", "SS", "b"]),
        "x" => select(&[-0.0, 0.0, 1.5, -3.0][..]).prop_map(Value::from).boxed(),
        "n" => {
            let decimal = |text: &str| Value::Decimal(text.parse().unwrap());
            select(&["1", "1.0", "2.5", "-7"][..]).prop_map(decimal).boxed()
        }
        "tags" => (-1..4_i64).prop_map(Value::from).boxed(),
        "words" => texts(&["a", "A", "Straße", "STRASSE", "b"]),
        "ends" => (0..30_i64).prop_map(|seconds| instant(seconds).into()).boxed(),
        "raw" => {
            let bytes: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"a", b"a\xff", b"\xff\xff"];
            select(bytes.to_vec()).prop_map(|bytes| Value::from(bytes.to_vec())).boxed()
        }
        "flag" => any::<bool>().prop_map(Value::from).boxed(),
        "id" => (0..10_u64).prop_map(Value::from).boxed(),
        _ => prop_oneof![
            2 => (0..3_i64).prop_map(Value::from),
            1 => Just(Value::from("x")),
            1 => Just(Value::from(1.5)),
            1 => vec(0..3_i64, 0..3).prop_map(Value::list),
        ]
        .boxed(),
    }
}

/// What a record may have in a column; `None` if it has nothing there.
pub fn field_of(column: &'static str) -> BoxedStrategy<Option<Value<'static>>> {
    let nullable = COLUMNS.iter().all(|(name, _, nullable)| *name != column || *nullable);
    let value = match column {
        "tags" | "words" => vec(value_of(column), 0..4).prop_map(Value::List).boxed(),
        _ => value_of(column),
    };
    match nullable {
        true => prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 6 => value.prop_map(Some)].boxed(),
        false => value.prop_map(Some).boxed(),
    }
}

pub fn documents() -> impl Strategy<Value = Document> {
    let columns: Vec<&'static str> = COLUMNS.iter().map(|(name, ..)| *name).chain(["extra"]).collect();
    let fields: Vec<_> = columns.iter().map(|name| field_of(name)).collect();
    fields.prop_map(move |values| {
        columns.iter().zip(values).filter_map(|(name, value)| Some((*name, value?))).collect()
    })
}
