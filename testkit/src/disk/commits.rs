//! Commits that are to last, for any store: a [child](crate::child) makes them, and its [disk](super) loses power.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Batch, Blocking, Direction, Error, Limits, Store};

use super::images_of_some;

/// How many there are.
pub const COMMITS: u64 = 60;

/// The commit of this number: new keys, keys that every commit changes, and the end of older ones, so that pages are
/// used again. Some values need pages of their own.
pub fn batch(number: u64) -> Batch {
    let mut batch = Batch::new();
    for part in 0..1 + number * 7 % 23 {
        let length = if part == 3 { 9_000 } else { 40 + usize::try_from(number * part % 300).unwrap() };
        batch = batch.put(format!("{number:03}/{part:02}"), vec![u8::try_from(number).unwrap(); length]);
        batch = batch.put(format!("all/{part:02}"), number.to_string());
        batch = batch.delete(format!("{:03}/{part:02}", number.saturating_sub(6)));
    }
    batch
}

/// In the child: makes all of them, and marks every `each`th as promised when what was made is flushed.
pub fn make<S: Store>(store: &Blocking<S>, marks: &mut fs::File, each: u64) {
    marks.write_all(b"0").unwrap();
    for number in 1..=COMMITS {
        store.commit(batch(number)).unwrap();
        if number % each == 0 {
            store.flush().unwrap();
            marks.write_all(number.to_string().as_bytes()).unwrap();
        }
    }
}

/// What the first of them make, for each number of them.
#[derive(Debug)]
pub struct States(Vec<BTreeMap<Vec<u8>, Vec<u8>>>);

impl Default for States {
    fn default() -> Self {
        let mut rows = BTreeMap::new();
        let mut states = vec![rows.clone()];
        for number in 1..=COMMITS {
            for (key, value) in batch(number).writes() {
                match value {
                    Some(value) => rows.insert(key.to_vec(), value.to_vec()),
                    None => rows.remove(key),
                };
            }
            states.push(rows.clone());
        }
        Self(states)
    }
}

impl States {
    /// How many of the commits a store has, which must be whole.
    pub fn found<S: Store>(&self, store: &Blocking<S>) -> Result<usize, String> {
        let mut rows = BTreeMap::new();
        let all = Limits { rows: usize::MAX, bytes: usize::MAX, time: Duration::MAX };
        let look = |key: &[u8], value: &[u8]| {
            rows.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        };
        let read = store.scan(&Span::prefix(Vec::new()), Direction::Forward, all, look);
        read.map_err(|error| error.to_string())?;
        // Every commit changes it.
        let last = rows.get(b"all/00".as_slice()).map(|last| str::from_utf8(last).unwrap().parse().unwrap());
        let commits = last.unwrap_or(0);
        match self.0[commits] == rows {
            true => Ok(commits),
            false => Err(format!("{} rows are not what {commits} commits make", rows.len())),
        }
    }
}

/// The commits of a child, [made](make) for a task, survive whenever the power fails: its store opens, has every commit that
/// was promised, and is exactly what some number of commits makes. Of every `nth` moment there are `seeds` images.
pub fn survive<S: Store>(
    task: &str,
    path: &Path,
    (nth, seeds): (usize, u64),
    each: u64,
    open: impl Fn(&Path) -> Result<S, Error>,
) {
    assert!(super::run(task, path).success());
    let states = States::default();
    let mut promised = 0;
    let images = images_of_some(path, nth, seeds, |image| {
        let place = path.with_added_extension("image");
        image.write(&place);
        let at = format!("{task}, {}", image.at);
        let store = Blocking::new(open(&place).unwrap_or_else(|error| panic!("{at}: {error}")));
        let found = states.found(&store).unwrap_or_else(|error| panic!("{at}: {error}"));
        promised = image.promised;
        assert!(found >= promised, "{at}: of {promised} commits {found} are there");
        if image.seed == 0 {
            // It goes on as if nothing had happened.
            store.commit(Batch::new().put("then", "1")).unwrap_or_else(|error| panic!("{at}: {error}"));
        }
    });
    assert_eq!(promised, usize::try_from(COMMITS - COMMITS % each).unwrap());
    println!("{task}: {images} images");
    assert!(images > 150, "only {images} images of {task}: is the disk recorded?");
}
