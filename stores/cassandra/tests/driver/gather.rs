//! Rows of several callers that go together: what is acknowledged is written, and what befalls one befalls no other.

use std::pin::pin;
use std::task::{Context, Waker};

use futures_util::future::join_all;
use keyloom_cassandra::{Cluster, Fault, Id, Kind, Row, Space};
use keyloom_key::Span;
use keyloom_store::{Direction, Wait};

use crate::{Case, Outcome, driver, id, space};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("what_is_acknowledged_is_written", what_is_acknowledged_is_written),
        ("what_is_refused_to_one_is_refused_to_no_other", what_is_refused_to_one_is_refused_to_no_other),
        ("whoever_gives_up_takes_nobody_with_him", whoever_gives_up_takes_nobody_with_him),
    ]
}

/// How many insert at once: far more than are under way before others wait.
const CALLERS: u32 = 64;

/// The rows of a caller.
fn rows(caller: u32, count: u32) -> Vec<Row> {
    let key = |number: u32| [caller.to_be_bytes(), number.to_be_bytes()].concat();
    let row = |number| Row { key: key(number), id: id(), kind: Kind::Member, value: key(number) };
    (0..count).map(row).collect()
}

/// The rows of a partition from a key on.
fn found(space: Space, shard: Id, start: &[u8]) -> Vec<Row> {
    let span = Span { start: start.to_vec(), end: None };
    driver().rows(space, shard, &span, Direction::Forward, 100_000).wait().expect("rows")
}

fn what_is_acknowledged_is_written() -> Outcome {
    let (driver, space, shard) = (driver(), space(), id());
    let all: Vec<_> = (0..CALLERS).map(|caller| rows(caller, 1 + caller % 7)).collect();
    let callers = all.iter().map(|rows| async {
        driver.insert(space, shard, rows).await?;
        // Whoever is told so finds them, others' still on their way or not.
        let first = &rows.first().expect("a row").key;
        let span = Span { start: first.clone(), end: None };
        let there = driver.rows(space, shard, &span, Direction::Forward, rows.len()).await?;
        assert_eq!(there, *rows);
        Ok::<_, Fault>(())
    });
    join_all(callers).wait().into_iter().collect::<Result<(), _>>().map_err(|fault| fault.to_string())?;
    assert_eq!(found(space, shard, &[]), all.concat());
    Ok(())
}

fn what_is_refused_to_one_is_refused_to_no_other() -> Outcome {
    let (driver, space, shard) = (driver(), space(), id());
    let mut all: Vec<_> = (0..CALLERS).map(|caller| rows(caller, 2)).collect();
    // Longer than a key may be, in the middle of the others.
    let bad = usize::try_from(CALLERS / 2)?;
    all.get_mut(bad).and_then(|rows| rows.first_mut()).expect("a row").key = vec![9; 70_000];
    let ended = join_all(all.iter().map(|rows| driver.insert(space, shard, rows))).wait();
    for (caller, ended) in ended.iter().enumerate() {
        assert_eq!(matches!(ended, Err(Fault::Refused(_))), caller == bad, "{caller}: {ended:?}");
        assert_eq!(ended.is_ok(), caller != bad, "{caller}: {ended:?}");
    }
    all.remove(bad);
    // Of what was refused as a whole nothing is there.
    assert_eq!(found(space, shard, &[]), all.concat());
    Ok(())
}

fn whoever_gives_up_takes_nobody_with_him() -> Outcome {
    let (driver, space, shard) = (driver(), space(), id());
    let all: Vec<_> = (0..CALLERS).map(|caller| rows(caller, 3)).collect();
    let (leave, stay): (Vec<_>, Vec<_>) = all.iter().enumerate().partition(|(caller, _)| caller % 2 == 0);
    let stay: Vec<_> = stay.into_iter().map(|(_, rows)| rows.clone()).collect();
    let ended = {
        let staying = join_all(stay.iter().map(|rows| driver.insert(space, shard, rows)));
        let mut staying = pin!(staying);
        let mut context = Context::from_waker(Waker::noop());
        for (_, rows) in &leave {
            let mut left = pin!(driver.insert(space, shard, rows));
            assert!(left.as_mut().poll(&mut context).is_pending());
            let _ = staying.as_mut().poll(&mut context);
        }
        staying.wait()
    };
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    let there = found(space, shard, &[]);
    for row in stay.iter().flatten() {
        assert!(there.contains(row), "{row:?} was acknowledged");
    }
    Ok(())
}
