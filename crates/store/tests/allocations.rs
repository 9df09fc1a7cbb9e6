//! Reads that wait for nothing allocate nothing.

use std::ops::ControlFlow;

use keyloom_key::Span;
use keyloom_store::{Batch, Blocking, Direction, Limits, MemoryStore};

#[test]
fn a_read_allocates_nothing() {
    let store = Blocking::new(MemoryStore::new());
    store.commit(Batch::new().put("a", "1").put("b", "2")).unwrap();
    let span = Span::prefix(Vec::new());
    let allocations = allocation_counter::measure(|| {
        assert_eq!(store.get(b"a", <[u8]>::len).unwrap(), Some(1));
        store.get_many(&["a", "x"], |_, _| ()).unwrap();
        store.scan(&span, Direction::Backward, Limits::default(), |_, _| ControlFlow::Continue(())).unwrap();
    });
    assert_eq!(allocations.count_total, 0);
}
