//! Keyloom's keys and values by hand, for systems that keep the same bytes.

use std::sync::Arc;

use keyloom::key::{EncodeKey, Value, prefix_end};
use keyloom::schema::Table;
use keyloom::schema::document::{FieldRef, Names as _, Payload, encode};

use crate::{Ask, Error, Order, Tally};

/// Where Keyloom puts things, by its table.
#[derive(Debug, Clone)]
pub struct Layout {
    table: Arc<Table>,
    primary: u32,
    index: u32,
    amount: u16,
    status: u16,
    note: Option<u16>,
}

/// A key and its value.
type Row = (Vec<u8>, Vec<u8>);

impl Layout {
    /// Of a table of orders, with or without notes and an index.
    pub fn of(table: Arc<Table>) -> Result<Self, Error> {
        let id = |name: &str| table.id(name).ok_or_else(|| format!("no column {name}"));
        let (amount, status, note) = (id("amount")?, id("status")?, table.id("note"));
        let index = table.indexes().first().map_or(0, |index| index.tree().id());
        Ok(Self { primary: table.primary().id(), index, amount, status, note, table })
    }

    /// The trees of records and of entries, and the ids of amount, status and note: what another program needs to make the
    /// same bytes.
    pub fn ids(&self) -> [u32; 5] {
        let note = self.note.unwrap_or_default();
        [self.primary, self.index, self.amount.into(), self.status.into(), note.into()]
    }

    /// The key of an order.
    pub fn key(&self, order: &Order) -> Result<Vec<u8>, Error> {
        at(self.primary, &(order.user.as_ref(), order.date(), order.id))
    }

    /// The key of an order, and its value.
    pub fn record(&self, order: &Order) -> Result<Row, Error> {
        let fields: [(u16, Value<'_>); 3] = [
            (self.amount, order.amount.into()),
            (self.status, order.status.into()),
            (self.note.unwrap_or_default(), order.note.into()),
        ];
        let fields = fields.iter().take(if self.note.is_some() { 3 } else { 2 });
        let mut value = Vec::with_capacity(160);
        encode(&*self.table, fields.map(|(id, value)| (FieldRef::Id(*id), value)), &mut value)?;
        Ok((self.key(order)?, value))
    }

    /// The entry of an order in the index: its key, and what leads to the record.
    pub fn entry(&self, order: &Order) -> Result<Row, Error> {
        let key = self.key(order)?;
        let entry = at(self.index, &(order.status, order.date(), order.user.as_ref(), order.id))?;
        let length = u16::try_from(key.len())?.to_be_bytes();
        // A whole key, its length, the key, and an empty record: nothing is covered.
        let mut leads_to = Vec::with_capacity(key.len() + 5);
        leads_to.extend_from_slice(&[0, length[0], length[1]]);
        leads_to.extend_from_slice(&key);
        encode(&*self.table, std::iter::empty::<(FieldRef<'_>, _)>(), &mut leads_to)?;
        Ok((entry, leads_to))
    }

    /// Shows the records of all orders and then their entries to `put`, sorted, which is how they are loaded fastest.
    ///
    /// What is sorted are the orders: the bytes of all of them are never in memory at once.
    pub fn each_sorted<E: Into<Error>>(
        &self,
        orders: &[Order],
        mut put: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), Error> {
        let mut sorted: Vec<&Order> = orders.iter().collect();
        sorted.sort_unstable_by(|a, b| (&a.user, a.date, a.id).cmp(&(&b.user, b.date, b.id)));
        for order in &sorted {
            let (key, value) = self.record(order)?;
            put(&key, &value).map_err(Into::into)?;
        }
        sorted.sort_unstable_by(|a, b| {
            (a.status, a.date, &a.user, a.id).cmp(&(b.status, b.date, &b.user, b.id))
        });
        for order in &sorted {
            let (entry, leads_to) = self.entry(order)?;
            put(&entry, &leads_to).map_err(Into::into)?;
        }
        Ok(())
    }

    /// What every record begins with.
    pub fn records(&self) -> [u8; 4] {
        self.primary.to_be_bytes()
    }

    /// What the records of a user begin with.
    pub fn user(&self, ask: &Ask) -> Result<Vec<u8>, Error> {
        at(self.primary, &(ask.name.as_ref(),))
    }

    /// The keys of all records of a user: first and end.
    pub fn of_user(&self, ask: &Ask) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let user = self.user(ask)?;
        let end = end(&user)?;
        Ok((user, end))
    }

    /// The keys of 20 records of a user, from the date on or, backward, up to it: first and end.
    pub fn range(&self, ask: &Ask, backward: bool) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (user, date) = (self.user(ask)?, at(self.primary, &(ask.name.as_ref(), ask.date()))?);
        Ok(if backward { (user, end(&date)?) } else { (date, end(&user)?) })
    }

    /// The keys of the entries of a status up to the date: first and end.
    pub fn entries(&self, ask: &Ask) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let date = at(self.index, &(ask.name.as_ref(), ask.date()))?;
        Ok((at(self.index, &(ask.name.as_ref(),))?, end(&date)?))
    }

    /// Reads the amount and the note of a record, or its status where there are no notes.
    pub fn look(&self, value: &[u8], tally: &mut Tally) -> Result<(), Error> {
        let record = Payload::new(value)?;
        if let (Some(Value::Int(amount)), Some(Value::Str(text))) =
            (record.get(self.amount)?, record.get(self.note.unwrap_or(self.status))?)
        {
            tally.add(amount, text.as_bytes());
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
pub fn end(prefix: &[u8]) -> Result<Vec<u8>, Error> {
    prefix_end(prefix).ok_or_else(|| "no key behind it".into())
}

/// The key of the record that an entry leads to.
pub fn record_of(entry: &[u8]) -> Result<&[u8], Error> {
    let split = entry.get(1..).and_then(|rest| rest.split_first_chunk());
    let key = split.and_then(|(length, rest)| rest.get(..u16::from_be_bytes(*length).into()));
    key.ok_or_else(|| "an entry without a key".into())
}
