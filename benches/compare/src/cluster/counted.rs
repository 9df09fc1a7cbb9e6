//! Statements, by what they ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keyloom_cassandra::simulation::Asked;

/// How many statements were asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Statements {
    map: u64,
    rows: u64,
    cells: u64,
    conditional: u64,
}

impl Statements {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            map: self.map - before.map,
            rows: self.rows - before.rows,
            cells: self.cells - before.cells,
            conditional: self.conditional - before.conditional,
        }
    }

    /// Of one of so many works.
    #[allow(clippy::cast_precision_loss, reason = "a figure is rounded anyway")]
    pub(super) fn each(self, works: usize) -> String {
        let each = |count: u64| count as f64 / works.max(1) as f64;
        format!(
            "map {:.2}, rows {:.2}, cells {:.2}, conditional {:.2}",
            each(self.map),
            each(self.rows),
            each(self.cells),
            each(self.conditional)
        )
    }
}

/// Counts statements. Clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Counter(Arc<[AtomicU64; 4]>);

impl Counter {
    pub(super) fn count(&self, asked: Asked) {
        let [map, rows, cells, conditional] = &*self.0;
        let counter = match asked {
            Asked::Map => map,
            Asked::Rows | Asked::Write => rows,
            Asked::Cell => cells,
            Asked::Conditional => conditional,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn statements(&self) -> Statements {
        let [map, rows, cells, conditional] =
            self.0.each_ref().map(|counter| counter.load(Ordering::Relaxed));
        Statements { map, rows, cells, conditional }
    }
}
