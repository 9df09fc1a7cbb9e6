//! One pass through a table and its indexes: rows, bytes, different values, and where they lie.

use std::ops::ControlFlow;

use keyloom_key::placement::hashed_bytes;
use keyloom_key::{Field, Type, Value};
use keyloom_plan::{Statistics, TreeStatistics};
use keyloom_schema::{Column, Document, Format, Kind, Table as Definition, Tree};
use keyloom_store::{Direction, Limits, Read, Store};
use keyloom_table::{Error, Row, Table, TreeCounter};

use crate::partitions::{Gatherer, Partitions};
use crate::sketch::Distinct;

/// The most records that are kept to measure entries on.
const SAMPLES: usize = 512;

/// What a table is like, as one pass found it.
///
/// Every key that lies in the store is counted, also records that have expired and were not deleted yet.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// The primary key's tree, then those of the indexes, in the table's order.
    pub trees: Vec<TreeMeasure>,
    /// The declared columns, in the table's order.
    pub columns: Vec<ColumnMeasure>,
    /// The partitions; none if the primary key has one field, so that each record is its own.
    pub partitions: Option<Partitions>,
    /// Records evenly apart, at most 512.
    pub sample: Vec<Document>,
}

/// What a tree of keys is like.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TreeMeasure {
    /// The index's name, or `primary`.
    pub name: String,
    /// Its key: `(user_id, order_date desc)`.
    pub key: String,
    /// The tree's number.
    pub id: u32,
    /// The bytes of its keys.
    pub key_bytes: u64,
    /// The bytes of its values.
    pub value_bytes: u64,
    /// How many keys there are, how many different values of the first parts, and keys evenly apart.
    pub statistics: TreeStatistics,
    /// What each shard or stripe holds; one for a tree that has none.
    pub places: Vec<Place>,
}

/// What a shard or stripe holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Keys.
    pub rows: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

/// What the values of a column are like.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnMeasure {
    /// Its name.
    pub name: String,
    /// How many different values there are; of a list, of its elements.
    pub distinct: u64,
    /// Whether that is exact.
    pub exact: bool,
    /// How many records have no value.
    pub nulls: u64,
}

impl Measured {
    /// How many records there are.
    pub fn rows(&self) -> u64 {
        self.trees.first().map_or(0, |primary| primary.statistics.rows)
    }

    /// Bytes of all keys and values.
    pub fn bytes(&self) -> u64 {
        self.trees.iter().map(|tree| tree.key_bytes + tree.value_bytes).sum()
    }

    /// What a column is like.
    pub fn column(&self, name: &str) -> Option<&ColumnMeasure> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// What the planner would know if it knew all of this.
    pub fn statistics(&self) -> Statistics {
        Statistics(self.trees.iter().map(|tree| (tree.id, tree.statistics.clone())).collect())
    }
}

/// Goes once through a table and its indexes, page by page, in bounded memory. `progress` is told the keys so far.
pub async fn measure<S: Store>(
    table: &Table<S>,
    mut progress: impl FnMut(u64) + Send,
) -> Result<Measured, Error> {
    table.database().refresh().await?;
    let definition = table.definition()?;
    let store = table.database().store();
    let mut records = Records::new(&definition);
    let mut done = 0;
    let primary = definition.primary();
    let look = |key: &[u8], value: &[u8]| records.add(&definition, key, value);
    let mut trees = vec![go_through(store, "primary", primary, look, &mut done, &mut progress).await?];
    for index in definition.indexes() {
        let look = |_: &[u8], _: &[u8]| Ok(());
        trees.push(go_through(store, index.name(), index.tree(), look, &mut done, &mut progress).await?);
    }
    Ok(records.finish(&definition, trees))
}

/// Goes through a tree and shows every key and value to `look`.
async fn go_through(
    read: &impl Read,
    name: &str,
    tree: &Tree,
    mut look: impl FnMut(&[u8], &[u8]) -> Result<(), Error> + Send,
    done: &mut u64,
    progress: &mut (impl FnMut(u64) + Send),
) -> Result<TreeMeasure, Error> {
    let mut counter = TreeCounter::new(tree);
    let count = usize::try_from(tree.placement().count()).unwrap_or(usize::MAX);
    let mut places = vec![Place::default(); count];
    let (mut key_bytes, mut value_bytes) = (0, 0);
    let mut left = Some(tree.span());
    while let Some(span) = left.take() {
        let mut wrong = None;
        let visit = |key: &[u8], value: &[u8]| {
            counter.add(tree, key);
            let (own, other) = (length(key), length(value));
            key_bytes += own;
            value_bytes += other;
            if let Some(place) = places.get_mut(place(tree, key)) {
                place.rows += 1;
                place.bytes += own + other;
            }
            match look(key, value) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    wrong = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let page = read.scan(&span, Direction::Forward, Limits::default(), visit).await?;
        if let Some(error) = wrong {
            return Err(error);
        }
        *done += u64::try_from(page.rows).unwrap_or(u64::MAX);
        progress(*done);
        left = page.rest;
    }
    Ok(TreeMeasure {
        name: name.to_owned(),
        key: tree.text(),
        id: tree.id(),
        key_bytes,
        value_bytes,
        statistics: counter.finish(),
        places,
    })
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The shard or stripe of a key.
fn place(tree: &Tree, key: &[u8]) -> usize {
    let bytes = key.get(Tree::ID..Tree::ID + tree.placement().width()).unwrap_or_default();
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// What is found out of the records themselves.
struct Records {
    columns: Vec<(Distinct, u64)>,
    partitions: Gatherer,
    /// What the keys of the partition begin with.
    lead: Vec<u8>,
    /// The column that says when a record is of.
    time: Option<Column>,
    sample: Vec<Document>,
    stride: u64,
    rows: u64,
}

impl Records {
    fn new(table: &Definition) -> Self {
        let is_time = |column: &&Column| matches!(column.kind, Kind::One(Type::Timestamp(_) | Type::Date));
        let keyed = table.primary().parts().iter().filter_map(|part| table.column_by_id(part.column));
        // A time in the key is more likely to be when the record came.
        let time = keyed.chain(table.columns()).find(is_time).cloned();
        Self {
            columns: vec![(Distinct::default(), 0); table.columns().len()],
            partitions: Gatherer::default(),
            lead: Vec::new(),
            time,
            sample: Vec::new(),
            stride: 1,
            rows: 0,
        }
    }

    fn add(&mut self, table: &Definition, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let row = Row::record(table, key, value)?;
        for (column, (distinct, nulls)) in table.columns().iter().zip(&mut self.columns) {
            match (&column.kind, row.get(&column.name)?) {
                (_, Value::Null) => *nulls += 1,
                (Kind::Many(kind), Value::List(elements)) => {
                    elements.iter().for_each(|element| count(distinct, kind, element));
                }
                (kind, value) => count(distinct, kind.element(), &value),
            }
        }
        self.partition(table, &row, key, length(key) + length(value))?;
        if self.rows.is_multiple_of(self.stride) {
            self.sample.push(row.to_document()?);
        }
        if self.sample.len() > SAMPLES {
            let mut number = 0_usize;
            self.sample.retain(|_| {
                number += 1;
                !number.is_multiple_of(2)
            });
            self.stride *= 2;
        }
        self.rows += 1;
        Ok(())
    }

    fn partition(&mut self, table: &Definition, row: &Row<'_>, key: &[u8], bytes: u64) -> Result<(), Error> {
        let tree = table.primary();
        if tree.declared() < 2 {
            return Ok(());
        }
        // Keys of one partition follow one another, and no other native key begins as they do.
        let native = *tree.format() == Format::Native;
        let same = native && !self.lead.is_empty() && key.starts_with(&self.lead);
        if !same {
            let first = row.key()?.into_iter().next().unwrap_or(Value::Null).into_owned();
            let lead = if native { tree.lead(key, 1)?.to_vec() } else { whole_lead(tree, &first)? };
            if lead != self.lead {
                self.lead = lead;
                self.partitions.begin(first);
            }
        }
        let time = match &self.time {
            None => None,
            Some(column) => {
                let value = row.get(&column.name)?;
                let field = Field::from(column.kind.element().clone());
                // The bytes of a time that is hashed are in the order of times.
                if value == Value::Null {
                    None
                } else {
                    hashed_bytes(&field, &value).ok().map(|time| time.to_vec())
                }
            }
        };
        self.partitions.add(bytes, time.as_deref());
        Ok(())
    }

    fn finish(self, table: &Definition, trees: Vec<TreeMeasure>) -> Measured {
        let columns = table.columns().iter().zip(self.columns).map(|(column, (distinct, nulls))| {
            let (name, exact) = (column.name.clone(), distinct.is_exact());
            // An estimate may be too large, but a record has one value unless it has a list.
            let most = if column.kind.is_many() { u64::MAX } else { self.rows - nulls };
            ColumnMeasure { name, distinct: distinct.count().min(most), exact, nulls }
        });
        let columns = columns.collect();
        let first = table.primary().parts().first().filter(|_| table.primary().declared() > 1);
        let time = self.time.as_ref().map(|column| column.name.as_str());
        let partitions = first.map(|first| self.partitions.finish(&first.name, time));
        Measured { trees, columns, partitions, sample: self.sample }
    }
}

/// What stands for a partition in a format that does not say where its first field ends.
fn whole_lead(tree: &Tree, first: &Value<'_>) -> Result<Vec<u8>, Error> {
    let mut lead = Vec::new();
    tree.key(std::slice::from_ref(first), &mut lead)?;
    Ok(lead)
}

/// Counts a value, by bytes that equal values share.
fn count(distinct: &mut Distinct, kind: &Type, value: &Value<'_>) {
    if let Ok(bytes) = hashed_bytes(&Field::from(kind.clone()), value) {
        distinct.add(&bytes);
    }
}
