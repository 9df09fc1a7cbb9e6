//! The planner as `tests/plans/*.txt` specify it: a table or a query, `----`, what is said to it.
//!
//! `KEYLOOM_REWRITE=1 cargo test -p keyloom-plan --test transcripts` writes what the planner says now into the files.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]
#![allow(clippy::indexing_slicing, unreachable_pub, reason = "modules of a test")]

mod language;

use language::{Asked, Session};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/plans");

#[test]
fn every_transcript_is_what_the_planner_says() {
    keyloom_testkit::transcripts::check(FOLDER, 5, || {
        let mut session = Session::default();
        move |said: &str| match session.run(said) {
            Asked::Said(text) => text,
            Asked::Plan(plan) => plan.map_or_else(|error| error.to_string(), |plan| plan.explain()),
        }
    });
}
