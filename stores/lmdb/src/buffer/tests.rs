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
