//! Whether the keys of a tree come in the order that is asked for.

use keyloom_key::Nulls;
use keyloom_schema::{Index, Part, Table};
use smallvec::SmallVec;

use crate::constraint::Conditions;
use crate::error::Error;
use crate::query::OrderBy;
use crate::spans::{Keys, Reach};

/// How the spans are read so that the rows come in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// One after the other.
    InTurn {
        /// From their ends.
        backward: bool,
    },
    /// Side by side, compared by what stands behind the first `fixed` parts.
    Merged {
        /// From their ends.
        backward: bool,
        /// How many parts are not compared.
        fixed: usize,
    },
    /// In any order: the rows are sorted.
    Sorted,
}

/// The order that is left to bring about: without fields that have one value, and without repetitions.
pub(crate) fn wanted(
    table: &Table,
    order: &[OrderBy],
    conditions: &Conditions,
) -> Result<Vec<OrderBy>, Error> {
    let mut wanted: Vec<OrderBy> = Vec::with_capacity(order.len());
    for by in order {
        let wrong = |reason: &'static str| Error::Order {
            table: table.name().to_owned(),
            field: by.field.clone(),
            reason: reason.into(),
        };
        let column = table.column(&by.field);
        let column =
            column.ok_or_else(|| wrong("it is not declared, so its values have no type: declare it"))?;
        if column.kind.is_many() {
            return Err(wrong(
                "it is a list, and a record has one place in an order: declare a field of one value",
            ));
        }
        if !conditions.fixes(&by.field) && !wanted.iter().any(|earlier| earlier.field == by.field) {
            wanted.push(by.clone());
        }
    }
    Ok(wanted)
}

/// What decides about the order in one tree.
#[derive(Debug)]
pub(crate) struct Sequence<'a> {
    pub(crate) table: &'a Table,
    /// The index; `None` is the primary key.
    pub(crate) index: Option<&'a Index>,
    /// All parts of the tree.
    pub(crate) parts: &'a [Part],
    pub(crate) conditions: &'a Conditions,
    pub(crate) order: &'a [OrderBy],
}

impl Sequence<'_> {
    /// How spans of these keys give the order.
    pub(crate) fn delivery(&self, keys: &Keys<'_>, reach: &Reach<'_>) -> Result<Delivery, Error> {
        if self.order.is_empty() {
            return Ok(Delivery::InTurn { backward: false });
        }
        for fixed in 0..=reach.points.len() {
            // Behind what is not compared, parts with one value do not matter either.
            let ones = (fixed..).take_while(|position| reach.is_one(*position)).count();
            if !keys.sorts_after(fixed + ones)? {
                continue;
            }
            // Where the first part has points, each of them has one place: no two places need comparing.
            let merged = fixed > 0 || reach.points.is_empty() && keys.places > 1;
            for backward in [false, true] {
                if self.matches(fixed, backward, &|position| reach.is_one(position)) {
                    return Ok(if merged {
                        Delivery::Merged { backward, fixed }
                    } else {
                        Delivery::InTurn { backward }
                    });
                }
            }
        }
        Ok(Delivery::Sorted)
    }

    /// Whether keys sorted by the parts behind the first `fixed` are in the order.
    pub(crate) fn matches(&self, fixed: usize, backward: bool, is_one: &dyn Fn(usize) -> bool) -> bool {
        let unique = self.index.is_some_and(Index::is_unique);
        let declared = self.index.map_or(self.parts.len(), |index| index.tree().declared());
        // Keys of a unique index mostly end behind the declared parts: among several rows of points, equal ends say
        // nothing of the primary key.
        let end = if unique && fixed > 0 { declared } else { self.parts.len() };
        let mut order = self.order.iter().peekable();
        let mut seen: SmallVec<[u16; 8]> = SmallVec::new();
        for (position, part) in self.parts.iter().enumerate().take(end).skip(fixed) {
            if order.peek().is_none() || self.is_row(&seen) {
                return true;
            }
            if is_one(position) || !part.many && self.conditions.fixes(&part.name) {
                continue;
            }
            match order.next() {
                Some(by) if self.runs_like(part, by, backward) => seen.push(part.column),
                _ => return false,
            }
        }
        order.peek().is_none() || self.is_row(&seen)
    }

    /// Whether no two records have the same values in these columns and in those that have one value.
    fn is_row(&self, seen: &[u16]) -> bool {
        let known =
            |part: &Part| !part.many && (seen.contains(&part.column) || self.conditions.fixes(&part.name));
        let unique = self.index.filter(|index| index.is_unique()).is_some_and(|index| {
            let declared = self.parts.iter().take(index.tree().declared());
            declared.clone().all(|part| known(part) && !self.may_be_null(part))
        });
        unique || self.table.primary().parts().iter().all(known)
    }

    fn may_be_null(&self, part: &Part) -> bool {
        part.field.nulls.is_some() && !self.conditions.excludes_null(&part.name)
    }

    fn runs_like(&self, part: &Part, by: &OrderBy, backward: bool) -> bool {
        let forward = part.field.direction == by.direction;
        let nulls = match (part.field.nulls, by.nulls) {
            (Some(Nulls::First), Nulls::First) | (Some(Nulls::Last), Nulls::Last) => !backward,
            _ => backward,
        };
        part.name == by.field && forward != backward && (nulls || !self.may_be_null(part))
    }
}
