use keyloom_store::{Batch, Error, Sequence};
use tokio::sync::oneshot;

use super::{Admission, Buffer, Promise};
use crate::config::Options;
use crate::engine::Engine;
use crate::log::{Logs, Salts};
use crate::room::Room;

#[test]
fn a_commit_is_seen_by_conditions_at_once_and_by_readers_when_its_log_is_synced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let engine = Engine::open(&path, Options::default()).unwrap();
    let buffer = Buffer::new(Promise::Synced, Room::for_most(100, 1 << 20));
    buffer.open(Sequence(0), Some(Logs::open(&path, false).unwrap()), Salts::fresh());
    let seen = || {
        let (reading, view) = buffer.look(&engine).unwrap();
        engine.get_in(&reading, view.as_ref(), b"a", <[u8]>::to_vec).unwrap()
    };

    let (waiter, mut answered) = oneshot::channel();
    let batch = Batch::new().put("a", "1").require_absent("a");
    let admitted = buffer.admit(&engine, batch.clone(), &mut Some(waiter)).unwrap();
    assert!(matches!(admitted, Admission::Waits { flush: false }));
    assert_eq!(seen(), None, "what could still be lost is read");
    assert!(answered.try_recv().is_err(), "what could still be lost is acknowledged");
    let (waiter, _) = oneshot::channel();
    assert!(matches!(buffer.admit(&engine, batch, &mut Some(waiter)), Err(Error::Conflict(_))));

    assert!(matches!(buffer.sync(), (1, Ok(()))));
    assert_eq!(seen().as_deref(), Some(b"1".as_slice()));
    assert_eq!(answered.try_recv().unwrap().unwrap(), Sequence(1));
    // Nothing is left to be synced, and nobody waits.
    assert!(matches!(buffer.sync(), (0, Ok(()))));
}

/// What a sync was about to make visible was not kept when a later commit wrote the same key meanwhile: readers then saw the
/// value before both, beside what else the first commit had written, and if the later one could not be logged it was gone.
#[test]
fn what_is_being_synced_is_kept_when_it_is_written_over_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let engine = Engine::open(&path, Options::default()).unwrap();
    let buffer = Buffer::new(Promise::Synced, Room::for_most(100, 1 << 20));
    buffer.open(Sequence(0), Some(Logs::open(&path, false).unwrap()), Salts::fresh());
    let commit = |value: &str, more: &str| {
        let batch = Batch::new().put("x", value).put(more, value);
        let (waiter, answered) = oneshot::channel();
        assert!(matches!(buffer.admit(&engine, batch, &mut Some(waiter)), Ok(Admission::Waits { .. })));
        answered
    };
    let seen = |key: &str| {
        let (reading, view) = buffer.look(&engine).unwrap();
        engine.get_in(&reading, view.as_ref(), key.as_bytes(), <[u8]>::to_vec).unwrap()
    };
    let mut first = commit("1", "y");
    std::thread::scope(|threads| {
        // The sync has begun, and cannot write yet.
        let logs = buffer.logs();
        let syncing = threads.spawn(|| buffer.sync());
        while buffer.write().syncing == 0 {
            std::thread::yield_now();
        }
        let _later = commit("2", "z");
        drop(logs);
        assert!(matches!(syncing.join().unwrap(), (1, Ok(()))));
    });
    assert_eq!(first.try_recv().unwrap().unwrap(), Sequence(1));
    assert_eq!((seen("x").as_deref(), seen("y").as_deref()), (Some(&b"1"[..]), Some(&b"1"[..])));
    assert_eq!(seen("z"), None);
    // What is not logged is taken back, and what was acknowledged stays.
    buffer.write().give_up();
    assert_eq!((seen("x").as_deref(), seen("y").as_deref()), (Some(&b"1"[..]), Some(&b"1"[..])));
}

/// A log that fails while the other generation is written into the file keeps its salt, and with it what was refused.
#[test]
fn a_log_is_used_again_only_when_both_have_other_salts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let engine = Engine::open(&path, Options::default()).unwrap();
    let buffer = Buffer::new(Promise::Written, Room::for_most(100, 1 << 20));
    let salts = Salts::fresh();
    buffer.open(Sequence(0), Some(Logs::open(&path, false).unwrap()), salts);
    buffer.admit(&engine, Batch::new().put("a", "1"), &mut None).unwrap();
    buffer.next().unwrap();
    let next = buffer.next_salts().unwrap();
    // While that is written into the file.
    buffer.write().give_up();
    buffer.flushed(Some(next));
    assert_eq!(next.of(1), salts.of(1));
    // It is flushed once more, though it is empty.
    assert!(buffer.next().is_some());
    let next = buffer.next_salts().unwrap();
    assert!(next.of(0) != salts.of(0) && next.of(1) != salts.of(1));
    buffer.flushed(Some(next));
    assert!(buffer.close_if_empty());
}

/// With the salt that it had, a log that is in the file already would still be the file's, and what is left in it behind new
/// records might be taken for records.
#[test]
fn a_flush_gives_its_log_another_salt_and_leaves_the_other_log_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.klm");
    let engine = Engine::open(&path, Options::default()).unwrap();
    let buffer = Buffer::new(Promise::Written, Room::for_most(100, 1 << 20));
    let mut salts = Salts::fresh();
    buffer.open(Sequence(0), Some(Logs::open(&path, false).unwrap()), salts);
    for flush in 0..6 {
        let admitted = buffer.admit(&engine, Batch::new().put("a", "1"), &mut None).unwrap();
        assert!(matches!(admitted, Admission::Done { .. }));
        let log = flush % 2;
        let written = std::fs::read(path.with_added_extension(format!("redo{log}"))).unwrap();
        assert_eq!(written.get(16..24).unwrap(), salts.of(log).to_le_bytes(), "flush {flush}");
        assert_eq!(buffer.next().unwrap().log, log);
        let next = buffer.next_salts().unwrap();
        assert_ne!(next.of(log), salts.of(log), "flush {flush}");
        assert_eq!(next.of(1 - log), salts.of(1 - log), "flush {flush}");
        buffer.flushed(Some(next));
        salts = next;
    }
}
