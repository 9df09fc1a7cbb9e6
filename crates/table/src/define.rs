//! Tables and indexes from SQL text.

use keyloom_schema::sql::{self, Statement};
use keyloom_store::{Batch, Store};

use crate::database::Database;
use crate::error::Error;
use crate::keyspace;

impl<S: Store> Database<S> {
    /// Creates tables, indexes and columns by SQL: `CREATE TABLE …; CREATE INDEX …; ALTER TABLE … ADD COLUMN …`.
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
            self.define_one(statement).await?;
        }
        Ok(())
    }

    /// Runs one statement that defines something; whether anything was created that was not there.
    pub async fn define_one(&self, statement: Statement) -> Result<bool, Error> {
        let (created, if_not_exists) = match statement {
            Statement::CreateTable { table, if_not_exists } => {
                (self.create_built(*table).await.map(|_| ()), if_not_exists)
            }
            Statement::CreateIndex { table, index, if_not_exists } => {
                (self.create_index(&table, *index).await, if_not_exists)
            }
            Statement::AddColumn { table, name, kind, if_not_exists } => {
                (self.add_column(&table, &name, &kind).await, if_not_exists)
            }
            _ => {
                let reason = "only CREATE TABLE, CREATE INDEX and ALTER TABLE define something: run the rest as a query";
                return Err(keyloom_schema::Error::Sql { line: 1, column: 1, reason: reason.into() }.into());
            }
        };
        match created {
            Err(Error::Exists(_)) if if_not_exists => Ok(false),
            created => created.map(|()| true),
        }
    }

    /// Adds a column that may be null to a table. No record is touched.
    ///
    /// A record that has a field of this name already keeps it as it is; if it is of another type, the next write of
    /// the record says so.
    pub async fn add_column(&self, table: &str, name: &str, kind: &str) -> Result<(), Error> {
        self.table(table).await?;
        self.change_schema(|catalog| {
            let definition = catalog.table(table)?;
            if definition.column(name).is_some() {
                return Err(Error::Exists(format!("a column {name} in {table}").into()));
            }
            let mut bytes = Vec::new();
            definition.with_column(name, kind)?.encode(&mut bytes)?;
            Ok(Some((Batch::new().put(keyspace::table(table), bytes), catalog.version.free_tree())))
        })
        .await
    }
}
