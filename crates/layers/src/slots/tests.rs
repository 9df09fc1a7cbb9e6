//! When a slot says that what was read is still so.

use super::{Moment, ON_THEIR_WAY, Slots};

#[test]
fn a_note_holds_until_a_commit_begins() {
    let slots = Slots::new(64);
    let before = slots.note(3, None);
    assert!(before.is_some());
    slots.begin(&[3]);
    assert_eq!(slots.note(3, None), None);
    slots.begin(&[3, 4]);
    slots.end(&[3]);
    assert_eq!(slots.note(3, None), None, "one of two is still on its way");
    slots.end(&[3, 4]);
    let after = slots.note(3, None);
    assert!(after.is_some() && after != before);
    assert_ne!(slots.note(5, None), slots.note(6, None), "each slot has its own");
}

/// Two end at once, and the later number is entered first.
#[test]
fn a_number_never_goes_back() {
    let slots = Slots::new(64);
    slots.begin(&[1]);
    slots.begin(&[1]);
    slots.ended.store(9, super::Ordering::Relaxed);
    slots.end(&[1]);
    slots.ended.store(4, super::Ordering::Relaxed);
    slots.end(&[1]);
    assert_eq!(slots.note(1, None).map(|note| note.state >> 16), Some(10));
}

#[test]
fn a_state_has_only_what_had_ended_before_it() {
    let slots = Slots::new(64);
    slots.begin(&[1]);
    slots.end(&[1]);
    slots.begin(&[2]);
    let moment = slots.now();
    assert!(slots.note(1, Some(moment)).is_some());
    assert!(slots.note(1, Some(Moment(0))).is_none(), "it was written since");
    slots.end(&[2]);
    assert!(slots.note(2, None).is_some());
    assert!(slots.note(2, Some(moment)).is_none(), "it was on its way, and may not be in the state");
    assert!(slots.note(2, Some(slots.now())).is_some());
}

#[test]
fn a_slot_that_is_lost_or_full_stays_so() {
    let slots = Slots::new(64);
    slots.begin(&[1]);
    slots.lose(&[1]);
    slots.begin(&[1]);
    slots.end(&[1]);
    assert_eq!(slots.note(1, None), None);
    (0..ON_THEIR_WAY + 9).for_each(|_| slots.begin(&[2]));
    (0..ON_THEIR_WAY + 9).for_each(|_| slots.end(&[2]));
    assert_eq!(slots.note(2, None), None);
    assert!(slots.note(3, None).is_some(), "its neighbours know nothing of it");
}
