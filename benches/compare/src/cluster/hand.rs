//! The same by hand: what someone would write who knows the tables and needs nothing else.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use keyloom_cassandra::{Config, Id};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::response::PagingState;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, SerialConsistency};
use scylla::value::{CqlValue, Row};

use super::layout::{Keys, from, value};
use super::{Ask, Error, RANGE, System, UNDER_WAY};

/// How many rows go into one batch.
const BATCH: usize = 100;
/// The shard that everything is in.
const SHARD: [u8; 16] = [7; 16];

pub(super) struct Hand {
    session: Session,
    keys: Keys,
    keyspaces: [String; 2],
    insert: PreparedStatement,
    delete: PreparedStatement,
    rows: PreparedStatement,
    cell: PreparedStatement,
    set_cell: PreparedStatement,
}

/// The values of a row.
type Stored = ([u8; 4], [u8; 16], Vec<u8>, [u8; 16], i8, Vec<u8>, Vec<u8>, Vec<u8>, i64);

/// A row as it is read.
type Found = (Vec<u8>, Vec<u8>, i8, Vec<u8>, Vec<u8>, Vec<u8>);

/// A cell as it is read: version, past, counted, value.
type Cell = (Vec<u8>, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

impl Hand {
    pub(super) async fn open(ours: &str, url: &str, keys: Keys) -> Result<Self, Error> {
        let (ours, config): (Config, Config) = (ours.parse()?, url.parse()?);
        let profile = ExecutionProfile::builder()
            .consistency(Consistency::Quorum)
            .serial_consistency(Some(SerialConsistency::Serial))
            .build();
        let session = SessionBuilder::new()
            .known_nodes(config.nodes())
            .tcp_nodelay(true)
            .default_execution_profile_handle(profile.into_handle())
            .build()
            .await?;
        let keyspace = config.keyspace();
        // Its tables are made by Keyloom: so they are the same.
        drop(keyloom_cassandra::CassandraStore::open(&config).await?);
        session.use_keyspace(keyspace, false).await?;
        session.refresh_metadata().await?;
        let insert = "INSERT INTO rows (space, shard, key, id, kind, owner, base, value) \
                      VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?";
        let delete =
            "DELETE FROM rows USING TIMESTAMP ? WHERE space = ? AND shard = ? AND key = ? AND id = ?";
        let rows = "SELECT key, id, kind, owner, base, value FROM rows WHERE space = ? AND shard = ? AND key >= ? \
                    AND key < ? ORDER BY key ASC, id ASC LIMIT ?";
        let cell = "SELECT version, past, counted, value FROM cells WHERE key = ?";
        let set_cell = "UPDATE cells USING TTL ? SET version = ?, past = ?, counted = ?, value = ? \
                        WHERE key = ? IF version = ?";
        Ok(Self {
            insert: session.prepare(insert).await?,
            delete: session.prepare(delete).await?,
            rows: session.prepare(rows).await?,
            cell: session.prepare(cell).await?,
            set_cell: session.prepare(set_cell).await?,
            keyspaces: [ours.keyspace().to_owned(), keyspace.to_owned()],
            session,
            keys,
        })
    }

    /// Removes what the run has written.
    pub(super) async fn drop_keyspaces(&self) -> Result<(), Error> {
        for keyspace in &self.keyspaces {
            self.session.query_unpaged(format!("DROP KEYSPACE IF EXISTS {keyspace}"), ()).await?;
        }
        Ok(())
    }

    fn row(key: Vec<u8>, id: Id, kind: i8, owner: Vec<u8>, base: Vec<u8>) -> Stored {
        (space(&key), SHARD, key, *id.bytes(), kind, owner, base, Vec::new(), id.time())
    }

    async fn set_cell(
        &self,
        key: &[u8],
        before: Option<&Cell>,
        rows: &[(&[u8], Id)],
        value: &[u8],
    ) -> Result<(), Error> {
        let version = id()?;
        let past = before
            .map(|(version, past, ..)| [version.as_slice(), past.as_deref().unwrap_or_default()].concat());
        let counted: Vec<u8> =
            rows.iter().flat_map(|(key, id)| hash(key).into_iter().chain(*id.bytes())).collect();
        let values = (
            0,
            version.bytes(),
            past.unwrap_or_default(),
            counted,
            value,
            key,
            before.map(|(version, ..)| version),
        );
        let answer = self.session.execute_unpaged(&self.set_cell, values).await?.into_rows_result()?;
        match answer.first_row::<Row>()?.columns.first() {
            Some(Some(CqlValue::Boolean(true))) => Ok(()),
            _ => Err("a record was written by another".into()),
        }
    }

    async fn cell(&self, key: &[u8]) -> Result<Option<Cell>, Error> {
        let answer = self.session.execute_unpaged(&self.cell, (key,)).await?.into_rows_result()?;
        Ok(answer.maybe_first_row::<Cell>()?)
    }

    async fn write(&self, number: u64) -> Result<usize, Error> {
        let (key, row) = (self.keys.record(number), id()?);
        let values = Self::row(key.clone(), row, 0, Vec::new(), Vec::new());
        self.session.execute_unpaged(&self.insert, values).await?;
        self.set_cell(&key, None, &[(&key, row)], &value(number)).await?;
        Ok(1)
    }

    async fn rows(&self, start: Vec<u8>) -> Result<Vec<Found>, Error> {
        let span = from(start);
        let values = (space(&span.start), SHARD, span.start, span.end, i32::try_from(RANGE)? + 1);
        let mut found = Vec::new();
        let mut place = PagingState::start();
        loop {
            let (page, next) = self.session.execute_single_page(&self.rows, &values, place).await?;
            for row in page.into_rows_result()?.rows::<Found>()? {
                found.push(row?);
            }
            match next.into_paging_control_flow() {
                ControlFlow::Break(()) => break,
                ControlFlow::Continue(next) => place = next,
            }
        }
        found.truncate(RANGE);
        Ok(found)
    }

    async fn range(&self, start: Vec<u8>) -> Result<usize, Error> {
        let rows = self.rows(start).await?;
        let cells = rows.into_iter().map(|(key, ..)| async move { self.cell(&key).await });
        let cells = try_join_all(cells).await?;
        Ok(cells.iter().flatten().filter(|(.., value)| value.is_some()).count())
    }

    async fn move_entry(&self, number: u64, moved: u64) -> Result<usize, Error> {
        let key = self.keys.record(number);
        let cell = self.cell(&key).await?.ok_or("a record is not there")?;
        let (version, _, counted, _) = &cell;
        let (old, entry) = (self.keys.entry(number, moved), self.keys.entry(number, moved + 1));
        let listed = |key: &[u8]| -> Result<Id, Error> {
            let mut all = counted.iter().flat_map(|all| all.chunks(32));
            let found = all.find_map(|pair| pair.strip_prefix(hash(key).as_slice()));
            Ok(Id::from_bytes(found.ok_or("a row is not listed")?.try_into()?))
        };
        let (own, before, row) = (listed(&key)?, listed(&old)?, id()?);
        let values = Self::row(entry.clone(), row, 1, key.clone(), version.clone());
        self.session.execute_unpaged(&self.insert, values).await?;
        self.set_cell(&key, Some(&cell), &[(&key, own), (&entry, row)], &value(number + moved + 1)).await?;
        let values = (before.time(), space(&old), SHARD, old, before.bytes());
        self.session.execute_unpaged(&self.delete, values).await?;
        Ok(1)
    }

    /// Rows of one partition.
    async fn insert(&self, rows: Vec<Stored>) -> Result<(), Error> {
        let statements = rows.iter().map(|_| self.insert.clone().into()).collect();
        self.session.batch(&Batch::new_with_statements(BatchType::Unlogged, statements), rows).await?;
        Ok(())
    }

    async fn load_some(&self, numbers: &[u64]) -> Result<(), Error> {
        let (mut own, mut entries, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for number in numbers {
            let (key, entry) = (self.keys.record(*number), self.keys.entry(*number, 0));
            let (row, other) = (id()?, id()?);
            own.push(Self::row(key.clone(), row, 0, Vec::new(), Vec::new()));
            entries.push(Self::row(entry.clone(), other, 1, key.clone(), Vec::new()));
            cells.push((*number, key, row, entry, other));
        }
        try_join_all([self.insert(own), self.insert(entries)]).await?;
        let cells = cells.into_iter().map(|(number, key, row, entry, other)| async move {
            self.set_cell(&key, None, &[(&key, row), (&entry, other)], &value(number)).await
        });
        stream::iter(cells).buffer_unordered(UNDER_WAY / 2).try_collect::<()>().await
    }
}

impl System for Hand {
    const NAME: &'static str = "by-hand";

    async fn ask(&self, ask: Ask, number: u64) -> Result<usize, Error> {
        match ask {
            Ask::Write => self.write(number).await,
            Ask::Read => {
                let cell = self.cell(&self.keys.record(number)).await?;
                Ok(cell.and_then(|(.., value)| value).map_or(0, |value| value.len()))
            }
            Ask::Range => self.range(self.keys.record(number)).await,
            Ask::Members => Ok(self.rows(self.keys.member(number)).await?.len()),
            Ask::Move(moved) => self.move_entry(number, moved).await,
        }
    }

    async fn load(self: &Arc<Self>, numbers: Range<u64>) -> Result<(), Error> {
        let numbers: Vec<u64> = numbers.collect();
        let batches = numbers.chunks(BATCH).map(|numbers| (Arc::clone(self), numbers.to_vec()));
        let batches = batches.map(|(hand, numbers)| async move { hand.load_some(&numbers).await });
        let batches: Vec<_> = batches.collect();
        // Two at once: the rows of one while cells of the other are under way.
        stream::iter(batches).buffer_unordered(2).try_collect::<()>().await
    }

    async fn add(self: &Arc<Self>, numbers: Range<u64>) -> Result<(), Error> {
        let numbers: Vec<u64> = numbers.collect();
        for numbers in numbers.chunks(BATCH) {
            let row = |number: &u64| {
                Ok::<_, Error>(Self::row(self.keys.member(*number), id()?, 2, Vec::new(), Vec::new()))
            };
            self.insert(numbers.iter().map(row).collect::<Result<_, _>>()?).await?;
        }
        Ok(())
    }
}

fn space(key: &[u8]) -> [u8; 4] {
    key.first_chunk().copied().unwrap_or_default()
}

/// What stands for a key in the list of a cell.
fn hash(key: &[u8]) -> [u8; 16] {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(key);
    u128::from(hasher.finish()).to_be_bytes()
}

fn id() -> Result<Id, Error> {
    use std::hash::{BuildHasher, RandomState};
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Id::new(i64::try_from(now.as_micros())?, RandomState::new().hash_one(0)))
}
