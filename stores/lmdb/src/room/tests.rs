use keyloom_store::Batch;

use super::{LARGE, Room};

fn batch(writes: usize, bytes: usize) -> Batch {
    let value = vec![0; (bytes / writes).saturating_sub(8)];
    (0..writes).fold(Batch::new(), |batch, number| batch.put(number.to_be_bytes(), &value))
}

#[test]
fn a_part_is_filled_by_writes_or_by_bytes() {
    let room = Room::for_most(800, 8_000);
    let filled = |entries, bytes| room.is_filled(8, Room { entries, bytes });
    assert!(!filled(99, 999) && filled(100, 0) && filled(0, 1_000));
    assert!(room.holds(Room { entries: 800, bytes: 8_000 }));
    assert!(!room.holds(Room { entries: 801, bytes: 0 }) && !room.holds(Room { entries: 0, bytes: 8_001 }));
}

#[test]
fn a_batch_that_is_large_is_not_logged() {
    let room = Room::for_most(1_000_000, 1 << 30);
    assert!(!room.is_passed_by(&batch(LARGE.entries, 1_000_000), true));
    assert!(room.is_passed_by(&batch(LARGE.entries + 1, 1_000_000), true));
    assert!(room.is_passed_by(&batch(2, LARGE.bytes + 100), true));
    // What only waits in memory is not written twice.
    assert!(!room.is_passed_by(&batch(LARGE.entries + 1, 1_000_000), false));
    // It would fill more than a half.
    let small = Room::for_most(10, 1 << 30);
    assert!(!small.is_passed_by(&batch(5, 100), true) && small.is_passed_by(&batch(6, 100), true));
}
