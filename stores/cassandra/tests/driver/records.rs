//! Cells and claims.

use keyloom_cassandra::{Applied, Cell, Claim, Cluster, Consistency, Id};
use keyloom_store::Wait;

use crate::{Case, Outcome, driver, id, key};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("a_cell_changes_only_from_what_was_expected", a_cell_changes_only_from_what_was_expected),
        ("every_part_of_a_cell_reads_back", every_part_of_a_cell_reads_back),
        ("cells_come_in_the_order_of_their_keys", cells_come_in_the_order_of_their_keys),
        ("no_increment_is_lost", no_increment_is_lost),
        ("a_claim_changes_only_from_what_was_expected", a_claim_changes_only_from_what_was_expected),
        ("of_racing_claims_one_wins", of_racing_claims_one_wins),
    ]
}

pub(crate) fn plain(version: Id, value: Option<&[u8]>) -> Cell {
    Cell { version, past: vec![], rows: vec![], value: value.map(Into::into) }
}

pub(crate) fn cell(key: &[u8]) -> Option<Cell> {
    let quorum = driver().cell(key, Consistency::Quorum).wait();
    assert_eq!(quorum, driver().cell(key, Consistency::Serial).wait());
    quorum.expect("an answer")
}

pub(crate) fn set(key: &[u8], expected: Option<Id>, cell: &Cell) -> Applied {
    driver().set_cell(key, expected, cell).wait().expect("an answer")
}

fn a_cell_changes_only_from_what_was_expected() -> Outcome {
    let key = key();
    assert_eq!(cell(&key), None);
    let (first, second) = (plain(id(), Some(b"1")), plain(id(), Some(b"2")));
    assert_eq!(set(&key, Some(first.version), &second), Applied::No);
    assert_eq!(cell(&key), None);
    assert_eq!(set(&key, None, &first), Applied::Yes);
    assert_eq!(set(&key, None, &second), Applied::No);
    assert_eq!(set(&key, Some(second.version), &second), Applied::No);
    assert_eq!(cell(&key), Some(first.clone()));
    assert_eq!(set(&key, Some(first.version), &second), Applied::Yes);
    assert_eq!(set(&key, Some(first.version), &first), Applied::No);
    assert_eq!(cell(&key), Some(second.clone()));
    // Deleted, it is still there with its version, and comes back.
    let deleted = plain(id(), None);
    assert_eq!(set(&key, Some(second.version), &deleted), Applied::Yes);
    assert_eq!(cell(&key), Some(deleted.clone()));
    assert_eq!(set(&key, None, &first), Applied::No);
    assert_eq!(set(&key, Some(deleted.version), &first), Applied::Yes);
    assert_eq!(cell(&key), Some(first));
    Ok(())
}

fn every_part_of_a_cell_reads_back() -> Outcome {
    let mut expected = None;
    let key = key();
    for (past, rows, value) in [
        (0, 0, Some(vec![])),
        (1, 1, None),
        (16, 3, Some(vec![0])),
        (2, 100, Some(vec![9; 1 << 20])),
        (0, 1, Some(vec![])),
    ] {
        let rows =
            (0..rows).map(|number| (u128::MAX - u128::from(driver().random()) - number, id())).collect();
        let new = Cell { version: id(), past: (0..past).map(|_| id()).collect(), rows, value };
        assert_eq!(set(&key, expected, &new), Applied::Yes);
        assert_eq!(cell(&key), Some(new.clone()));
        expected = Some(new.version);
    }
    Ok(())
}

fn cells_come_in_the_order_of_their_keys() -> Outcome {
    let keys: Vec<_> = (0..150).map(|_| key()).collect();
    let mut expected = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        let cell = (number % 3 == 0).then(|| plain(id(), Some(key)));
        if let Some(cell) = &cell {
            assert_eq!(set(key, None, cell), Applied::Yes);
        }
        expected.push(cell);
    }
    assert_eq!(driver().cells(&keys).wait()?, expected);
    let twice = [keys.iter().take(2).cloned().collect::<Vec<_>>(), keys.iter().take(2).cloned().collect()];
    let found = driver().cells(&twice.concat()).wait()?;
    assert_eq!((found.first(), found.get(2)), (expected.first(), expected.first()));
    assert_eq!(driver().cells(&[]).wait()?, []);
    Ok(())
}

fn no_increment_is_lost() -> Outcome {
    let key = key();
    let workers: Vec<_> = (0..6)
        .map(|_| {
            let key = key.clone();
            std::thread::spawn(move || {
                let mut done = 0u32;
                while done < 10 {
                    let before = driver().cell(&key, Consistency::Quorum).wait().expect("an answer");
                    let bytes = before.as_ref().and_then(|cell| cell.value.clone()).unwrap_or(vec![0; 4]);
                    let count = u32::from_be_bytes(bytes.try_into().expect("four")) + 1;
                    let after = plain(id(), Some(&count.to_be_bytes()));
                    if set(&key, before.map(|cell| cell.version), &after) == Applied::Yes {
                        done += 1;
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().expect("a worker");
    }
    assert_eq!(cell(&key).and_then(|cell| cell.value), Some(60u32.to_be_bytes().into()));
    Ok(())
}

fn a_claim_changes_only_from_what_was_expected() -> Outcome {
    let key = key();
    let claim = || driver().claim(&key, Consistency::Serial).wait().expect("an answer");
    let set = |expected: Option<Id>, new: Option<&Claim>| {
        driver().set_claim(&key, expected, new).wait().expect("an answer")
    };
    let first = Claim { id: id(), owner: b"\0one".into(), base: None };
    let second = Claim { id: id(), owner: b"two".into(), base: Some(id()) };
    assert_eq!(claim(), None);
    assert_eq!(set(None, None), Applied::Yes);
    assert_eq!(set(Some(first.id), Some(&first)), Applied::No);
    assert_eq!(set(None, Some(&first)), Applied::Yes);
    assert_eq!(set(None, Some(&second)), Applied::No);
    assert_eq!(set(None, None), Applied::No);
    assert_eq!(claim(), Some(first.clone()));
    assert_eq!(set(Some(first.id), Some(&second)), Applied::Yes);
    assert_eq!(set(Some(first.id), None), Applied::No);
    assert_eq!(claim(), Some(second.clone()));
    assert_eq!(driver().claim(&key, Consistency::Quorum).wait()?, Some(second.clone()));
    assert_eq!(set(Some(second.id), None), Applied::Yes);
    assert_eq!(claim(), None);
    assert_eq!(set(Some(second.id), None), Applied::No);
    assert_eq!(set(None, Some(&first)), Applied::Yes);
    assert_eq!(claim(), Some(first));
    Ok(())
}

fn of_racing_claims_one_wins() -> Outcome {
    let key = key();
    let workers: Vec<_> = (0..8u8)
        .map(|number| {
            let key = key.clone();
            std::thread::spawn(move || {
                let mine = Claim { id: id(), owner: vec![number], base: None };
                driver().set_claim(&key, None, Some(&mine)).wait().expect("an answer")
            })
        })
        .collect();
    let ended: Vec<_> = workers.into_iter().map(|worker| worker.join().expect("a worker")).collect();
    assert_eq!(ended.iter().filter(|applied| **applied == Applied::Yes).count(), 1);
    Ok(())
}
