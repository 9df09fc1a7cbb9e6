//! Single cases: how many statements a write takes, a client that sleeps for more than a day, what is refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{About, Batch, Direction, Error, Fingerprint, Read, Store as _};

use super::{Store, everything, open, open_with, scan};
use crate::cluster::{Applied, Claim, Cluster as _, Consistency, Kind, Row};
use crate::settings::Settings;
use crate::simulation::{Client, Faults, Simulation};

fn about(record: &str) -> Batch {
    Batch::new().about(About::Record(record.into()))
}

/// The statements that a commit sends, when the map is known.
fn sent(
    simulation: &Simulation,
    client: &Client,
    store: &Store,
    batch: Batch,
) -> BTreeMap<&'static str, u64> {
    let before = simulation.counts();
    let store = store.clone();
    simulation.block_on(client, async move { store.commit(batch).await }).unwrap().unwrap();
    let after = simulation.counts();
    let count = |(name, count): (&'static str, u64)| (name, count - before.get(name).copied().unwrap_or(0));
    after.into_iter().map(count).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn a_write_takes_few_statements() {
    let simulation = Simulation::new(1, Faults::none());
    let (client, store) = open_with(&simulation, Settings::default(), None);
    let send = |batch: Batch| {
        // So that the map is known.
        let first = about("record/0").put("record/0", "").put("index/0", "").put("unique/0", "");
        sent(&simulation, &client, &store, first);
        let counts = sent(&simulation, &client, &store, batch);
        counts.into_iter().collect::<Vec<_>>()
    };
    // A new record with an entry: its two rows, then its cell. Nothing is read.
    let new = about("record/1").put("record/1", "1").put("index/a", "").require_absent("record/1");
    assert_eq!(send(new), [("insert", 2), ("set_cell", 1)]);
    // Another value: the cell is read and written.
    assert_eq!(send(about("record/1").put("record/1", "2")), [("cell", 1), ("set_cell", 1)]);
    // The same value once more.
    assert_eq!(send(about("record/1").put("record/1", "2")), [("cell", 1)]);
    // An entry moves.
    let moves = about("record/1")
        .put("record/1", "3")
        .delete("index/a")
        .put("index/b", "")
        .require_value("record/1", "2");
    assert_eq!(send(moves), [("cell", 1), ("delete", 1), ("insert", 1), ("set_cell", 1)]);
    // A unique entry: one claim more.
    let unique = about("record/2")
        .put("record/2", "1")
        .put("unique/a", "")
        .require_absent("record/2")
        .require_absent("unique/a");
    assert_eq!(send(unique), [("insert", 2), ("set_cell", 1), ("set_claim", 1)]);
    // A record goes with its entry, and the claim is given back.
    let goes = about("record/2").delete("record/2").delete("unique/a");
    assert_eq!(send(goes), [("cell", 1), ("delete", 2), ("set_cell", 1), ("set_claim", 1)]);
}

/// A client begins to write, sleeps for more than a day, and goes on. Meanwhile another made the record, deleted it, and
/// the cell that told of it has gone: the sleeper must not believe that the record was never there, because readers
/// have deleted his rows.
#[test]
fn a_client_that_sleeps_for_more_than_a_day_begins_anew() {
    for step in 0..24 {
        let simulation = Arc::new(Simulation::new(step, Faults::none()));
        let (sleeper, store) = open(&simulation, None);
        let write = about("r/1").put("r/1", "late").put("i/late", "").require_absent("r/1");
        simulation.spawn(&sleeper, async move { store.commit(write).await });
        let (other, store) = open(&simulation, None);
        let clock = other.clone();
        let done = simulation.spawn(&other, async move {
            clock.sleep(Duration::from_micros(1_000 * step)).await;
            sleeper.freeze(Duration::from_secs(26 * 3_600));
            clock.sleep(Duration::from_secs(60)).await;
            store.commit(about("r/1").put("r/1", "other").put("i/other", "")).await?;
            scan(&store, everything(), Direction::Forward, 10).await?;
            store.commit(about("r/1").delete("r/1").delete("i/other")).await?;
            scan(&store, everything(), Direction::Forward, 10).await
        });
        simulation.run().unwrap();
        done.take().unwrap().unwrap();
        simulation.settle().unwrap();
        let (reader, store) = open(&simulation, None);
        let rows = simulation.block_on(&reader, async move {
            let rows = scan(&store, everything(), Direction::Forward, 10).await?;
            Ok::<_, Error>((rows, store.get(b"r/1", <[u8]>::to_vec).await?))
        });
        let (rows, record) = rows.unwrap().unwrap();
        let keys: Vec<&[u8]> = rows.iter().map(|(key, _)| key.as_slice()).collect();
        // Written before it fell asleep, and then deleted by the other, or written when it woke up.
        match record {
            Some(value) => {
                assert_eq!(
                    (keys, value),
                    (vec![b"i/late".as_slice(), b"r/1"], b"late".to_vec()),
                    "step {step}"
                );
            }
            None => assert!(keys.is_empty(), "step {step}: {keys:?}"),
        }
    }
}

/// A claim whose owner is gone keeps nobody from the value for long, whatever the owner had been about to write.
#[test]
fn a_claim_left_behind_is_taken_over_and_its_owner_shut_out() {
    let simulation = Simulation::new(3, Faults::none());
    let (client, store) = open(&simulation, None);
    let left = store.clone();
    let outcome = simulation.block_on(&client, async move {
        let cluster = left.cluster();
        // The owner has claimed the value and inserted its row, and not written its record.
        let id = left.order().id();
        let claim = Claim { id, owner: b"r/gone".to_vec(), base: None };
        assert_eq!(cluster.set_claim(b"u/a", None, Some(&claim)).await, Ok(Applied::Yes));
        let kind = Kind::Entry { owner: b"r/gone".to_vec(), base: None };
        let row = Row { key: b"u/a".to_vec(), id, kind, value: b"gone".to_vec() };
        left.order().insert(vec![row]).await.unwrap();
        assert_eq!(left.get(b"u/a", <[u8]>::to_vec).await.unwrap(), None);
        let take = about("r/1").put("r/1", "x").put("u/a", "r/1").require_absent("u/a");
        left.commit(take).await.unwrap();
        assert_eq!(left.get(b"u/a", <[u8]>::to_vec).await.unwrap(), Some(b"r/1".to_vec()));
        // The owner comes back too late: it would have written on an absent record.
        let cell = cluster.cell(b"r/gone", Consistency::Serial).await.unwrap().unwrap();
        assert_eq!(cell.value, None);
        // It can be written anew, without the value.
        left.commit(about("r/gone").put("r/gone", "x").require_absent("r/gone")).await.unwrap();
        let again = about("r/gone").put("r/gone", "y").put("u/a", "r/gone").require_absent("u/a");
        left.commit(again).await
    });
    assert!(matches!(outcome, Some(Err(Error::Conflict(_)))), "{outcome:?}");
}

#[test]
fn what_a_cluster_cannot_do_is_refused_with_a_reason() {
    let simulation = Simulation::new(4, Faults::none());
    let (client, store) = open(&simulation, None);
    simulation.block_on(&client, async move {
        let said =
            |outcome: Result<_, Error>| outcome.map(|_: keyloom_store::Sequence| ()).unwrap_err().to_string();
        let several = store.commit(Batch::new().put("a", "1").put("b", "1")).await;
        assert_eq!(said(several), "cassandra cannot commit several records as one: commit each by itself");
        let span = Batch::new().put("a", "1").require_unchanged(Span::prefix("a"), Fingerprint::empty());
        assert_eq!(
            said(store.commit(span).await),
            "cassandra cannot require that a span is unchanged: require keys"
        );
        let members = Batch::new().about(About::Members).put("a", "").require_absent("a");
        let sentence = "cassandra cannot require anything of the members that a batch writes";
        assert_eq!(said(store.commit(members).await), sentence);
        let orphans = store.commit(about("r").put("entry", "")).await;
        assert_eq!(said(orphans), "refused: entries of the record r, which is not there");
        let large = store.commit(Batch::new().put("a", vec![0; (8 << 20) + 1])).await;
        assert_eq!(said(large), "refused: a value of 8388609 bytes: the longest has 8388608");
        let snapshot = store.snapshot().await.map(|_| ()).unwrap_err().to_string();
        assert!(snapshot.starts_with("cassandra cannot hold a state while others write"), "{snapshot}");
        assert_eq!(scan(&store, everything(), Direction::Forward, 10).await.unwrap(), []);
    });
}
