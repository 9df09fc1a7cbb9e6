//! Values and pages, of the newest state or of a snapshot.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_store::{Counter, Direction, Error, Limits, Look, Now, Page};
use rocksdb::{ReadOptions, SnapshotWithThreadMode};

use crate::engine::{Db, Engine};
use crate::error::engine;
use crate::pieces::Family;

/// A state that the engine keeps.
pub(crate) type Kept<'a> = SnapshotWithThreadMode<'a, Db>;

/// What is read: the newest state, or one that was kept.
pub(crate) struct Reading<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) kept: Option<&'a Kept<'a>>,
}

impl<'a> Reading<'a> {
    /// Of the newest state.
    pub(crate) fn newest(engine: &'a Engine) -> Self {
        Self { engine, kept: None }
    }

    fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        if let Some(kept) = self.kept {
            options.set_snapshot(kept);
        }
        options
    }

    pub(crate) fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        let own;
        let options = match self.kept {
            None => &self.engine.newest,
            Some(_) => {
                own = self.options();
                &own
            }
        };
        let db = &self.engine.db;
        let found = match self.engine.pieces().family(key) {
            None => db.get_pinned_opt(key, options),
            Some(number) => match self.engine.family(number) {
                None => return Ok(None),
                Some(family) => db.get_pinned_cf_opt(&family, key, options),
            },
        };
        Ok(found.map_err(engine)?.map(|value| look(&value)))
    }

    pub(crate) fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut look: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        let Some(_) = self.kept else {
            // All of one state.
            let kept = self.engine.db.snapshot();
            return Reading { engine: self.engine, kept: Some(&kept) }.get_many(keys, look);
        };
        let (pieces, options) = (self.engine.pieces(), self.options());
        let mut trees: BTreeMap<Family, Vec<usize>> = BTreeMap::new();
        for (number, key) in keys.iter().enumerate() {
            trees.entry(pieces.family(key.as_ref())).or_default().push(number);
        }
        let mut found: Vec<_> = keys.iter().map(|_| None).collect();
        for (family, numbers) in trees {
            // One that was never written to has nothing.
            let Some(tree) = self.engine.tree(family) else { continue };
            let asked = numbers.iter().filter_map(|number| keys.get(*number)).map(AsRef::as_ref);
            let values = self.engine.db.batched_multi_get_cf_opt(&tree, asked, false, &options);
            for (number, value) in numbers.into_iter().zip(values) {
                if let Some(place) = found.get_mut(number) {
                    *place = value.map_err(engine)?;
                }
            }
        }
        for (number, value) in found.iter().enumerate() {
            look(number, value.as_deref());
        }
        Ok(())
    }

    pub(crate) fn page(
        &self,
        span: &Span,
        direction: Direction,
        limits: Limits,
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Page, Error> {
        let mut counter = Counter::new(limits);
        if span.is_empty() {
            return Ok(counter.finished());
        }
        let mut parts = self.engine.pieces().parts(span);
        if parts.len() > 1 && self.kept.is_none() {
            // All of one state.
            let kept = self.engine.db.snapshot();
            return Reading { engine: self.engine, kept: Some(&kept) }.page(span, direction, limits, look);
        }
        if direction == Direction::Backward {
            parts.reverse();
        }
        for (family, part) in parts {
            let mut options = self.options();
            options.set_iterate_lower_bound(part.start);
            if let Some(end) = part.end {
                options.set_iterate_upper_bound(end);
            }
            let mut rows = match family {
                None => self.engine.db.raw_iterator_opt(options),
                Some(number) => match self.engine.family(number) {
                    None => continue,
                    Some(family) => self.engine.db.raw_iterator_cf_opt(&family, options),
                },
            };
            match direction {
                Direction::Forward => rows.seek_to_first(),
                Direction::Backward => rows.seek_to_last(),
            }
            while let Some((key, value)) = rows.item() {
                let more = counter.count(key, value);
                if look(key, value).is_break() || !more {
                    return Ok(counter.stopped(span, direction, key));
                }
                match direction {
                    Direction::Forward => rows.next(),
                    Direction::Backward => rows.prev(),
                }
            }
            rows.status().map_err(engine)?;
        }
        Ok(counter.finished())
    }
}

impl Now for Reading<'_> {
    fn get<T>(&self, key: &[u8], look: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, Error> {
        self.get(key, look)
    }

    fn page(&self, span: &Span, limits: Limits, look: &mut Look<'_>) -> Result<Page, Error> {
        self.page(span, Direction::Forward, limits, look)
    }
}
