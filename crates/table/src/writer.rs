//! Records that are written one by one, by the values of the same columns: the names are looked for once.

use std::sync::Arc;

use keyloom_key::Value;
use keyloom_schema::{Document, Index};
use keyloom_store::{Batch, Sequence, Store};
use smallvec::SmallVec;

use crate::apply::{Commits, add, apply};
use crate::blind::{Before, follows_keys};
use crate::catalog::Catalog;
use crate::change::{Change, When};
use crate::database::{Database, WorkOut};
use crate::entries;
use crate::error::Error;
use crate::places::{Places, check_count};
use crate::prepared::ByDefinition;
use crate::staged::Recorded;
use crate::table::Table;

/// Writes records by the values of some columns. See [`Table::writer`].
#[derive(Debug)]
pub struct Writer<S> {
    table: Table<S>,
    columns: Vec<String>,
    places: ByDefinition<Arc<Places>>,
}

impl<S: Store> Table<S> {
    /// Writes records whose values are given in the order of `columns`: the fastest way to write them one by one, because
    /// values are borrowed and no record has to say the names of its fields.
    ///
    /// Refused are columns that the table does not have, one that is named twice, and a record that would lack one.
    /// [`load_rows`](Self::load_rows) writes many at once.
    ///
    /// ```
    /// use keyloom_schema::Table;
    /// use keyloom_store::{MemoryStore, Wait};
    /// use keyloom_table::Database;
    ///
    /// let database = Database::open(MemoryStore::new()).wait()?;
    /// let users = Table::named("users").column("id", "i64").column("name", "str").key(["id"]);
    /// let users = database.create_table(users).wait()?;
    /// let writer = users.writer(["name", "id"])?;
    /// let name = "Ada".to_owned();
    /// writer.insert([name.as_str().into(), 1_i64.into()]).wait()?;
    /// assert!(writer.insert(["Grace".into(), 1_i64.into()]).wait().is_err());
    /// writer.put(["Grace".into(), 1_i64.into()]).wait()?;
    /// assert_eq!(users.get([1_i64]).wait()?.unwrap().get("name"), Some(&"Grace".into()));
    /// # Ok::<(), keyloom_table::Error>(())
    /// ```
    pub fn writer<N: Into<String>>(&self, columns: impl IntoIterator<Item = N>) -> Result<Writer<S>, Error> {
        let columns = columns.into_iter().map(Into::into).collect();
        let writer = Writer { table: self.clone(), columns, places: ByDefinition::default() };
        writer.places(&self.database().catalog())?;
        Ok(writer)
    }
}

impl<S: Store> Writer<S> {
    /// Adds a record, as [`Table::insert`] does.
    pub async fn insert<'v>(&self, row: impl IntoIterator<Item = Value<'v>>) -> Result<Sequence, Error> {
        self.write(row.into_iter().collect(), true).await
    }

    /// Makes the record what the values say, as [`Table::put`] does.
    pub async fn put<'v>(&self, row: impl IntoIterator<Item = Value<'v>>) -> Result<Sequence, Error> {
        self.write(row.into_iter().collect(), false).await
    }

    async fn write(&self, row: Values<'_>, absent: bool) -> Result<Sequence, Error> {
        check_count(self.table.name(), &self.columns, row.len())?;
        let database = self.table.database();
        if database.commits() == Commits::Record {
            return self.table.apply(self.change(&row, absent)).await;
        }
        let (sequence, ()) = database.commit_worked_out(&Write { writer: self, row, absent }).await?;
        Ok(sequence)
    }

    /// Where the values go by this catalog.
    fn places(&self, catalog: &Catalog) -> Result<Arc<Places>, Error> {
        let table = catalog.table(self.table.name())?;
        self.places.get(table, |table| Places::of(table, &self.columns).map(Arc::new))
    }

    /// The same as a change, which has names.
    fn change(&self, row: &[Value<'_>], absent: bool) -> Change {
        let values = row.iter().map(|value| value.clone().into_owned());
        let change = Change::put(self.columns.iter().cloned().zip(values).collect::<Document>());
        if absent { change.when(When::Absent) } else { change }
    }
}

/// The values of a record.
type Values<'v> = SmallVec<[Value<'v>; 8]>;

/// A record that is to be written.
struct Write<'w, 'v, S> {
    writer: &'w Writer<S>,
    row: Values<'v>,
    /// Whether it is to be new.
    absent: bool,
}

impl<S: Store> WorkOut<S> for Write<'_, '_, S> {
    type Outcome = ();

    async fn work_out(
        &self,
        database: &Database<S>,
        catalog: &Catalog,
    ) -> Result<(Batch, Self::Outcome), Error> {
        let table = catalog.table(self.writer.table.name())?;
        let places = self.writer.places(catalog)?;
        let record = places.record(table, &self.row)?;
        let mut key = Vec::with_capacity(64);
        entries::write_key(table, &record, &mut key)?;
        let add = || {
            let mut writes = Batch::new();
            add(table, &record, |out| record.payload(out), &key, &mut writes)?;
            Ok::<_, Error>(writes)
        };
        // A record that no entry depends on is written without a look at what it was.
        if !self.absent && follows_keys(table, Commits::All) {
            return Ok((add()?, ()));
        }
        let unique = table.indexes().iter().any(Index::is_unique);
        // What is written if nothing is there is made while the store looks.
        let looked =
            if unique { None } else { Some(database.store().get_meanwhile(&key, add, |_| ()).await?) };
        let Some((writes, None)) = looked else {
            // What was there has entries that go, and others may be in the way.
            let (read, change) =
                (Recorded::new(database.store()), self.writer.change(&self.row, self.absent));
            let now = database.now_for(table);
            let applied = apply(&read, table, &change, now, Commits::All, Before::Untold);
            let applied = Box::pin(applied).await?;
            return Ok((read.require(applied.writes), ()));
        };
        Ok((writes?.require_absent(key), ()))
    }
}
