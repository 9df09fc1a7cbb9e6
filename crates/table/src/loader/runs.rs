//! The sorted runs of a load: in temporary files, or in a folder where they outlive the process.
//!
//! ```text
//! folder/000000000000-000000120000.0    records 0 to 119,999, sorted
//! folder/000000120000-000000240000.0
//! folder/complete                       there are no more records
//! folder/lock                           held while a process works here
//! ```
//!
//! A run has its name only when all of it is on the disk, so what is there can be trusted.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::keyed::Keyed;
use crate::sort::{self, WIDEST};

/// The name of the file that says that there are no more records.
const COMPLETE: &str = "complete";

/// Sorted runs, of records in the order in which they were pushed.
#[derive(Debug, Default)]
pub(super) struct Runs {
    folder: Option<Folder>,
    runs: Vec<Run>,
}

/// Where runs outlive the process.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Held as long as it is open.
    lock: Option<File>,
}

#[derive(Debug)]
struct Run {
    /// The numbers of its records, from and up to.
    from: u64,
    to: u64,
    /// How often its records were merged.
    level: u32,
    /// The file itself, if it has no name.
    unnamed: Option<File>,
}

impl Run {
    fn name(&self) -> String {
        format!("{:012}-{:012}.{}", self.from, self.to, self.level)
    }

    fn parse(name: &str) -> Option<Self> {
        let (numbers, level) = name.split_once('.')?;
        let (from, to) = numbers.split_once('-')?;
        Some(Self {
            from: from.parse().ok()?,
            to: to.parse().ok()?,
            level: level.parse().ok()?,
            unnamed: None,
        })
    }
}

impl Folder {
    /// Makes the folder if it is not there, and sees that no other process works in it.
    fn hold(&mut self) -> Result<(), Error> {
        if self.lock.is_some() {
            return Ok(());
        }
        match fs::create_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        let lock = File::create(self.path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => self.lock = Some(lock),
            Err(TryLockError::WouldBlock) => {
                let reason = format!("a process that loads the same ({})", self.path.display());
                return Err(Error::Exists(reason.into()));
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        Ok(())
    }
}

impl Runs {
    /// The runs that a folder has from a load that was cut off, and place for more.
    pub(super) fn in_folder(path: &Path) -> Result<Self, Error> {
        let mut folder = Folder { path: path.to_owned(), lock: None };
        let mut found = Vec::new();
        if path.exists() {
            folder.hold()?;
            for entry in fs::read_dir(path)? {
                found.extend(entry?.file_name().to_str().and_then(Run::parse));
            }
        }
        // A merged run stands for those that it was made of, which may still be there.
        found.sort_by_key(|run| (run.from, std::cmp::Reverse(run.to)));
        let mut runs: Vec<Run> = Vec::new();
        for run in found {
            if run.from == runs.last().map_or(0, |last| last.to) {
                runs.push(run);
            }
        }
        Ok(Self { folder: Some(folder), runs })
    }

    /// How many records are in them.
    pub(super) fn records(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.to)
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether they outlive the process, if there are any.
    pub(super) fn are_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// Whether all records are in them.
    pub(super) fn are_complete(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.path.join(COMPLETE).exists())
    }

    /// Remembers that all records are in them.
    pub(super) fn complete(&self) -> Result<(), Error> {
        match &self.folder {
            Some(folder) if !self.is_empty() => Ok(File::create(folder.path.join(COMPLETE))?.sync_all()?),
            _ => Ok(()),
        }
    }

    /// Adds a run of all records up to this number that are in none.
    pub(super) fn add(&mut self, rows: Vec<Keyed>, to: u64) -> Result<(), Error> {
        let run = Run { from: self.records(), to, level: 0, unnamed: None };
        let run = self.write(run, rows.into_iter().map(Ok))?;
        self.runs.push(run);
        self.thin()
    }

    /// Merges runs of a level when there are as many as can be merged at once.
    fn thin(&mut self) -> Result<(), Error> {
        while let Some(last) = self.runs.last() {
            let level = last.level;
            let first = self.runs.iter().position(|run| run.level <= level).unwrap_or(0);
            if self.runs.len() - first < WIDEST {
                return Ok(());
            }
            let parts = self.runs.split_off(first);
            let (from, to) = (self.records(), parts.last().map_or(0, |run| run.to));
            let names: Vec<String> = parts.iter().map(Run::name).collect();
            let files = parts.into_iter().map(|run| self.open(run)).collect::<Result<Vec<_>, _>>()?;
            let run = Run { from, to, level: level + 1, unnamed: None };
            let merged = self.write(run, sort::merge(Vec::new(), files)?)?;
            self.runs.push(merged);
            if let Some(folder) = &self.folder {
                for name in names {
                    fs::remove_file(folder.path.join(name))?;
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, run: Run, rows: impl Iterator<Item = Result<Keyed, Error>>) -> Result<Run, Error> {
        let Some(folder) = &mut self.folder else {
            let file = sort::write_run(rows, tempfile::tempfile()?)?;
            return Ok(Run { unnamed: Some(file), ..run });
        };
        folder.hold()?;
        let unfinished = folder.path.join("unfinished");
        sort::write_run(rows, File::create(&unfinished)?)?.sync_all()?;
        fs::rename(unfinished, folder.path.join(run.name()))?;
        Ok(run)
    }

    fn open(&self, run: Run) -> Result<File, Error> {
        let name = run.name();
        match (run.unnamed, &self.folder) {
            (Some(file), _) => Ok(file),
            (None, Some(folder)) => Ok(File::open(folder.path.join(name))?),
            (None, None) => Err(io::Error::from(io::ErrorKind::NotFound).into()),
        }
    }

    /// All records in the order of their keys, those in memory too, which are sorted already.
    pub(super) fn merge(
        &mut self,
        rows: Vec<Keyed>,
    ) -> Result<impl Iterator<Item = Result<Keyed, Error>> + use<>, Error> {
        let runs = std::mem::take(&mut self.runs);
        let files = runs.into_iter().map(|run| self.open(run)).collect::<Result<Vec<_>, _>>()?;
        sort::merge(rows, files)
    }

    /// Removes what outlives the process.
    pub(super) fn remove(self) -> Result<(), Error> {
        let Some(Folder { path, lock: Some(_) }) = self.folder else { return Ok(()) };
        // First, so that whoever is cut off here does not leave some of the runs as all.
        match fs::remove_file(path.join(COMPLETE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(fs::remove_dir_all(path)?),
        }
    }
}
