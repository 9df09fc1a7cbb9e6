//! Promises of `get` and `get_many`.

use std::sync::{Mutex, PoisonError};

use keyloom_store::{Blocking, Store, Wait};

use super::{Case, Outcome, commit, ensure_eq, puts, value};

/// The cases of this file.
pub fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        Case { name: "get_sees_what_was_committed", made_by: |_| true, run: committed },
        Case { name: "get_of_a_missing_key_does_not_look", made_by: |_| true, run: missing },
        Case { name: "an_empty_value_is_as_good_as_any", made_by: |_| true, run: empty },
        Case { name: "get_many_looks_once_for_each_key_in_order", made_by: |_| true, run: many },
        Case { name: "what_is_done_meanwhile_is_done_once_and_first", made_by: |_| true, run: meanwhile },
    ]
}

fn committed<S: Store>(store: &Blocking<S>) -> Outcome {
    commit(store, puts([("a", "1"), ("b", "2")]))?;
    ensure_eq!(value(store, b"a")?, Some(b"1".to_vec()));
    store.commit(puts([("a", "3")]))?;
    ensure_eq!(value(store, b"a")?, Some(b"3".to_vec()));
    ensure_eq!(value(store, b"b")?, Some(b"2".to_vec()));
    Ok(())
}

fn missing<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("a", "1")]))?;
    let mut looked = false;
    let found = store.get(b"aa", |_| looked = true)?;
    ensure_eq!((found, looked), (None, false));
    Ok(())
}

fn empty<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("nothing", "")]))?;
    ensure_eq!(value(store, b"nothing")?, Some(Vec::new()));
    ensure_eq!(value(store, b"")?, None);
    Ok(())
}

fn meanwhile<S: Store>(store: &Blocking<S>) -> Outcome {
    // Enough for a tree of several levels, where one is kept.
    let keys: Vec<String> = (0..600).map(|number| format!("{number:04}")).collect();
    commit(store, puts(keys.iter().step_by(2).map(|key| (key.as_str(), key.as_str()))))?;
    for key in keys.iter().map(String::as_str).chain(["", "0", "2"]) {
        let (mut done, seen) = (0, Mutex::new(Vec::new()));
        let work = || {
            done += 1;
            seen.lock().unwrap_or_else(PoisonError::into_inner).push("done".to_owned());
            key.len()
        };
        let look = |value: &[u8]| {
            let looked = String::from_utf8_lossy(value).into_owned();
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(looked);
        };
        let (length, found) = store.inner().get_meanwhile(key.as_bytes(), work, look).wait()?;
        let expected =
            value(store, key.as_bytes())?.map(|value| String::from_utf8_lossy(&value).into_owned());
        ensure_eq!((done, length, found.is_some()), (1, key.len(), expected.is_some()));
        let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        ensure_eq!(seen, ["done".to_owned()].into_iter().chain(expected).collect::<Vec<_>>());
    }
    Ok(())
}

fn many<S: Store>(store: &Blocking<S>) -> Outcome {
    commit(store, puts([("a", "1"), ("b", "2")]))?;
    let mut seen = Vec::new();
    store.get_many(&["b", "x", "a", "b"], |number, value| seen.push((number, value.map(<[u8]>::to_vec))))?;
    let (one, two) = (Some(b"1".to_vec()), Some(b"2".to_vec()));
    ensure_eq!(seen, [(0, two.clone()), (1, None), (2, one), (3, two)]);
    Ok(())
}
