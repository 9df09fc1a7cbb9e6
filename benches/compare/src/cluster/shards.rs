//! What shards cost: a split to those who write meanwhile, and many shards to those who look something up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use keyloom_cassandra::simulation::{Asked, Observed};
use keyloom_cassandra::{Cluster, ClusterStore, Config, Driver, Order, Settings};
use keyloom_store::{About, Batch, Read, Store};

use super::Error;
use super::counted::Counter;
use super::layout::Keys;

/// How many write while a shard is split.
const WRITERS: u64 = 16;
/// How many records the shard has when it is split.
const RECORDS: u64 = 2_000;
/// How long is written before the split, and after it.
const AROUND: Duration = Duration::from_secs(5);
/// How many members are looked up among how many.
const LOOKUPS: u64 = 2_000;
/// How many ranges are remembered where that is less than there are.
const FEW: usize = 16;

/// A store whose statements are counted, with so many ranges remembered.
async fn open(
    url: &str,
    cache: usize,
) -> Result<(Order<impl Cluster>, ClusterStore<impl Cluster>, Counter), Error> {
    let config: Config = url.parse()?;
    let driver = Driver::connect(&config).await?;
    let settings = Settings {
        lease: driver.lease(),
        margin: driver.lease() / 5,
        cache,
        // Split only where this says so.
        split_rows: usize::MAX,
        split_bytes: usize::MAX,
        ..Settings::default()
    };
    let counter = Counter::default();
    let counting = counter.clone();
    let cluster = Observed::new(driver, move |asked: Asked| counting.count(asked));
    let order = Order::new(Arc::new(cluster), settings);
    Ok((order.clone(), ClusterStore::new(order), counter))
}

/// Prints how long writes take before, while and after the shard that they go to is split in its middle.
pub(super) async fn splitting(url: &str, keys: Keys) -> Result<(), Error> {
    let (order, store, counter) = open(url, 10_000).await?;
    let key = move |number: u64| {
        // All over the shard.
        let place = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [keys.space(3).as_slice(), &place.to_be_bytes()].concat()
    };
    let next = Arc::new(AtomicU64::new(0));
    // 0 loading, 1 before, 2 while, 3 after, 4 the end
    let phase = Arc::new(AtomicUsize::new(0));
    let writers = (0..WRITERS).map(|_| {
        let (store, next, phase) = (store.clone(), Arc::clone(&next), Arc::clone(&phase));
        tokio::spawn(async move {
            let mut times: [Vec<Duration>; 4] = Default::default();
            loop {
                let key = key(next.fetch_add(1, Ordering::Relaxed));
                let batch = Batch::new().put(&key, [1; 100]).require_absent(key.clone());
                let (began, start) = (phase.load(Ordering::Relaxed), Instant::now());
                store.commit(batch.about(About::Record(key))).await?;
                match times.get_mut(began) {
                    Some(times) => times.push(start.elapsed()),
                    None => return Ok::<_, Error>(times),
                }
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    while next.load(Ordering::Relaxed) < RECORDS {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut marks = vec![(next.load(Ordering::Relaxed), Instant::now(), counter.statements())];
    let mut mark = |now: usize| {
        phase.store(now, Ordering::Relaxed);
        marks.push((next.load(Ordering::Relaxed), Instant::now(), counter.statements()));
    };
    mark(1);
    tokio::time::sleep(AROUND).await;
    mark(2);
    let middle = [keys.space(3).as_slice(), &[0x80]].concat();
    order.split(&middle).await.map_err(|fault| fault.to_string())?;
    mark(3);
    tokio::time::sleep(AROUND).await;
    mark(4);
    let mut times: [Vec<Duration>; 4] = Default::default();
    for writer in writers {
        for (all, more) in times.iter_mut().zip(writer.await??) {
            all.extend(more);
        }
    }
    println!("split, {WRITERS} writers, new records:");
    let names = ["before", "while", "after"];
    let spans = marks.iter().skip(1).zip(marks.iter().skip(2));
    for ((name, mut times), ((first, from, statements), (last, to, later))) in
        names.into_iter().zip(times.into_iter().skip(1)).zip(spans)
    {
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        println!(
            "  {name:<7} {:>5.1} s, {:>6} writes: p50 {:>6.2?}, p99 {:>6.2?}; statements a write: {}",
            (*to - *from).as_secs_f64(),
            last - first,
            at(50),
            at(99),
            later.since(*statements).each(times.len())
        );
    }
    Ok(())
}

/// Prints what a lookup costs in one shard and in many.
pub(super) async fn lookups(url: &str, keys: Keys) -> Result<(), Error> {
    println!("lookups of {LOOKUPS} members, one after the other:");
    for (place, shards, cache) in [(4, 1_u32, 10_000), (5, 10, 10_000), (6, 100, 10_000), (7, 100, FEW)] {
        let (order, store, counter) = open(url, cache).await?;
        let key = |number: u32| [keys.space(place).as_slice(), &number.to_be_bytes()].concat();
        let boundaries: Vec<_> = (1..shards).map(|shard| key(u32::MAX / shards * shard)).collect();
        order.presplit(&boundaries).await.map_err(|fault| fault.to_string())?;
        let count = u32::try_from(LOOKUPS)?;
        let member = |number: u32| key(u32::MAX / count * number);
        for first in (0..count).step_by(500) {
            let mut batch = Batch::new().about(About::Members);
            (first..count.min(first + 500)).for_each(|number| batch.write(&member(number), Some(&[])));
            store.commit(batch).await?;
        }
        let mut times = Vec::new();
        let before = counter.statements();
        for number in 0..count {
            // No two that follow each other in one shard.
            let member = member(number.wrapping_mul(7_919) % count);
            let start = Instant::now();
            store.get(&member, |_| ()).await?.ok_or("a member is not there")?;
            times.push(start.elapsed());
        }
        let statements = counter.statements().since(before).each(times.len());
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
        println!(
            "  {shards:>3} shards, {cache:>5} remembered at most, {:>3} are: p50 {:.2?}, p99 {:.2?}; statements: {statements}",
            order.remembered(),
            at(50),
            at(99)
        );
    }
    Ok(())
}
