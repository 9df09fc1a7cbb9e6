//! Promises of batches that say what they are [about](keyloom_store::About): a record with its entries, or members.

use std::sync::atomic::{AtomicUsize, Ordering};

use keyloom_store::{About, Batch, Blocking, Capability, Direction, Error, Limits, Store};

use super::commits::{THREADS, conflicts, race};
use super::{Case, Outcome, ensure, ensure_eq, everything, puts, rows, value};

/// Whether the store knows whose an entry is.
fn knows(capability: &Capability) -> bool {
    capability.record_batch && !capability.atomic_batch
}

/// The cases of this file.
pub fn cases<S: Store>() -> Vec<Case<S>> {
    vec![
        Case { name: "a_record_moves_with_its_entries", made_by: |c| c.record_batch, run: moves },
        Case {
            name: "an_entry_that_is_claimed_conflicts",
            made_by: |c| c.record_batch && c.conditions,
            run: claims,
        },
        Case {
            name: "of_racing_claims_one_holds",
            made_by: |c| c.record_batch && c.conditions,
            run: racing_claims,
        },
        Case { name: "an_entry_of_another_record_stays", made_by: knows, run: stays },
        Case { name: "a_deleted_record_takes_its_entries_with_it", made_by: knows, run: takes },
        Case { name: "members_come_and_go", made_by: |_| true, run: members },
        Case { name: "what_a_store_cannot_commit_is_refused", made_by: |c| !c.atomic_batch, run: refuses },
        Case {
            name: "racing_changes_of_a_record_keep_one_entry",
            made_by: |c| c.record_batch && c.conditions,
            run: racing_moves,
        },
    ]
}

fn about(record: &str) -> About {
    About::Record(record.as_bytes().to_vec())
}

/// Every key that is there.
fn keys<S: Store>(store: &Blocking<S>) -> Result<Vec<String>, Error> {
    let all = rows(store, &everything(), Direction::Forward, Limits::default())?;
    Ok(all.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect())
}

fn moves<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("r", "1"), ("by/x/r", "r"), ("by/y/r", "r")]).about(about("r")))?;
    ensure_eq!(keys(store)?, ["by/x/r", "by/y/r", "r"]);
    let moved = puts([("r", "2"), ("by/z/r", "r"), ("by/y/r", "other")]).delete("by/x/r");
    store.commit(moved.about(about("r")))?;
    ensure_eq!(keys(store)?, ["by/y/r", "by/z/r", "r"]);
    ensure_eq!(value(store, b"by/y/r")?, Some(b"other".to_vec()));
    ensure_eq!(value(store, b"r")?, Some(b"2".to_vec()));
    // Entries that are not named stay, and one that is there already can be written again.
    store.commit(puts([("r", "3"), ("by/z/r", "r")]).about(about("r")))?;
    ensure_eq!(keys(store)?, ["by/y/r", "by/z/r", "r"]);
    store.commit(Batch::new().delete("r").delete("by/y/r").delete("by/z/r").about(about("r")))?;
    ensure_eq!(keys(store)?, Vec::<String>::new());
    Ok(())
}

fn claims<S: Store>(store: &Blocking<S>) -> Outcome {
    let claim = |record: &str| puts([(record, ""), ("u", record)]).require_absent("u").about(about(record));
    ensure!(!conflicts(store, claim("r"))?, "nobody had it");
    ensure!(conflicts(store, claim("s"))?, "r has it");
    ensure_eq!(keys(store)?, ["r", "u"]);
    // Its own record may write it again.
    let again = puts([("r", "2"), ("u", "r")]).require_value("u", "r").about(about("r"));
    ensure!(!conflicts(store, again)?, "r has it");
    // Who lets go of it makes room, by a change and by a deletion.
    store.commit(puts([("r", "3")]).delete("u").about(about("r")))?;
    ensure!(!conflicts(store, claim("s"))?, "r has let go of it");
    store.commit(Batch::new().delete("s").delete("u").about(about("s")))?;
    ensure!(!conflicts(store, claim("t"))?, "s has gone");
    ensure_eq!(keys(store)?, ["r", "t", "u"]);
    ensure_eq!(value(store, b"u")?, Some(b"t".to_vec()));
    Ok(())
}

fn racing_claims<S: Store>(store: &Blocking<S>) -> Outcome {
    for round in 0..10 {
        let won = AtomicUsize::new(0);
        let unique = format!("u{round}");
        race(store, |store, thread| {
            let record = format!("r{round}/{thread}");
            let claim = puts([(record.as_str(), ""), (&unique, &record)]).require_absent(unique.as_str());
            if !conflicts(store, claim.about(about(&record)))? {
                won.fetch_add(1, Ordering::SeqCst);
            }
            Ok(())
        })?;
        ensure_eq!(won.into_inner(), 1);
        let owner = value(store, unique.as_bytes())?.unwrap_or_default();
        ensure!(value(store, &owner)?.is_some(), "the winner is not there");
    }
    ensure_eq!(keys(store)?.len(), 20);
    Ok(())
}

fn racing_moves<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("r", "start"), ("by/start", "r")]).about(about("r")))?;
    race(store, |store, thread| {
        for round in 0..10 {
            loop {
                let was = String::from_utf8(value(store, b"r")?.unwrap_or_default())?;
                let (old, new, to) =
                    (format!("by/{was}"), format!("by/{thread}-{round}"), format!("{thread}-{round}"));
                let moved = puts([("r", to.as_str()), (&new, "r")]).delete(old).require_value("r", was);
                if !conflicts(store, moved.about(about("r")))? {
                    break;
                }
            }
        }
        Ok(())
    })?;
    let last = String::from_utf8(value(store, b"r")?.unwrap_or_default())?;
    ensure_eq!(keys(store)?, [format!("by/{last}"), "r".to_owned()]);
    ensure!(last.ends_with("-9") && THREADS > 1, "{last} is none of the last rounds");
    Ok(())
}

fn stays<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("r", ""), ("u", "r")]).about(about("r")))?;
    store.commit(puts([("s", "")]).delete("u").delete("nothing").about(about("s")))?;
    ensure_eq!(keys(store)?, ["r", "s", "u"]);
    Ok(())
}

fn takes<S: Store>(store: &Blocking<S>) -> Outcome {
    store.commit(puts([("r", ""), ("by/r", ""), ("u", "r")]).about(about("r")))?;
    store.commit(Batch::new().delete("r").about(about("r")))?;
    ensure_eq!(keys(store)?, Vec::<String>::new());
    ensure_eq!(value(store, b"u")?, None);
    // What it had is free.
    store.commit(puts([("s", ""), ("u", "s")]).require_absent("u").about(about("s")))?;
    ensure_eq!(keys(store)?, ["s", "u"]);
    Ok(())
}

fn members<S: Store>(store: &Blocking<S>) -> Outcome {
    let batch = |batch: Batch| batch.about(About::Members);
    store.commit(batch(puts([("set/b", ""), ("set/a", ""), ("other/a", "")])))?;
    store.commit(batch(puts([("set/a", "")])))?;
    ensure_eq!(keys(store)?, ["other/a", "set/a", "set/b"]);
    store.commit(batch(Batch::new().delete("set/a").delete("set/x")))?;
    ensure_eq!(keys(store)?, ["other/a", "set/b"]);
    store.commit(batch(puts([("set/a", "")])))?;
    ensure_eq!(value(store, b"set/a")?, Some(Vec::new()));
    Ok(())
}

fn refuses<S: Store>(store: &Blocking<S>) -> Outcome {
    let several = puts([("a", "1"), ("b", "1")]);
    let span = puts([("a", "1")])
        .require_unchanged(everything(), keyloom_store::Fingerprint::empty())
        .about(about("a"));
    for batch in [several, span] {
        match store.commit(batch) {
            Err(Error::Unsupported { .. }) => {}
            other => return Err(format!("{other:?}").into()),
        }
    }
    ensure_eq!(keys(store)?, Vec::<String>::new());
    Ok(())
}
