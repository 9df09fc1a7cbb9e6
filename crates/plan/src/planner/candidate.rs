//! The best that one tree can do for a query.

use keyloom_key::Span;
use keyloom_schema::{Index, Predicate, Tree};

use crate::error::Error;
use crate::implies::some_implies;
use crate::order::{Delivery, Sequence};
use crate::plan::{Access, Class, Order, Plan, Stretch};
use crate::planner::Asked;
use crate::spans::{Edge, Keys, Reach, Row, Run};
use crate::statistics::TreeStatistics;

/// What one tree can do, and what speaks for it. The plan is made of the best only.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) index: Option<&'a Index>,
    pub(crate) tree: &'a Tree,
    pub(crate) access: Access,
    pub(crate) backward: bool,
    pub(crate) order: Order,
    /// The numbers of the conditions that are left to be asked of each row.
    filter: Vec<usize>,
    /// The number of the condition on a list that is read through its elements.
    once: Option<usize>,
    pub(crate) fetch: bool,
    pub(crate) class: Class,
    bound: Option<u64>,
    pub(crate) estimate: Option<u64>,
    /// How many parts are fixed to values.
    pub(crate) points: usize,
    /// How the part behind them is bounded.
    pub(crate) edge: Edge,
    notes: Vec<String>,
}

/// What one tree gives, before it is known what that means for the query.
#[derive(Debug)]
pub(super) struct Found<'c> {
    pub(super) reach: Reach<'c>,
    pub(super) access: Access,
    pub(super) backward: bool,
    pub(super) order: Order,
    /// Whether each span has one row at most.
    pub(super) is_row: bool,
    /// How many rows statistics expect.
    pub(super) estimate: Option<u64>,
}

impl Asked<'_> {
    /// What reading spans of this tree gives.
    pub(crate) fn candidate<'a>(
        &self,
        index: Option<&'a Index>,
        tree: &'a Tree,
        statistics: Option<&TreeStatistics>,
    ) -> Result<Candidate<'a>, Error> {
        let keys = Keys::of(tree, index.is_some_and(Index::is_unique));
        let reach = Reach::into(&keys, &self.conditions)?;
        let delivery = self.sequence(index, tree).delivery(&keys, &reach)?;
        let runs = place(tree, &reach, reach.runs(&keys, self.words)?)?;
        let shared = |run: &Run<'_>, fixed: usize| -> Result<usize, Error> {
            Ok(tree.head_length() + keys.shared(run.equal.get(..fixed).unwrap_or_default())?)
        };
        let mut stretches = Vec::with_capacity(runs.len());
        for (run, span) in runs {
            let shared = match delivery {
                Delivery::Merged { fixed, .. } => shared(&run, fixed)?,
                _ => 0,
            };
            stretches.push(Stretch { span, shared, text: run.text });
        }
        let estimate = statistics.map(|known| {
            stretches.iter().fold(0_u64, |sum, stretch| sum.saturating_add(known.rows_in(&stretch.span)))
        });
        let (access, backward) = match delivery {
            Delivery::Merged { backward, .. } if stretches.len() > 1 => (Access::Merged(stretches), backward),
            Delivery::Merged { backward, .. } | Delivery::InTurn { backward } => {
                (Access::InTurn(stretches), backward)
            }
            Delivery::Sorted => (Access::InTurn(stretches), false),
        };
        let order = match delivery {
            Delivery::Sorted => Order::Sort(self.order.clone()),
            _ => Order::Free,
        };
        let is_row = self.is_row(index, tree, &reach);
        self.finish(index, tree, Found { reach, access, backward, order, is_row, estimate })
    }

    pub(super) fn sequence<'s>(&'s self, index: Option<&'s Index>, tree: &'s Tree) -> Sequence<'s> {
        let (table, conditions, order) = (self.table, &self.conditions, &self.order);
        Sequence { table, index, parts: tree.parts(), conditions, order }
    }

    /// Whether no two records have the same points.
    fn is_row(&self, index: Option<&Index>, tree: &Tree, reach: &Reach<'_>) -> bool {
        let fixed =
            |column: u16| tree.parts().iter().take(reach.points.len()).any(|part| part.column == column);
        let unique = index.filter(|index| index.is_unique()).is_some_and(|_| {
            let nulls = reach.points.iter().flatten().any(|value| **value == keyloom_key::Value::Null);
            reach.points.len() >= tree.declared() && !nulls
        });
        unique || self.table.primary().parts().iter().all(|part| fixed(part.column))
    }

    /// Says what it means for the query: what is left to filter, what bounds it, what must be fetched.
    pub(super) fn finish<'a>(
        &self,
        index: Option<&'a Index>,
        tree: &'a Tree,
        found: Found<'_>,
    ) -> Result<Candidate<'a>, Error> {
        let Found { reach, access, backward, order, is_row, estimate } = found;
        let only = self.only(index)?;
        let mut filter = Vec::new();
        for (number, condition) in self.conditions.all.iter().enumerate() {
            let said = reach.used.contains(&number) || reach.once == Some(number);
            if !said && !some_implies(self.table, &only, condition)? {
                filter.push(number);
            }
        }
        let once = reach.once;
        let spans = match &access {
            Access::InTurn(stretches) | Access::Merged(stretches) => stretches.len(),
            Access::Skip { .. } => 0,
        };
        let spans = u64::try_from(spans).unwrap_or(u64::MAX);
        let skips = matches!(access, Access::Skip { .. });
        let partial = !only.all.is_empty();
        let bounded = !reach.points.is_empty() || reach.edge == Edge::Closed || partial || skips;
        let some = bounded || reach.edge == Edge::Open;
        let whole = filter.is_empty() && once.is_none();
        let class = if is_row || spans == 0 && !skips {
            Class::Constant
        } else if whole && (some || self.limit.is_some()) && (order == Order::Free || self.limit.is_none()) {
            Class::Output
        } else if bounded || reach.bounds_list(tree.parts()) {
            Class::Partition
        } else {
            Class::Scan
        };
        // Rows that have ended are read over, and nobody knows how many.
        let bound = match (class, self.limit) {
            (Class::Constant, _) => Some(spans),
            (Class::Output, Some(limit)) if !skips && self.table.expiry().is_none() => {
                Some(limit.saturating_add(spans))
            }
            _ => None,
        };
        let estimate = estimate.map(|rows| rows.min(bound.unwrap_or(u64::MAX)));
        let mut notes = reach.notes;
        if self.table.expiry().is_some() {
            notes.push("expired rows are read over".to_owned());
        }
        let (points, edge) = (reach.points.len(), reach.edge);
        let asked = filter.iter().chain(&once).filter_map(|number| self.conditions.all.get(*number));
        let fetch = index.is_some_and(|index| !self.is_covered(index, asked, &order));
        Ok(Candidate {
            index,
            tree,
            access,
            backward,
            order,
            filter,
            once,
            fetch,
            class,
            bound,
            estimate,
            points,
            edge,
            notes,
        })
    }

    /// The plan of a candidate.
    pub(super) fn plan_of(&self, candidate: Candidate<'_>) -> Plan {
        let condition = |number: usize| self.conditions.all.get(number).cloned();
        let Candidate { index, tree, access, backward, order, class, bound, estimate, notes, .. } = candidate;
        Plan {
            index: index.map(|index| index.name().to_owned()),
            access,
            backward,
            fetch: candidate.fetch,
            filter: candidate.filter.into_iter().filter_map(condition).reduce(Predicate::and),
            once: candidate.once.and_then(condition),
            order,
            class,
            bound,
            estimate,
            notes,
            ..self.no_plan(tree)
        }
    }

    /// Whether an index's entries hold all that is wanted, asked and sorted by.
    fn is_covered<'p>(
        &self,
        index: &Index,
        asked: impl Iterator<Item = &'p Predicate>,
        order: &Order,
    ) -> bool {
        let Some(select) = &self.query.select else { return false };
        let tree = index.tree();
        // Keys of a unique index mostly end behind the declared parts.
        let parts = if index.is_unique() { tree.declared() } else { tree.parts().len() };
        let sorted = match order {
            Order::Free => &[][..],
            Order::Sort(order) => order,
        };
        let held = |name: &str| {
            self.table.column(name).is_some_and(|column| {
                let mut held = tree.parts().iter().take(parts).filter(|part| part.is_exact() && !part.many);
                held.any(|part| part.column == column.id) || index.covering().contains(&column.id)
            })
        };
        select.iter().all(|name| held(name))
            && asked.flat_map(Predicate::fields).all(held)
            && sorted.iter().all(|by| held(&by.field))
            && self.table.expiry().is_none_or(|column| held(&column.name))
    }
}

/// The runs at their places, in the order of their fields if each has one place, else place by place.
fn place<'r>(tree: &Tree, reach: &Reach<'_>, runs: Vec<Run<'r>>) -> Result<Vec<(Run<'r>, Span)>, Error> {
    let mut placed = Vec::with_capacity(runs.len());
    for run in runs {
        match run.equal.first() {
            Some(first) => {
                let span = tree.at(tree.place(first)?, &run.span);
                placed.push((run, span));
            }
            None => {
                let count = tree.placement().count();
                for place in 0..count {
                    let text = if count == 1 || run.text.is_empty() {
                        run.text.clone()
                    } else {
                        format!("{}, place {place}", run.text)
                    };
                    let (equal, span) = (Row::new(), run.span.clone());
                    placed.push((Run { equal, span, text }, tree.at(place, &run.span)));
                }
            }
        }
    }
    if reach.points.is_empty() {
        placed.sort_by(|(_, a), (_, b)| a.start.cmp(&b.start));
    } else {
        placed.sort_by(|(a, _), (b, _)| a.span.start.cmp(&b.span.start));
    }
    Ok(placed)
}
