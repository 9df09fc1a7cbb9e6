//! The simulation keeps Cassandra's rules, and its faults happen.

use std::collections::BTreeSet;
use std::time::Duration;

use keyloom_key::Span;

use crate::cluster::{Applied, Cell, Claim, Cluster, Consistency, Kind, Range, Row, Space, State};
use crate::id::Id;
use crate::simulation::{Client, Faults, Simulation};

const SPACE: Space = Space([0; 4]);

fn id(time: i64) -> Id {
    Id::new(time, 1)
}

fn row(key: &str, time: i64) -> Row {
    Row { key: key.into(), id: id(time), kind: Kind::Member, value: Vec::new() }
}

fn quiet() -> (Simulation, Client) {
    let simulation = Simulation::new(1, Faults::none());
    let client = simulation.client();
    (simulation, client)
}

#[test]
fn a_deletion_counts_before_and_after_the_insertion_of_its_time() {
    let (simulation, client) = quiet();
    let cluster = client.clone();
    simulation
        .block_on(&client, async move {
            let shard = id(1);
            cluster.delete(SPACE, shard, &[("a".into(), id(5))]).await.unwrap();
            cluster.insert(SPACE, shard, &[row("a", 5), row("b", 6), row("a", 7)]).await.unwrap();
            cluster.delete(SPACE, shard, &[("b".into(), id(6))]).await.unwrap();
            cluster.insert(SPACE, shard, &[row("b", 6)]).await.unwrap();
        })
        .unwrap();
    assert_eq!(simulation.look(|stored| stored.shard(SPACE, id(1))), [row("a", 7)]);
}

#[test]
fn a_range_deletion_kills_what_comes_later_with_an_earlier_time() {
    let (simulation, client) = quiet();
    let cluster = client.clone();
    simulation
        .block_on(&client, async move {
            let span = Span { start: b"b".to_vec(), end: Some(b"d".to_vec()) };
            cluster.insert(SPACE, id(1), &[row("a", 1), row("b", 1), row("d", 1)]).await.unwrap();
            cluster.delete_span(SPACE, id(1), &span).await.unwrap();
            cluster.insert(SPACE, id(1), &[row("c", 1), row("c", i64::MAX)]).await.unwrap();
        })
        .unwrap();
    let rows = simulation.look(|stored| stored.shard(SPACE, id(1)));
    assert_eq!(rows, [row("a", 1), row("c", i64::MAX), row("d", 1)]);
}

#[test]
fn conditions_decide() {
    let (simulation, client) = quiet();
    let cluster = client.clone();
    let range = |epoch| Range { start: vec![], end: None, shard: id(1), epoch, state: State::Active };
    simulation
        .block_on(&client, async move {
            assert_eq!(cluster.swap(SPACE, &[], &[range(1)]).await, Ok(Applied::Yes));
            assert_eq!(cluster.swap(SPACE, &[], &[range(1)]).await, Ok(Applied::No));
            assert_eq!(cluster.swap(SPACE, &[range(2)], &[range(3)]).await, Ok(Applied::No));
            assert_eq!(cluster.swap(SPACE, &[range(1)], &[range(2)]).await, Ok(Applied::Yes));
            let cell = |version| Cell { version: id(version), past: vec![], rows: vec![], value: None };
            assert_eq!(cluster.set_cell(b"k", Some(id(1)), &cell(2)).await, Ok(Applied::No));
            assert_eq!(cluster.set_cell(b"k", None, &cell(2)).await, Ok(Applied::Yes));
            assert_eq!(cluster.set_cell(b"k", Some(id(2)), &cell(3)).await, Ok(Applied::Yes));
            assert_eq!(cluster.cell(b"k", Consistency::Quorum).await, Ok(Some(cell(3))));
            // A deleted record's cell goes by itself.
            cluster.sleep(Duration::from_secs(25 * 60 * 60)).await;
            assert_eq!(cluster.cell(b"k", Consistency::Quorum).await, Ok(None));
            let claim = Claim { id: id(1), owner: b"k".to_vec(), base: None };
            assert_eq!(cluster.set_claim(b"u", None, Some(&claim)).await, Ok(Applied::Yes));
            assert_eq!(cluster.set_claim(b"u", None, Some(&claim)).await, Ok(Applied::No));
            assert_eq!(cluster.set_claim(b"u", Some(id(1)), None).await, Ok(Applied::Yes));
            assert_eq!(cluster.claim(b"u", Consistency::Serial).await, Ok(None));
        })
        .unwrap();
}

/// What a serial read shows after an unknown outcome, and what is there in the end.
#[test]
fn an_unknown_change_is_done_or_not_or_comes_late() {
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let faults = Faults { unknown: 10_000, pause: Duration::from_millis(100), ..Faults::none() };
        let simulation = Simulation::new(seed, faults);
        let client = simulation.client();
        let cluster = client.clone();
        let cell = Cell { version: id(1), past: vec![], rows: vec![], value: Some(vec![]) };
        simulation
            .block_on(&client, async move { cluster.set_cell(b"k", None, &cell).await.unwrap_err() })
            .unwrap();
        simulation.set_faults(Faults::none());
        let cluster = client.clone();
        let soon = simulation.block_on(&client, async move {
            cluster.cell(b"k", Consistency::Serial).await.unwrap().is_some()
        });
        simulation.settle().unwrap();
        let end = simulation.look(|stored| !stored.cells().is_empty());
        seen.insert((soon.unwrap(), end));
    }
    assert_eq!(seen, BTreeSet::from([(false, false), (false, true), (true, true)]));
}

#[test]
fn clients_freeze_and_crash() {
    let (simulation, client) = quiet();
    let cluster = client.clone();
    client.freeze(Duration::from_secs(7));
    let woken = simulation.block_on(&client, async move { cluster.monotonic() });
    assert!(simulation.now() >= Duration::from_secs(7) && woken.is_some());
    let cluster = client.clone();
    client.crash_after(3);
    let ended = simulation.block_on(&client, async move {
        for time in 0..9 {
            cluster.insert(SPACE, id(1), &[row("a", time)]).await.unwrap();
        }
    });
    simulation.settle().unwrap();
    assert!(ended.is_none() && client.crashed());
    let rows = simulation.look(|stored| stored.shard(SPACE, id(1))).len();
    assert!(rows == 2 || rows == 3, "{rows}");
}
