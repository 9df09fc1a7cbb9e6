//! Keyloom on LMDB, through the public API.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use keyloom::key::Value;
use keyloom::lmdb::{LmdbStore, Options};
use keyloom::schema::{Index, Table as Definition, TableBuilder};
use keyloom::store::{Durability, Read as _};
use keyloom::{Database, Document, Query, Row, Table, Wait, field};

use super::orders::{Ask, Order, Tally};
use super::{Error, Reads, Writes};

/// The orders in a file of Keyloom.
pub(crate) struct Keyloom {
    path: PathBuf,
    orders: Table<LmdbStore>,
}

fn definition() -> TableBuilder {
    Definition::named("orders")
        .column("user_id", "str")
        .column("order_date", "timestamp")
        .column("order_id", "uuid")
        .column("amount", "i64")
        .column("status", "str")
        .column("note", "str")
        .key(["user_id", "order_date", "order_id"])
        .index(Index::on(["status", "order_date"]))
}

fn document(order: &Order) -> Document {
    Document::new()
        .with("user_id", order.user.clone())
        .with("order_date", order.date())
        .with("order_id", order.id)
        .with("amount", order.amount)
        .with("status", order.status)
        .with("note", order.note.clone())
}

fn key(order: &Order) -> [Value<'_>; 3] {
    [order.user.as_str().into(), order.date().into(), order.id.into()]
}

fn look(row: &Row<'_>, tally: &mut Tally) -> Result<(), keyloom::Error> {
    if let (Value::Int(amount), Value::Str(note)) = (row.get("amount")?, row.get("note")?) {
        tally.add(amount, note.as_bytes());
    }
    Ok(())
}

impl Keyloom {
    pub(crate) fn open(path: &Path, durability: Durability) -> Result<Self, Error> {
        let store = LmdbStore::open_with(path, Options { durability, ..Options::default() })?;
        let orders = Database::open(store).wait()?.open_table(definition()).wait()?;
        Ok(Self { path: path.to_owned(), orders })
    }

    pub(crate) fn load(folder: &Path, orders: &[Order]) -> Result<Self, Error> {
        let open = Self::open(&folder.join("keyloom"), Durability::Synced)?;
        open.orders.load(orders.iter().map(document), |_| ()).wait()?;
        Ok(open)
    }

    /// The same file with another promise.
    pub(crate) fn reopen(self, durability: Durability) -> Result<Self, Error> {
        let path = self.path.clone();
        drop(self);
        Self::open(&path, durability)
    }

    /// What the table is like in the file.
    pub(crate) fn table(&self) -> Result<std::sync::Arc<Definition>, Error> {
        Ok(self.orders.definition()?)
    }

    /// Shows every key of the table and its index with its value.
    pub(crate) fn bytes(&self, mut look: impl FnMut(&[u8], &[u8]) + Send) -> Result<(), Error> {
        let table = self.table()?;
        let trees = std::iter::once(table.primary()).chain(table.indexes().iter().map(|index| index.tree()));
        for tree in trees {
            let limits = keyloom::store::Limits {
                rows: usize::MAX,
                bytes: usize::MAX,
                time: std::time::Duration::MAX,
            };
            let look = |key: &[u8], value: &[u8]| {
                look(key, value);
                ControlFlow::Continue(())
            };
            let store = self.orders.database().store();
            store.scan(&tree.span(), keyloom::store::Direction::Forward, limits, look).wait()?;
        }
        Ok(())
    }

    fn each(&self, query: &Query, tally: &mut Tally) -> Result<(), Error> {
        let visit = |row: &Row<'_>| look(row, tally).map(ControlFlow::Continue);
        self.orders.each(query, visit).wait()?;
        Ok(())
    }
}

impl Reads for Keyloom {
    fn get(&self, orders: &[&Order]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for order in orders {
            self.orders.get_with(key(order), |row| look(row, &mut tally)).wait()?;
        }
        Ok(tally)
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let query = Query::new().filter(field("user_id").eq(ask.name.clone()));
            self.each(&query, &mut tally)?;
        }
        Ok(tally)
    }

    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let user = field("user_id").eq(ask.name.clone());
            let query = if backward {
                let before = user.and(field("order_date").le(ask.date()));
                Query::new().filter(before).order_by_desc("order_date")
            } else {
                let from = user.and(field("order_date").ge(ask.date()));
                Query::new().filter(from).order_by("order_date")
            };
            self.each(&query.limit(20), &mut tally)?;
        }
        Ok(tally)
    }

    fn index(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            let filter = field("status").eq(ask.name.clone()).and(field("order_date").le(ask.date()));
            let query = Query::new().filter(filter).order_by_desc("order_date").limit(20);
            self.each(&query, &mut tally)?;
        }
        Ok(tally)
    }

    fn scan(&self) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        self.each(&Query::new().allow_scan(), &mut tally)?;
        Ok(tally)
    }
}

impl Writes for Keyloom {
    fn write(&self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            self.orders.insert(document(order)).wait()?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), Error> {
        use keyloom::store::Store as _;
        Ok(self.orders.database().store().flush().wait()?)
    }
}
