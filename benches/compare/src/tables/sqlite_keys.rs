//! SQLite as a sorted store: the bytes of Keyloom's keys and values, with prepared statements and its own settings.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyloom::schema::Table;
use rusqlite::{Connection, Params, params};

use super::layout::{Layout, end, record_of};
use super::orders::{Ask, Order, Tally};
use super::{Error, Reads, Writes};

/// The orders in a file of SQLite, as keys and values.
pub(crate) struct SqliteKeys {
    connection: Mutex<Connection>,
    layout: Layout,
}

const INSERT: &str = "INSERT INTO data VALUES (?1, ?2)";

impl SqliteKeys {
    /// Sorted and in one transaction, which is the fastest.
    pub(crate) fn load(folder: &Path, orders: &[Order], table: Arc<Table>) -> Result<Self, Error> {
        let layout = Layout::of(table)?;
        let (records, entries) = layout.sorted(orders)?;
        let mut connection = Connection::open(folder.join("sqlite-keys"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        let transaction = connection.transaction()?;
        transaction
            .execute_batch("CREATE TABLE data (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")?;
        let mut statement = transaction.prepare_cached(INSERT)?;
        for (key, value) in records.iter().chain(&entries) {
            statement.execute(params![key, value])?;
        }
        drop(statement);
        transaction.commit()?;
        connection.pragma_update(None, "wal_checkpoint", "TRUNCATE")?;
        Ok(Self { connection: Mutex::new(connection), layout })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the values that a statement finds.
    fn each(
        connection: &Connection,
        sql: &str,
        parameters: impl Params,
        mut look: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            look(row.get_ref(0)?.as_blob()?)?;
        }
        Ok(())
    }
}

const FORWARD: &str = "SELECT value FROM data WHERE key >= ?1 AND key < ?2 ORDER BY key";
const FIRST: &str = "SELECT value FROM data WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT 20";
const LAST: &str = "SELECT value FROM data WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT 20";
const GET: &str = "SELECT value FROM data WHERE key = ?1";

impl Reads for SqliteKeys {
    fn get(&self, orders: &[&Order]) -> Result<Tally, Error> {
        let (connection, mut tally) = (self.connection(), Tally::default());
        for order in orders {
            let key = self.layout.key(order)?;
            Self::each(&connection, GET, [key], |value| self.layout.look(value, &mut tally))?;
        }
        Ok(tally)
    }

    fn prefix(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let (connection, mut tally) = (self.connection(), Tally::default());
        for ask in asks {
            let user = self.layout.user(ask)?;
            let span = [end(&user)?, user];
            let [end, start] = &span;
            Self::each(&connection, FORWARD, [start, end], |value| self.layout.look(value, &mut tally))?;
        }
        Ok(tally)
    }

    fn range(&self, asks: &[Ask], backward: bool) -> Result<Tally, Error> {
        let (connection, mut tally) = (self.connection(), Tally::default());
        for ask in asks {
            let (start, end) = self.layout.range(ask, backward)?;
            let sql = if backward { LAST } else { FIRST };
            Self::each(&connection, sql, [start, end], |value| self.layout.look(value, &mut tally))?;
        }
        Ok(tally)
    }

    fn index(&self, asks: &[Ask]) -> Result<Tally, Error> {
        let (connection, mut tally) = (self.connection(), Tally::default());
        for ask in asks {
            let (start, end) = self.layout.entries(ask)?;
            Self::each(&connection, LAST, [start, end], |entry| {
                let key = record_of(entry)?;
                Self::each(&connection, GET, [key], |value| self.layout.look(value, &mut tally))
            })?;
        }
        Ok(tally)
    }

    fn scan(&self) -> Result<Tally, Error> {
        let (connection, mut tally) = (self.connection(), Tally::default());
        let start = self.layout.records();
        let end = end(&start)?;
        Self::each(&connection, FORWARD, params![start, end], |value| self.layout.look(value, &mut tally))?;
        Ok(tally)
    }
}

impl Writes for SqliteKeys {
    fn write(&self, orders: &[Order]) -> Result<(), Error> {
        for order in orders {
            let (record, entry) = self.layout.rows(order)?;
            let mut connection = self.connection();
            let transaction = connection.transaction()?;
            let mut statement = transaction.prepare_cached(INSERT)?;
            for (key, value) in [record, entry] {
                statement.execute(params![key, value])?;
            }
            drop(statement);
            transaction.commit()?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), Error> {
        Ok(())
    }
}
