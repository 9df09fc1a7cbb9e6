//! Whether a schema is the newest, while another changes it at the worst moment.

use std::ops::ControlFlow;
use std::sync::Mutex;

use keyloom_key::Span;
use keyloom_schema::Table as Definition;
use keyloom_store::{
    Batch, Capability, Direction, Error, Limits, MemoryStore, Page, Read, Sequence, Store, Wait,
};

use super::Database;
use crate::keyspace;

fn create(store: &MemoryStore, table: &str) {
    let database = Database::open(store.clone()).wait().unwrap();
    database.create_table(Definition::named(table).column("id", "i64").key(["id"])).wait().unwrap();
}

/// A store in which another client creates a table right after someone has looked at the schema's version.
#[derive(Debug)]
struct Meddled {
    below: MemoryStore,
    next: Mutex<Vec<&'static str>>,
}

impl Read for Meddled {
    async fn get<T: Send>(
        &self,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> T + Send,
    ) -> Result<Option<T>, Error> {
        let found = self.below.get(key, look).await;
        if key == keyspace::VERSION
            && let Some(table) = self.next.lock().unwrap().pop()
        {
            create(&self.below, table);
        }
        found
    }

    async fn get_many<K: AsRef<[u8]> + Sync>(
        &self,
        keys: &[K],
        look: impl FnMut(usize, Option<&[u8]>) + Send,
    ) -> Result<(), Error> {
        self.below.get_many(keys, look).await
    }

    async fn scan(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        self.below.scan(span, direction, limits, look).await
    }
}

impl Store for Meddled {
    type Snapshot = <MemoryStore as Store>::Snapshot;

    fn capability(&self) -> Capability {
        self.below.capability()
    }

    async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
        self.below.commit(batch).await
    }

    async fn sequence(&self) -> Result<Sequence, Error> {
        self.below.sequence().await
    }

    async fn snapshot(&self) -> Result<Self::Snapshot, Error> {
        self.below.snapshot().await
    }
}

#[test]
fn a_schema_that_was_the_newest_at_a_look_is_not_taken_for_it_afterwards() {
    let below = MemoryStore::new();
    create(&below, "first");
    let store = Meddled { below, next: Mutex::new(vec!["second"]) };
    let database = Database::open(store).wait().unwrap();
    let catalog = database.catalog();
    assert!(database.is_schema(&catalog).wait().unwrap(), "it was, when it was looked at");
    assert!(!database.is_schema(&catalog).wait().unwrap(), "a table has come since");
    assert_eq!(database.tables(), ["first", "second"]);
    assert!(database.is_schema(&database.catalog()).wait().unwrap());
}

#[test]
fn while_nothing_is_committed_nobody_looks_at_the_version_again() {
    let below = MemoryStore::new();
    create(&below, "first");
    let store = Meddled { below, next: Mutex::default() };
    let database = Database::open(store).wait().unwrap();
    let catalog = database.catalog();
    assert!(database.is_schema(&catalog).wait().unwrap());
    // Whoever looked would bring this about.
    database.store().next.lock().unwrap().push("second");
    assert!(database.is_schema(&catalog).wait().unwrap());
    assert_eq!(database.store().next.lock().unwrap().len(), 1);
}
