use std::collections::BTreeMap;
use std::time::Duration;

use keyloom_store::{Batch, Blocking, Durability, Wait as _};

use crate::config::{LogOptions, Options};
use crate::store::LmdbStore;

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

#[test]
fn several_keys_are_read_from_memory_and_from_the_file_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = LogOptions { interval: Duration::from_secs(3_600), ..LogOptions::default() };
    let options = Options { durability: Durability::Written, log: Some(log), ..Options::default() };
    let store = Blocking::new(LmdbStore::open_with(folder.path().join("view.klm"), options).unwrap());
    let mut model = BTreeMap::new();
    let mut write = |number: u32, value: Option<u32>| {
        let batch = match value {
            Some(value) => Batch::new().put(key(number), key(value)),
            None => Batch::new().delete(key(number)),
        };
        store.commit(batch).unwrap();
        model.insert(number, value);
    };
    (0..100).for_each(|number| write(number, Some(number)));
    store.inner().drain().wait().unwrap();
    (0..120).step_by(3).for_each(|number| write(number, Some(number + 1_000)));
    (0..120).step_by(7).for_each(|number| write(number, None));
    assert!(
        store.inner().engine().newest_sequence().unwrap() < store.sequence().unwrap(),
        "all is in the file"
    );

    for stride in [1, 37, 129] {
        let asked: Vec<u32> = (0..130).map(|number| number * stride % 130).collect();
        let keys: Vec<Vec<u8>> = asked.iter().map(|number| key(*number)).collect();
        let mut found = Vec::new();
        store.get_many(&keys, |number, value| found.push((number, value.map(<[u8]>::to_vec)))).unwrap();
        let value = |number: &u32| model.get(number).copied().flatten().map(key);
        let expected: Vec<_> = asked.iter().map(value).enumerate().collect();
        assert_eq!(found, expected);
    }
}
