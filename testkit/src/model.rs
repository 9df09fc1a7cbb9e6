//! A table as simple as can be: a list of documents, gone through from its beginning for every question.
//!
//! It has no keys, no indexes and no plans, only what they must not change: the answers. What real tables do is compared
//! with it, operation by operation.

mod evaluate;

use std::cmp::Ordering;

use keyloom_key::{Timestamp, Value};
use keyloom_plan::{OrderBy, Query};
use keyloom_schema::{Document, Index, IndexBuilder, Predicate, State, Table, Tree};

/// A table as simple as can be.
#[derive(Debug, Clone)]
pub struct Model {
    table: Table,
    records: Vec<Document>,
}

/// What is to become of a record.
#[derive(Debug, Clone)]
pub enum Edit {
    /// It becomes this.
    Put(Document),
    /// The fields of the record with this key change, one after the other.
    Update(Vec<Value<'static>>, Vec<(String, Step)>),
    /// The record with this key goes.
    Delete(Vec<Value<'static>>),
}

/// What becomes of a field.
#[derive(Debug, Clone)]
pub enum Step {
    /// It becomes this.
    Set(Value<'static>),
    /// It goes.
    Remove,
    /// It grows by this.
    Add(i64),
}

/// What a record must be like for an edit of it to happen.
#[derive(Debug, Clone)]
pub enum Guard {
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
    /// It is there and like this.
    Is(Predicate),
}

/// An edit, and what must hold for it.
#[derive(Debug, Clone)]
pub struct Write {
    /// The edit.
    pub edit: Edit,
    /// What must hold; nothing if `None`.
    pub guard: Option<Guard>,
}

/// Why a write cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Another record has the values of a unique index.
    Unique,
    /// The record is not as it must be.
    Condition,
    /// A value is none of its field, or has no place in a key.
    Value,
}

/// A record before and after a write.
pub type BeforeAfter = (Option<Document>, Option<Document>);

impl Model {
    /// A table without records.
    pub fn new(table: Table) -> Self {
        Self { table, records: Vec::new() }
    }

    /// What the table is like.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Every record that is kept, ended ones too.
    pub fn kept(&self) -> &[Document] {
        &self.records
    }

    /// The records that are there.
    pub fn records(&self, now: Timestamp) -> impl Iterator<Item = &Document> {
        self.records.iter().filter(move |record| !self.has_ended(record, now))
    }

    fn has_ended(&self, record: &Document, now: Timestamp) -> bool {
        let ends = self.table.expiry().and_then(|column| record.get(&column.name));
        matches!(ends, Some(Value::Timestamp(end)) if *end <= now)
    }

    /// The record with this key.
    pub fn get(&self, key: &[Value<'static>], now: Timestamp) -> Option<&Document> {
        self.records(now).find(|record| self.has_key(record, key))
    }

    /// Whether keys of these values can be made.
    pub fn is_key(&self, key: &[Value<'static>]) -> bool {
        can_be(self.table.primary(), key)
    }

    fn has_key(&self, record: &Document, key: &[Value<'static>]) -> bool {
        let parts = self.table.primary().parts();
        parts.iter().zip(key).all(|(part, value)| {
            let own = record.get(&part.name).unwrap_or(&Value::Null);
            *own == Value::Null && *value == Value::Null
                || evaluate::compare(Some(&part.field.kind), own, value) == Some(Ordering::Equal)
        })
    }

    /// The values of a record's primary key.
    pub fn key_of(&self, record: &Document) -> Vec<Value<'static>> {
        let parts = self.table.primary().parts().iter();
        parts.map(|part| record.get(&part.name).cloned().unwrap_or(Value::Null)).collect()
    }

    /// Makes all writes, or none: then every reason that the first of them cannot be made for.
    pub fn apply(&mut self, writes: &[Write], now: Timestamp) -> Result<Vec<BeforeAfter>, Vec<Refusal>> {
        let mut next = self.clone();
        let done = writes.iter().map(|write| next.write(write, now)).collect::<Result<Vec<_>, _>>()?;
        *self = next;
        Ok(done)
    }

    fn write(&mut self, write: &Write, now: Timestamp) -> Result<BeforeAfter, Vec<Refusal>> {
        let mut refused = Vec::new();
        let put = match &write.edit {
            Edit::Put(document) => {
                Some(self.table.check(document.clone()).map_err(|_| vec![Refusal::Value])?)
            }
            _ => None,
        };
        let key = match &write.edit {
            Edit::Put(_) => put.as_ref().map(|document| self.key_of(document)).unwrap_or_default(),
            Edit::Update(key, _) | Edit::Delete(key) => key.clone(),
        };
        if !self.is_key(&key) {
            return Err(vec![Refusal::Value]);
        }
        let before = self.get(&key, now).cloned();
        let allowed = match (&write.guard, &before) {
            (None, _) | (Some(Guard::Exists), Some(_)) | (Some(Guard::Absent), None) => true,
            (Some(Guard::Is(predicate)), Some(record)) => evaluate::holds(&self.table, record, predicate),
            _ => false,
        };
        if !allowed {
            refused.push(Refusal::Condition);
        }
        let after = match &write.edit {
            Edit::Put(_) => put,
            Edit::Delete(_) => None,
            Edit::Update(_, steps) => match &before {
                None if refused.is_empty() => return Ok((None, None)),
                None => return Err(refused),
                Some(before) => match self.updated(before.clone(), steps) {
                    Some(after) => Some(after),
                    None => {
                        refused.push(Refusal::Value);
                        return Err(refused);
                    }
                },
            },
        };
        if let Some(after) = &after {
            if !self.table.indexes().iter().all(|index| self.fits(index, after)) {
                refused.push(Refusal::Value);
            }
            let others = self.records(now).filter(|other| !self.has_key(other, &key));
            if others.into_iter().any(|other| self.collide(after, other)) {
                refused.push(Refusal::Unique);
            }
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        let records = std::mem::take(&mut self.records);
        // Ended ones make room.
        self.records = records
            .into_iter()
            .filter(|other| {
                !self.has_key(other, &key) && !after.as_ref().is_some_and(|after| self.collide(after, other))
            })
            .collect();
        self.records.extend(after.clone());
        Ok((before, after))
    }

    fn updated(&self, mut record: Document, steps: &[(String, Step)]) -> Option<Document> {
        for (name, step) in steps {
            if self.table.primary().parts().iter().any(|part| part.name == *name) {
                return None;
            }
            match step {
                Step::Set(value) => drop(record.set(name.clone(), value.clone())),
                Step::Remove => drop(record.remove(name)),
                Step::Add(amount) => {
                    let sum: Value<'static> = match record.get(name) {
                        None | Some(Value::Null) => (*amount).into(),
                        Some(Value::Int(number)) => number.checked_add(*amount)?.into(),
                        Some(Value::Uint(number)) => number.checked_add_signed(*amount)?.into(),
                        Some(_) => return None,
                    };
                    record.set(name.clone(), sum);
                }
            }
        }
        self.table.check(record).ok()
    }

    /// The rows of values that a record has in an index: one, or one for each element of a list.
    fn rows(&self, index: &Index, record: &Document) -> Vec<Vec<Value<'static>>> {
        if index.only().is_some_and(|only| !evaluate::holds(&self.table, record, only)) {
            return Vec::new();
        }
        let mut rows = vec![Vec::new()];
        for part in index.tree().parts() {
            let values = match record.get(&part.name).cloned().unwrap_or(Value::Null) {
                Value::List(elements) if part.many => elements,
                Value::Null if part.many => Vec::new(),
                one => vec![one],
            };
            rows = rows
                .iter()
                .flat_map(|row: &Vec<Value<'static>>| {
                    values.iter().map(move |value| row.iter().chain([value]).cloned().collect())
                })
                .collect();
        }
        rows
    }

    fn fits(&self, index: &Index, record: &Document) -> bool {
        self.rows(index, record).iter().all(|row| can_be(index.tree(), row))
    }

    /// Whether two records cannot both be, because of a unique index. A null is equal to nothing.
    fn collide(&self, one: &Document, other: &Document) -> bool {
        self.table.indexes().iter().filter(|index| index.is_unique()).any(|index| {
            let parts = || index.tree().parts().iter().take(index.tree().declared());
            let same = |a: &Vec<Value<'static>>, b: &Vec<Value<'static>>| {
                parts().zip(a.iter().zip(b)).all(|(part, (a, b))| {
                    evaluate::compare(Some(&part.field.kind), a, b) == Some(Ordering::Equal)
                })
            };
            let rows = self.rows(index, other);
            self.rows(index, one).iter().any(|row| rows.iter().any(|other| same(row, other)))
        })
    }

    /// Adds an index, and deletes records that have ended; what it refuses if records cannot be in it together.
    pub fn create_index(&mut self, index: IndexBuilder, now: Timestamp) -> Result<(), Vec<Refusal>> {
        let Ok((table, index)) = self.table.with_index(index) else { return Err(vec![Refusal::Value]) };
        let next = Self { table: table.with_index_state(index.name(), State::Ready), records: Vec::new() };
        let mut refused = Vec::new();
        if !self.records.iter().all(|record| next.fits(&index, record)) {
            refused.push(Refusal::Value);
        }
        let there: Vec<&Document> = self.records(now).collect();
        let collides = |(number, one): (usize, &&Document)| {
            there.iter().skip(number + 1).any(|other| next.collide(one, other))
        };
        if there.iter().enumerate().any(collides) {
            refused.push(Refusal::Unique);
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        self.table = next.table;
        self.delete_expired(now);
        Ok(())
    }

    /// Takes an index away.
    pub fn drop_index(&mut self, name: &str) {
        self.table = self.table.without_index(name);
    }

    /// Deletes records that have ended.
    pub fn delete_expired(&mut self, now: Timestamp) {
        self.records = self.records(now).cloned().collect();
    }

    /// Forgets every record whose key is not wanted.
    pub fn retain(&mut self, wanted: impl Fn(&[Value<'static>]) -> bool) {
        let records = std::mem::take(&mut self.records);
        self.records = records.into_iter().filter(|record| wanted(&self.key_of(record))).collect();
    }

    /// Every record that is like the query's filter, in its order, without its limit.
    pub fn find(&self, query: &Query, now: Timestamp) -> Vec<&Document> {
        let mut found: Vec<&Document> =
            self.records(now).filter(|record| self.holds(record, &query.filter)).collect();
        found.sort_by(|a, b| self.in_order(&query.order, a, b));
        found
    }

    /// Whether a record is like this.
    pub fn holds(&self, record: &Document, predicate: &Predicate) -> bool {
        evaluate::holds(&self.table, record, predicate)
    }

    /// How two records stand in an order.
    pub fn in_order(&self, order: &[OrderBy], a: &Document, b: &Document) -> Ordering {
        evaluate::in_order(&self.table, order, a, b)
    }

    /// What a query shows of a record.
    pub fn shown(&self, query: &Query, record: &Document) -> Document {
        let Some(select) = &query.select else { return record.clone() };
        let fields = select.iter().filter_map(|name| Some((name.clone(), record.get(name)?.clone())));
        fields.filter(|(_, value)| *value != Value::Null).collect()
    }
}

/// Whether the tree has a key for these values.
fn can_be(tree: &Tree, values: &[Value<'static>]) -> bool {
    values.len() == tree.parts().len() && tree.key(values, &mut Vec::new()).is_ok()
}
