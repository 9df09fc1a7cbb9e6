//! A plain index: a key and its sorted set of values, of any types, with no record.
//!
//! ```text
//! │tree id│key│value│ → nothing
//! ```
//!
//! A key and its values are one span, so a key with many values costs no more reads than one with a single value, and a
//! range runs over as many keys as it must.

use std::ops::{Bound, ControlFlow};

use keyloom_key::{Field, Fields, KeyFormat, Native, Span, Value};
use keyloom_schema::{Column, Kind};
use keyloom_store::{About, Batch, Direction, Limits, Read, Sequence, Store};

use crate::database::{Database, Patience};
use crate::error::Error;
use crate::keyspace;
use crate::view::View;

/// What a plain index is, as the catalog has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexDefinition {
    tree: u32,
    /// The key's field and the value's.
    fields: Fields,
}

impl IndexDefinition {
    pub(crate) fn tree(&self) -> u32 {
        self.tree
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    fn encode(&self) -> Vec<u8> {
        [self.tree.to_be_bytes().as_slice(), self.fields.to_string().as_bytes()].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (tree, text) = bytes.split_first_chunk()?;
        let fields = std::str::from_utf8(text).ok()?.parse().ok()?;
        Some(Self { tree: u32::from_be_bytes(*tree), fields })
    }
}

/// A key → sorted set of values.
///
/// ```
/// use keyloom_store::{MemoryStore, Wait};
/// use keyloom_table::{Database, Keys};
///
/// let database = Database::open(MemoryStore::new()).wait()?;
/// let index = database.open_index("ages", "i64", "str").wait()?;
/// for (age, name) in [(36_i64, "Ada"), (85, "Grace"), (36, "Alan")] {
///     index.add(age, name).wait()?;
/// }
/// assert_eq!(index.values(36_i64).wait()?, ["Ada".into(), "Alan".into()]);
/// let oldest = index.keys(&Keys::all().backward().limit(1)).wait()?;
/// assert_eq!(oldest, [(85_i64.into(), vec!["Grace".into()])]);
/// # Ok::<(), keyloom_table::Error>(())
/// ```
#[derive(Debug)]
pub struct Index<S> {
    database: Database<S>,
    name: String,
    definition: IndexDefinition,
}

/// Which keys of an index: a range of them, in a direction, so many.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Keys {
    lower: Bound<Value<'static>>,
    upper: Bound<Value<'static>>,
    backward: bool,
    limit: usize,
}

impl Keys {
    /// All keys.
    pub fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded, backward: false, limit: usize::MAX }
    }

    /// This key and the greater ones.
    pub fn from(key: impl Into<Value<'static>>) -> Self {
        Self { lower: Bound::Included(key.into()), ..Self::all() }
    }

    /// This key and the smaller ones, the greatest first.
    pub fn down_from(key: impl Into<Value<'static>>) -> Self {
        Self { upper: Bound::Included(key.into()), backward: true, ..Self::all() }
    }

    /// The keys between these two, and the two.
    pub fn between(lower: impl Into<Value<'static>>, upper: impl Into<Value<'static>>) -> Self {
        Self { lower: Bound::Included(lower.into()), upper: Bound::Included(upper.into()), ..Self::all() }
    }

    /// The keys within these bounds.
    pub fn range(lower: Bound<Value<'static>>, upper: Bound<Value<'static>>) -> Self {
        Self { lower, upper, ..Self::all() }
    }

    /// The same, the greatest first.
    pub fn backward(self) -> Self {
        Self { backward: true, ..self }
    }

    /// The same, at most this many keys.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

impl<S: Store> Database<S> {
    /// Opens a plain index, or creates it; refuses one whose key or values are stored with other types.
    ///
    /// Types are text as in [`keyloom_key::Field`]: `str`, `i64:desc`, `tuple(str,i64)`.
    pub async fn open_index(&self, name: &str, key: &str, value: &str) -> Result<Index<S>, Error> {
        let fields: Fields = [key.parse::<Field>()?, value.parse::<Field>()?].into_iter().collect();
        Native.promises(&fields)?;
        loop {
            if let Some(stored) = self.catalog().indexes.get(name) {
                if stored.fields != fields {
                    return Err(keyloom_schema::Error::Differs {
                        table: name.to_owned(),
                        stored: stored.fields.to_string(),
                        declared: fields.to_string(),
                    }
                    .into());
                }
                return Ok(Index {
                    database: self.clone(),
                    name: name.to_owned(),
                    definition: stored.clone(),
                });
            }
            self.change_schema(|catalog| {
                let tree = catalog.version.free_tree();
                if catalog.indexes.contains_key(name) {
                    return Ok(None);
                }
                let definition = IndexDefinition { tree, fields: fields.clone() };
                Ok(Some((Batch::new().put(keyspace::index(name), definition.encode()), tree + 1)))
            })
            .await?;
        }
    }
}

impl<S: Store> Index<S> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a value to a key's set; nothing happens if it is there.
    pub async fn add<'v>(
        &self,
        key: impl Into<Value<'v>>,
        value: impl Into<Value<'v>>,
    ) -> Result<Sequence, Error> {
        self.add_all([(key.into(), value.into())]).await
    }

    /// Adds many values, as one where the store can.
    pub async fn add_all<'v>(
        &self,
        pairs: impl IntoIterator<Item = (Value<'v>, Value<'v>)>,
    ) -> Result<Sequence, Error> {
        let keys = pairs.into_iter().map(|(key, value)| self.entry(&[key, value]));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        self.commit(|| keys.iter().fold(Batch::new(), |batch, key| batch.put(key.clone(), []))).await
    }

    /// Removes a value from a key's set; nothing happens if it is not there.
    pub async fn remove<'v>(
        &self,
        key: impl Into<Value<'v>>,
        value: impl Into<Value<'v>>,
    ) -> Result<Sequence, Error> {
        let key = self.entry(&[key.into(), value.into()])?;
        self.commit(|| Batch::new().delete(key.clone())).await
    }

    /// The values of a key, in their order.
    pub async fn values<'v>(&self, key: impl Into<Value<'v>>) -> Result<Vec<Value<'static>>, Error> {
        let key = self.coerce(0, key.into())?;
        let span = self.span(&Native.prefix(&self.definition.fields, &[key])?);
        let mut values = Vec::new();
        self.scan(span, Direction::Forward, |_, value| {
            values.push(value);
            ControlFlow::Continue(())
        })
        .await?;
        Ok(values)
    }

    /// Keys with their values, each key's values in their order.
    pub async fn keys(&self, keys: &Keys) -> Result<Vec<(Value<'static>, Vec<Value<'static>>)>, Error> {
        let bound = |bound: &Bound<Value<'static>>| {
            Ok::<_, Error>(match bound {
                Bound::Unbounded => Bound::Unbounded,
                Bound::Included(value) => Bound::Included(self.coerce(0, value.clone())?),
                Bound::Excluded(value) => Bound::Excluded(self.coerce(0, value.clone())?),
            })
        };
        let (lower, upper) = (bound(&keys.lower)?, bound(&keys.upper)?);
        let fields = &self.definition.fields;
        let span = match (&lower, &upper) {
            // Without bounds a null key belongs to it too.
            (Bound::Unbounded, Bound::Unbounded) => Native.prefix(fields, &[])?,
            (lower, upper) => Native.range(fields, &[], lower.as_ref(), upper.as_ref())?,
        };
        let runs_down =
            fields.first().is_some_and(|field| field.direction == keyloom_key::Direction::Descending);
        let direction = if keys.backward == runs_down { Direction::Forward } else { Direction::Backward };
        let mut found: Vec<(Value<'static>, Vec<Value<'static>>)> = Vec::new();
        if keys.limit == 0 {
            return Ok(found);
        }
        self.scan(self.span(&span), direction, |key, value| {
            let count = found.len();
            match found.last_mut() {
                Some((last, values)) if *last == key => values.push(value),
                // The first value of one key too many: only now is the last set known to be whole.
                Some(_) if count == keys.limit => return ControlFlow::Break(()),
                _ => found.push((key, vec![value])),
            }
            ControlFlow::Continue(())
        })
        .await?;
        if direction == Direction::Backward {
            found.iter_mut().for_each(|(_, values)| values.reverse());
        }
        Ok(found)
    }

    async fn scan(
        &self,
        span: Span,
        direction: Direction,
        mut look: impl FnMut(Value<'static>, Value<'static>) -> ControlFlow<()> + Send,
    ) -> Result<(), Error> {
        let view = View::of(self.database.store()).await?;
        let mut left = Some(span);
        while let Some(span) = left.take() {
            let (mut wrong, mut enough) = (None, false);
            let row = |key: &[u8], _: &[u8]| {
                let fields = key.get(4..).unwrap_or_default();
                let values = Native.decode(&self.definition.fields, fields);
                match values.map(|values| values.into_iter().map(Value::into_owned).collect::<Vec<_>>()) {
                    Ok(values) => {
                        let mut values = values.into_iter();
                        let (key, value) = (values.next(), values.next());
                        let flow = look(key.unwrap_or(Value::Null), value.unwrap_or(Value::Null));
                        enough = flow.is_break();
                        flow
                    }
                    Err(error) => {
                        wrong = Some(error);
                        ControlFlow::Break(())
                    }
                }
            };
            let page = view.scan(&span, direction, Limits::default(), row).await?;
            if let Some(error) = wrong {
                return Err(error.into());
            }
            left = page.rest.filter(|_| !enough);
        }
        Ok(())
    }

    async fn commit(&self, batch: impl Fn() -> Batch) -> Result<Sequence, Error> {
        let mut patience = Patience::default();
        loop {
            let version = self.database.catalog().version;
            let batch = batch().about(About::Members).require(version.unchanged());
            match self.database.store().commit(batch).await {
                Err(keyloom_store::Error::Conflict(condition)) => {
                    self.database.overtaken(&condition, &mut patience).await?;
                    if self.database.catalog().indexes.get(&self.name) != Some(&self.definition) {
                        return Err(Error::Missing(
                            format!("index {} any more: open it anew", self.name).into(),
                        ));
                    }
                }
                committed => return Ok(committed?),
            }
        }
    }

    fn entry(&self, values: &[Value<'_>; 2]) -> Result<Vec<u8>, Error> {
        let [key, value] = values;
        let values = [self.coerce(0, key.borrowed())?, self.coerce(1, value.borrowed())?];
        let mut entry = self.definition.tree.to_be_bytes().to_vec();
        Native.encode(&self.definition.fields, &values, &mut entry)?;
        Ok(entry)
    }

    /// The value in the type that the key (0) or the values (1) have.
    fn coerce<'v>(&self, number: usize, value: Value<'v>) -> Result<Value<'v>, Error> {
        let Some(field) = self.definition.fields.get(number) else { return Ok(value) };
        let name = if number == 0 { "key" } else { "value" };
        let nullable = field.nulls.is_some();
        let column = Column { id: 1, name: name.to_owned(), kind: Kind::One(field.kind.clone()), nullable };
        Ok(column.coerce(value)?)
    }

    /// A span of fields as a span of keys.
    fn span(&self, fields: &Span) -> Span {
        let tree = self.definition.tree.to_be_bytes();
        let whole = keyspace::tree(self.definition.tree);
        let end = match &fields.end {
            None => whole.end,
            Some(end) => Some([tree.as_slice(), end].concat()),
        };
        Span { start: [tree.as_slice(), &fields.start].concat(), end }
    }
}
