//! Each known mistake is found by the storms.

use super::{storm, unique};
use crate::mistake::Mistake;

/// One of many schedules shows that something is wrong.
fn is_found(mistake: Mistake, run: impl Fn(u64, Option<Mistake>) -> Result<(), String>) {
    let found = (0..4_000).find_map(|seed| run(seed, Some(mistake)).err().map(|wrong| (seed, wrong)));
    let (seed, wrong) = found.unwrap_or_else(|| panic!("{mistake:?} is not found"));
    println!("{mistake:?} with seed {seed}: {}", wrong.lines().next().unwrap_or_default());
}

fn in_a_storm(mistake: Mistake) {
    is_found(mistake, |seed, mistake| storm::run(seed, storm(), mistake));
}

fn among_names(mistake: Mistake) {
    is_found(mistake, unique::run);
}

#[test]
fn a_reader_that_deletes_too_early_is_found() {
    in_a_storm(Mistake::EagerReader);
}

#[test]
fn a_claim_taken_over_while_its_owner_writes_is_found() {
    in_a_storm(Mistake::RashClaim);
}

#[test]
fn a_claim_given_back_that_the_record_relies_on_is_found() {
    in_a_storm(Mistake::CarelessRelease);
}

#[test]
fn a_repeat_without_a_look_is_found() {
    in_a_storm(Mistake::BlindRepeat);
}

#[test]
fn a_loser_that_deletes_what_is_not_its_own_is_found() {
    in_a_storm(Mistake::GreedyLoser);
}

#[test]
fn old_rows_deleted_before_the_record_is_written_are_found() {
    in_a_storm(Mistake::EarlyDelete);
}

#[test]
fn a_key_taken_for_absent_while_its_row_is_replaced_is_found() {
    in_a_storm(Mistake::OneLook);
}

#[test]
fn a_claim_given_back_that_another_write_relies_on_is_found() {
    among_names(Mistake::SharedRelease);
}

#[test]
fn a_claim_replaced_by_a_write_that_was_overtaken_is_found() {
    among_names(Mistake::StaleClaim);
}
