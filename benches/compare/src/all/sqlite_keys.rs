//! SQLite as a sorted store: the bytes of Keyloom's keys and values, with prepared statements and its own settings.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use keyloom_workload::{Error, Layout, Order};
use rusqlite::{CachedStatement, Connection, params};

use super::by_hand::{ByHand, Bytes};
use super::peer::Promise;

/// A file of SQLite with keys and values.
pub(crate) struct SqliteKeys {
    connection: Mutex<Connection>,
    path: PathBuf,
    form: Form,
}

/// How SQLite keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// By row id, with an index for the key: what `CREATE TABLE` gives. Loaded sorted, which is its fastest way, and read
    /// with rows in the order in which they came.
    Plain,
    /// By the key: what `WITHOUT ROWID` gives.
    Clustered,
}

const INSERT: &str = "INSERT INTO data VALUES (?1, ?2)";
const GET: &str = "SELECT value FROM data WHERE key = ?1";
const FORWARD: &str = "SELECT key, value FROM data WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3";
const BACKWARD: &str = "SELECT key, value FROM data WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3";

/// What is done with the statement that inserts.
type Fill<'f> = &'f mut dyn FnMut(&mut CachedStatement<'_>) -> Result<(), Error>;

/// Sorted and in one transaction.
pub(crate) fn load(
    folder: &Path,
    orders: &[Order],
    layout: Layout,
    form: Form,
) -> Result<ByHand<SqliteKeys>, Error> {
    let path = folder.join(format!("sqlite-keys-{form:?}"));
    fill(&path, form, &mut |statement| {
        layout.each_sorted(orders, |key, value| statement.execute(params![key, value]).map(drop))
    })?;
    let connection = Mutex::new(open(&path)?);
    Ok(ByHand { bytes: SqliteKeys { connection, path, form }, layout })
}

/// Makes a file in one transaction, with a journal that has nothing to keep, because the file is new, and all of it in the
/// cache: its fastest way that leaves all or nothing.
fn fill(path: &Path, form: Form, rows: Fill<'_>) -> Result<(), Error> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "cache_size", -1_048_576)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let transaction = connection.transaction()?;
    let keeps = if form == Form::Clustered { "WITHOUT ROWID" } else { "" };
    transaction
        .execute_batch(&format!("CREATE TABLE data (key BLOB PRIMARY KEY, value BLOB NOT NULL) {keeps}"))?;
    let mut statement = transaction.prepare_cached(INSERT)?;
    rows(&mut statement)?;
    drop(statement);
    Ok(transaction.commit()?)
}

/// Opens a file with SQLite's own settings.
fn open(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    Ok(connection)
}

impl Bytes for SqliteKeys {
    type View<'a> = MutexGuard<'a, Connection>;

    fn view(&self) -> Result<Self::View<'_>, Error> {
        Ok(self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn get(
        view: &Self::View<'_>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut statement = view.prepare_cached(GET)?;
        let mut rows = statement.query([key])?;
        rows.next()?.map_or(Ok(()), |row| look(row.get_ref(0)?.as_blob()?))
    }

    fn scan(
        view: &Self::View<'_>,
        (start, end): (&[u8], &[u8]),
        backward: bool,
        limit: usize,
        mut look: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut statement = view.prepare_cached(if backward { BACKWARD } else { FORWARD })?;
        let mut rows = statement.query(params![start, end, i64::try_from(limit).unwrap_or(-1)])?;
        while let Some(row) = rows.next()? {
            look(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?)?;
        }
        Ok(())
    }

    fn commit(&self, rows: [(Vec<u8>, Vec<u8>); 2]) -> Result<(), Error> {
        let mut connection = self.view()?;
        let transaction = connection.transaction()?;
        let mut statement = transaction.prepare_cached(INSERT)?;
        for (key, value) in &rows {
            statement.execute(params![key, value])?;
        }
        drop(statement);
        Ok(transaction.commit()?)
    }

    fn settle(&mut self, layout: &Layout, orders: &[Order]) -> Result<(), Error> {
        if self.form == Form::Plain {
            let path = self.path.with_extension("as-they-came");
            fill(&path, self.form, &mut |statement| {
                for order in orders {
                    for (key, value) in [layout.record(order)?, layout.entry(order)?] {
                        statement.execute(params![key, value])?;
                    }
                }
                Ok(())
            })?;
            (self.connection, self.path) = (Mutex::new(open(&path)?), path);
        }
        Ok(())
    }

    /// Its writes are those of columns, which are faster.
    fn promise(&mut self, _: Promise) -> Result<Option<&'static str>, Error> {
        Ok(None)
    }
}
