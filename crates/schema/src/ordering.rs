//! Doubts about the order of a key's columns, as far as they show before there are records.
//!
//! The rules: columns that are asked by equality come first, then one that is asked by range; of the former, those
//! with many values come before those with few. What the queries are is not known here, so a column is taken for what
//! its type is mostly asked for.

use std::fmt;

use keyloom_key::{Type, Width};

use crate::format::Placement;
use crate::index::Index;
use crate::table::Table;
use crate::tree::{Part, Tree};

/// A doubt about a key. The table works all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The name of the index, or `primary`.
    pub index: String,
    /// What may be wrong, and the remedy.
    pub reason: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.index, self.reason)
    }
}

impl Table {
    /// Doubts about the order of its keys, primary key first.
    ///
    /// ```
    /// use keyloom_schema::Table;
    /// let table = Table::named("users").column("active", "bool").column("id", "u64").key(["active", "id"]).build()?;
    /// assert_eq!(
    ///     table.warnings()[0].to_string(),
    ///     "primary: active has at most 2 values and narrows little: put it behind id"
    /// );
    /// # Ok::<(), keyloom_schema::Error>(())
    /// ```
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |name: &str, tree: &Tree, unique: bool, redundant: Option<String>| {
            let reasons =
                [few_values_first(tree), self.range_before_equality(tree, unique), hot_spot(tree), redundant];
            let reasons = reasons.into_iter().flatten();
            warnings.extend(reasons.map(|reason| Warning { index: name.to_owned(), reason }));
        };
        warn("primary", &self.primary, true, None);
        for index in &self.indexes {
            warn(&index.name, &index.tree, index.unique, self.redundant(index));
        }
        warnings
    }

    /// Only the first column that is asked by range bounds a read.
    fn range_before_equality(&self, tree: &Tree, unique: bool) -> Option<String> {
        let parts = declared(tree);
        // An id at the end only tells equal values apart.
        let breaks_ties = |part: &Part| {
            matches!(part.field.kind, Type::Uuid | Type::Int(_) | Type::Uint(_) | Type::Varint)
                && (unique || self.primary.parts().iter().any(|key| key.column == part.column))
        };
        let parts = match parts {
            [before @ .., last] if breaks_ties(last) => before,
            parts => parts,
        };
        let first = parts.iter().position(is_range)?;
        let range = parts.get(first)?;
        let behind = parts.iter().skip(first).find(|part| !is_range(part))?;
        let (range, behind) = (&range.name, &behind.name);
        Some(format!(
            "a read that is bounded by a range of {range} cannot be bounded by {behind}, which stands behind it: \
             put {range} last, or make a second index"
        ))
    }

    /// An index whose keys begin another's keys answers nothing that the other does not.
    fn redundant(&self, index: &Index) -> Option<String> {
        let begins = |tree: &Tree| {
            declared(tree).starts_with(declared(&index.tree))
                && tree.format() == index.tree.format()
                && tree.placement() == index.tree.placement()
        };
        if index.unique {
            return None;
        }
        if index.only.is_none() && begins(&self.primary) {
            return Some("the primary key begins with the same columns: drop the index".to_owned());
        }
        let own = self.indexes.iter().position(|other| other.name == index.name)?;
        let other = self.indexes.iter().enumerate().find(|(place, other)| {
            let carries = |id: &u16| {
                other.covering.contains(id)
                    || other.tree.parts().iter().any(|part| part.column == *id && part.is_exact())
            };
            let longer = other.tree.declared() > index.tree.declared();
            // Of two alike, the later one is the one too many.
            let before = other.tree.declared() == index.tree.declared() && *place < own;
            (longer || before)
                && begins(&other.tree)
                && other.only == index.only
                && other.is_multi_valued() == index.is_multi_valued()
                && index.covering.iter().all(carries)
        });
        other.map(|(_, other)| format!("{} begins with the same columns: drop this one", other.name))
    }
}

fn declared(tree: &Tree) -> &[Part] {
    tree.parts().get(..tree.declared()).unwrap_or_default()
}

/// Whether a column of this type is mostly asked by range.
fn is_range(part: &Part) -> bool {
    matches!(part.field.kind, Type::Timestamp(_) | Type::Date | Type::Duration | Type::F32 | Type::F64)
}

fn few_values_first(tree: &Tree) -> Option<String> {
    let [first, second, ..] = declared(tree) else { return None };
    let values = match first.field.kind {
        Type::Bool => 2,
        Type::Int(Width::W8) | Type::Uint(Width::W8) => 256,
        _ => return None,
    };
    // Before a range is where a column asked by equality belongs, however few its values are.
    if is_range(second) {
        return None;
    }
    let (first, second) = (&first.name, &second.name);
    Some(format!("{first} has at most {values} values and narrows little: put it behind {second}"))
}

fn hot_spot(tree: &Tree) -> Option<String> {
    let first = declared(tree).first()?;
    let grows = matches!(first.field.kind, Type::Timestamp(_));
    (grows && tree.placement() == Placement::Ordered).then(|| {
        format!(
            "new records all go to one end, because {} comes first: put a column before it, or spread the keys over shards",
            first.name
        )
    })
}
