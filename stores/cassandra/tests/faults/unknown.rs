//! What the driver says of statements while no node answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom_cassandra::{Applied, Cell, Cluster, Config, Consistency, Driver, Fault, Id, Kind, Row, Space};
use keyloom_key::Span;
use keyloom_store::{Direction, Wait};

use crate::nodes::Nodes;
use crate::scenario::Outcome;

/// A conditional write is unknown, and said to be so; a row's insertion is repeated until it is done.
pub(crate) fn no_node_answers(nodes: &Nodes) -> Outcome {
    let config: Config = nodes.url(&format!("silent_{}", std::process::id())).parse()?;
    let driver = Arc::new(Driver::connect(&config).wait()?);
    let id = || Id::new(driver.wall(), driver.random());
    let (space, shard, version) = (Space([1; 4]), id(), id());
    let cell = Cell { version, past: vec![], rows: vec![], value: Some(b"1".into()) };
    let row = Row { key: vec![1], id: id(), kind: Kind::Member, value: vec![] };
    // Connections are open and statements prepared before the silence.
    assert_eq!(driver.cell(b"other", Consistency::Serial).wait(), Ok(None));
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
    let all = Span { start: vec![], end: None };
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
