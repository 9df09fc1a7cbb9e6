//! What cannot be done, and what is not known.

use keyloom_cassandra::{Cluster, Fault, Kind, Row};
use keyloom_store::Wait;

use crate::records::plain;
use crate::{Case, Outcome, driver, id, key, space};

pub(crate) fn cases() -> Vec<Case> {
    vec![("what_the_cluster_does_not_take_is_refused", what_the_cluster_does_not_take_is_refused)]
}

fn what_the_cluster_does_not_take_is_refused() -> Outcome {
    // Longer than a partition key may be.
    let key_too_long = driver().set_cell(&vec![1; 70_000], None, &plain(id(), Some(b"1"))).wait();
    assert!(matches!(key_too_long, Err(Fault::Refused(_))), "{key_too_long:?}");
    let row = Row { key: vec![1; 70_000], id: id(), kind: Kind::Member, value: vec![] };
    let row_too_long = driver().insert(space(), id(), &[row]).wait();
    assert!(matches!(row_too_long, Err(Fault::Refused(_))), "{row_too_long:?}");
    let empty = driver().set_cell(b"", None, &plain(id(), Some(b"1"))).wait();
    assert!(matches!(empty, Err(Fault::Refused(_))), "{empty:?}");
    // Larger than a node takes as one change.
    let too_large = driver().set_cell(&key(), None, &plain(id(), Some(&vec![0; 13 << 20]))).wait();
    assert!(matches!(too_large, Err(Fault::Refused(_))), "{too_large:?}");
    Ok(())
}
