//! Copies of the whole file: one that is taken while the store is in use, one that becomes the store, and one that is the
//! store without the room that deleted records have left.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use heed::CompactionOption;
use keyloom_store::{Error, absolute};
use tokio::sync::oneshot;

use crate::config::Options;
use crate::engine::Engine;
use crate::error::{engine, file};
use crate::lock::Hold;
use crate::log::{self, Salts};
use crate::part::Part;
use crate::store::LmdbStore;
use crate::transaction::Transaction;

/// How long to wait for others to close the file: enough for a command that is about to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// What compacting did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// How many bytes the file had.
    pub before: u64,
    /// How many it has.
    pub after: u64,
}

impl LmdbStore {
    /// Copies the store as it is now to a file of its own, without the room that deleted records have left; returns how
    /// many bytes that has. Others read and write meanwhile; while it goes on, the store keeps the pages of that state.
    ///
    /// The copy is written beside its place, synced and then put there: there is never a half of it. A file that is
    /// there already is refused unless `replace`, and is busy if somebody has it open as a store.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, copy) = (folder.path().join("shop.klm"), folder.path().join("monday.klm"));
    /// use keyloom_lmdb::LmdbStore;
    /// use keyloom_store::{Batch, Read, Store, Wait};
    ///
    /// let store = LmdbStore::open(&path)?;
    /// store.commit(Batch::new().put("user:1", "Ada")).wait()?;
    /// store.copy_to(&copy, false).wait()?;
    /// assert!(LmdbStore::open(&copy)?.get(b"user:1", |_| ()).wait()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn copy_to(&self, path: impl AsRef<Path>, replace: bool) -> Result<u64, Error> {
        let place = absolute(path.as_ref())?;
        refuse_existing(&place, replace)?;
        self.drain().await?;
        let store = self.clone();
        let (answer, answered) = oneshot::channel();
        // It may take minutes, which an async program has other work for.
        let copy = move || {
            let _ = answer.send(store.copy_now(&place, replace));
        };
        let started = std::thread::Builder::new().name("keyloom-copy".to_owned()).spawn(copy);
        started.map_err(|error| Error::Failed(format!("no thread to copy: {error}").into()))?;
        answered.await.unwrap_or_else(|_| Err(Error::Failed("the copy was not finished".into())))
    }

    fn copy_now(&self, place: &Path, replace: bool) -> Result<u64, Error> {
        if place == self.engine().env.path() {
            return Err(Error::Refused("a copy of a store onto itself".into()));
        }
        let mut part = Part::beside(place, self.engine().env.path())?;
        self.engine().copy_to(&mut part)?;
        let _alone = Hold::alone_if_store(place, PATIENCE)?;
        refuse_existing(place, replace)?;
        part.take_place()
    }

    /// Makes the store at `path` one that is like `copy`, if `check` is content with it; returns how many bytes it has.
    ///
    /// `check` sees the copy, opened beside `path`; then that takes its place as one, or nothing changes. A file that is
    /// there already is refused unless `replace`. Both are busy while somebody has them open.
    pub fn restore<E: From<Error>>(
        copy: impl AsRef<Path>,
        path: impl AsRef<Path>,
        replace: bool,
        check: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<u64, E> {
        let (copy, place) = (absolute(copy.as_ref())?, absolute(path.as_ref())?);
        if copy == place {
            return Err(Error::Refused("a store restored from itself".into()).into());
        }
        let mut source = File::open(&copy).map_err(|error| file(&copy, &error))?;
        refuse_existing(&place, replace)?;
        let _alone = Hold::alone(&place, PATIENCE)?;
        // What somebody writes to is not copied byte by byte.
        let _still = Hold::alone_if_store(&copy, PATIENCE)?;
        let mut part = Part::beside(&place, &copy)?;
        if log::exist(&copy) {
            closed(&copy, |engine| log::recover(engine, &copy))?;
        }
        std::io::copy(&mut source, part.file()).map_err(|error| file(part.path(), &error))?;
        // A log that lies beside the place is another state's.
        closed(part.path(), |engine| {
            let txn = Transaction::begin(engine)?;
            let last = engine.sequence(&txn)?;
            txn.commit(last, Some(Salts::fresh()))
        })?;
        check(&Self::open(part.path())?)?;
        refuse_existing(&place, replace)?;
        Ok(part.take_place()?)
    }

    /// Gives back the room that deleted records have left in the file at `path`, which nobody may have open.
    ///
    /// The file is copied without it and the copy takes its place, as one. Who opens it meanwhile waits.
    pub fn compact(path: impl AsRef<Path>) -> Result<Compacted, Error> {
        let place = absolute(path.as_ref())?;
        let length =
            || std::fs::metadata(&place).map_err(|error| file(&place, &error)).map(|data| data.len());
        // A file that is not there is not made by asking for it.
        length()?;
        let _alone = Hold::alone(&place, PATIENCE)?;
        let before = length()?;
        let mut part = Part::beside(&place, &place)?;
        closed(&place, |engine| {
            log::recover(engine, &place)?;
            engine.copy_to(&mut part)
        })?;
        Ok(Compacted { before, after: part.take_place()? })
    }
}

/// Does something to a file that nobody has open, and closes it.
fn closed<T>(path: &Path, work: impl FnOnce(&Engine) -> Result<T, Error>) -> Result<T, Error> {
    let engine = Engine::open(path, Options::default())?;
    let done = work(&engine);
    engine.env.prepare_for_closing().wait();
    done
}

impl Engine {
    /// Writes the newest state that is in the file, without free pages.
    fn copy_to(&self, part: &mut Part) -> Result<(), Error> {
        self.env.copy_to_file(part.file(), CompactionOption::Enabled).map_err(engine)
    }
}

fn refuse_existing(place: &Path, replace: bool) -> Result<(), Error> {
    match place.exists() && !replace {
        true => Err(Error::Refused(format!("{}: is there already", place.display()).into())),
        false => Ok(()),
    }
}
