//! What was done to the rows, and what a scan may therefore show.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use keyloom_key::Span;
use keyloom_store::Direction;

use crate::cluster::Row;
use crate::id::Id;
use crate::page::Rows;

/// The lives of all rows, in moments that are counted.
#[derive(Clone, Default)]
pub(super) struct History(Arc<Mutex<Lives>>);

#[derive(Default)]
struct Lives {
    moment: u64,
    rows: BTreeMap<Id, Life>,
    /// The first thing that was wrong.
    wrong: Option<String>,
}

struct Life {
    key: Vec<u8>,
    /// Whether its insertion has returned.
    returned: bool,
    /// When its insertion was acknowledged.
    inserted: Option<u64>,
    /// When its deletion began, and was acknowledged.
    deleting: Option<u64>,
    deleted: Option<u64>,
}

impl History {
    fn lives<T>(&self, look: impl FnOnce(&mut Lives, u64) -> T) -> T {
        let mut lives = self.0.lock().unwrap();
        lives.moment += 1;
        let moment = lives.moment;
        look(&mut lives, moment)
    }

    pub(super) fn now(&self) -> u64 {
        self.lives(|_, moment| moment)
    }

    pub(super) fn inserting(&self, rows: &[Row]) {
        self.lives(|lives, _| {
            for row in rows {
                let key = row.key.clone();
                let life = Life { key, returned: false, inserted: None, deleting: None, deleted: None };
                assert!(lives.rows.insert(row.id, life).is_none(), "an id was given twice");
            }
        });
    }

    pub(super) fn returned(&self, rows: &[Row]) {
        self.lives(|lives, _| {
            rows.iter().for_each(|row| lives.rows.get_mut(&row.id).unwrap().returned = true);
        });
    }

    pub(super) fn inserted(&self, rows: &[Row]) {
        self.lives(|lives, now| {
            rows.iter().for_each(|row| lives.rows.get_mut(&row.id).unwrap().inserted = Some(now));
        });
    }

    /// A row that nobody has begun to delete, or now and then one that someone has, also if its insertion is unknown.
    pub(super) fn victim(&self, mut random: impl FnMut(u64) -> u64) -> Option<(Vec<u8>, Id)> {
        self.lives(|lives, now| {
            let again = random(8) == 0;
            let unsure = random(4) == 0;
            let fit = |life: &Life| {
                (again || life.deleting.is_none()) && life.returned && (unsure || life.inserted.is_some())
            };
            let fit: Vec<Id> = lives.rows.iter().filter(|(_, life)| fit(life)).map(|(id, _)| *id).collect();
            let id = *fit.get(usize::try_from(random(fit.len() as u64)).unwrap())?;
            let life = lives.rows.get_mut(&id)?;
            life.deleting.get_or_insert(now);
            Some((life.key.clone(), id))
        })
    }

    pub(super) fn deleted(&self, id: Id) {
        self.lives(|lives, now| _ = lives.rows.get_mut(&id).unwrap().deleted.get_or_insert(now));
    }

    /// Says what is wrong with the answer to a scan that began at a moment.
    pub(super) fn scanned(&self, began: u64, span: &Span, direction: Direction, limit: usize, found: &Rows) {
        let mut read = span.clone();
        match (&found.rest, direction) {
            (None, _) => {}
            (Some(rest), Direction::Forward) => read.end = Some(rest.start.clone()),
            (Some(rest), Direction::Backward) => read.start = rest.end.clone().unwrap(),
        }
        let mut names: Vec<(Vec<u8>, Id)> = found.rows.iter().map(|row| (row.key.clone(), row.id)).collect();
        let keys: BTreeSet<&Vec<u8>> = names.iter().map(|(key, _)| key).collect();
        if names.len() > limit && keys.len() > 1 {
            self.wrong(format!("{} rows, and the limit was {limit}", names.len()));
        }
        if direction == Direction::Backward {
            names.reverse();
        }
        if !names.is_sorted_by(|one, other| one < other) {
            self.wrong(format!("rows out of order or twice: {names:?}"));
        }
        let names: BTreeSet<(Vec<u8>, Id)> = names.into_iter().collect();
        self.lives(|lives, now| {
            let mut wrong = None;
            for (id, life) in lives.rows.iter().filter(|(_, life)| read.contains(&life.key)) {
                let shown = names.contains(&(life.key.clone(), *id));
                let there = life.inserted.is_some_and(|moment| moment < began)
                    && life.deleting.is_none_or(|moment| moment > now);
                if there && !shown {
                    wrong = Some(format!("row {:?} {id:?} is lost", life.key));
                }
                if shown && life.deleted.is_some_and(|moment| moment < began) {
                    wrong = Some(format!("row {:?} {id:?} was deleted and is back", life.key));
                }
            }
            let known = |(key, id): &(Vec<u8>, Id)| {
                read.contains(key) && lives.rows.get(id).is_some_and(|life| life.key == *key)
            };
            if let Some(name) = names.iter().find(|name| !known(name)) {
                wrong = Some(format!("row {name:?} does not belong there"));
            }
            if lives.wrong.is_none() {
                lives.wrong = wrong;
            }
        });
    }

    pub(super) fn wrong(&self, what: String) {
        self.lives(|lives, _| _ = lives.wrong.get_or_insert(what));
    }

    pub(super) fn verdict(&self) -> Result<(), String> {
        self.lives(|lives, _| lives.wrong.take().map_or(Ok(()), Err))
    }

    /// How many insertions and deletions were acknowledged.
    pub(super) fn counts(&self) -> (usize, usize) {
        self.lives(|lives, _| {
            let rows = lives.rows.values();
            (
                rows.clone().filter(|life| life.inserted.is_some()).count(),
                rows.filter(|life| life.deleted.is_some()).count(),
            )
        })
    }
}
