//! Promises of `snapshot`.

use std::time::Duration;

use keyloom_store::{Batch, Blocking, Direction, Error, Limits, Store};

use super::{Case, Outcome, ensure, ensure_eq, everything, lasting, puts, rows, value};

/// The cases of this file.
pub fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        Case { name: "a_snapshot_stays_as_it_is", made_by: lasting, run: stays },
        Case { name: "snapshots_of_different_times_differ", made_by: lasting, run: differ },
        Case {
            name: "a_snapshot_past_its_age_says_so",
            made_by: |c| c.snapshot && c.snapshot_age.is_some() && !lasting(c),
            run: expires,
        },
    ]
}

fn stays<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("a", "1"), ("b", "1"), ("c", "1")]))?;
    let snapshot = store.snapshot()?;
    let before = rows(&snapshot, &everything(), Direction::Forward, Limits::default())?;
    store.commit(Batch::new().put("a", "2").delete("b").put("d", "2"))?;
    store.commit(Batch::new().delete("a").put("b", "3"))?;
    ensure_eq!(rows(&snapshot, &everything(), Direction::Forward, Limits::rows(1))?, before);
    ensure_eq!(value(&snapshot, b"a")?, Some(b"1".to_vec()));
    ensure_eq!(value(&snapshot, b"d")?, None);
    drop(snapshot);
    ensure_eq!(value(store, b"a")?, None);
    ensure_eq!(value(store, b"b")?, Some(b"3".to_vec()));
    Ok(())
}

fn differ<S: Store>(store: &Blocking<S>) -> Outcome {
    let mut taken = Vec::new();
    for number in 0..10 {
        store.commit(puts([("now", number.to_string().as_str())]))?;
        taken.push((number, store.snapshot()?));
    }
    // Let go of every other one first: what the rest see must not go with them.
    taken.retain(|(number, _)| number % 2 == 1);
    store.commit(Batch::new().delete("now"))?;
    for (number, snapshot) in &taken {
        ensure_eq!(value(snapshot, b"now")?, Some(number.to_string().into_bytes()));
    }
    Ok(())
}

fn expires<S: Store>(store: &Blocking<S>) -> Outcome {
    let age = store.capability().snapshot_age.ok_or("snapshots have no age")?;
    store.commit(puts([("a", "1")]))?;
    let snapshot = store.snapshot()?;
    std::thread::sleep(age + Duration::from_millis(1));
    // Whether it was written to since or not.
    for round in 0..2 {
        let outcomes = [
            snapshot.get(b"a", |_| ()).map(|_| ()),
            snapshot.get_many(&["a"], |_, _| ()),
            rows(&snapshot, &everything(), Direction::Forward, Limits::default()).map(|_| ()),
        ];
        for outcome in outcomes {
            ensure!(matches!(outcome, Err(Error::Expired(_))), "in round {round}: {outcome:?}");
        }
        store.commit(puts([("a", "2")]))?;
    }
    ensure_eq!(value(store, b"a")?, Some(b"2".to_vec()));
    // One that is young can be read, whatever became of the others.
    let young = store.snapshot()?;
    match value(&young, b"a") {
        Ok(found) => ensure_eq!(found, Some(b"2".to_vec())),
        // On a slow machine.
        Err(Error::Expired(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
