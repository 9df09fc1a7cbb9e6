//! Keyloom's keys and values by hand, for systems that keep the same bytes.

use std::sync::Arc;

use keyloom::key::{EncodeKey, Value, prefix_end};
use keyloom::schema::Table;
use keyloom::schema::document::{FieldRef, Names as _, Payload, encode};

use super::Error;
use super::orders::{Ask, Order, Tally};

/// Where Keyloom puts things, by its table.
#[derive(Clone)]
pub(crate) struct Layout {
    table: Arc<Table>,
    primary: u32,
    index: u32,
    amount: u16,
    status: u16,
    note: u16,
}

/// A key and its value.
pub(crate) type Row = (Vec<u8>, Vec<u8>);

impl Layout {
    pub(crate) fn of(table: Arc<Table>) -> Result<Self, Error> {
        let id = |name: &str| table.id(name).ok_or_else(|| format!("no column {name}"));
        let (amount, status, note) = (id("amount")?, id("status")?, id("note")?);
        let index = table.indexes().first().ok_or("no index")?.tree().id();
        Ok(Self { primary: table.primary().id(), index, amount, status, note, table })
    }

    pub(crate) fn key(&self, order: &Order) -> Result<Vec<u8>, Error> {
        at(self.primary, &(order.user.as_str(), order.date(), order.id))
    }

    fn value(&self, order: &Order) -> Result<Vec<u8>, Error> {
        let fields: [(u16, Value<'_>); 3] = [
            (self.amount, order.amount.into()),
            (self.status, order.status.into()),
            (self.note, order.note.as_str().into()),
        ];
        let mut value = Vec::with_capacity(160);
        let fields = fields.iter().map(|(id, value)| (FieldRef::Id(*id), value));
        encode(&*self.table, fields, &mut value)?;
        Ok(value)
    }

    /// The record of an order, and its entry in the index.
    pub(crate) fn rows(&self, order: &Order) -> Result<(Row, Row), Error> {
        let key = self.key(order)?;
        let entry = at(self.index, &(order.status, order.date(), order.user.as_str(), order.id))?;
        let length = u16::try_from(key.len())?.to_be_bytes();
        // A whole key, its length, the key, and an empty record: nothing is covered.
        let mut leads_to = Vec::with_capacity(key.len() + 5);
        leads_to.extend_from_slice(&[0, length[0], length[1]]);
        leads_to.extend_from_slice(&key);
        encode(&*self.table, std::iter::empty::<(FieldRef<'_>, _)>(), &mut leads_to)?;
        Ok(((key, self.value(order)?), (entry, leads_to)))
    }

    /// The records and the entries of all orders, each sorted.
    pub(crate) fn sorted(&self, orders: &[Order]) -> Result<(Vec<Row>, Vec<Row>), Error> {
        let rows = orders.iter().map(|order| self.rows(order));
        let (mut records, mut entries): (Vec<Row>, Vec<Row>) =
            rows.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        records.sort_unstable();
        entries.sort_unstable();
        Ok((records, entries))
    }

    /// What every record begins with.
    pub(crate) fn records(&self) -> [u8; 4] {
        self.primary.to_be_bytes()
    }

    /// What the records of a user begin with.
    pub(crate) fn user(&self, ask: &Ask) -> Result<Vec<u8>, Error> {
        at(self.primary, &(ask.name.as_str(),))
    }

    /// The keys of 20 records of a user, from the date on or, backward, up to it: first and end.
    pub(crate) fn range(&self, ask: &Ask, backward: bool) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (user, date) = (self.user(ask)?, at(self.primary, &(ask.name.as_str(), ask.date()))?);
        Ok(if backward { (user, end(&date)?) } else { (date, end(&user)?) })
    }

    /// The keys of the entries of a status up to the date: first and end.
    pub(crate) fn entries(&self, ask: &Ask) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let date = at(self.index, &(ask.name.as_str(), ask.date()))?;
        Ok((at(self.index, &(ask.name.as_str(),))?, end(&date)?))
    }

    pub(crate) fn look(&self, value: &[u8], tally: &mut Tally) -> Result<(), Error> {
        let record = Payload::new(value)?;
        if let (Some(Value::Int(amount)), Some(Value::Str(note))) =
            (record.get(self.amount)?, record.get(self.note)?)
        {
            tally.add(amount, note.as_bytes());
        }
        Ok(())
    }
}

/// A key of a tree, or the beginning of one.
fn at(tree: u32, fields: &impl EncodeKey) -> Result<Vec<u8>, Error> {
    let mut key = Vec::with_capacity(4 + fields.key_size());
    key.extend_from_slice(&tree.to_be_bytes());
    fields.encode_key(&mut key)?;
    Ok(key)
}

/// The first key behind all that begin with this.
pub(crate) fn end(prefix: &[u8]) -> Result<Vec<u8>, Error> {
    prefix_end(prefix).ok_or_else(|| "no key behind it".into())
}

/// The key of the record that an entry leads to.
pub(crate) fn record_of(entry: &[u8]) -> Result<&[u8], Error> {
    let split = entry.get(1..).and_then(|rest| rest.split_first_chunk());
    let key = split.and_then(|(length, rest)| rest.get(..u16::from_be_bytes(*length).into()));
    key.ok_or_else(|| "an entry without a key".into())
}
