use std::sync::Arc;
use std::time::Duration;

use super::Aging;
use crate::error::Error;

const AGE: Duration = Duration::from_millis(20);

#[test]
fn what_is_past_its_age_is_let_go_used_or_not() {
    let aging = Aging::new(AGE);
    let state = Arc::new(());
    let (unused, used) = (aging.hold(Arc::clone(&state)), aging.hold(Arc::clone(&state)));
    assert!(used.read(|_| Ok(())).is_ok());
    std::thread::sleep(AGE * 2);
    assert!(matches!(used.read(|_| Ok(())), Err(Error::Expired(_))));
    assert_eq!(Arc::strong_count(&state), 2, "the read let go of it");
    let young = aging.hold(Arc::clone(&state));
    aging.expire();
    assert_eq!(Arc::strong_count(&state), 2, "the one that nobody has read is gone, the young one is not");
    assert!(young.read(|_| Ok(())).is_ok());
    assert!(matches!(unused.read(|_| Ok(())), Err(Error::Expired(_))));
}

#[test]
fn what_is_dropped_is_forgotten() {
    let aging = Aging::new(AGE);
    drop(aging.hold(()));
    assert!(super::lock(&aging.living).held.is_empty());
}

#[test]
fn what_is_being_read_waits_for_the_next_time() {
    let aging = Aging::new(AGE);
    let state = Arc::new(());
    let held = aging.hold(Arc::clone(&state));
    let read = held.read(|_| {
        std::thread::sleep(AGE * 2);
        aging.expire();
        assert_eq!(Arc::strong_count(&state), 2);
        Ok(())
    });
    assert!(read.is_ok());
    aging.expire();
    assert_eq!(Arc::strong_count(&state), 1);
}
