//! Promises of `commit`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use keyloom_key::Span;
use keyloom_store::{
    About, Batch, Blocking, Condition, Direction, Error, Fingerprint, Fingerprinter, Limits, Store,
};

use super::{Case, Outcome, commit, ensure, ensure_eq, everything, puts, rows, value};

/// The cases of this file.
pub fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        Case { name: "the_last_write_to_a_key_counts", made_by: |_| true, run: last_write },
        Case { name: "deleting_what_is_not_there_is_no_error", made_by: |_| true, run: delete_missing },
        Case { name: "each_commit_has_a_greater_sequence", made_by: |_| true, run: sequences },
        Case {
            name: "a_condition_that_fails_leaves_everything",
            made_by: |c| c.conditions,
            run: fails_whole,
        },
        Case {
            name: "conditions_hold_or_conflict",
            made_by: |c| c.conditions && c.lease.is_none(),
            run: conditions,
        },
        Case { name: "conditions_on_what_is_written", made_by: |c| c.conditions, run: on_written },
        Case { name: "what_held_before_another_commit_is_looked_at", made_by: |c| c.conditions, run: held },
        Case { name: "a_conflict_names_the_condition", made_by: |c| c.conditions, run: named },
        Case {
            name: "conditions_see_spans_change",
            made_by: |c| c.atomic_batch && c.conditions && c.ordered,
            run: spans,
        },
        Case { name: "the_empty_key_is_refused_and_leaves_everything", made_by: |_| true, run: no_key },
        Case {
            name: "keys_over_the_limit_leave_everything",
            made_by: |c| c.max_key < 1 << 20,
            run: too_large,
        },
        Case { name: "a_flush_changes_nothing_that_can_be_read", made_by: |_| true, run: flushes },
        Case { name: "catching_up_changes_nothing_of_ones_own", made_by: |_| true, run: catches_up },
        Case { name: "stripes_change_nothing_that_can_be_read", made_by: |c| c.ordered, run: striped },
        Case { name: "racing_commits_have_sequences_of_their_own", made_by: |_| true, run: own_sequences },
        Case { name: "racing_increments_lose_nothing", made_by: |c| c.conditions, run: increments },
        Case { name: "racing_batches_are_seen_whole", made_by: |c| c.atomic_batch && c.snapshot, run: whole },
    ]
}

fn last_write<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(Batch::new().put("a", "1").delete("a").put("a", "2"))?;
    store.commit(Batch::new().put("b", "1").delete("b"))?;
    ensure_eq!(value(store, b"a")?, Some(b"2".to_vec()));
    ensure_eq!(value(store, b"b")?, None);
    Ok(())
}

fn delete_missing<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(Batch::new().delete("a"))?;
    store.commit(puts([("a", "1")]))?;
    store.commit(Batch::new().delete("a"))?;
    store.commit(Batch::new().delete("a"))?;
    ensure_eq!(value(store, b"a")?, None);
    Ok(())
}

fn sequences<S: Store>(store: &Blocking<S>) -> Outcome {
    let mut last = store.sequence()?;
    for batch in [puts([("a", "1")]), puts([]), Batch::new().delete("a"), puts([("a", "1")])] {
        let sequence = store.commit(batch)?;
        ensure!(sequence > last, "{sequence:?} after {last:?}");
        ensure_eq!(store.sequence()?, sequence);
        last = sequence;
    }
    Ok(())
}

/// Whether a commit met a conflict.
pub(super) fn conflicts<S: Store>(store: &Blocking<S>, batch: Batch) -> Result<bool, Error> {
    match store.commit(batch) {
        Ok(_) => Ok(false),
        Err(Error::Conflict(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

fn fails_whole<S: Store>(store: &Blocking<S>) -> Outcome {
    let about = || About::Record(b"a".to_vec());
    store.commit(puts([("a", "1"), ("b", "1")]).about(about()))?;
    let before = (rows(store, &everything(), Direction::Forward, Limits::default())?, store.sequence()?);
    let batch = Batch::new().put("a", "2").delete("b").put("c", "2").require_absent("x").require_absent("a");
    ensure!(conflicts(store, batch.about(about()))?, "a key that is there was required to be absent");
    let after = (rows(store, &everything(), Direction::Forward, Limits::default())?, store.sequence()?);
    ensure_eq!(after, before);
    Ok(())
}

fn conditions<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("a", "1"), ("empty", "")]))?;
    let is = |key: &str, value: &str| Condition::Is { key: key.into(), value: value.into() };
    let absent = |key: &str| Condition::Absent(key.into());
    for (condition, conflict) in [
        (absent("b"), false),
        (absent("a"), true),
        (absent("empty"), true),
        (is("a", "1"), false),
        (is("a", "2"), true),
        (is("a", ""), true),
        (is("empty", ""), false),
        (is("b", ""), true),
    ] {
        let batch = Batch::new().require(condition.clone());
        ensure!(conflicts(store, batch)? == conflict, "{condition:?}: a conflict is {conflict}");
    }
    // Conditions are about the store before the batch, whatever the batch writes.
    ensure!(
        !conflicts(store, Batch::new().put("b", "1").require_absent("b"))?,
        "the batch met its own write"
    );
    Ok(())
}

fn on_written<S: Store>(store: &Blocking<S>) -> Outcome {
    let is = |key: &str, value: &str| Condition::Is { key: key.into(), value: value.into() };
    let absent = |key: &str| Condition::Absent(key.into());
    for (key, condition, conflict) in [
        ("b", absent("b"), false),
        ("a", absent("a"), true),
        ("empty", absent("empty"), true),
        ("a", is("a", "1"), false),
        ("a", is("a", "2"), true),
        ("a", is("a", ""), true),
        ("empty", is("empty", ""), false),
        ("b", is("b", ""), true),
    ] {
        commit(store, puts([("a", "1"), ("empty", "")]).delete("b"))?;
        let batch = Batch::new().put(key, "written").require(condition.clone());
        ensure!(conflicts(store, batch)? == conflict, "{condition:?}: a conflict is {conflict}");
        ensure_eq!(value(store, key.as_bytes())?.as_deref() == Some(b"written"), !conflict);
    }
    Ok(())
}

fn held<S: Store>(store: &Blocking<S>) -> Outcome {
    let last = store.commit(puts([("a", "1")]))?;
    let batch = || Batch::new().put("a", "2").require_value("a", "1").held_at(last);
    ensure!(!conflicts(store, batch())?, "it was known to hold, and did");
    ensure!(conflicts(store, batch())?, "it was known to hold, but another commit came");
    Ok(())
}

fn named<S: Store>(store: &Blocking<S>) -> Outcome {
    commit(store, puts([("a", "1"), ("b", "1")]))?;
    let wrong = Condition::Is { key: b"b".to_vec(), value: b"2".to_vec() };
    let batch = Batch::new().put("c", "1").require_value("a", "1").require(wrong.clone()).require_absent("c");
    match store.commit(batch) {
        Err(Error::Conflict(condition)) => ensure_eq!(*condition, wrong),
        other => return Err(format!("b is not 2: {other:?}").into()),
    }
    Ok(())
}

fn flushes<S: Store>(store: &Blocking<S>) -> Outcome {
    store.flush()?;
    commit(store, puts([("a", "1"), ("b", "1")]))?;
    commit(store, Batch::new().put("a", "2").delete("b"))?;
    let before = (rows(store, &everything(), Direction::Forward, Limits::default())?, store.sequence()?);
    for _ in 0..2 {
        store.flush()?;
        let after = (rows(store, &everything(), Direction::Forward, Limits::default())?, store.sequence()?);
        ensure_eq!(after, before);
    }
    Ok(())
}

fn catches_up<S: Store>(store: &Blocking<S>) -> Outcome {
    for value in ["1", "2", "3"] {
        commit(store, Batch::new().put("a", value))?;
        let before = (rows(store, &everything(), Direction::Forward, Limits::default())?, store.sequence()?);
        store.catch_up()?;
        // One that is alone may be said to be behind while its own commits go into the file.
        store.is_behind()?;
        let after = (rows(store, &everything(), Direction::Forward, Limits::default())?, store.sequence()?);
        ensure_eq!(after, before);
    }
    Ok(())
}

fn striped<S: Store>(store: &Blocking<S>) -> Outcome {
    let here = |store: &Blocking<S>| rows(store, &everything(), Direction::Forward, Limits::rows(3));
    commit(store, puts([("b/1", "1"), ("t", "1")]))?;
    let before = (here(store)?, store.sequence()?);
    // Behind this prefix is nothing yet, behind those is something, and one begins with another.
    for prefix in ["s", "b/", "t", "t/"] {
        store.stripe(prefix.as_bytes(), 16)?;
    }
    ensure_eq!((here(store)?, before.1), before);
    let keys: Vec<Vec<u8>> =
        (0..=u8::MAX).step_by(17).map(|stripe| [b"s", [stripe].as_slice()].concat()).collect();
    let all = keys.iter().fold(puts([("s", ""), ("b/2", ""), ("t/", "")]), |batch, key| batch.put(key, ""));
    commit(store, all)?;
    let mut expected = vec![b"b/1".to_vec(), b"b/2".to_vec(), b"s".to_vec()];
    expected.extend(keys.iter().cloned());
    expected.extend([b"t".to_vec(), b"t/".to_vec()]);
    ensure_eq!(here(store)?.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), expected);
    for key in &keys {
        ensure_eq!(value(store, key)?, Some(Vec::new()));
    }
    if store.capability().atomic_batch && store.capability().conditions {
        let seen = fingerprint(store, &Span::prefix("s"))?;
        commit(store, Batch::new().delete("s\x11"))?;
        ensure!(
            conflicts(store, Batch::new().require_unchanged(Span::prefix("s"), seen))?,
            "a stripe has changed"
        );
    }
    Ok(())
}

/// What a span holds now.
fn fingerprint<S: Store>(store: &Blocking<S>, span: &Span) -> Result<Fingerprint, Error> {
    let mut seen = Fingerprinter::default();
    for (key, value) in rows(store, span, Direction::Forward, Limits::default())? {
        seen.add(&key, &value);
    }
    Ok(seen.finish())
}

fn spans<S: Store>(store: &Blocking<S>) -> Outcome {
    let span = Span::prefix("user:");
    store.commit(puts([("user:1", "Ada"), ("user:2", "Grace"), ("other", "1")]))?;
    for (change, conflict) in [
        (puts([]), false),
        (puts([("other", "2"), ("user;", "x"), ("user", "x")]), false),
        (puts([("user:1", "Ada")]), false),
        (puts([("user:1", "Ada L.")]), true),
        (puts([("user:3", "Mary")]), true),
        (Batch::new().delete("user:2"), true),
    ] {
        let seen = fingerprint(store, &span)?;
        store.commit(change.clone())?;
        let batch = Batch::new().require_unchanged(span.clone(), seen);
        ensure!(conflicts(store, batch)? == conflict, "{change:?}: a conflict is {conflict}");
    }
    let empty = Batch::new().require_unchanged(Span::prefix("nobody:"), Fingerprint::empty());
    ensure!(!conflicts(store, empty)?, "a span that holds nothing held nothing before");
    Ok(())
}

fn no_key<S: Store>(store: &Blocking<S>) -> Outcome {
    let sequence = store.sequence()?;
    let mut batches = vec![puts([("", "1")]), Batch::new().delete("")];
    if store.capability().atomic_batch {
        batches.extend([puts([("a", "1"), ("", "1")]), Batch::new().put("a", "1").delete("")]);
    }
    for batch in batches {
        match store.commit(batch) {
            Err(Error::Refused(_)) => {}
            other => return Err(format!("the empty key: {other:?}").into()),
        }
    }
    ensure_eq!((value(store, b"a")?, store.sequence()?), (None, sequence));
    Ok(())
}

fn too_large<S: Store>(store: &Blocking<S>) -> Outcome {
    let longest = store.capability().max_key;
    store.commit(Batch::new().put(vec![b'k'; longest], "fits"))?;
    ensure_eq!(value(store, &vec![b'k'; longest])?, Some(b"fits".to_vec()));
    let sequence = store.sequence()?;
    let whole = if store.capability().atomic_batch { puts([("a", "1")]) } else { Batch::new() };
    let over = whole.put(vec![b'k'; longest + 1], "does not");
    match store.commit(over) {
        Err(Error::Refused(_)) => {}
        other => return Err(format!("a key of {} bytes: {other:?}", longest + 1).into()),
    }
    ensure_eq!((value(store, b"a")?, store.sequence()?), (None, sequence));
    Ok(())
}

pub(super) const THREADS: usize = 8;
const ROUNDS: u64 = 50;

/// Runs `work` on several threads and hands on the first error.
pub(super) fn race<S: Store>(
    store: &Blocking<S>,
    work: impl Fn(&Blocking<S>, usize) -> Outcome + Sync,
) -> Outcome {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(store, thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}

fn own_sequences<S: Store>(store: &Blocking<S>) -> Outcome {
    let seen = Mutex::new(BTreeSet::new());
    race(store, |store, thread| {
        for _ in 0..ROUNDS {
            let sequence = store.commit(puts([(format!("{thread}").as_str(), "")]))?;
            let new = seen.lock().unwrap_or_else(PoisonError::into_inner).insert(sequence);
            ensure!(new, "{sequence:?} was given twice");
        }
        Ok(())
    })?;
    let last = seen.into_inner().unwrap_or_else(PoisonError::into_inner).last().copied();
    ensure_eq!(Some(store.sequence()?), last);
    Ok(())
}

fn increments<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("count", "0")]))?;
    race(store, |store, _| {
        for _ in 0..ROUNDS {
            loop {
                let now = String::from_utf8(value(store, b"count")?.unwrap_or_default())?;
                let next = (now.parse::<u64>()? + 1).to_string();
                if !conflicts(store, Batch::new().put("count", next).require_value("count", now))? {
                    break;
                }
            }
        }
        Ok(())
    })?;
    let total = u64::try_from(THREADS)? * ROUNDS;
    ensure_eq!(value(store, b"count")?, Some(total.to_string().into_bytes()));
    Ok(())
}

fn whole<S: Store>(store: &Blocking<S>) -> Outcome {
    race(store, |store, thread| {
        for round in 0..ROUNDS {
            if thread % 2 == 0 {
                let mark = format!("{thread} {round}");
                store.commit(puts([("a", mark.as_str()), ("m", &mark), ("z", &mark)]))?;
            } else {
                let all = rows(store, &everything(), Direction::Forward, Limits::default())?;
                ensure!(
                    all.windows(2).all(|pair| matches!(pair, [(_, a), (_, b)] if a == b)),
                    "a half: {all:?}"
                );
                let mut seen = Vec::new();
                store.get_many(&["z", "a"], |_, value| seen.push(value.map(<[u8]>::to_vec)))?;
                ensure!(seen.windows(2).all(|pair| matches!(pair, [a, b] if a == b)), "a half: {seen:?}");
            }
        }
        Ok(())
    })
}
