//! LMDB by hand: the bytes of Keyloom's keys and values, and nothing around them.
//!
//! No checksums, no schema, no planner, no conditions. Every read begins a transaction of its own, as Keyloom's do, so
//! that it sees the newest state.

use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, WithTls};
use keyloom::key::{EncodeKey, Value, prefix_end};
use keyloom::schema::Table;
use keyloom::schema::document::{FieldRef, Names as _, Payload, encode};

use super::orders::{Ask, Order, Tally};
use super::{Error, Reads, Writes};

/// The orders in a file of LMDB.
pub(crate) struct Lmdb {
    env: Env,
    data: Database<Bytes, Bytes>,
    layout: Layout,
    writing: Mutex<()>,
}

/// Where Keyloom puts things, by its table.
#[derive(Clone)]
struct Layout {
    table: Arc<Table>,
    primary: u32,
    index: u32,
    amount: u16,
    status: u16,
    note: u16,
}

impl Layout {
    fn of(table: Arc<Table>) -> Result<Self, Error> {
        let id = |name: &str| table.id(name).ok_or_else(|| format!("no column {name}"));
        let (amount, status, note) = (id("amount")?, id("status")?, id("note")?);
        let index = table.indexes().first().ok_or("no index")?.tree().id();
        Ok(Self { primary: table.primary().id(), index, amount, status, note, table })
    }

    fn key(&self, order: &Order) -> Result<Vec<u8>, Error> {
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

    fn entry(&self, order: &Order, key: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let entry = at(self.index, &(order.status, order.date(), order.user.as_str(), order.id))?;
        let length = u16::try_from(key.len())?.to_be_bytes();
        // A whole key, its length, the key, and an empty record: nothing is covered.
        let mut value = Vec::with_capacity(key.len() + 5);
        value.extend_from_slice(&[0, length[0], length[1]]);
        value.extend_from_slice(key);
        encode(&*self.table, std::iter::empty::<(FieldRef<'_>, _)>(), &mut value)?;
        Ok((entry, value))
    }

    fn look(&self, value: &[u8], tally: &mut Tally) -> Result<(), Error> {
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

/// The key of the record that an entry leads to.
fn record_of(entry: &[u8]) -> Option<&[u8]> {
    let (length, rest) = entry.get(1..)?.split_first_chunk()?;
    rest.get(..u16::from_be_bytes(*length).into())
}

#[allow(unsafe_code, reason = "mapping a file is unsafe: another program may change it behind the map")]
fn open(path: &Path) -> Result<Env, Error> {
    let mut options = EnvOpenOptions::new();
    options.map_size(1 << 34).max_readers(64);
    // SAFETY: NO_SUB_DIR only says that the path is a file, which lies in a folder of this run's own.
    Ok(unsafe { options.flags(EnvFlags::NO_SUB_DIR).open(path) }?)
}

impl Lmdb {
    pub(crate) fn load(folder: &Path, orders: &[Order], table: Arc<Table>) -> Result<Self, Error> {
        let layout = Layout::of(table)?;
        let (mut records, mut entries) = (Vec::with_capacity(orders.len()), Vec::with_capacity(orders.len()));
        for order in orders {
            let key = layout.key(order)?;
            entries.push(layout.entry(order, &key)?);
            records.push((key, layout.value(order)?));
        }
        records.sort_unstable();
        entries.sort_unstable();
        let env = open(&folder.join("raw-lmdb"))?;
        let mut txn = env.write_txn()?;
        let data: Database<Bytes, Bytes> = env.create_database(&mut txn, None)?;
        for (key, value) in records.iter().chain(&entries) {
            data.put_with_flags(&mut txn, PutFlags::APPEND, key, value)?;
        }
        txn.commit()?;
        Ok(Self { env, data, layout, writing: Mutex::new(()) })
    }

    /// Shows every key with its value.
    pub(crate) fn bytes(&self, mut look: impl FnMut(&[u8], &[u8])) -> Result<(), Error> {
        let txn = self.read()?;
        for found in self.data.iter(&txn)? {
            let (key, value) = found?;
            look(key, value);
        }
        Ok(())
    }

    fn read(&self) -> Result<RoTxn<'_, WithTls>, Error> {
        Ok(self.env.read_txn()?)
    }
}

impl Reads for Lmdb {
    fn get(&self, orders: &[&Order]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for order in orders {
            let txn = self.read()?;
            if let Some(value) = self.data.get(&txn, &self.layout.key(order)?)? {
                self.layout.look(value, &mut tally)?;
            }
        }
        Ok(tally)
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let prefix = at(self.layout.primary, &(ask.name.as_str(),))?;
            let txn = self.read()?;
            for found in self.data.prefix_iter(&txn, &prefix)? {
                self.layout.look(found?.1, &mut tally)?;
            }
        }
        Ok(tally)
    }

    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let user = at(self.layout.primary, &(ask.name.as_str(),))?;
            let date = at(self.layout.primary, &(ask.name.as_str(), ask.date()))?;
            let txn = self.read()?;
            if backward {
                let end = prefix_end(&date).ok_or("no key behind a date")?;
                let range = (Bound::Included(user.as_slice()), Bound::Excluded(end.as_slice()));
                for found in self.data.rev_range(&txn, &range)?.take(20) {
                    self.layout.look(found?.1, &mut tally)?;
                }
            } else {
                let end = prefix_end(&user).ok_or("no key behind a user")?;
                let range = (Bound::Included(date.as_slice()), Bound::Excluded(end.as_slice()));
                for found in self.data.range(&txn, &range)?.take(20) {
                    self.layout.look(found?.1, &mut tally)?;
                }
            }
        }
        Ok(tally)
    }

    fn index(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let status = at(self.layout.index, &(ask.name.as_str(),))?;
            let date = at(self.layout.index, &(ask.name.as_str(), ask.date()))?;
            let end = prefix_end(&date).ok_or("no key behind a date")?;
            let range = (Bound::Included(status.as_slice()), Bound::Excluded(end.as_slice()));
            let txn = self.read()?;
            for found in self.data.rev_range(&txn, &range)?.take(20) {
                let record = record_of(found?.1).ok_or("an entry without a key")?;
                let value = self.data.get(&txn, record)?.ok_or("an entry without a record")?;
                self.layout.look(value, &mut tally)?;
            }
        }
        Ok(tally)
    }

    fn scan(&self) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let txn = self.read()?;
        for found in self.data.prefix_iter(&txn, &self.layout.primary.to_be_bytes())? {
            self.layout.look(found?.1, &mut tally)?;
        }
        Ok(tally)
    }
}

impl Writes for Lmdb {
    fn write(&self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            let key = self.layout.key(order)?;
            let value = self.layout.value(order)?;
            let (entry, leads_to) = self.layout.entry(order, &key)?;
            // LMDB's own lock is fairer and slower than a thread's.
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut txn = self.env.write_txn()?;
            self.data.put(&mut txn, &key, &value)?;
            self.data.put(&mut txn, &entry, &leads_to)?;
            txn.commit()?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), Error> {
        Ok(())
    }
}
