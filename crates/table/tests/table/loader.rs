//! Loads beyond memory: sorted through files, cut off anywhere, into tables that have records, end as puts would.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use keyloom_key::{Span, Timestamp};
use keyloom_schema::{Document, Index, Table as Definition, TableBuilder};
use keyloom_store::{Direction, Limits, MemoryStore, Read, Store, Wait};
use keyloom_table::{Database, Error, Existing, Loader, Merged, Table};
use proptest::prelude::*;

/// So little that every few records are a run.
const LITTLE: usize = 400;

fn words() -> TableBuilder {
    Definition::named("words")
        .column("group", "str")
        .column("number", "i64")
        .nullable("word", "str")
        .key(["group", "number desc"])
        .index(Index::on(["word"]))
        .shards(3)
}

fn open(table: TableBuilder) -> Table<MemoryStore> {
    Database::open(MemoryStore::new()).wait().unwrap().create_table(table).wait().unwrap()
}

type Key = (u8, i64);

fn document((group, number): Key, word: u8) -> Document {
    let document = Document::new().with("group", format!("G{group}")).with("number", number);
    // A field that is not declared comes along.
    if word == 0 { document } else { document.with("word", format!("w{word}")).with("more", i64::from(word)) }
}

fn all<S: Store>(table: &Table<S>) -> Vec<Document> {
    let mut documents = Vec::new();
    for segment in table.segments(1).unwrap() {
        let look = |row: &keyloom_table::Row<'_>| {
            documents.push(row.to_document()?);
            Ok(ControlFlow::Continue(()))
        };
        table.scan(&segment, look).wait().unwrap();
    }
    documents
}

fn records() -> impl Strategy<Value = Vec<(Key, u8)>> {
    prop::collection::vec(((0..4_u8, 0..60_i64), 0..4_u8), 0..250)
}

/// The same records by putting one after the other.
fn put(before: &[(Key, u8)], loaded: &[(Key, u8)], existing: Existing) -> (Table<MemoryStore>, Merged) {
    let table = open(words());
    let mut merged = Merged::default();
    let mut model: BTreeMap<Key, u8> = BTreeMap::new();
    for (key, word) in before {
        table.put(document(*key, *word)).wait().unwrap();
        model.insert(*key, *word);
    }
    let last: BTreeMap<Key, u8> = loaded.iter().copied().collect();
    merged.repeated = u64::try_from(loaded.len() - last.len()).unwrap();
    for (key, word) in last {
        match model.get(&key) {
            None => merged.new += 1,
            Some(there) if *there == word => merged.unchanged += 1,
            Some(_) if existing == Existing::Keep => {
                merged.kept += 1;
                continue;
            }
            Some(_) => merged.replaced += 1,
        }
        table.put(document(key, word)).wait().unwrap();
    }
    (table, merged)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_load_ends_as_puts_do(
        before in records(),
        loaded in records(),
        memory in prop_oneof![Just(LITTLE), Just(4_000), Just(1_000_000)],
        keep in any::<bool>(),
    ) {
        let existing = if keep { Existing::Keep } else { Existing::Replace };
        let table = open(words());
        for (key, word) in &before {
            table.put(document(*key, *word)).wait().unwrap();
        }
        let mut loader = Loader::new(&table, memory).unwrap();
        for (key, word) in &loaded {
            loader.push(document(*key, *word)).unwrap();
        }
        let merged = loader.finish(&table, existing, |_| {}).wait().unwrap();
        let (model, counted) = put(&before, &loaded, existing);
        prop_assert_eq!(merged, counted);
        prop_assert_eq!(all(&table), all(&model));
        let verified = table.database().verify("words").wait().unwrap();
        prop_assert!(verified.differences.is_empty(), "{:?}", verified);
    }

    /// The loader is dropped after so many records, again and again, as if its process had been killed.
    #[test]
    fn a_load_that_is_cut_off_goes_on(
        loaded in records(),
        cuts in prop::collection::vec(0..250_usize, 0..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("load");
        let table = open(words());
        let open_loader = || Loader::new(&table, LITTLE).unwrap().resumable(&folder, 7).unwrap();
        for cut in cuts {
            let mut loader = open_loader();
            let from = usize::try_from(loader.pushed()).unwrap();
            for (key, word) in loaded.iter().take(cut).skip(from) {
                loader.push(document(*key, *word)).unwrap();
            }
        }
        let mut loader = open_loader();
        let from = usize::try_from(loader.pushed()).unwrap();
        for (key, word) in loaded.iter().skip(from) {
            loader.push(document(*key, *word)).unwrap();
        }
        let merged = loader.finish(&table, Existing::Replace, |_| {}).wait().unwrap();
        let (model, counted) = put(&[], &loaded, Existing::Replace);
        prop_assert_eq!(merged, counted);
        prop_assert_eq!(all(&table), all(&model));
        prop_assert!(!folder.exists(), "the folder is left");
    }
}

/// A store that gives up after so many commits.
mod weary {
    use super::*;
    use keyloom_store::{Batch, Capability, Error, Page, Sequence};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    #[derive(Debug, Clone)]
    pub(super) struct Weary(pub(super) MemoryStore, pub(super) Arc<AtomicI64>);

    impl Read for Weary {
        async fn get<T: Send>(
            &self,
            key: &[u8],
            look: impl FnOnce(&[u8]) -> T + Send,
        ) -> Result<Option<T>, Error> {
            self.0.get(key, look).await
        }

        async fn get_many<K: AsRef<[u8]> + Sync>(
            &self,
            keys: &[K],
            look: impl FnMut(usize, Option<&[u8]>) + Send,
        ) -> Result<(), Error> {
            self.0.get_many(keys, look).await
        }

        async fn scan(
            &self,
            span: &Span,
            direction: Direction,
            limits: Limits,
            look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
        ) -> Result<Page, Error> {
            self.0.scan(span, direction, limits, look).await
        }
    }

    impl Store for Weary {
        type Snapshot = <MemoryStore as Store>::Snapshot;

        fn capability(&self) -> Capability {
            self.0.capability()
        }

        async fn commit(&self, batch: Batch) -> Result<Sequence, Error> {
            if self.1.fetch_sub(1, Ordering::Relaxed) <= 0 {
                return Err(Error::Busy("tired".into()));
            }
            self.0.commit(batch).await
        }

        async fn flush(&self) -> Result<(), Error> {
            self.0.flush().await
        }

        async fn sequence(&self) -> Result<Sequence, Error> {
            self.0.sequence().await
        }

        async fn snapshot(&self) -> Result<Self::Snapshot, Error> {
            self.0.snapshot().await
        }
    }
}

/// The records that a table has before it is loaded: none, so that it gets what is loaded at once, or one.
const BEFORE: [&[i64]; 2] = [&[], &[10_000]];

/// A table in a store that gives up while a load writes to it, and how much was written until then.
fn cut_off(folder: &std::path::Path, before: &[i64]) -> (Table<weary::Weary>, u64) {
    let left = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(1_000));
    let store = weary::Weary(MemoryStore::new(), left.clone());
    let database = Database::open(store).wait().unwrap();
    let table = database.create_table(Definition::named("n").column("id", "i64").key(["id"])).wait().unwrap();
    for id in before {
        table.put(Document::new().with("id", *id)).wait().unwrap();
    }
    let mut loader = Loader::new(&table, 8_000).unwrap().resumable(folder, 7).unwrap();
    for id in (0..5_000_i64).rev() {
        loader.push(Document::new().with("id", id)).unwrap();
    }
    left.store(4, std::sync::atomic::Ordering::Relaxed);
    let mut written = Merged::default();
    let failed = loader.finish(&table, Existing::Refuse, |merged| written = merged).wait();
    assert!(matches!(failed, Err(Error::Store(keyloom_store::Error::Busy(_)))), "{failed:?}");
    let (there, told) = if before.is_empty() { (0, written.staged) } else { (written.new, written.new) };
    assert!(told > 0 && told < 5_000, "{written:?}");
    assert_eq!(all(&table).len(), before.len() + usize::try_from(there).unwrap());
    left.store(1_000, std::sync::atomic::Ordering::Relaxed);
    (table, told)
}

/// Cut off while it writes: the next one does not read the records again, nor write those that are there.
#[test]
fn a_load_goes_on_behind_the_last_record_that_it_wrote() {
    BEFORE.iter().for_each(|before| goes_on(before));
}

fn goes_on(before: &[i64]) {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("load");
    let (table, written) = cut_off(&folder, before);
    let open_loader = || Loader::new(&table, 8_000).unwrap().resumable(&folder, 7).unwrap();
    let loader = open_loader();
    assert!(loader.is_complete());
    let merged = loader.finish(&table, Existing::Refuse, |_| {}).wait().unwrap();
    assert_eq!((merged.resumed, merged.new), (written, 5_000 - written));
    assert!(!folder.exists());
    // Nothing says any more that there was a load: another one begins at the beginning.
    let mut again = open_loader();
    assert_eq!(again.pushed(), 0);
    for id in 0..5_000_i64 {
        again.push(Document::new().with("id", id)).unwrap();
    }
    let merged = again.finish(&table, Existing::Refuse, |_| {}).wait().unwrap();
    assert_eq!((merged.unchanged, merged.resumed, merged.new), (5_000, 0, 0));
}

/// Files from before the table was made, beside those of a later try: of two records with the same key the last one counts
/// all the same. The number of the table's tree was in their keys, and decided.
#[test]
fn the_last_record_counts_whatever_try_has_read_it() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("load");
    let table = open(words());
    let bare = words().build().unwrap();
    // So little memory that each record is a file.
    let mut first = Loader::of(&bare, 1, usize::MAX).resumable(&folder, 7).unwrap();
    first.push(document((1, 1), 1)).unwrap();
    first.push(document((1, 1), 2)).unwrap();
    drop(first);
    std::fs::remove_file(folder.join("000000000000-000000000001.0")).unwrap();
    let mut second = Loader::new(&table, 1).unwrap().resumable(&folder, 7).unwrap();
    assert_eq!(second.pushed(), 0);
    second.push(document((1, 1), 1)).unwrap();
    drop(second);
    let last = Loader::new(&table, 1).unwrap().resumable(&folder, 7).unwrap();
    assert_eq!(last.pushed(), 2);
    last.finish(&table, Existing::Replace, |_| {}).wait().unwrap();
    let model = open(words());
    model.put(document((1, 1), 2)).wait().unwrap();
    assert_eq!(all(&table), all(&model));
}

/// What a load has left in the store counts only with its files: without them it is another load, and records may have
/// gone since.
#[test]
fn without_its_files_a_load_begins_anew() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("load");
    let (table, written) = cut_off(&folder, &[10_000]);
    std::fs::remove_dir_all(&folder).unwrap();
    table.delete([0_i64]).wait().unwrap();
    let mut loader = Loader::new(&table, 8_000).unwrap().resumable(&folder, 7).unwrap();
    for id in 0..5_000_i64 {
        loader.push(Document::new().with("id", id)).unwrap();
    }
    let merged = loader.finish(&table, Existing::Refuse, |_| {}).wait().unwrap();
    assert_eq!((merged.resumed, merged.unchanged, merged.new), (0, written - 1, 5_000 - written + 1));
}

/// How many rows there are of new trees that a table does not have.
fn staged(table: &Table<weary::Weary>) -> usize {
    let span = Span { start: vec![0, 0, 0, 2], end: None };
    let look = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
    let page = table.database().store().scan(&span, Direction::Forward, Limits::rows(usize::MAX), look);
    page.wait().unwrap().rows
}

/// The same database for someone whose clock shows so many minutes more.
fn later(table: &Table<weary::Weary>, minutes: i64) -> Database<weary::Weary> {
    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let clock = std::sync::Arc::new(move || Timestamp::from_millis(now + minutes * 60_000));
    Database::open_with_clock(table.database().store().clone(), clock).wait().unwrap()
}

/// Nobody knows whether a load that has not ended goes on: what it has written is removed when it has been still for long.
#[test]
fn what_a_load_leaves_in_new_trees_is_cleared_when_it_is_old() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("load");
    let (table, written) = cut_off(&folder, &[]);
    let written = usize::try_from(written).unwrap();
    assert_eq!(staged(&table), written);
    later(&table, 9).fill_indexes(|_| {}).wait().unwrap();
    assert_eq!(staged(&table), written);
    later(&table, 11).fill_indexes(|_| {}).wait().unwrap();
    assert_eq!(staged(&table), 0);
    // Its files are there still.
    let loader = Loader::new(&table, 8_000).unwrap().resumable(&folder, 7).unwrap();
    let merged = loader.finish(&table, Existing::Refuse, |_| {}).wait().unwrap();
    assert_eq!((merged.resumed, merged.new), (0, 5_000));
    assert_eq!(all(&table).len(), 5_000);
    later(&table, 11).fill_indexes(|_| {}).wait().unwrap();
    assert_eq!(all(&table).len(), 5_000);
}

#[test]
fn a_load_that_was_taken_for_cut_off_ends() {
    let parent = tempfile::tempdir().unwrap();
    let (table, _) = cut_off(&parent.path().join("load"), &[]);
    later(&table, 11).fill_indexes(|_| {}).wait().unwrap();
    let mut loader = Loader::new(&table, 8_000).unwrap();
    for id in 0..5_000_i64 {
        loader.push(Document::new().with("id", id)).unwrap();
    }
    let mut told = 0;
    let ended = loader.finish(&table, Existing::Refuse, |_| {
        told += 1;
        if told == 2 {
            later(&table, 11).fill_indexes(|_| {}).wait().unwrap();
        }
    });
    let ended = ended.wait();
    assert!(matches!(&ended, Err(Error::Conflict(what)) if what.contains("cut off")), "{ended:?}");
    assert_eq!((told, staged(&table), all(&table).len()), (2, 0, 0));
}

/// More runs than are merged at once are merged in several goes.
#[test]
fn many_runs_become_few() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("load");
    let table = open(Definition::named("n").column("id", "i64").key(["id"]));
    let mut loader = Loader::new(&table, 1).unwrap().resumable(&folder, 7).unwrap();
    for id in (0..300_i64).rev() {
        loader.push(Document::new().with("id", id)).unwrap();
    }
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert!(files < 100, "{files} files for 300 runs");
    loader.finish(&table, Existing::Refuse, |_| {}).wait().unwrap();
    let ids: Vec<_> = all(&table).iter().map(|document| document.get("id").cloned().unwrap()).collect();
    assert_eq!(ids, (0..300_i64).map(Into::into).collect::<Vec<_>>());
}

/// Runs that were merged are removed after that: cut off between, both are there.
#[test]
fn a_merged_run_stands_for_its_parts() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, aside) = (parent.path().join("load"), parent.path().join("aside"));
    let table = open(Definition::named("n").column("id", "i64").key(["id"]));
    let mut loader = Loader::new(&table, 1).unwrap().resumable(&folder, 7).unwrap();
    std::fs::create_dir(&aside).unwrap();
    for id in 0..64_i64 {
        if id == 63 {
            for run in std::fs::read_dir(&folder).unwrap() {
                let run = run.unwrap();
                std::fs::copy(run.path(), aside.join(run.file_name())).unwrap();
            }
        }
        loader.push(Document::new().with("id", id)).unwrap();
    }
    drop(loader);
    let merged = std::fs::read_dir(&folder).unwrap().count();
    for run in std::fs::read_dir(&aside).unwrap() {
        let run = run.unwrap();
        std::fs::copy(run.path(), folder.join(run.file_name())).unwrap();
    }
    assert!(std::fs::read_dir(&folder).unwrap().count() > merged + 60);
    let loader = Loader::new(&table, 1).unwrap().resumable(&folder, 7).unwrap();
    assert_eq!(loader.pushed(), 64);
    let merged = loader.finish(&table, Existing::Refuse, |_| {}).wait().unwrap();
    assert_eq!((merged.new, merged.repeated), (64, 0));
}

#[test]
fn what_is_refused_leaves_the_table_as_it_was() {
    let table = open(words().index(Index::on(["number"]).unique()));
    table.put(document((1, 1), 1)).wait().unwrap();
    let mut loader = Loader::new(&table, LITTLE).unwrap();
    let wrong = loader.push(Document::new().with("group", "G1").with("number", "x")).unwrap_err();
    assert_eq!(wrong.to_string(), "field number: `x` is no i64");
    // Another record is refused, the same one is not.
    loader.push(document((1, 1), 1)).unwrap();
    let merged = loader.finish(&table, Existing::Refuse, |_| {}).wait().unwrap();
    assert_eq!(merged.unchanged, 1);
    let mut loader = Loader::new(&table, LITTLE).unwrap();
    loader.push(document((1, 1), 2)).unwrap();
    let wrong = loader.finish(&table, Existing::Refuse, |_| {}).wait().unwrap_err();
    assert_eq!(wrong.to_string(), "there is another record with group = 'G1', number = 1 in words already");
    // Two new records, and one beside one that is there, with the same values in a unique index.
    for numbers in [[(2, 5), (3, 5)], [(2, 5), (3, 1)]] {
        let mut loader = Loader::new(&table, 1_000_000).unwrap();
        for key in numbers {
            loader.push(document(key, 1)).unwrap();
        }
        let wrong = loader.finish(&table, Existing::Replace, |_| {}).wait().unwrap_err();
        assert!(matches!(wrong, Error::Unique { .. }), "{wrong}");
        assert_eq!(all(&table), [document((1, 1), 1)]);
    }
}

/// Two processes must not write the same runs.
#[test]
fn a_folder_is_used_by_one_load_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let table = open(words());
    let mut one = Loader::new(&table, 1).unwrap().resumable(folder.path(), 7).unwrap();
    one.push(document((1, 1), 1)).unwrap();
    let other = Loader::new(&table, 1).unwrap().resumable(folder.path(), 7);
    assert!(matches!(other, Err(Error::Exists(_))), "{other:?}");
}
