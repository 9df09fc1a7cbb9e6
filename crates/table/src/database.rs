//! A store with tables in it.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use keyloom_key::Timestamp;
use keyloom_schema::{Document, Placement, State, TableBuilder};
use keyloom_store::{About, Batch, Condition, Overlay, Read, Sequence, Store};

use crate::apply::{Commits, apply};
use crate::blind::Before;
use crate::catalog::{Catalog, Version};
use crate::change::Change;
use crate::error::Error;
use crate::keyspace;
use crate::staged::Recorded;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::view::View;

/// A store with tables in it. Clones share it.
///
/// ```
/// use keyloom_schema::{Document, Table, field};
/// use keyloom_store::{MemoryStore, Wait};
/// use keyloom_table::{Database, Query};
///
/// let database = Database::open(MemoryStore::new()).wait()?;
/// let users = Table::named("users").column("id", "i64").column("name", "str").key(["id"]);
/// let users = database.create_table(users).wait()?;
/// users.put(Document::new().with("id", 1_i64).with("name", "Ada")).wait()?;
/// let found = users.query(&Query::new().filter(field("id").eq(1_i64))).wait()?;
/// assert_eq!(found.records[0].document.get("name"), Some(&"Ada".into()));
/// # Ok::<(), keyloom_table::Error>(())
/// ```
#[derive(Debug)]
pub struct Database<S> {
    shared: Arc<Shared<S>>,
}

impl<S> Clone for Database<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

struct Shared<S> {
    store: S,
    catalog: RwLock<Arc<Catalog>>,
    clock: Clock,
}

/// What time it is. Tests bring their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

impl<S: std::fmt::Debug> std::fmt::Debug for Shared<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("store", &self.store).finish_non_exhaustive()
    }
}

/// How long a change that others keep overtaking is tried again.
const PATIENCE: Duration = Duration::from_secs(30);

/// The wall clock.
fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

impl<S: Store> Database<S> {
    /// Opens the tables of a store.
    pub async fn open(store: S) -> Result<Self, Error> {
        Self::open_with_clock(store, Arc::new(wall_clock)).await
    }

    /// The same with another clock, by which records expire.
    pub async fn open_with_clock(store: S, clock: Clock) -> Result<Self, Error> {
        let capability = store.capability();
        let commits = capability.atomic_batch || capability.record_batch;
        if !(commits && capability.conditions && capability.ordered) {
            let what =
                "commit records with their indexes as one: tables need atomic batches with conditions".into();
            return Err(keyloom_store::Error::Unsupported { store: capability.name, what }.into());
        }
        let catalog = RwLock::new(Arc::new(Catalog::newest(&store).await?));
        Ok(Self { shared: Arc::new(Shared { store, catalog, clock }) })
    }

    /// The store below.
    pub fn store(&self) -> &S {
        &self.shared.store
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }

    /// The same for a table: where nothing ends, nobody asks the clock.
    pub(crate) fn now_for(&self, table: &keyloom_schema::Table) -> Timestamp {
        if table.expiry().is_some() { self.now() } else { Timestamp::from_micros(0) }
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.shared.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the catalog anew: others may have changed the schema.
    pub async fn refresh(&self) -> Result<(), Error> {
        let read = Catalog::newest(self.store()).await?;
        let mut catalog = self.shared.catalog.write().unwrap_or_else(PoisonError::into_inner);
        // A slower reader must not bring back an older catalog.
        if read.version.changes >= catalog.version.changes {
            *catalog = Arc::new(read);
        }
        Ok(())
    }

    /// The names of the tables.
    pub fn tables(&self) -> Vec<String> {
        self.catalog().tables.keys().cloned().collect()
    }

    /// The table of this name.
    pub async fn table(&self, name: &str) -> Result<Table<S>, Error> {
        if self.catalog().table(name).is_err() {
            // Another process may have created it.
            self.store().catch_up().await?;
            self.refresh().await?;
            self.catalog().table(name)?;
        }
        Ok(Table::new(self.clone(), name.to_owned()))
    }

    /// Creates a table.
    pub async fn create_table(&self, table: TableBuilder) -> Result<Table<S>, Error> {
        self.create_built(table.build()?).await
    }

    pub(crate) async fn create_built(&self, definition: keyloom_schema::Table) -> Result<Table<S>, Error> {
        let name = definition.name().to_owned();
        self.change_schema(|catalog| {
            if catalog.tables.contains_key(&name) {
                return Err(Error::Exists(format!("a table {name}").into()));
            }
            let mut definition = definition.clone();
            let next = definition.number_trees(catalog.version.free_tree());
            let mut bytes = Vec::new();
            definition.encode(&mut bytes)?;
            Ok(Some((Batch::new().put(keyspace::table(&name), bytes), next)))
        })
        .await?;
        let table = self.table(&name).await?;
        self.tell_stripes(&*table.definition()?).await?;
        Ok(table)
    }

    /// Tells the store which trees of a table have stripes, before the first record is written.
    pub(crate) async fn tell_stripes(&self, table: &keyloom_schema::Table) -> Result<(), Error> {
        for tree in table.trees() {
            if let Placement::Stripes(stripes) = tree.placement() {
                let count = u16::try_from(stripes.count()).unwrap_or(u16::MAX);
                self.store().stripe(&tree.id().to_be_bytes(), count).await?;
            }
        }
        Ok(())
    }

    /// Opens a table, or creates it; refuses one that is stored otherwise than it is declared, and shows both.
    pub async fn open_table(&self, table: TableBuilder) -> Result<Table<S>, Error> {
        let definition = table.build()?;
        loop {
            if let Some(stored) = self.catalog().tables.get(definition.name()) {
                stored.compare(&definition)?;
                return self.table(definition.name()).await;
            }
            match self.create_built(definition.clone()).await {
                Err(Error::Exists(_)) => self.refresh().await?,
                created => return created,
            }
        }
    }

    /// Commits a change of the schema, and takes it in. `change` gives its writes, which are definitions, and the next
    /// free tree; `None` if there is nothing to change.
    ///
    /// Definitions are entries of the version as their record, so that a store that commits by record has them as one.
    pub(crate) async fn change_schema(
        &self,
        mut change: impl FnMut(&Catalog) -> Result<Option<(Batch, u32)>, Error>,
    ) -> Result<(), Error> {
        loop {
            let catalog = self.catalog();
            let Some((batch, next_tree)) = change(&catalog)? else { return Ok(()) };
            let next = catalog.version.next(next_tree);
            let batch = batch.put(keyspace::VERSION, next.to_bytes()).require(catalog.version.unchanged());
            match self.store().commit(batch.about(About::Record(keyspace::VERSION.to_vec()))).await {
                Ok(_) => return self.refresh().await,
                Err(keyloom_store::Error::Conflict(_)) => self.refresh().await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes several changes as one, in tables by their names: all of them happen, or none.
    ///
    /// What others write at the same time is never lost: if something that a change depends on moves, all are worked
    /// out again. A store that commits one record at a time takes one change.
    pub async fn apply<'t>(
        &self,
        changes: impl IntoIterator<Item = (&'t str, Change)>,
    ) -> Result<Sequence, Error> {
        let changes: Vec<(&str, Change)> = changes.into_iter().collect();
        Ok(self.apply_all(&changes, Before::Untold).await?.sequence)
    }

    /// Makes changes as one; the records before, if they are asked for, and after come with the sequence.
    pub(crate) async fn apply_all<'c>(
        &self,
        changes: &'c [(&str, Change)],
        before: Before,
    ) -> Result<Outcome<'c>, Error> {
        match changes {
            _ if self.commits() == Commits::All => {}
            [] => return Ok(Outcome { sequence: self.sequence().await?, records: Vec::new() }),
            // Kept apart, so that other stores' changes need not have room for it.
            [(table, change)] => return Box::pin(self.apply_one(table, change)).await,
            _ => {
                let what =
                    "change several records as one: make one change at a time, with conditions on its record";
                return Err(self.unsupported(what));
            }
        }
        let (sequence, records) = self.commit_worked_out(&Together { changes, before }).await?;
        Ok(Outcome { sequence, records })
    }

    /// Commits what is worked out from what the store has; again if that has changed meanwhile.
    pub(crate) async fn commit_worked_out<W: WorkOut<S>>(
        &self,
        work: &W,
    ) -> Result<(Sequence, W::Outcome), Error> {
        let mut patience = Patience::default();
        loop {
            let catalog = self.catalog();
            // Asked before anything is read: if it is the last commit when this one comes, all that was read still holds.
            let last = self.store().sequence().await?;
            let (batch, outcome) = match work.work_out(self, &catalog).await {
                Err(Error::Conflict(reason)) => {
                    patience.check(&reason)?;
                    continue;
                }
                // What an old schema refuses, such as by an index that is gone, the new one may not.
                Err(error) if self.is_schema(&catalog).await? => return Err(error),
                Err(_) => continue,
                Ok(worked_out) => worked_out,
            };
            let mut batch = batch.require(catalog.version.unchanged());
            if catalog.holds_after(last) {
                batch = batch.held_at(last);
            }
            match self.store().commit(batch).await {
                Ok(sequence) => {
                    catalog.held_at(sequence);
                    return Ok((sequence, outcome));
                }
                Err(keyloom_store::Error::Conflict(condition)) => {
                    self.overtaken(&condition, &mut patience).await?
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// After a conflict: reads the schema anew if that was it; an error if it has been tried long enough.
    pub(crate) async fn overtaken(
        &self,
        condition: &Condition,
        patience: &mut Patience,
    ) -> Result<(), Error> {
        patience.check(&condition.to_string())?;
        if is_version(condition) {
            self.refresh().await?;
        }
        Ok(())
    }

    /// A transaction over any tables: it reads one state of them, sees its own writes, and commits only if nothing that
    /// it read has changed.
    ///
    /// It takes a store with snapshots and atomic batches: on another it is
    /// [`Unsupported`](keyloom_store::Error::Unsupported).
    pub async fn begin(&self) -> Result<Transaction<S>, Error> {
        let capability = self.store().capability();
        if !(capability.atomic_batch && capability.snapshot) {
            let what = "run transactions: make one change at a time, with conditions on its record";
            return Err(self.unsupported(what));
        }
        loop {
            let catalog = self.catalog();
            let snapshot = self.store().snapshot().await?;
            // One that is too old already says so here, and not at the first read.
            snapshot.get(keyspace::VERSION, |_| ()).await?;
            if self.is_schema(&catalog).await? {
                return Ok(Transaction::new(self.clone(), catalog, snapshot));
            }
        }
    }

    /// A snapshot that this catalog is the schema of, or the store itself if it has none; `None` if the schema has
    /// changed: it is read anew then.
    ///
    /// Without this look, an index that another process has dropped would answer that there is nothing. Where there is
    /// no snapshot, it takes [another](Self::served) when all has been read.
    pub(crate) async fn view_of(&self, catalog: &Catalog) -> Result<Option<View<'_, S>>, Error> {
        let view = View::of(self.store()).await?;
        Ok(self.is_schema(catalog).await?.then_some(view))
    }

    /// Whether what was read by this catalog is the answer, when the reading has ended.
    ///
    /// What was read of a table, and of an index if one is named, counts if both have been kept up all the time.
    pub(crate) async fn served(
        &self,
        catalog: &Catalog,
        table: &str,
        index: Option<&str>,
    ) -> Result<bool, Error> {
        if self.store().capability().snapshot || self.is_schema(catalog).await? {
            return Ok(true);
        }
        let newest = self.catalog();
        let (Ok(then), Ok(now)) = (catalog.table(table), newest.table(table)) else { return Ok(false) };
        let kept_up = |name: &str| match (then.index(name), now.index(name)) {
            (Some(then), Some(now)) => {
                // Before it goes, it is kept up for as long as others take to know.
                then.tree().id() == now.tree().id() && matches!(now.state(), State::Ready | State::Stopping)
            }
            _ => false,
        };
        Ok(then.primary().id() == now.primary().id() && index.is_none_or(kept_up))
    }

    /// The catalog as it is in the store now: others may have changed the schema.
    pub(crate) async fn newest(&self) -> Result<Arc<Catalog>, Error> {
        self.store().catch_up().await?;
        loop {
            let catalog = self.catalog();
            if self.is_schema(&catalog).await? {
                return Ok(catalog);
            }
        }
    }

    /// Whether this catalog is the schema now; if not, the schema is read anew.
    ///
    /// If it is, it was the schema of all that was read since the caller took it, from a snapshot too: a version never
    /// comes back to what it was.
    pub(crate) async fn is_schema(&self, catalog: &Catalog) -> Result<bool, Error> {
        let store = self.store();
        // Asked before the look below: so the version that is found there was that of this commit.
        let last = store.sequence().await?;
        // Where batches are of one record, commits of others have no place in this sequence.
        let counts_all = self.commits() == Commits::All;
        if counts_all && catalog.holds_after(last) {
            return Ok(true);
        }
        let same = |version: &[u8]| Version::parse(version) == Some(catalog.version);
        let same = store.get(keyspace::VERSION, same).await?;
        let same = same.unwrap_or(catalog.version.changes == 0);
        match same {
            true if counts_all => catalog.held_at(last),
            true => {}
            false => self.refresh().await?,
        }
        Ok(same)
    }

    /// Runs `work` in a [transaction](Self::begin) and commits it; again if something that it read has changed meanwhile.
    pub async fn transact<T>(
        &self,
        mut work: impl AsyncFnMut(&mut Transaction<S>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        loop {
            let mut transaction = self.begin().await?;
            let result = work(&mut transaction).await?;
            match transaction.commit().await {
                Ok(_) => return Ok(result),
                Err(Error::Conflict(_)) if started.elapsed() < PATIENCE => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The sequence of the last commit.
    pub async fn sequence(&self) -> Result<Sequence, Error> {
        Ok(self.store().sequence().await?)
    }
}

/// What became of changes that were made as one.
#[derive(Debug)]
pub(crate) struct Outcome<'c> {
    pub(crate) sequence: Sequence,
    pub(crate) records: Vec<BeforeAndAfter<'c>>,
}

/// What is to be written, worked out from what the store has.
pub(crate) trait WorkOut<S>: Sync {
    /// What is known beside the writes.
    type Outcome: Send;

    /// The writes, on condition that all that was read for them is as it was.
    fn work_out(
        &self,
        database: &Database<S>,
        catalog: &Catalog,
    ) -> impl Future<Output = Result<(Batch, Self::Outcome), Error>> + Send;
}

/// Changes that are made as one, in tables by their names.
struct Together<'c> {
    changes: &'c [(&'c str, Change)],
    before: Before,
}

impl<'c, S: Store> WorkOut<S> for Together<'c> {
    /// Each record before and after.
    type Outcome = Vec<BeforeAndAfter<'c>>;

    async fn work_out(
        &self,
        database: &Database<S>,
        catalog: &Catalog,
    ) -> Result<(Batch, Self::Outcome), Error> {
        let read = Recorded::new(database.store());
        if let [(name, change)] = self.changes {
            let table = catalog.table(name)?;
            let now = database.now_for(table);
            let applied = apply(&read, table, change, now, Commits::All, self.before).await?;
            return Ok((read.require(applied.writes), vec![(applied.before, applied.after)]));
        }
        // Each sees what those before it write.
        let mut overlay = Overlay::new();
        let mut records = Vec::with_capacity(self.changes.len());
        for (name, change) in self.changes {
            let (view, table) = (overlay.over(&read), catalog.table(name)?);
            let now = database.now_for(table);
            let applied = apply(&view, table, change, now, Commits::All, self.before).await?;
            overlay.write_all(&applied.writes);
            records.push((applied.before, applied.after));
        }
        Ok((read.require(overlay.into_batch()), records))
    }
}

/// A record before and after a change. What was put is the caller's own.
type BeforeAndAfter<'c> = (Option<Document>, Option<Cow<'c, Document>>);

/// Whether a condition is the one on the schema's version.
pub(crate) fn is_version(condition: &Condition) -> bool {
    match condition {
        Condition::Absent(key) | Condition::Is { key, .. } => *key == keyspace::VERSION,
        _ => false,
    }
}

/// How long a change has been overtaken by others.
#[derive(Debug, Default)]
pub(crate) struct Patience(Option<Instant>);

impl Patience {
    pub(crate) fn check(&mut self, reason: &str) -> Result<(), Error> {
        if self.0.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return Ok(());
        }
        Err(Error::Conflict(format!("overtaken for {} s: {reason}", PATIENCE.as_secs()).into()))
    }
}

#[cfg(test)]
mod tests;
