//! A store whose values say how they are written: the mark that it is one, and batches and conditions in its bytes.

use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_store::{
    Batch, Condition, Direction, Error, Fingerprint, Fingerprinter, Limits, Page, Read, Store,
};

use crate::compression::{Compression, LEAST, decode, encode};
use crate::stats::Counters;

/// The key that says that values are written so, and how new ones are. It is one of the catalog's, so that tables refuse a
/// store that is opened without this layer, and it is not seen through the layer.
pub(crate) const MARK: [u8; 5] = [0, 0, 0, 0, b'c'];

/// How values are written.
#[derive(Debug)]
pub(crate) struct Format {
    compression: Compression,
}

impl Format {
    /// What the store is, made what is wanted.
    pub(crate) async fn of<S: Store>(store: &S, wanted: Option<Compression>) -> Result<Option<Self>, Error> {
        loop {
            let mark = store.get(&MARK, |name| String::from_utf8_lossy(name).into_owned()).await?;
            let batch = match (mark, wanted) {
                (None, None) => return Ok(None),
                (None, Some(wanted)) => {
                    refuse_unmarked(store).await?;
                    let empty =
                        Condition::Unchanged { span: everything(), fingerprint: Fingerprint::empty() };
                    Batch::new().put(MARK, wanted.name()).require(empty)
                }
                (Some(name), wanted) => {
                    let newer =
                        || format!("its values are compressed by {name}, which this version does not know");
                    let marked = name.parse().map_err(|_| Error::Refused(newer().into()))?;
                    let wanted = wanted.unwrap_or(marked);
                    if wanted == marked {
                        return Ok(Some(Self { compression: marked }));
                    }
                    Batch::new().put(MARK, wanted.name()).require_value(MARK, name)
                }
            };
            match store.commit(batch).await {
                Ok(_) | Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// The value that is stored so.
    pub(crate) fn value<'a>(
        key: &[u8],
        stored: &'a [u8],
        room: &'a mut Vec<u8>,
        counters: &Counters,
    ) -> Result<&'a [u8], Error> {
        let value = decode(stored, room).ok_or_else(|| Error::DamagedValue(key.into()))?;
        counters.value_bytes.add(value.len());
        counters.stored_bytes.add(stored.len());
        Ok(value)
    }

    /// The batch in the bytes that the store has.
    pub(crate) async fn batch<R: Read>(
        &self,
        store: &R,
        batch: &Batch,
        counters: &Counters,
    ) -> Result<Batch, Error> {
        let mut stored = Batch::new().about(batch.subject().clone());
        let mut bytes = Vec::new();
        for (key, value) in batch.writes() {
            if key == MARK {
                let what = "the key 00 00 00 00 63, which says that values are compressed";
                return Err(Error::Refused(what.into()));
            }
            bytes.clear();
            if let Some(value) = value {
                encode(self.compression, value, &mut bytes);
                counters.value_bytes.add(value.len());
                counters.stored_bytes.add(bytes.len());
            }
            stored.write(key, value.map(|_| bytes.as_slice()));
        }
        for condition in batch.conditions() {
            stored = stored.require(in_store(store, condition, counters).await?);
        }
        Ok(stored)
    }

    /// [`Read::scan`].
    pub(crate) async fn scan<R: Read>(
        store: &R,
        (span, direction, limits): (&Span, Direction, Limits),
        counters: &Counters,
        mut look: impl FnMut(&[u8], &[u8]) -> ControlFlow<()> + Send,
    ) -> Result<Page, Error> {
        let mut counter = keyloom_store::Counter::new(limits);
        let (mut room, mut wrong) = (Vec::new(), None);
        let look = |key: &[u8], stored: &[u8]| {
            if key == MARK {
                return ControlFlow::Continue(());
            }
            match Self::value(key, stored, &mut room, counters) {
                Err(error) => {
                    wrong = Some(error);
                    ControlFlow::Break(())
                }
                Ok(value) => {
                    let more = counter.count(key, value);
                    if look(key, value).is_break() || !more {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                }
            }
        };
        // The rows and bytes that count are those that are seen, one at least: the mark is not, and values may be longer.
        let below =
            Limits { rows: limits.rows.max(1).saturating_add(1), bytes: usize::MAX, time: limits.time };
        let page = store.scan(span, direction, below, look).await?;
        match wrong {
            Some(error) => Err(error),
            None => Ok(Page { rest: page.rest, ..counter.finished() }),
        }
    }
}

fn everything() -> Span {
    Span::prefix(Vec::new())
}

/// Refuses a store with values that do not say how they are written.
async fn refuse_unmarked<S: Store>(store: &S) -> Result<(), Error> {
    let mut any = false;
    let look = |key: &[u8], _: &[u8]| {
        // Another process may just have begun.
        any = key != MARK;
        ControlFlow::Break(())
    };
    store.scan(&everything(), Direction::Forward, Limits::rows(1), look).await?;
    match any {
        true => Err(Error::Refused(
            "it was begun without compression: export its tables and import them into a new one".into(),
        )),
        false => Ok(()),
    }
}

/// A condition in the bytes that the store has; a conflict if it does not hold now.
async fn in_store<R: Read>(
    store: &R,
    condition: &Condition,
    counters: &Counters,
) -> Result<Condition, Error> {
    let conflict = || Error::Conflict(Box::new(condition.clone()));
    match condition {
        Condition::Is { key, value } if value.len() < LEAST => {
            let mut stored = Vec::new();
            encode(Compression::None, value, &mut stored);
            Ok(Condition::Is { key: key.clone(), value: stored })
        }
        Condition::Is { key, value } => {
            // How it is written depends on what the store was told when it was.
            let stored = store.get(key, <[u8]>::to_vec).await?.ok_or_else(conflict)?;
            let mut room = Vec::new();
            match Format::value(key, &stored, &mut room, counters)? == value {
                true => Ok(Condition::Is { key: key.clone(), value: stored }),
                false => Err(conflict()),
            }
        }
        Condition::Unchanged { span, fingerprint } => {
            let (mut seen, mut stored) = (Fingerprinter::default(), Fingerprinter::default());
            let (mut room, mut wrong) = (Vec::new(), None);
            let mut rest = Some(span.clone());
            while let Some(span) = rest {
                let look = |key: &[u8], bytes: &[u8]| {
                    stored.add(key, bytes);
                    if key == MARK {
                        return ControlFlow::Continue(());
                    }
                    match Format::value(key, bytes, &mut room, counters) {
                        Ok(value) => {
                            seen.add(key, value);
                            ControlFlow::Continue(())
                        }
                        Err(error) => {
                            wrong = Some(error);
                            ControlFlow::Break(())
                        }
                    }
                };
                let page = store.scan(&span, Direction::Forward, Limits::default(), look).await?;
                if let Some(error) = wrong {
                    return Err(error);
                }
                rest = page.rest;
            }
            match seen.finish() == *fingerprint {
                true => Ok(Condition::Unchanged { span: span.clone(), fingerprint: stored.finish() }),
                false => Err(conflict()),
            }
        }
        // The mark is not seen, so it is absent whatever the store says.
        Condition::Absent(key) if *key == MARK => {
            let nothing = Span { start: Vec::new(), end: Some(Vec::new()) };
            Ok(Condition::Unchanged { span: nothing, fingerprint: Fingerprint::empty() })
        }
        other => Ok(other.clone()),
    }
}
