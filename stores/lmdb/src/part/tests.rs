//! What another process may do between two steps of ours.

use std::fs::{self, File};

use super::is_at;

#[test]
fn a_file_that_took_its_place_meanwhile_is_not_the_one_with_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let (part, place) = (folder.path().join("copy.part"), folder.path().join("copy"));
    let opened = File::create(&part).unwrap();
    assert!(is_at(&opened, &part).unwrap());
    fs::rename(&part, &place).unwrap();
    assert!(!is_at(&opened, &part).unwrap(), "writing to it would ruin the copy that is whole");
    File::create(&part).unwrap();
    assert!(!is_at(&opened, &part).unwrap(), "another has the name now");
}
