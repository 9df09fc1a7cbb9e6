//! Copies of the whole folder, taken while it is in use.

use std::path::Path;

use keyloom_store::{Error, absolute};
use rocksdb::checkpoint::Checkpoint;
use tokio::sync::oneshot;

use crate::error::engine;
use crate::store::RocksStore;

impl RocksStore {
    /// Makes a folder that has the store as it is now, and is a store by itself. Others read and write meanwhile.
    ///
    /// On the same file system it shares its files with the store until either changes them, and takes no room at first.
    /// The folder is there whole or not at all; one that is there already is refused.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, copy) = (folder.path().join("shop"), folder.path().join("monday"));
    /// use keyloom_rocksdb::RocksStore;
    /// use keyloom_store::{Batch, Read, Store, Wait};
    ///
    /// let store = RocksStore::open(&path)?;
    /// store.commit(Batch::new().put("user:1", "Ada")).wait()?;
    /// store.checkpoint_to(&copy).wait()?;
    /// assert!(RocksStore::open(&copy)?.get(b"user:1", |_| ()).wait()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn checkpoint_to(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let place = absolute(path.as_ref())?;
        if place.exists() {
            return Err(Error::Refused(format!("{}: is there already", place.display()).into()));
        }
        let store = self.clone();
        let (answer, answered) = oneshot::channel();
        // It may take a while, which an async program has other work for.
        let copy = move || {
            let made = Checkpoint::new(&store.engine().db).and_then(|now| now.create_checkpoint(&place));
            let _ = answer.send(made.map_err(engine));
        };
        let thread = std::thread::Builder::new().name("keyloom-checkpoint".into()).spawn(copy);
        thread.map_err(|error| Error::Failed(format!("no thread for the checkpoint: {error}").into()))?;
        answered.await.unwrap_or_else(|_| Err(Error::Failed("the checkpoint was cut off".into())))
    }
}
