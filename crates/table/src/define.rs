//! Tables and indexes from SQL text.

use keyloom_schema::sql::{self, Statement};
use keyloom_store::Store;

use crate::database::Database;
use crate::error::Error;

impl<S: Store> Database<S> {
    /// Creates tables and indexes by SQL: `CREATE TABLE …; CREATE INDEX …`.
    ///
    /// Statements run one after the other; all of them are read before the first runs.
    ///
    /// ```
    /// use keyloom_store::{MemoryStore, Wait};
    /// use keyloom_table::Database;
    ///
    /// let database = Database::open(MemoryStore::new()).wait()?;
    /// database.define(
    ///     "CREATE TABLE orders (
    ///         user_id TEXT, order_date TIMESTAMP, order_id UUID, status TEXT,
    ///         PRIMARY KEY (user_id, order_date DESC, order_id)
    ///     ) WITH (shards = 16);
    ///     CREATE INDEX ON orders (status, order_date DESC)",
    /// ).wait()?;
    /// assert_eq!(database.tables(), ["orders"]);
    /// # Ok::<(), keyloom_table::Error>(())
    /// ```
    pub async fn define(&self, text: &str) -> Result<(), Error> {
        for statement in sql::parse(text)? {
            let (created, if_not_exists) = match statement {
                Statement::CreateTable { table, if_not_exists } => {
                    (self.create_built(*table).await.map(|_| ()), if_not_exists)
                }
                Statement::CreateIndex { table, index, if_not_exists } => {
                    (self.create_index(&table, *index).await, if_not_exists)
                }
                _ => {
                    let reason =
                        "only CREATE TABLE and CREATE INDEX define something: run the rest as a query".into();
                    return Err(keyloom_schema::Error::Sql { line: 1, column: 1, reason }.into());
                }
            };
            match created {
                Err(Error::Exists(_)) if if_not_exists => {}
                created => created?,
            }
        }
        Ok(())
    }
}
