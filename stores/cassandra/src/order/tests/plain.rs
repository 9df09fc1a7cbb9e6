//! One thing at a time, without faults or with chosen ones.

use std::collections::BTreeSet;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::Direction;

use super::{order, row, settings};
use crate::cluster::{Cluster, Range, Row, Space, State};
use crate::order::Order;
use crate::settings::Settings;
use crate::simulation::{Client, Faults, Simulation};

const ALL: Span = Span { start: Vec::new(), end: None };

fn key(number: u32) -> Vec<u8> {
    [&[0, 0, 0, 7], number.to_be_bytes().as_slice()].concat()
}

const SPACE: Space = Space([0, 0, 0, 7]);

/// A cluster without faults, a client, and its order that never looks after shards by itself.
fn quiet() -> (Simulation, Client, Order<Client>) {
    let simulation = Simulation::new(1, Faults::none());
    let client = simulation.client();
    let settings = Settings { split_rows: usize::MAX, split_bytes: usize::MAX, ..settings() };
    let order = order(client.clone(), settings);
    (simulation, client, order)
}

/// All keys, page by page.
async fn keys<C: Cluster>(order: &Order<C>, span: Span, direction: Direction, limit: usize) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut rest = Some(span);
    while let Some(span) = rest {
        let page = order.scan(&span, direction, limit).await.unwrap();
        assert!(!page.rows.is_empty() || page.rest.is_none());
        keys.extend(page.rows.into_iter().map(|row| row.key));
        rest = page.rest;
    }
    keys
}

fn map_reads(simulation: &Simulation) -> u64 {
    let counts = simulation.counts();
    ["range_at", "range_before"].iter().filter_map(|name| counts.get(name)).sum()
}

#[test]
fn a_scan_crosses_spaces_both_ways() {
    let (simulation, client, order) = quiet();
    let names: [&[u8]; 9] = [
        b"\0",
        b"a",
        b"a\0\0\0",
        b"a\0\0\0x",
        b"a\0\0\x01",
        b"ab",
        b"b",
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\xff\xff",
    ];
    simulation
        .block_on(&client, async move {
            let rows: Vec<Row> = names.iter().rev().map(|key| row(&order, key)).collect();
            order.insert(rows).await.unwrap();
            for limit in 1..=names.len() + 1 {
                let mut expected: Vec<Vec<u8>> = names.iter().map(|key| key.to_vec()).collect();
                assert_eq!(keys(&order, ALL, Direction::Forward, limit).await, expected);
                expected.reverse();
                assert_eq!(keys(&order, ALL, Direction::Backward, limit).await, expected);
            }
            let part = Span { start: b"a\0\0\0x".to_vec(), end: Some(b"b".to_vec()) };
            assert_eq!(keys(&order, part.clone(), Direction::Forward, 1).await.len(), 3);
            assert_eq!(keys(&order, part, Direction::Backward, 1).await.len(), 3);
            let inverted = Span { start: b"b".to_vec(), end: Some(b"a".to_vec()) };
            assert_eq!(keys(&order, inverted, Direction::Forward, 1).await.len(), 0);
        })
        .unwrap();
}

#[test]
fn a_space_has_every_key_that_is_of_it() {
    let bytes = [0, 1, b'a', 0xfe, 0xff];
    let mut keys = BTreeSet::from([Vec::new()]);
    for _ in 0..5 {
        let longer = keys.iter().flat_map(|key| bytes.map(|byte| [key.as_slice(), &[byte]].concat()));
        keys = longer.chain(keys.clone()).collect();
    }
    for key in &keys {
        let span = Space::of(key).span();
        assert!(span.contains(key), "{key:?} is not in {span:?}");
        assert_eq!(Space::of(&span.start), Space::of(key));
        assert!(span.end.is_none_or(|end| Space::of(&end) > Space::of(key)));
    }
    let spaces: Vec<Space> = keys.iter().map(|key| Space::of(key)).collect();
    assert!(spaces.is_sorted());
}

#[test]
fn the_rows_of_a_key_stay_together() {
    let (simulation, client, order) = quiet();
    simulation
        .block_on(&client, async move {
            let rows = (0..30).map(|number| row(&order, &key(if number < 3 { number } else { 3 }))).collect();
            order.insert(rows).await.unwrap();
            order.insert(vec![row(&order, &key(4))]).await.unwrap();
            assert_eq!(order.read(&key(3)).await.unwrap().len(), 27);
            assert_eq!(order.read(&key(9)).await.unwrap().len(), 0);
            let page = order.scan(&ALL, Direction::Forward, 5).await.unwrap();
            assert_eq!(page.rows.len(), 3);
            let page = order.scan(&page.rest.unwrap(), Direction::Forward, 5).await.unwrap();
            assert_eq!(page.rows.len(), 27);
            let page = order.scan(&page.rest.unwrap(), Direction::Forward, 5).await.unwrap();
            assert_eq!((page.rows.len(), page.rest), (1, None));
        })
        .unwrap();
}

#[test]
fn first_writers_race_for_one_map() {
    for seed in 0..200 {
        let simulation = Simulation::new(seed, Faults { unknown: 500, ..Faults::none() });
        let writers: Vec<_> = (0..6)
            .map(|number| {
                let client = simulation.client();
                let order = order(client.clone(), settings());
                let row = row(&order, &key(number));
                simulation.spawn(&client, async move { order.insert(vec![row]).await.map(|()| key(number)) })
            })
            .collect();
        simulation.run().unwrap();
        simulation.set_faults(Faults::none());
        simulation.settle().unwrap();
        let acknowledged: Vec<_> = writers.iter().filter_map(|writer| writer.take()?.ok()).collect();
        let client = simulation.client();
        let order = order(client.clone(), settings());
        let found = simulation
            .block_on(&client, async move { keys(&order, ALL, Direction::Forward, 100).await })
            .unwrap();
        assert!(acknowledged.iter().all(|key| found.contains(key)), "seed {seed}");
        assert!(acknowledged.is_empty() || simulation.look(|stored| stored.map(SPACE)).len() == 1);
    }
}

/// Many rows come while a shard is split, and then nobody writes any more.
#[test]
fn what_comes_during_a_split_is_split_too() {
    let simulation = Simulation::new(5, Faults::none());
    let client = simulation.client();
    let order = order(client.clone(), Settings { split_rows: 20, ..settings() });
    simulation
        .block_on(&client, async move {
            let rows =
                |numbers: std::ops::Range<u32>| numbers.map(|number| row(&order, &key(number))).collect();
            order.insert(rows(0..30)).await.unwrap();
            order.cluster().sleep(Duration::from_millis(20)).await;
            order.insert(rows(30..600)).await.unwrap();
        })
        .unwrap();
    simulation.settle().unwrap();
    let map = simulation.look(|stored| stored.map(SPACE));
    let size = |range: &Range| simulation.look(|stored| stored.shard(SPACE, range.shard).len());
    let sizes: Vec<usize> = map.iter().map(size).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 600);
    assert!(sizes.iter().all(|size| *size <= 20), "{sizes:?}");
}

#[test]
fn shards_split_when_they_grow_and_merge_when_they_shrink() {
    for (split_rows, split_bytes) in [(20, usize::MAX), (usize::MAX, 20 * 108)] {
        let simulation = Simulation::new(3, Faults::none());
        let client = simulation.client();
        let settings = Settings { split_rows, split_bytes, ..settings() };
        let order = order(client.clone(), settings);
        let writer = order.clone();
        let rows = simulation
            .block_on(&client, async move {
                let mut names = Vec::new();
                for number in 0..600 {
                    let row = Row { value: vec![0; 100], ..row(&writer, &key(number)) };
                    names.push((row.key.clone(), row.id));
                    writer.insert(vec![row]).await.unwrap();
                    writer.cluster().sleep(Duration::from_millis(3)).await;
                }
                names
            })
            .unwrap();
        simulation.settle().unwrap();
        let map = simulation.look(|stored| stored.map(SPACE));
        let sizes: Vec<usize> = map
            .iter()
            .map(|range| simulation.look(|stored| stored.shard(SPACE, range.shard).len()))
            .collect();
        assert_eq!(sizes.iter().sum::<usize>(), 600, "left-over rows");
        assert!(sizes.iter().all(|size| *size <= 80) && sizes.len() > 20, "{sizes:?}");
        let deleter = order.clone();
        simulation
            .block_on(&client, async move {
                for row in rows {
                    deleter.delete(vec![row]).await.unwrap();
                    deleter.cluster().sleep(Duration::from_millis(3)).await;
                }
            })
            .unwrap();
        simulation.settle().unwrap();
        let after = simulation.look(|stored| stored.map(SPACE)).len();
        assert!(after * 2 < sizes.len(), "{} shards, and {after} when all is deleted", sizes.len());
    }
}

#[test]
fn boundaries_can_be_given_before_rows_come() {
    let (simulation, client, order) = quiet();
    let boundaries: Vec<Vec<u8>> = (1..500).map(|number| key(number * 10)).collect();
    let (given, scanned) = (boundaries.clone(), order.clone());
    simulation
        .block_on(&client, async move {
            order.insert(vec![row(&order, &[0, 0, 0, 8, 5])]).await.unwrap();
            let other = (0..9).map(|number| vec![0, 0, 0, 8, number]);
            order.presplit(&given.into_iter().rev().chain(other).collect::<Vec<_>>()).await.unwrap();
            order.insert((0..5000).map(|number| row(&order, &key(number))).collect()).await.unwrap();
        })
        .unwrap();
    let starts: Vec<Vec<u8>> =
        simulation.look(|stored| stored.map(SPACE)).into_iter().map(|range| range.start).collect();
    assert_eq!(starts, [vec![Vec::new()], boundaries].concat());
    assert_eq!(simulation.look(|stored| stored.map(Space([0, 0, 0, 8]))).len(), 10);
    let found = simulation.block_on(&client, async move {
        (
            keys(&scanned, ALL, Direction::Forward, 700).await,
            keys(&scanned, ALL, Direction::Backward, 700).await,
        )
    });
    let (forward, mut backward) = found.unwrap();
    backward.reverse();
    assert_eq!(forward, backward);
    assert_eq!(forward.len(), 5001);
}

#[test]
fn what_is_remembered_does_not_grow_with_the_shards() {
    let (simulation, client, order) = quiet();
    simulation
        .block_on(&client, async move {
            order.presplit(&(1..300).map(|number| key(number * 10)).collect::<Vec<_>>()).await.unwrap();
            for number in 0..300 {
                order.insert(vec![row(&order, &key(number * 10 + 5))]).await.unwrap();
                assert!(order.shared.map.remembered() <= 4);
            }
            assert_eq!(keys(&order, ALL, Direction::Backward, 1000).await.len(), 300);
            assert_eq!(order.shared.map.remembered(), 4);
        })
        .unwrap();
}

#[test]
fn finding_a_shard_costs_the_same_among_one_or_a_hundred() {
    for shards in [1, 10, 100] {
        let simulation = Simulation::new(1, Faults::none());
        let client = simulation.client();
        let lease = Duration::from_secs(3600);
        let (split_rows, split_bytes) = (usize::MAX, usize::MAX);
        let settings = Settings { cache: 100, lease, split_rows, split_bytes, ..settings() };
        let writer = order(client.clone(), settings.clone());
        simulation
            .block_on(&client, async move {
                let boundaries: Vec<_> = (1..shards).map(|number| key(number * 1000 / shards)).collect();
                writer.presplit(&boundaries).await.unwrap();
                writer.insert(vec![row(&writer, &key(0))]).await.unwrap();
            })
            .unwrap();
        // Nothing is known: one read of the map an operation at most, and one for each shard in all.
        let order = order(client.clone(), settings);
        let all = |order: Order<Client>| async move {
            for number in 0..1000 {
                order.insert(vec![row(&order, &key(number * 7 % 1000))]).await.unwrap();
                order.read(&key(number * 13 % 1000)).await.unwrap();
            }
        };
        let before = map_reads(&simulation);
        simulation.block_on(&client, all(order.clone())).unwrap();
        assert_eq!(map_reads(&simulation) - before, u64::from(shards));
        simulation.block_on(&client, all(order)).unwrap();
        assert_eq!(map_reads(&simulation) - before, u64::from(shards), "the second time all is known");
    }
}

#[test]
fn a_range_is_read_once_for_all_who_wait() {
    let (simulation, client, order) = quiet();
    let first = order.clone();
    simulation
        .block_on(&client, async move { first.insert(vec![row(&first, &key(0))]).await })
        .unwrap()
        .unwrap();
    for wait in [Duration::ZERO, Duration::from_millis(30), Duration::from_millis(300)] {
        let before = map_reads(&simulation);
        for number in 0..100 {
            let order = order.clone();
            simulation.spawn(&client, async move {
                order.cluster().sleep(wait).await;
                order.insert(vec![row(&order, &key(number))]).await.unwrap();
            });
        }
        simulation.run().unwrap();
        assert!(map_reads(&simulation) - before <= 1, "after {wait:?}");
    }
}

/// A client splits, merges or moves, and crashes at its n-th statement: another finishes it.
#[test]
fn another_finishes_what_a_crash_leaves_at_any_statement() {
    for what in 0..3 {
        for statement in 1.. {
            let (simulation, client, order) = quiet();
            simulation
                .block_on(&client, async move {
                    order.insert((0..40).map(|number| row(&order, &key(number))).collect()).await.unwrap();
                    order.split(&key(20)).await.unwrap();
                })
                .unwrap();
            let unlucky = simulation.client();
            let changer = super::order(unlucky.clone(), settings());
            unlucky.crash_after(statement);
            let ended = simulation.block_on(&unlucky, async move {
                match what {
                    0 => changer.split(&key(10)).await,
                    1 => changer.merge(&key(20)).await,
                    _ => changer.relocate(&key(10)).await,
                }
            });
            simulation.settle().unwrap();
            let other = simulation.client();
            let order = super::order(other.clone(), settings());
            let found = simulation.block_on(&other, async move {
                order.maintain().await.unwrap();
                keys(&order, ALL, Direction::Forward, 6).await
            });
            assert_eq!(found.unwrap(), (0..40).map(key).collect::<Vec<_>>(), "{what} {statement}");
            let (map, left) = simulation.look(|stored| {
                let map = stored.map(SPACE);
                let shards = stored.shards().into_iter();
                let rows = shards.map(|(space, shard)| stored.shard(space, shard).len());
                (map, rows.sum::<usize>())
            });
            assert!(map.iter().all(|range| range.state == State::Active));
            assert_eq!(left, 40, "rows are left where they do not belong: {what} {statement}");
            if let Some(ended) = ended {
                ended.unwrap();
                assert_eq!(map.len(), [3, 1, 2][what]);
                assert!(statement > 10);
                break;
            }
        }
    }
}

#[test]
fn whoever_writes_finishes_what_was_left_long_ago() {
    let (simulation, client, order) = quiet();
    let first = order.clone();
    simulation
        .block_on(&client, async move { first.insert(vec![row(&first, &key(0))]).await })
        .unwrap()
        .unwrap();
    let unlucky = simulation.client();
    let changer = super::order(unlucky.clone(), settings());
    unlucky.crash_after(5);
    assert!(simulation.block_on(&unlucky, async move { changer.split(&key(20)).await }).is_none());
    assert_ne!(simulation.look(|stored| stored.map(SPACE))[0].state, State::Active);
    simulation
        .block_on(&client, async move {
            for _ in 0..100 {
                order.insert(vec![row(&order, &key(30))]).await.unwrap();
                order.cluster().sleep(Duration::from_millis(20)).await;
            }
        })
        .unwrap();
    let map = simulation.look(|stored| stored.map(SPACE));
    assert_eq!(map.len(), 2);
    assert!(map.iter().all(|range| range.state == State::Active), "{map:?}");
}

#[test]
fn an_old_change_is_abandoned_with_its_shard() {
    let (simulation, client, order) = quiet();
    let splitter = order.clone();
    simulation
        .block_on(&client, async move {
            splitter.insert((0..40).map(|number| row(&splitter, &key(number))).collect()).await.unwrap();
        })
        .unwrap();
    let map = || simulation.look(|stored| stored.map(SPACE));
    let before = map();
    // It crashes while it copies.
    let unlucky = simulation.client();
    let changer = super::order(unlucky.clone(), settings());
    unlucky.crash_after(8);
    assert!(simulation.block_on(&unlucky, async move { changer.split(&key(20)).await }).is_none());
    simulation.settle().unwrap();
    let [Range { state: State::Prepare { to, .. }, .. }] = map()[..] else { panic!("{:?}", map()) };
    client.set_skew(101_000_000);
    let other = order.clone();
    simulation.block_on(&client, async move { other.maintain().await }).unwrap().unwrap();
    assert_eq!(map().len(), 1);
    assert_eq!((map()[0].shard, &map()[0].state), (before[0].shard, &State::Active));
    assert!(simulation.look(|stored| stored.shard(SPACE, to)).is_empty());
    simulation.block_on(&client, async move { order.split(&key(20)).await }).unwrap().unwrap();
    assert_eq!(map().len(), 2);
    assert_ne!(map()[1].shard, to);
}
