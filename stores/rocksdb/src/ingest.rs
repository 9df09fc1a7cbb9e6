//! Large batches as sorted files, which become part of the folder past its log and its memory.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_store::{Batch, Error};
use rocksdb::{IngestExternalFileOptions, SstFileWriter};

use crate::engine::Engine;
use crate::error::{engine, unknown};
use crate::pieces::{Family, Pieces};

/// How many first bytes the keys of a file share: a file with keys far apart would overlap with all that lie between.
const SHARED: usize = 4;

static FILES: AtomicU64 = AtomicU64::new(0);

/// Sorted files of one batch, which are deleted when this is dropped, unless they have become part of the folder.
pub(crate) struct Sorted {
    files: Vec<PathBuf>,
    family: Family,
    /// Where keys lay when the files were written.
    pieces: Arc<Pieces>,
}

impl Drop for Sorted {
    fn drop(&mut self) {
        for file in &self.files {
            // It is not there if it has become part of the folder.
            let _ = fs::remove_file(file);
        }
    }
}

impl Sorted {
    /// Writes a batch to files, if it is large and all of it is for one family; sorts it for that.
    pub(crate) fn write(open: &Engine, batch: &mut Batch) -> Result<Option<Self>, Error> {
        let pieces = open.pieces();
        let Some(family) = pieces.only_family(batch).filter(|_| batch.size() >= open.options.ingest) else {
            return Ok(None);
        };
        batch.sort();
        let mut sorted = Self { files: Vec::new(), family, pieces };
        let mut writes = batch.writes().peekable();
        while let Some((key, _)) = writes.peek() {
            let shared = key.get(..SHARED).unwrap_or(key).to_vec();
            let path = sorted.name(open);
            let mut file = SstFileWriter::create(&open.tree);
            file.open(&path).map_err(engine)?;
            while let Some((key, value)) =
                writes.next_if(|(key, _)| key.get(..SHARED).unwrap_or(key) == shared)
            {
                // Of several writes to one key the last counts.
                if writes.peek().is_some_and(|(next, _)| *next == key) {
                    continue;
                }
                match value {
                    Some(value) => file.put(key, value).map_err(engine)?,
                    None => file.delete(key).map_err(engine)?,
                }
            }
            file.finish().map_err(engine)?;
        }
        Ok(Some(sorted))
    }

    /// A name that no other file has.
    fn name(&mut self, open: &Engine) -> PathBuf {
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let path = open.db.path().join(format!("sorted-{}-{number}.part", std::process::id()));
        self.files.push(path.clone());
        path
    }

    /// Whether its keys lie still where they did: a prefix may have got families meanwhile.
    pub(crate) fn fits(&self, open: &Engine) -> bool {
        Arc::ptr_eq(&self.pieces, &open.pieces())
    }

    /// Makes the files part of the folder, all at once, when all that was written before them is synced. Nobody else may
    /// write meanwhile.
    pub(crate) fn ingest(self, open: &Engine) -> Result<(), Error> {
        open.db.flush_wal(true).map_err(|error| unknown(&error))?;
        let mut options = IngestExternalFileOptions::default();
        options.set_move_files(true);
        open.leaves_numbers_out();
        let files = self.files.clone();
        let done = match self.family {
            Some(number) => {
                open.db.ingest_external_file_cf_opts(&open.family_to_write(number)?, &options, files)
            }
            None => open.db.ingest_external_file_opts(&options, files),
        };
        done.map_err(|error| unknown(&error))
    }
}

#[cfg(test)]
mod tests;
