use keyloom::Wait;

use super::*;

fn store(location: Location) -> (SessionStore, Stop) {
    let stop = Stop::default();
    (SessionStore::new(location.into(), stop.clone()).unwrap(), stop)
}

fn keys(read: &impl Read, mut look: impl FnMut(usize) + Send) -> (usize, Result<Page, Error>) {
    let mut rows = 0;
    let span = Span { start: Vec::new(), end: None };
    let page = read.scan(&span, Direction::Forward, Limits::default(), |_, _| {
        rows += 1;
        look(rows);
        ControlFlow::Continue(())
    });
    let page = page.wait();
    (rows, page)
}

#[test]
fn a_scan_stops_at_the_next_row() {
    let (store, stop) = store(Location::Memory);
    let batch = (0..100_u8).fold(Batch::new(), |batch, key| batch.put([key], "value"));
    store.commit(batch).wait().unwrap();
    assert_eq!(keys(&store, |_| {}).0, 100);
    let third = |row| {
        if row == 3 {
            stop.ask()
        }
    };
    let snapshot = store.snapshot().wait().unwrap();
    for (rows, page) in [keys(&store, third), {
        stop.forget();
        keys(&snapshot, third)
    }] {
        assert_eq!(rows, 3);
        assert!(matches!(page, Err(Error::Stopped)), "{page:?}");
    }
    // Nothing is read or written until that is forgotten.
    assert!(matches!(keys(&store, |_| {}), (0, Err(Error::Stopped))));
    assert!(matches!(store.get(&[1], |_| ()).wait(), Err(Error::Stopped)));
    assert!(matches!(snapshot.get_many(&[[1]], |_, _| ()).wait(), Err(Error::Stopped)));
    assert!(matches!(store.commit(Batch::new().delete([1])).wait(), Err(Error::Stopped)));
    stop.forget();
    assert_eq!(keys(&store, |_| {}).0, 100);
}

#[test]
fn a_file_is_made_by_the_first_commit() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("a.klm"));
    let (first, second) = (store(location.clone()).0, store(location.clone()).0);
    assert_eq!(keys(&first, |_| {}).0, 0);
    assert_eq!(first.sequence().wait().unwrap(), Sequence(0));
    assert_eq!(keys(&first.snapshot().wait().unwrap(), |_| {}).0, 0);
    assert!(first.is_missing() && !location.exists());
    second.commit(Batch::new().put("key", "value").require_absent("key")).wait().unwrap();
    assert!(location.exists());
    // Who has found nothing finds it now.
    assert!(first.is_missing());
    assert_eq!(keys(&first, |_| {}).0, 1);
    let conflict = first.commit(Batch::new().put("key", "other").require_absent("key")).wait();
    assert!(matches!(conflict, Err(Error::Conflict(_))), "{conflict:?}");
}
