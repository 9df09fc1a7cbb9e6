//! One import from its beginning to its end, or from where it was cut off.

use std::hash::Hasher as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom::schema::Table as Definition;
use keyloom::store::Store;
use keyloom::{Database, Existing, Loader, Location, Merged, UrlStore, Wait};
use twox_hash::XxHash64;

use super::errors::Errors;
use super::{Import, OnConflict, OnError, define};
use crate::failure::Failure;
use crate::files::documents::Documents;
use crate::files::format::FileFormat;
use crate::files::infer;
use crate::files::input::{self, Input};
use crate::files::records::{Bad, Raw, Records};
use crate::open;
use crate::progress::{Progress, Unit};

/// How often progress is shown, in records.
const STEP: u64 = 1_024;

/// How many records show of which types their columns are, and how many bytes at most.
const SAMPLE: usize = 10_000;
const SAMPLE_BYTES: usize = 8 << 20;

/// The longest key of a database that is not there yet.
const MAX_KEY: usize = keyloom::lmdb::MAX_KEY;

/// How far the file has been read.
struct Reading {
    read: Arc<AtomicU64>,
    /// What is counted: bytes, or the records of Parquet.
    unit: Unit,
    total: Option<u64>,
}

impl Import {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = match self.file.as_os_str() {
            name if name == "-" => "standard input".into(),
            _ => self.file.to_string_lossy(),
        };
        let named = |failure: Failure| failure.about(&file);
        let location = open::locate(&self.url)?.location;
        check_folder(&location)?;
        let input = input::open(&self.file).map_err(|error| named(error.into()))?;
        let head = input.head.clone();
        let (mut records, reading) = self.records(input).map_err(named)?;
        let database = if location.exists() { Some(open::existing(&self.url)?) } else { None };
        let there = match &database {
            Some(database) if database.tables().contains(&self.table) => {
                Some(database.table(&self.table).wait()?.definition()?)
            }
            _ => None,
        };
        let (definition, guessed) = match &there {
            Some(definition) => {
                define::check(&self, definition)?;
                (Definition::clone(definition), Vec::new())
            }
            None => self.define(&mut records).map_err(named)?,
        };
        if there.is_none() {
            anstream::eprint!("{}", definition.to_sql());
        }
        let max_key = database.as_ref().map_or(MAX_KEY, |database| database.store().capability().max_key);
        let loader = Loader::of(&definition, self.memory, max_key);
        let loader = match self.folder(&location, &definition, &head) {
            Some((folder, identity)) => loader.resumable(folder, identity)?,
            None => loader,
        };
        let mut errors = Errors::new(&self, guessed, records.counted_as())?;
        let loader = self.push(records, loader, &definition, &mut errors, &reading).map_err(named)?;
        errors.finish()?;
        let database = match database {
            Some(database) => database,
            None => open::existing_or_new(&self.url)?,
        };
        if there.is_none() {
            database.define(&definition.to_sql()).wait()?;
        }
        self.write(&database, loader)
    }

    /// The records of the file, and how far they have been read.
    fn records(&self, mut input: Input) -> Result<(Records, Reading), Failure> {
        let Some(format) = self.input_format.or(input.format) else {
            let remedy = "say --input-format csv, jsonl or parquet";
            let name = self.file.display();
            return Err(Failure::Misuse(format!("{name} does not say what the file is: {remedy}")));
        };
        if format != FileFormat::Csv && (self.no_header || self.delimiter.is_some()) {
            let reason = "--no-header, --columns and --delimiter are for CSV, which this is not";
            return Err(Failure::Misuse(reason.to_owned()));
        }
        input.delimiter = self.delimiter.unwrap_or(input.delimiter);
        let (read, length) = (Arc::clone(&input.read), input.length);
        let records = Records::of(input, &self.file, format, self.columns.clone())?;
        let (unit, total) = match records.as_parquet() {
            Some(rows) => (Unit::Rows, Some(rows.count)),
            None => (Unit::Bytes, length),
        };
        Ok((records, Reading { read, unit, total }))
    }

    /// A table for the file, and the columns whose types are guessed.
    fn define(&self, records: &mut Records) -> Result<(Definition, Vec<String>), Failure> {
        if let Some(rows) = records.as_parquet() {
            let columns = infer::columns(records, &self.null);
            let definition = define::define(self, &columns, true, rows.table.as_ref())?;
            return Ok((definition, Vec::new()));
        }
        records.sample(SAMPLE, SAMPLE_BYTES)?;
        let columns = infer::columns(records, &self.null);
        let definition = define::define(self, &columns, records.csv_columns().is_some(), None)?;
        let given = define::given(self)?;
        let names = columns.into_iter().map(|(name, _)| name);
        let guessed = names.filter(|name| given.iter().all(|column| column.name != *name));
        Ok((definition, guessed.collect()))
    }

    /// Where sorted records are kept until the import is done, and what stands for it: the file, the table, and how
    /// lines become records. A database in memory is gone with the process, and so is its import.
    fn folder(&self, location: &Location, table: &Definition, head: &[u8]) -> Option<(PathBuf, u64)> {
        let Location::File(path) = location else { return None };
        let mut hash = XxHash64::with_seed(0);
        let mut add = |part: &[u8]| {
            hash.write(&part.len().to_be_bytes());
            hash.write(part);
        };
        add(head);
        if let Ok(facts) = std::fs::metadata(&self.file) {
            let changed = facts.modified().ok();
            let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            let path = self.file.canonicalize().unwrap_or_default();
            add(format!("{} {} {changed:?}", path.display(), facts.len()).as_bytes());
        }
        let bare =
            table.indexes().iter().fold(table.clone(), |table, index| table.without_index(index.name()));
        add(bare.to_sql().as_bytes());
        add(self.null.as_bytes());
        let Self { columns, delimiter, input_format, on_error, .. } = self;
        add(format!("{columns:?} {delimiter:?} {input_format:?} {on_error:?}").as_bytes());
        let identity = hash.finish();
        let mut folder = path.clone().into_os_string();
        folder.push(format!(".import-{identity:016x}"));
        Some((folder.into(), identity))
    }

    /// Takes all records, behind those that were taken before the import was cut off.
    fn push(
        &self,
        mut records: Records,
        mut loader: Loader,
        table: &Definition,
        errors: &mut Errors<'_>,
        reading: &Reading,
    ) -> Result<Loader, Failure> {
        let before = loader.pushed();
        if before > 0 {
            anstream::eprintln!("going on behind {before} records that were read before");
        }
        // Lines that were skipped before are to be listed again; else there is nothing to look at once more.
        if loader.is_complete() && self.on_error == OnError::Stop {
            return Ok(loader);
        }
        let kinds = table.columns().iter().map(|column| (column.name.clone(), column.kind.clone()));
        let documents = Documents::new(&records, kinds.collect(), self.null.clone());
        let progress = Progress::new("reading", reading.unit, reading.total);
        let mut number = 0;
        while let Some(read) = records.next()? {
            number += 1;
            if number % STEP == 0 {
                progress.set(match reading.unit {
                    Unit::Rows => number,
                    Unit::Bytes => reading.read.load(Ordering::Relaxed),
                });
            }
            if number <= before && self.on_error == OnError::Stop {
                continue;
            }
            let line = read.as_ref().map_or_else(|bad| bad.line, Raw::line);
            let document = read.and_then(|raw| documents.document(raw));
            let pushed = match document {
                Err(bad) => Err(bad),
                Ok(document) => {
                    let taken = if number > before { loader.push(document) } else { loader.check(document) };
                    match taken {
                        Err(error @ keyloom::Error::Schema(_)) => Err(bad(line, error)),
                        taken => {
                            taken?;
                            Ok(())
                        }
                    }
                }
            };
            if let Err(bad) = pushed {
                if let Err(failure) = errors.take(&bad) {
                    loader.abandon()?;
                    return Err(failure);
                }
                if number > before {
                    loader.leave_out();
                }
            }
        }
        Ok(loader)
    }

    fn write(&self, database: &Database<UrlStore>, loader: Loader) -> Result<(), Failure> {
        let table = database.table(&self.table).wait()?;
        let existing = match self.on_conflict {
            OnConflict::Replace => Existing::Replace,
            OnConflict::Skip => Existing::Keep,
            OnConflict::Error => Existing::Refuse,
        };
        let progress = Progress::new("writing", Unit::Rows, Some(loader.pushed()));
        let mut written = Merged::default();
        let told = |merged: Merged| {
            progress.set(merged.records());
            written = merged;
        };
        let merged = loader.finish(&table, existing, told).wait();
        drop(progress);
        match merged {
            Ok(merged) => {
                anstream::eprintln!("{}: {}", self.table, summary(&merged));
                Ok(())
            }
            Err(error) => Err(Failure::Failed(format!(
                "{error}\n  {} records were written before that, and the others were not",
                written.new + written.replaced + written.resumed
            ))),
        }
    }
}

/// Sees that a database can be made, before all of a file is read for it.
fn check_folder(location: &Location) -> Result<(), Failure> {
    let Location::File(path) = location else { return Ok(()) };
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !folder.is_dir() => {
            let (path, folder) = (path.display(), folder.display());
            Err(Failure::Failed(format!("{path}: there is no folder {folder}")))
        }
        _ => Ok(()),
    }
}

fn bad(line: u64, error: keyloom::Error) -> Bad {
    match error {
        keyloom::Error::Schema(keyloom::schema::Error::Value { field, reason }) => {
            Bad { line, column: Some(field), reason: reason.into_owned() }
        }
        error => Bad { line, column: None, reason: error.to_string() },
    }
}

/// What has become of the records, in words.
fn summary(merged: &Merged) -> String {
    let counts = [
        (merged.resumed, "written before"),
        (merged.new, "new"),
        (merged.replaced, "replaced"),
        (merged.unchanged, "unchanged"),
        (merged.kept, "there already and other, left as they are"),
        (merged.repeated, "with the key of a later one, left out"),
    ];
    let words = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "no records".to_owned() } else { words.join(", ") }
}
