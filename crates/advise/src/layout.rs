//! The columns of an index that is not made yet: groups in which the order is still open, one after the other.
//!
//! ```text
//! a = ? AND b = ?                 {a b}
//! a = ? ORDER BY day DESC         {a} {day↓}
//! both, in one index              {a} …           {b} and {day↓} cannot both come next: two indexes
//! a = ? AND b = ? and a = ?       {a} {b}         the second query is served by how the first one's index begins
//! ```

use keyloom_key::{Direction, Nulls};
use keyloom_plan::{Wanted, Wish};

/// What a column is in an index for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// It is fixed to values.
    Equal,
    /// A range of it is read.
    Range,
    /// It gives the order.
    Order,
}

/// A column of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// How it must run; any way if nobody minds.
    pub(crate) order: Option<(Direction, Nulls)>,
}

/// Groups of columns, in each of which the order is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout(pub(crate) Vec<Vec<Slot>>);

impl Layout {
    /// The layouts that grant a wish, one for each of its tails; and then those in which the fixed columns stand as the
    /// query names them, because where they have several values their places may matter for the order.
    pub(crate) fn of(wish: &Wish) -> Vec<Self> {
        let one = |tail: &Vec<Wanted>| {
            let fixed = wish.before(tail).map(|name| (name, Role::Equal, None));
            let tail = tail.iter().map(|wanted| {
                let role = if wanted.order.is_some() { Role::Order } else { Role::Range };
                (&wanted.field, role, wanted.order)
            });
            let slots =
                fixed.chain(tail).map(|(name, role, order)| vec![Slot { name: name.clone(), role, order }]);
            Self(slots.collect())
        };
        let placed: Vec<Self> = wish.tails.iter().map(one).filter(|layout| !layout.0.is_empty()).collect();
        let mut layouts: Vec<Self> = Vec::new();
        for layout in placed.iter().map(Self::opened).chain(placed.iter().cloned()) {
            if !layouts.contains(&layout) {
                layouts.push(layout);
            }
        }
        layouts
    }

    /// The same with the columns that are fixed in one group.
    fn opened(&self) -> Self {
        let (fixed, tail): (Vec<_>, Vec<_>) =
            self.0.iter().cloned().partition(|group| group.iter().all(|slot| slot.role == Role::Equal));
        Self([fixed.concat()].into_iter().chain(tail).filter(|group| !group.is_empty()).collect())
    }

    /// The same, read from its other end.
    fn turned(&self) -> Self {
        let turn = |(direction, nulls): (Direction, Nulls)| {
            let direction = match direction {
                Direction::Ascending => Direction::Descending,
                Direction::Descending => Direction::Ascending,
            };
            (direction, if nulls == Nulls::First { Nulls::Last } else { Nulls::First })
        };
        let groups = self.0.iter().map(|group| {
            group.iter().map(|slot| Slot { order: slot.order.map(turn), ..slot.clone() }).collect()
        });
        Self(groups.collect())
    }

    /// The layout that begins as this one does and as the other does, if there is one.
    pub(crate) fn merged(&self, other: &Self) -> Option<Self> {
        self.joined(other).or_else(|| self.joined(&other.turned()))
    }

    fn joined(&self, other: &Self) -> Option<Self> {
        let mut ours: Vec<Vec<Slot>> = self.0.iter().rev().cloned().collect();
        let mut theirs: Vec<Vec<Slot>> = other.0.iter().rev().cloned().collect();
        let mut groups = Vec::new();
        loop {
            let (first, second) = match (ours.pop(), theirs.pop()) {
                (None, None) => return Some(Self(groups)),
                // What is left of the longer one stands behind all that both have.
                (Some(rest), None) | (None, Some(rest)) => {
                    groups.push(rest);
                    continue;
                }
                (Some(first), Some(second)) => (first, second),
            };
            let (both, left_of_first, left_of_second) = split(&first, &second)?;
            match (left_of_first.is_empty(), left_of_second.is_empty()) {
                // Each has something that must come next and the other has not.
                (false, false) => return None,
                (false, true) => ours.push(left_of_first),
                (true, false) => theirs.push(left_of_second),
                (true, true) => {}
            }
            if both.is_empty() {
                return None;
            }
            groups.push(both);
        }
    }

    /// The columns as an index is described, ordered within each group by `rank`, small first.
    pub(crate) fn columns<R: Ord>(&self, rank: impl Fn(&Slot) -> R) -> Vec<String> {
        self.sorted(rank).0.concat().iter().map(Slot::text).collect()
    }

    /// The same with each group in the order of `rank`.
    pub(crate) fn sorted<R: Ord>(&self, rank: impl Fn(&Slot) -> R) -> Self {
        let mut layout = self.clone();
        layout.0.iter_mut().for_each(|group| group.sort_by_key(&rank));
        layout
    }

    /// How many columns there are.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

type Groups = (Vec<Slot>, Vec<Slot>, Vec<Slot>);

/// What two groups share, and what each has beside it; nothing if they want one column in two ways.
fn split(first: &[Slot], second: &[Slot]) -> Option<Groups> {
    let (mut both, mut left) = (Vec::new(), Vec::new());
    for slot in first {
        match second.iter().find(|other| other.name == slot.name) {
            None => left.push(slot.clone()),
            Some(other) => {
                let order = match (slot.order, other.order) {
                    (Some(one), Some(two)) if one != two => return None,
                    (one, two) => one.or(two),
                };
                both.push(Slot { name: slot.name.clone(), role: slot.role.max(other.role), order });
            }
        }
    }
    let only = |other: &&Slot| first.iter().all(|slot| slot.name != other.name);
    let right = second.iter().filter(only).cloned().collect();
    Some((both, left, right))
}

impl Slot {
    /// The column as an index is described: `day desc nulls-first`.
    fn text(&self) -> String {
        let (word, nulls, usual) = match self.order {
            None => return self.name.clone(),
            Some((Direction::Ascending, nulls)) => ("", nulls, Nulls::First),
            Some((Direction::Descending, nulls)) => (" desc", nulls, Nulls::Last),
        };
        let nulls = match nulls {
            same if same == usual => "",
            Nulls::First => " nulls-first",
            Nulls::Last => " nulls-last",
        };
        format!("{}{word}{nulls}", self.name)
    }
}

#[cfg(test)]
mod tests;
