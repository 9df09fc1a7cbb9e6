//! Items under raw byte keys: a partition key and perhaps a sort key, as KeystoneDB has them.

use keyloom_key::Value;
use keyloom_key::keystone::Key;
use keyloom_plan::Query;
use keyloom_schema::{Document, Table as Definition, field};
use keyloom_store::{Sequence, Store};

use crate::database::Database;
use crate::error::Error;
use crate::table::Table;

/// Items by partition key and sort key, bytes both, spread over 256 stripes by the partition key.
///
/// It is a table with the key `(pk, sk)`: an item without a sort key and one with an empty sort key are two, and sort
/// keys are in the order of their bytes, whatever their length.
///
/// ```
/// use keyloom_key::keystone::Key;
/// use keyloom_schema::Document;
/// use keyloom_store::{MemoryStore, Wait};
/// use keyloom_table::{Database, ItemQuery, Items};
///
/// let database = Database::open(MemoryStore::new()).wait()?;
/// let items = Items::open(&database, "posts").wait()?;
/// for number in 1..=3 {
///     let key = Key::with_sk(b"user#1", format!("post#{number}").into_bytes());
///     items.put(&key, Document::new().with("number", number)).wait()?;
/// }
/// let newest = items.query(ItemQuery::new(b"user#1").sk_begins_with(b"post#").forward(false).limit(1)).wait()?;
/// assert_eq!(newest[0].0, Key::with_sk(b"user#1", b"post#3"));
/// # Ok::<(), keyloom_table::Error>(())
/// ```
#[derive(Debug)]
pub struct Items<S> {
    table: Table<S>,
}

/// Which items of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ItemQuery {
    pk: Vec<u8>,
    forward: bool,
    limit: Option<u64>,
    begins_with: Option<Vec<u8>>,
    between: Option<(Vec<u8>, Vec<u8>)>,
}

impl ItemQuery {
    /// All items of a partition, in the order of their sort keys.
    pub fn new(pk: impl AsRef<[u8]>) -> Self {
        Self { pk: pk.as_ref().to_vec(), forward: true, limit: None, begins_with: None, between: None }
    }

    /// The same, the greatest sort key first if not forward.
    pub fn forward(self, forward: bool) -> Self {
        Self { forward, ..self }
    }

    /// The same, at most this many.
    pub fn limit(self, limit: u64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The same, only sort keys that start so.
    pub fn sk_begins_with(self, start: impl AsRef<[u8]>) -> Self {
        Self { begins_with: Some(start.as_ref().to_vec()), ..self }
    }

    /// The same, only sort keys between these two, and the two.
    pub fn sk_between(self, lower: impl AsRef<[u8]>, upper: impl AsRef<[u8]>) -> Self {
        Self { between: Some((lower.as_ref().to_vec(), upper.as_ref().to_vec())), ..self }
    }
}

/// The names of the key's two columns in the table below.
const PK: &str = "pk";
const SK: &str = "sk";

impl<S: Store> Items<S> {
    /// Opens the items of this name, or creates them.
    pub async fn open(database: &Database<S>, name: &str) -> Result<Self, Error> {
        let table =
            Definition::named(name).column(PK, "bytes").nullable(SK, "bytes").key([PK, SK]).stripes(256);
        Ok(Self { table: database.open_table(table).await? })
    }

    /// The table that they are kept in.
    pub fn table(&self) -> &Table<S> {
        &self.table
    }

    /// Makes the item under a key this, whatever it was. The fields `pk` and `sk` are the key's.
    pub async fn put(&self, key: &Key<'_>, item: Document) -> Result<Sequence, Error> {
        let mut document = item;
        document.set(PK, key.pk.to_vec());
        document.remove(SK);
        if let Some(sk) = &key.sk {
            document.set(SK, sk.to_vec());
        }
        self.table.put(document).await
    }

    /// The item under a key.
    pub async fn get(&self, key: &Key<'_>) -> Result<Option<Document>, Error> {
        Ok(self.table.get(values(key)).await?.map(|document| split(document).1))
    }

    /// Deletes the item under a key; returns whether there was one.
    pub async fn delete(&self, key: &Key<'_>) -> Result<bool, Error> {
        Ok(self.table.delete(values(key)).await?.is_some())
    }

    /// Items of one partition, with their keys.
    pub async fn query(&self, query: ItemQuery) -> Result<Vec<(Key<'static>, Document)>, Error> {
        let mut asked = Query::new().filter(field(PK).eq(query.pk));
        if let Some(start) = query.begins_with {
            asked = asked.filter(field(SK).begins_with(start));
        }
        if let Some((lower, upper)) = query.between {
            asked = asked.filter(field(SK).between(lower, upper));
        }
        asked = if query.forward { asked.order_by(SK) } else { asked.order_by_desc(SK) };
        asked.limit = query.limit;
        let found = self.table.query(&asked).await?;
        Ok(found.records.into_iter().map(|found| split(found.document)).collect())
    }
}

fn values(key: &Key<'_>) -> [Value<'static>; 2] {
    [key.pk.to_vec().into(), key.sk.as_ref().map(|sk| sk.to_vec()).into()]
}

/// The key of a record and the item without it.
fn split(document: Document) -> (Key<'static>, Document) {
    let mut item = document;
    let mut bytes = |name| match item.remove(name) {
        Some(Value::Bytes(bytes)) => Some(bytes.into_owned()),
        _ => None,
    };
    let (pk, sk) = (bytes(PK).unwrap_or_default(), bytes(SK));
    let key = match sk {
        None => Key::new(pk),
        Some(sk) => Key::with_sk(pk, sk),
    };
    (key, item)
}
