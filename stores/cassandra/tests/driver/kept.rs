//! How long things are kept, looked at with statements of our own.

use std::time::Duration;

use keyloom_cassandra::{Applied, Cluster};
use keyloom_store::Wait;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use tokio::runtime::Runtime;

use crate::records::{cell, plain, set};
use crate::{Case, NODE, Outcome, driver, id, key};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("a_deleted_cell_goes_after_a_day", a_deleted_cell_goes_after_a_day),
        ("a_cell_whose_time_is_over_leaves_nothing", a_cell_whose_time_is_over_leaves_nothing),
        ("no_row_has_a_tombstone_in_it", no_row_has_a_tombstone_in_it),
    ]
}

fn session(runtime: &Runtime) -> Session {
    let _ = driver();
    let node = std::env::var(NODE).unwrap_or_default();
    let builder = SessionBuilder::new().known_node(node).use_keyspace("driver", false);
    runtime.block_on(builder.build()).expect("a session")
}

fn a_deleted_cell_goes_after_a_day() -> Outcome {
    let runtime = Runtime::new()?;
    let session = session(&runtime);
    let key = key();
    let left = || -> [Option<i32>; 2] {
        let asked =
            session.query_unpaged("SELECT TTL(version), TTL(counted) FROM cells WHERE key = ?", (&key,));
        let rows = runtime.block_on(asked).expect("an answer").into_rows_result().expect("rows");
        let (version, counted) = rows.first_row().expect("a row");
        [version, counted]
    };
    let (live, deleted, again) = (plain(id(), Some(b"1")), plain(id(), None), plain(id(), Some(b"2")));
    assert_eq!(set(&key, None, &live), Applied::Yes);
    assert_eq!(left(), [None, None]);
    assert_eq!(set(&key, Some(live.version), &deleted), Applied::Yes);
    for seconds in left() {
        assert!(seconds.is_some_and(|seconds| (86_300..=86_400).contains(&seconds)), "{seconds:?}");
    }
    assert_eq!(set(&key, Some(deleted.version), &again), Applied::Yes);
    assert_eq!(left(), [None, None]);
    Ok(())
}

/// An INSERT leaves a row without columns when they are over, which would be neither there nor absent.
fn a_cell_whose_time_is_over_leaves_nothing() -> Outcome {
    let runtime = Runtime::new()?;
    let session = session(&runtime);
    let key = key();
    let live = plain(id(), Some(b"1"));
    assert_eq!(set(&key, None, &live), Applied::Yes);
    let last = plain(id(), None);
    let text = "UPDATE cells USING TTL 1 SET version = ?, past = 0x, counted = 0x, value = null WHERE key = ? IF version = ?";
    runtime.block_on(session.query_unpaged(text, (last.version.bytes(), &key, live.version.bytes())))?;
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(cell(&key), None);
    assert_eq!(set(&key, Some(last.version), &live), Applied::No);
    assert_eq!(set(&key, None, &live), Applied::Yes);
    assert_eq!(cell(&key), Some(live));
    Ok(())
}

/// A null that is written is a deletion: scans would read over one or two of them in every row.
fn no_row_has_a_tombstone_in_it() -> Outcome {
    use keyloom_cassandra::{Kind, Row};
    let runtime = Runtime::new()?;
    let session = session(&runtime);
    let (space, shard) = (crate::space(), id());
    let rows = [
        Row { key: vec![1], id: id(), kind: Kind::Member, value: vec![] },
        Row { key: vec![2], id: id(), kind: Kind::Record { base: None }, value: vec![] },
    ];
    driver().insert(space, shard, &rows).wait()?;
    let text =
        "SELECT WRITETIME(owner), WRITETIME(base), WRITETIME(value) FROM rows WHERE space = ? AND shard = ?";
    let asked = session.query_unpaged(text, (space.0, shard.bytes()));
    let found = runtime.block_on(asked)?.into_rows_result()?;
    let times: Vec<(Option<i64>, Option<i64>, Option<i64>)> = found.rows()?.collect::<Result<_, _>>()?;
    let expected: Vec<_> =
        rows.iter().map(|row| Some(row.id.time())).map(|time| (time, time, time)).collect();
    assert_eq!(times, expected);
    Ok(())
}
