//! The table is the one that keys were written with.

use super::*;
use sha2::{Digest, Sha256};
use std::fmt::Write;

#[test]
fn the_table_is_the_one_that_keys_were_written_with() {
    let mut listing = String::new();
    for c in '\0'..=char::MAX {
        let folded: Vec<char> = fold_char(c).collect();
        if folded != [c] {
            let codes: Vec<String> = folded.iter().map(|&c| format!("{:04X}", u32::from(c))).collect();
            writeln!(listing, "{:04X}; {}", u32::from(c), codes.join(" ")).unwrap();
        }
    }
    assert_eq!(listing.lines().count(), 1585);
    assert_eq!(hex::encode(Sha256::digest(&listing)), TABLE_SHA256);
}

#[test]
fn folding_twice_is_folding_once() {
    for c in '\0'..=char::MAX {
        let once: String = fold_char(c).collect();
        assert!(is_folded(&once), "{c:?} folds to {once:?}, which folds further");
    }
}
