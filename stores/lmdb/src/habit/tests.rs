use super::{expects_nothing, found};

#[test]
fn a_thread_expects_nothing_while_it_finds_nothing_and_no_other_does() {
    let after = |looks: &[(bool, usize)]| {
        looks.iter().for_each(|(is_there, times)| (0..*times).for_each(|_| found(*is_there)));
        expects_nothing()
    };
    assert!(!after(&[(true, 100), (false, 1)]));
    assert!(after(&[(false, 1)]));
    // However long it has found nothing, it forgets that soon.
    assert!(!after(&[(false, 1_000), (true, 50)]));
    // One in five is enough to go on.
    assert!(after(&[(false, 3)]) && (0..50).all(|_| after(&[(true, 4), (false, 1)])));
    assert!(std::thread::spawn(|| !expects_nothing()).join().unwrap());
}
