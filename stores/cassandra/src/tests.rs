//! Records, claims and reads on a simulated cluster where everything goes wrong, and each known mistake found.

mod history;
mod leases;
mod members;
mod mistakes;
mod steps;

mod storm;
mod unique;

use std::sync::Arc;
use std::time::Duration;

use keyloom_key::Span;
use keyloom_store::{Direction, Error, Limits, Read};

use crate::mistake::Mistake;
use crate::order::Order;
use crate::settings::Settings;
use crate::simulation::{Client, Faults, Simulation};
use crate::store::{ClusterStore, Shared};

pub(crate) type Store = ClusterStore<Client>;

const LEASE: Duration = Duration::from_millis(100);

/// How many seeds a test runs, unless told.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let count = std::env::var("KEYLOOM_SEEDS").ok().and_then(|count| count.parse().ok());
    0..count.unwrap_or(usual)
}

fn settings() -> Settings {
    let pause = storm().pause;
    Settings {
        lease: LEASE,
        margin: LEASE / 5,
        // The longest that the simulation delays a statement's effect, by its slowest clock.
        statement: pause * 3 * 11 / 10 + Duration::from_millis(10),
        patience: Duration::from_millis(20),
        // So few that shards split and merge under the few rows of a test.
        split_rows: 2,
        ..Settings::default()
    }
}

fn storm() -> Faults {
    Faults { crash: 30, unknown: 400, ..Faults::storm(LEASE) }
}

/// A store for a client of its own.
fn open(simulation: &Simulation, mistake: Option<Mistake>) -> (Client, Store) {
    open_with(simulation, settings(), mistake)
}

fn open_with(simulation: &Simulation, settings: Settings, mistake: Option<Mistake>) -> (Client, Store) {
    let client = simulation.client();
    let mut shared = Shared::new(Order::new(Arc::new(client.clone()), settings));
    shared.mistake = mistake;
    (client, ClusterStore(Arc::new(shared)))
}

fn everything() -> Span {
    Span { start: Vec::new(), end: None }
}

/// All keys of a span with their values, page by page.
async fn scan(
    store: &Store,
    span: Span,
    direction: Direction,
    page: usize,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Error> {
    let mut rows = Vec::new();
    let mut rest = Some(span);
    while let Some(span) = rest {
        let look = |key: &[u8], value: &[u8]| {
            rows.push((key.to_vec(), value.to_vec()));
            std::ops::ControlFlow::Continue(())
        };
        rest = store.scan(&span, direction, Limits::rows(page), look).await?.rest;
    }
    Ok(rows)
}
