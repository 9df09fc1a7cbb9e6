use std::collections::BTreeMap;

use keyloom_store::{Batch, Blocking, Error};

use super::{LARGE, TOGETHER};
use crate::{LmdbStore, Options};

/// What becomes of each key.
type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// More rows than the thread beside brings together at once, in no order, some of them written twice or deleted again.
fn large(seed: u32) -> (Batch, Rows) {
    let (mut batch, mut rows) = (Batch::new(), Rows::new());
    for number in 0..40_000_u32 {
        let key = number.wrapping_mul(0x9E37_79B1).wrapping_add(seed).to_be_bytes().repeat(2);
        // One alone is larger than what is brought together.
        let length = if number == 7 { 3 * TOGETHER } else { 100 };
        let value = number.to_be_bytes().repeat(length / 4);
        batch.write(&key, Some(&value));
        let last = match number % 16 {
            0 => None,
            1 => Some(b"again".to_vec()),
            _ => Some(value),
        };
        if number % 16 < 2 {
            batch.write(&key, last.as_deref());
        }
        rows.insert(key, last);
    }
    assert!(batch.size() > LARGE);
    (batch, rows)
}

/// Sorted, so that its rows are appended, and as it came, among those that are there already.
#[test]
fn a_large_batch_does_what_its_writes_do_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = Blocking::new(LmdbStore::open(folder.path().join("large.klm")).unwrap());
    let (mut batch, mut rows) = large(1);
    batch.sort();
    store.commit(batch).unwrap();
    let (batch, more) = large(2);
    store.commit(batch).unwrap();
    rows.extend(more);
    for (key, value) in rows {
        assert_eq!(store.get(&key, <[u8]>::to_vec).unwrap(), value);
    }
}

/// The thread beside ends though nobody takes what it brings.
#[test]
fn a_large_batch_that_does_not_fit_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { map_size: LARGE, ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(folder.path().join("full.klm"), options).unwrap());
    let (batch, rows) = large(1);
    let full = store.commit(batch).unwrap_err();
    assert!(matches!(full, Error::Full(_)), "{full}");
    for key in rows.keys() {
        assert_eq!(store.get(key, <[u8]>::to_vec).unwrap(), None);
    }
    store.commit(Batch::new().put("a", "1")).unwrap();
}
