//! SQLite, with prepared statements: as a program has it that adds orders as they come and sets nothing, and at its best,
//! with rows that were sorted by hand and everything in its cache and its map.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_workload::{Ask, Error, Order, Reads, Tally, Writes};
use rusqlite::{Connection, Statement, params};

use super::peer::{Here, Promise};

/// The orders in a file of SQLite. One connection for all threads: several would wait for one another asleep.
pub(crate) struct Sqlite {
    connection: Mutex<Connection>,
    form: Form,
}

/// How SQLite keeps the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// By row id in the order in which they came, with an index for the primary key: what `CREATE TABLE` gives.
    Arrival,
    /// The same, but sorted by the primary key beforehand.
    Sorted,
    /// By the primary key: what `WITHOUT ROWID` gives, the best for such a key.
    Clustered,
}

const TABLE: &str =
    "CREATE TABLE orders (user_id TEXT NOT NULL, order_date INTEGER NOT NULL, order_id BLOB NOT NULL,
    amount INTEGER NOT NULL, status TEXT NOT NULL, note TEXT NOT NULL,
    PRIMARY KEY (user_id, order_date, order_id))";
const INDEX: &str = "CREATE INDEX orders_by_status_order_date ON orders (status, order_date)";
const INSERT: &str = "INSERT INTO orders VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

fn insert(statement: &mut Statement<'_>, order: &Order) -> rusqlite::Result<usize> {
    let Order { user, date, id, amount, status, note } = order;
    statement.execute(params![user.as_ref(), date, id.as_bytes(), amount, status, note])
}

impl Sqlite {
    /// Loads with a journal that has nothing to keep, because the file is new, and makes the index after the table: its
    /// fastest way that leaves all or nothing.
    pub(crate) fn load(folder: &Path, orders: &[Order], form: Form) -> Result<Self, Error> {
        let mut connection = Connection::open(folder.join(format!("{form:?}")))?;
        connection.pragma_update(None, "cache_size", -1_048_576)?;
        connection.pragma_update(None, "mmap_size", 1_u64 << 34)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let mut sorted: Vec<&Order> = orders.iter().collect();
        if form != Form::Arrival {
            sorted.sort_unstable_by(|a, b| (&a.user, a.date, a.id).cmp(&(&b.user, b.date, b.id)));
        }
        let transaction = connection.transaction()?;
        let rows = if form == Form::Clustered { "WITHOUT ROWID" } else { "" };
        transaction.execute_batch(&format!("{TABLE} {rows}"))?;
        let mut statement = transaction.prepare_cached(INSERT)?;
        for order in sorted {
            insert(&mut statement, order)?;
        }
        drop(statement);
        transaction.execute_batch(INDEX)?;
        transaction.commit()?;
        Ok(Self { connection: Mutex::new(connection), form })
    }

    /// From now on it is read and written as usual.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        let connection = self.connection();
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A checkpoint every 40 MB, not every 4.
        Ok(connection.pragma_update(None, "wal_autocheckpoint", 10_000)?)
    }

    /// The same file with SQLite's own settings: a cache of 2 MB, filled by calls to the system.
    pub(crate) fn with_own_settings(self) -> Result<Self, Error> {
        let (path, form) = (self.connection().path().unwrap_or_default().to_owned(), self.form);
        drop(self);
        Ok(Self { connection: Mutex::new(Connection::open(path)?), form })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement for each of `asks`, with what `bind` gives it.
    fn ask<T>(
        &self,
        sql: &str,
        asks: &[T],
        bind: impl Fn(&mut Statement<'_>, &T) -> rusqlite::Result<()>,
    ) -> Result<Tally, Error> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(sql)?;
        let mut tally = Tally::default();
        for ask in asks {
            bind(&mut statement, ask)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                tally.add(row.get_ref(0)?.as_i64()?, row.get_ref(1)?.as_str()?.as_bytes());
            }
        }
        Ok(tally)
    }

    fn ask_dated(&self, sql: &str, asks: &[Ask]) -> Result<Tally, Error> {
        self.ask(sql, asks, |statement, ask| {
            statement.raw_bind_parameter(1, ask.name.as_ref())?;
            statement.raw_bind_parameter(2, ask.date)
        })
    }
}

impl Reads for Sqlite {
    fn get(&self, orders: &[Order]) -> Result<Tally, Error> {
        let sql = "SELECT amount, note FROM orders WHERE user_id = ?1 AND order_date = ?2 AND order_id = ?3";
        self.ask(sql, orders, |statement, order| {
            statement.raw_bind_parameter(1, order.user.as_ref())?;
            statement.raw_bind_parameter(2, order.date)?;
            statement.raw_bind_parameter(3, order.id.as_bytes())
        })
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let sql = "SELECT amount, note FROM orders WHERE user_id = ?1 ORDER BY order_date, order_id";
        self.ask(sql, asks, |statement, ask| statement.raw_bind_parameter(1, ask.name.as_ref()))
    }

    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error> {
        let sql = if backward {
            "SELECT amount, note FROM orders WHERE user_id = ?1 AND order_date <= ?2
             ORDER BY order_date DESC, order_id DESC LIMIT 20"
        } else {
            "SELECT amount, note FROM orders WHERE user_id = ?1 AND order_date >= ?2
             ORDER BY order_date, order_id LIMIT 20"
        };
        self.ask_dated(sql, asks)
    }

    fn index(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let sql = "SELECT amount, note FROM orders INDEXED BY orders_by_status_order_date
             WHERE status = ?1 AND order_date <= ?2 ORDER BY order_date DESC LIMIT 20";
        self.ask_dated(sql, asks)
    }

    fn scan(&self) -> Result<Tally, Error> {
        // By the primary key, so that the rows come in the order that all give them in; sorted, they lie so.
        let order = if self.form == Form::Sorted { "rowid" } else { "user_id, order_date, order_id" };
        let sql = format!("SELECT amount, note FROM orders NOT INDEXED ORDER BY {order}");
        self.ask(&sql, &[()], |_, ()| Ok(()))
    }
}

impl Writes for Sqlite {
    fn write(&self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            let connection = self.connection();
            let mut statement = connection.prepare_cached(INSERT)?;
            insert(&mut statement, order)?;
        }
        Ok(())
    }
}

impl Here for Sqlite {
    /// SQLite's own settings only cost it more.
    fn promise(&mut self, promise: Promise) -> Result<Option<&'static str>, Error> {
        let names = match self.form {
            Form::Arrival => return Ok(None),
            Form::Sorted => ["sqlite-full", "sqlite-normal", "sqlite-off"],
            Form::Clustered => ["sqlite-clustered-full", "sqlite-clustered-normal", "sqlite-clustered-off"],
        };
        let [full, normal, off] = names;
        let (level, name) = match promise {
            Promise::Synced => ("FULL", full),
            Promise::Written => ("NORMAL", normal),
            // Never synced: a power failure may ruin the file.
            Promise::Less => ("OFF", off),
        };
        self.connection().pragma_update(None, "synchronous", level)?;
        Ok(Some(name))
    }
}
