use super::{LARGE, PAUSE, sync};

#[test]
fn only_a_large_transaction_of_a_file_that_is_there_has_a_thread_and_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("early.klm");
    assert!(sync(&path, LARGE).is_none(), "there is no file");
    std::fs::write(&path, [0; 4_096]).unwrap();
    assert!(sync(&path, LARGE - 1).is_none());
    let early = sync(&path, LARGE).unwrap();
    std::thread::sleep(3 * PAUSE);
    // If the thread did not end, this would not return.
    drop(early);
}
