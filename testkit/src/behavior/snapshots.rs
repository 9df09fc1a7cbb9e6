//! Promises of `snapshot`.

use keyloom_store::{Batch, Blocking, Direction, Limits, Store};

use super::{Case, Outcome, ensure_eq, everything, puts, rows, value};

/// The cases of this file.
pub fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        Case { name: "a_snapshot_stays_as_it_is", made_by: |c| c.snapshot, run: stays },
        Case { name: "snapshots_of_different_times_differ", made_by: |c| c.snapshot, run: differ },
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
