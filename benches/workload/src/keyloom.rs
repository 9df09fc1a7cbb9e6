//! Keyloom on any of its stores, through the public API.

use std::ops::ControlFlow;
use std::sync::Arc;

use keyloom::key::Value;
use keyloom::schema::{Index, Table as Definition, TableBuilder};
use keyloom::store::{Direction, Limits, Store};
use keyloom::{Database, Document, Given, Prepared, Query, Row, Table, Wait, Writer};

use crate::{Ask, Error, Order, Reads, Tally, Writes};

/// The orders in a database of Keyloom.
#[derive(Debug)]
pub struct Keyloom<S> {
    orders: Table<S>,
    writer: Writer<S>,
    of_user: Prepared<S>,
    from: Prepared<S>,
    up_to: Prepared<S>,
    newest: Prepared<S>,
    /// The numbers of the columns that are read.
    amount: u16,
    note: u16,
}

/// The table as the composite-key specification has it: the key, an amount and a status.
pub(crate) fn bare() -> TableBuilder {
    Definition::named("orders")
        .column("user_id", "str")
        .column("order_date", "timestamp")
        .column("order_id", "uuid")
        .column("amount", "i64")
        .column("status", "str")
        .key(["user_id", "order_date", "order_id"])
}

pub(crate) fn bare_document(order: &Order) -> Document {
    Document::new()
        .with("user_id", order.user.to_string())
        .with("order_date", order.date())
        .with("order_id", order.id)
        .with("amount", order.amount)
        .with("status", order.status)
}

/// The columns of an order, in the order of its [values](row).
const COLUMNS: [&str; 6] = ["user_id", "order_date", "order_id", "amount", "status", "note"];

fn definition() -> TableBuilder {
    bare().column("note", "str").index(Index::on(["status", "order_date"]))
}

/// An order's values, with its user given apart: borrowed where the order stays.
fn row<'o>(order: &Order, user: Value<'o>) -> [Value<'o>; 6] {
    [user, order.date().into(), order.id.into(), order.amount.into(), order.status.into(), order.note.into()]
}

pub(crate) fn key(order: &Order) -> [Value<'_>; 3] {
    [order.user.as_ref().into(), order.date().into(), order.id.into()]
}

impl<S: Store> Keyloom<S> {
    /// A database with the table, which is made if it is not there.
    pub fn open(store: S) -> Result<Self, Error> {
        let orders = Database::open(store).wait()?.open_table(definition()).wait()?;
        let table = orders.definition()?;
        let id = |name| table.column(name).map(|column| column.id).ok_or("the table is another");
        let (amount, note) = (id("amount")?, id("note")?);
        let (oldest_first, newest_first) =
            (Query::new().order_by("order_date"), Query::new().order_by_desc("order_date").limit(20));
        Ok(Self {
            writer: orders.writer(COLUMNS)?,
            of_user: orders.prepare(Query::new(), [Given::equal("user_id")]),
            from: orders
                .prepare(oldest_first.limit(20), [Given::equal("user_id"), Given::at_least("order_date")]),
            up_to: orders
                .prepare(newest_first.clone(), [Given::equal("user_id"), Given::at_most("order_date")]),
            newest: orders.prepare(newest_first, [Given::equal("status"), Given::at_most("order_date")]),
            orders,
            amount,
            note,
        })
    }

    /// Loads orders that come in no order.
    pub fn load(&self, orders: &[Order]) -> Result<(), Error> {
        self.load_rows(orders.iter().map(|order| row(order, order.user.as_ref().into())))
    }

    /// The same of orders that are made on the way.
    pub fn load_all(&self, orders: impl IntoIterator<Item = Order>) -> Result<(), Error> {
        self.load_rows(orders.into_iter().map(|order| row(&order, order.user.to_string().into())))
    }

    fn load_rows<'o>(&self, rows: impl IntoIterator<Item = [Value<'o>; 6]>) -> Result<(), Error> {
        self.orders.load_rows(&COLUMNS, rows, |_| ()).wait()?;
        Ok(())
    }

    /// What the table is like.
    pub fn table(&self) -> Result<Arc<Definition>, Error> {
        Ok(self.orders.definition()?)
    }

    /// Shows every key of the table and its index with its value.
    pub fn bytes(&self, mut look: impl FnMut(&[u8], &[u8]) + Send) -> Result<(), Error> {
        let table = self.table()?;
        let trees = std::iter::once(table.primary()).chain(table.indexes().iter().map(|index| index.tree()));
        for tree in trees {
            let limits = Limits { rows: usize::MAX, bytes: usize::MAX, time: std::time::Duration::MAX };
            let look = |key: &[u8], value: &[u8]| {
                look(key, value);
                ControlFlow::Continue(())
            };
            let store = self.orders.database().store();
            store.scan(&tree.span(), Direction::Forward, limits, look).wait()?;
        }
        Ok(())
    }

    fn look(&self, row: &Row<'_>, tally: &mut Tally) -> Result<(), keyloom::Error> {
        if let (Value::Int(amount), Value::Str(note)) =
            (row.get_by_id(self.amount)?, row.get_by_id(self.note)?)
        {
            tally.add(amount, note.as_bytes());
        }
        Ok(())
    }

    /// Asks a query that is prepared for a name and perhaps a date.
    fn each<'v>(
        &self,
        query: &Prepared<S>,
        values: impl IntoIterator<Item = Value<'v>>,
        tally: &mut Tally,
    ) -> Result<(), Error> {
        let visit = |row: &Row<'_>| self.look(row, tally).map(ControlFlow::Continue);
        query.each(values, visit).wait()?;
        Ok(())
    }

    fn each_dated(&self, query: &Prepared<S>, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            self.each(query, [ask.name.as_ref().into(), ask.date().into()], &mut tally)?;
        }
        Ok(tally)
    }
}

impl<S: Store> Reads for Keyloom<S> {
    fn get(&self, orders: &[Order]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for order in orders {
            self.orders.get_with(key(order), |row| self.look(row, &mut tally)).wait()?;
        }
        Ok(tally)
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        for ask in asks {
            self.each(&self.of_user, [ask.name.as_ref().into()], &mut tally)?;
        }
        Ok(tally)
    }

    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error> {
        self.each_dated(if backward { &self.up_to } else { &self.from }, asks)
    }

    fn index(&self, asks: &[Ask]) -> Result<Tally, Error> {
        self.each_dated(&self.newest, asks)
    }

    fn scan(&self) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let visit = |row: &Row<'_>| self.look(row, &mut tally).map(ControlFlow::Continue);
        self.orders.each(&Query::new().allow_scan(), visit).wait()?;
        Ok(tally)
    }
}

impl<S: Store> Writes for Keyloom<S> {
    fn write(&self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            self.writer.insert(row(order, order.user.as_ref().into())).wait()?;
        }
        Ok(())
    }
}
