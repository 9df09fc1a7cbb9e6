//! How do I keep keys in a file, and read those of one user in order, newest first?

use std::ops::ControlFlow;

use keyloom::key::{DecodeKey, Desc, EncodeKey, KeyStr, Span};
use keyloom::lmdb::LmdbStore;
use keyloom::store::{Batch, Blocking, Direction, Limits};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = Blocking::new(LmdbStore::open(folder.path().join("orders.klm"))?);

    let mut batch = Batch::new();
    for (user, number) in [("U1", 1_u64), ("U10", 2), ("U1", 3), ("U2", 4), ("U1", 5)] {
        batch = batch.put((user, Desc(number)).to_key()?, format!("order {number} of {user}"));
    }
    store.commit(batch)?;

    let mut numbers = Vec::new();
    let page =
        store.scan(&Span::prefix(("U1",).to_key()?), Direction::Forward, Limits::rows(2), |key, value| {
            let Ok((_, Desc(number))) = <(KeyStr, Desc<u64>)>::decode_key(key) else {
                return ControlFlow::Break(());
            };
            println!("{}", String::from_utf8_lossy(value));
            numbers.push(number);
            ControlFlow::Continue(())
        })?;
    assert_eq!(numbers, [5, 3]);
    println!("what is left of the span: {:02x?}", page.rest.as_ref().map(|rest| &rest.start));
    Ok(())
}
