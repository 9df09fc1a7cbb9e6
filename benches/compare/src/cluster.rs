//! Keyloom on a cluster beside code written by hand for the same driver, with the same statements on the same tables.
//!
//! ```text
//! point_write       a new record: its row; its cell (conditional)                          64 under way
//! point_read        a record: its cell                                                     one after the other
//! point_read64      the same                                                               64 under way
//! range100          100 records: rows of a shard; their cells together                     one after the other
//! members_range100  100 members: rows of a shard                                           one after the other
//! load              new records with one entry: rows by partition; cells (conditional)     64 under way
//! record_index      a record moves its entry: cell; new row; cell (conditional); old row   64 under way
//! ```

mod counted;
mod hand;
mod keyloom;
mod layout;
mod shards;

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use self::keyloom::Keyloom;
use crate::report::{Figure, Unit, median, progress};
use hand::Hand;
use layout::{Keys, keyspaces};

/// Why a run failed.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// How many are under way at once.
const UNDER_WAY: usize = 64;
/// How many rows a range has.
const RANGE: usize = 100;

/// What is asked of a system, about one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    /// A new record.
    Write,
    Read,
    /// The records from this one on.
    Range,
    /// The members from this one on.
    Members,
    /// A record that moves its entry, for the so manieth time.
    Move(u64),
}

/// A system that is asked.
trait System: Send + Sync + 'static {
    const NAME: &'static str;
    /// Does it, and says how many records or members it wrote or found.
    fn ask(&self, ask: Ask, number: u64) -> impl Future<Output = Result<usize, Error>> + Send;
    /// New records with one entry each.
    fn load(self: &Arc<Self>, numbers: Range<u64>) -> impl Future<Output = Result<(), Error>> + Send;
    /// New members.
    fn add(self: &Arc<Self>, numbers: Range<u64>) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Runs every work in both systems, `rounds` times, one after the other in each round; then splits and shards.
pub(crate) fn measure(url: &str, count: u64, rounds: usize) -> Result<Vec<Figure>, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let [ours, by_hand] = keyspaces(url)?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let keys = Keys::new(u32::try_from(since.as_secs() & 0x00ff_ffff)?);
        let hand = Arc::new(Hand::open(&ours, &by_hand, keys).await?);
        let keyloom = Arc::new(Keyloom::open(&ours, keys).await?);
        let figures = beside(&keyloom, &hand, count, rounds).await?;
        shards::splitting(&ours, keys).await?;
        shards::lookups(&ours, keys).await?;
        drop(keyloom);
        hand.drop_keyspaces().await?;
        Ok(figures)
    })
}

async fn beside(
    keyloom: &Arc<Keyloom>,
    hand: &Arc<Hand>,
    count: u64,
    rounds: usize,
) -> Result<Vec<Figure>, Error> {
    let mut figures = Vec::new();
    let mut works = Works { count, rounds, next: 1 << 32, figures: &mut figures };
    keyloom.add(0..count).await?;
    hand.add(0..count).await?;
    works.load(keyloom, hand, 0).await?;
    works.run("point_write", keyloom, hand, UNDER_WAY, 1, |_| Ask::Write).await?;
    works.run("point_read", keyloom, hand, 1, 4, |_| Ask::Read).await?;
    works.run("point_read64", keyloom, hand, UNDER_WAY, 1, |_| Ask::Read).await?;
    works.run("range100", keyloom, hand, 1, 20, |_| Ask::Range).await?;
    works.run("members_range100", keyloom, hand, 1, 10, |_| Ask::Members).await?;
    works.run("record_index", keyloom, hand, UNDER_WAY, 2, Ask::Move).await?;
    Ok(figures)
}

struct Works<'f> {
    count: u64,
    rounds: usize,
    /// The number of the next record that is not there.
    next: u64,
    figures: &'f mut Vec<Figure>,
}

impl Works<'_> {
    /// Asks both systems, a part of the records in each round. The first round warms up and does not count.
    async fn run(
        &mut self,
        work: &'static str,
        keyloom: &Arc<Keyloom>,
        hand: &Arc<Hand>,
        tasks: usize,
        part: u64,
        ask: impl Fn(u64) -> Ask,
    ) -> Result<(), Error> {
        let count = (self.count / part).max(64);
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..=self.rounds {
            progress(work, round, self.rounds);
            let ask = ask(u64::try_from(round)?);
            let first = if ask == Ask::Write { self.next } else { 0 };
            // Spread over all records, in an order that is no order of keys.
            let numbers: Vec<u64> = match ask {
                Ask::Write => (first..first + count).collect(),
                Ask::Range | Ask::Members => {
                    (0..count).map(|number| number * 7_919 % (self.count - 100).max(1)).collect()
                }
                _ => (0..count).map(|number| number * 7_919 % self.count).collect(),
            };
            self.next += count;
            let [ours, theirs] = &mut times;
            let mut found = [0, 0];
            let [found_ours, found_theirs] = &mut found;
            // Whoever is asked first is not the same in each round.
            if round % 2 == 0 {
                *found_ours = timed(ours, spread(keyloom, ask, &numbers, tasks)).await?;
                *found_theirs = timed(theirs, spread(hand, ask, &numbers, tasks)).await?;
            } else {
                *found_theirs = timed(theirs, spread(hand, ask, &numbers, tasks)).await?;
                *found_ours = timed(ours, spread(keyloom, ask, &numbers, tasks)).await?;
            }
            if found_ours != found_theirs {
                return Err(format!(
                    "{work}: Keyloom found {found_ours}, what is written by hand {found_theirs}"
                )
                .into());
            }
        }
        self.keep(work, count, times);
        Ok(())
    }

    /// Loads new records into both in each round; the first ones from `first` on.
    async fn load(&mut self, keyloom: &Arc<Keyloom>, hand: &Arc<Hand>, first: u64) -> Result<(), Error> {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..=self.rounds {
            progress("load", round, self.rounds);
            let first = if round == 0 { first } else { self.next };
            let numbers = first..first + self.count;
            self.next += self.count;
            let [ours, theirs] = &mut times;
            if round % 2 == 0 {
                timed(ours, keyloom.load(numbers.clone())).await?;
                timed(theirs, hand.load(numbers)).await?;
            } else {
                timed(theirs, hand.load(numbers.clone())).await?;
                timed(ours, keyloom.load(numbers)).await?;
            }
        }
        self.keep("load", self.count, times);
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
    fn keep(&mut self, work: &'static str, count: u64, times: [Vec<Duration>; 2]) {
        for (system, times) in [Keyloom::NAME, Hand::NAME].into_iter().zip(times) {
            let times: Vec<Duration> = times.into_iter().skip(1).collect();
            let value = count as f64 / median(times).as_secs_f64();
            self.figures.push(Figure::new(work, system, Unit::PerSecond, value));
        }
    }
}

/// Asks about these records, so many at once.
async fn spread<S: System>(system: &Arc<S>, ask: Ask, numbers: &[u64], tasks: usize) -> Result<usize, Error> {
    let share = numbers.len().div_ceil(tasks).max(1);
    let tasks = numbers.chunks(share).map(|numbers| {
        let (system, numbers) = (Arc::clone(system), numbers.to_vec());
        tokio::spawn(async move {
            let mut found = 0;
            for number in numbers {
                found += system.ask(ask, number).await?;
            }
            Ok::<_, Error>(found)
        })
    });
    let mut found = 0;
    for task in tasks.collect::<Vec<_>>() {
        found += task.await??;
    }
    Ok(found)
}

async fn timed<T>(
    times: &mut Vec<Duration>,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let start = Instant::now();
    let result = work.await?;
    times.push(start.elapsed());
    Ok(result)
}
