//! What was measured, as rows and as JSON.

use std::time::Duration;

use keyloom::key::Value;
use keyloom_workload::{Latency, seed};
use serde_json::{Value as Json, json};

/// What one store reaches in one work.
pub(super) struct Figure {
    /// How many orders there were.
    pub(super) rows: usize,
    pub(super) work: &'static str,
    pub(super) store: String,
    pub(super) per_second: f64,
    pub(super) latency: Option<Latency>,
    /// What an operation allocates.
    pub(super) bytes: Option<f64>,
    /// What a commit promised, if something was written.
    pub(super) promise: Option<&'static str>,
}

/// What the figures are measured with.
pub(super) struct About {
    pub(super) count: usize,
    pub(super) rounds: usize,
    pub(super) cores: usize,
    /// What the commits of single writes were asked to promise.
    pub(super) durability: &'static str,
}

/// The columns of the figures.
pub(super) const COLUMNS: [&str; 9] =
    ["orders", "work", "store", "per_second", "p50_ns", "p99_ns", "p999_ns", "bytes", "promise"];

impl Figure {
    /// A work in memory, as it is called among the others.
    pub(super) fn in_memory_name(work: seed::Work) -> &'static str {
        match work {
            seed::Work::Write => "memory10k_write",
            seed::Work::Lookup => "memory10k_lookup",
            seed::Work::Prefix => "memory10k_prefix100",
        }
    }

    pub(super) fn in_memory(figure: &seed::Figure) -> Self {
        let store = if figure.system == "keyloom" { "memory" } else { figure.system };
        Self {
            rows: seed::ORDERS,
            work: Self::in_memory_name(figure.work),
            store: store.to_owned(),
            per_second: figure.per_second,
            latency: None,
            bytes: figure.bytes,
            promise: None,
        }
    }

    /// How long one takes: half of the calls, or else the share of a whole round.
    pub(super) fn time(&self) -> Duration {
        self.latency.map_or(Duration::from_secs_f64(1.0 / self.per_second.max(1e-9)), |latency| latency.p50)
    }

    pub(super) fn row(&self) -> Vec<Value<'static>> {
        let nanos = |time: fn(&Latency) -> Duration| {
            self.latency.as_ref().map_or(Value::Null, |latency| count(time(latency).as_nanos()))
        };
        vec![
            count(self.rows),
            self.work.into(),
            self.store.clone().into(),
            Value::Uint(whole(self.per_second)),
            nanos(|latency| latency.p50),
            nanos(|latency| latency.p99),
            nanos(|latency| latency.p999),
            self.bytes.map_or(Value::Null, |bytes| Value::Uint(whole(bytes))),
            self.promise.map_or(Value::Null, Value::from),
        ]
    }

    fn json(&self) -> Json {
        let mut figure = json!({
            "orders": self.rows, "work": self.work, "store": self.store, "per_second": self.per_second,
        });
        if let Some(members) = figure.as_object_mut() {
            let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).into();
            if let Some(latency) = self.latency {
                members.insert("p50_ns".to_owned(), nanos(latency.p50));
                members.insert("p99_ns".to_owned(), nanos(latency.p99));
                members.insert("p999_ns".to_owned(), nanos(latency.p999));
            }
            if let Some(bytes) = self.bytes {
                members.insert("bytes".to_owned(), bytes.into());
            }
            if let Some(promise) = self.promise {
                members.insert("promise".to_owned(), promise.into());
            }
        }
        figure
    }
}

impl About {
    pub(super) fn new(count: usize, rounds: usize, durability: &'static str) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { count, rounds, cores, durability }
    }

    pub(super) fn json(&self, figures: &[Figure]) -> Json {
        json!({
            "keyloom": env!("CARGO_PKG_VERSION"),
            "orders": self.count,
            "rounds": self.rounds,
            "cores": self.cores,
            "durability": self.durability,
            "figures": figures.iter().map(Figure::json).collect::<Vec<_>>(),
        })
    }
}

fn count(number: impl TryInto<u64>) -> Value<'static> {
    Value::Uint(number.try_into().unwrap_or(u64::MAX))
}

/// The nearest whole number.
pub(super) fn whole(number: f64) -> u64 {
    format!("{number:.0}").parse().unwrap_or_default()
}
