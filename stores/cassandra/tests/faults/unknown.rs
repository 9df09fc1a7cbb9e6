//! What the driver says of statements while no node answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use keyloom_cassandra::{Applied, Cell, Cluster, Config, Consistency, Driver, Fault, Id, Kind, Row, Space};
use keyloom_key::Span;
use keyloom_store::{Direction, Wait};

use crate::nodes::Nodes;
use crate::scenario::Outcome;

/// How many insert at once.
const CALLERS: u8 = 32;

/// A conditional write is unknown, and said to be so; a row's insertion is repeated until it is done, or until patience
/// ends: then it is unknown to all whose rows went together.
pub(crate) fn no_node_answers(nodes: &Nodes) -> Outcome {
    let url = nodes.url(&format!("silent_{}", std::process::id()));
    let config: Config = url.parse()?;
    let driver = Arc::new(Driver::connect(&config).wait()?);
    let hasty = Driver::connect(&url.replace("patience=60s", "patience=1s").parse()?).wait()?;
    let id = || Id::new(driver.wall(), driver.random());
    let (space, shard, version) = (Space([1; 4]), id(), id());
    let cell = Cell { version, past: vec![], rows: vec![], value: Some(b"1".into()) };
    let row = Row { key: vec![1], id: id(), kind: Kind::Member, value: vec![] };
    // Connections are open and statements prepared before the silence.
    assert_eq!(driver.cell(b"other", Consistency::Serial).wait(), Ok(None));
    let others = id();
    let callers: Vec<Row> =
        (0..CALLERS).map(|key| Row { key: vec![key], id: id(), kind: Kind::Member, value: vec![] }).collect();
    let together = || {
        let rows = callers.chunks(1);
        join_all(rows.map(|rows| hasty.insert(space, others, rows))).wait()
    };
    hasty
        .insert(space, others, callers.get(..1).unwrap_or_default())
        .wait()
        .map_err(|fault| fault.to_string())?;
    for node in ["1", "2", "3"] {
        nodes.tell(&["pause", node])?;
    }
    let insert = {
        let (driver, row) = (driver.clone(), row.clone());
        std::thread::spawn(move || driver.insert(space, shard, &[row]).wait())
    };
    let start = Instant::now();
    let unknown = driver.set_cell(b"key", None, &cell).wait();
    let took = start.elapsed();
    let waits = !insert.is_finished();
    let given_up = together();
    for node in ["1", "2", "3"] {
        nodes.tell(&["resume", node])?;
    }
    if !matches!(unknown, Err(Fault::Unknown(_))) {
        return Err(format!("a conditional write without an answer is {unknown:?}").into());
    }
    if took < config.timeout / 4 || took > config.timeout * 2 || !waits {
        return Err(format!("it was given up after {took:?}, the insertion waits: {waits}").into());
    }
    let inserted = insert.join().map_err(|_| "the insertion panicked")?;
    inserted.map_err(|fault| format!("the insertion was not repeated: {fault}"))?;
    if !given_up.iter().all(|ended| matches!(ended, Err(Fault::Unknown(_)))) {
        return Err(format!("insertions without an answer are {given_up:?}").into());
    }
    // Nobody waits for what was given up.
    assert_eq!(together(), vec![Ok(()); callers.len()]);
    let all = Span { start: vec![], end: None };
    assert_eq!(driver.rows(space, others, &all, Direction::Forward, 1_000).wait(), Ok(callers));
    let rows = driver.rows(space, shard, &all, Direction::Forward, 10).wait();
    assert_eq!(rows, Ok(vec![row]));
    // It may have been done when the nodes woke up, once.
    std::thread::sleep(Duration::from_secs(1));
    match driver.cell(b"key", Consistency::Serial).wait() {
        Ok(Some(found)) if found == cell => {
            assert_eq!(driver.set_cell(b"key", None, &cell).wait(), Ok(Applied::No))
        }
        Ok(None) => assert_eq!(driver.set_cell(b"key", None, &cell).wait(), Ok(Applied::Yes)),
        other => return Err(format!("after the silence: {other:?}").into()),
    }
    Ok(())
}

/// Whoever comes while too few nodes answer waits for them as long as he has patience.
pub(crate) fn a_client_comes_while_nodes_sleep(nodes: &Nodes) -> Outcome {
    let config: Config = nodes.url(&format!("silent_{}", std::process::id())).parse()?;
    drop(Driver::connect(&config).wait()?);
    for node in ["2", "3"] {
        nodes.tell(&["pause", node])?;
    }
    let open = std::thread::spawn(move || Driver::connect(&config).wait().map(drop));
    // Longer than a node waits for the others.
    std::thread::sleep(Duration::from_secs(8));
    let waits = !open.is_finished();
    for node in ["2", "3"] {
        nodes.tell(&["resume", node])?;
    }
    open.join().map_err(|_| "the client panicked")??;
    if waits { Ok(()) } else { Err("the nodes did not sleep".into()) }
}
