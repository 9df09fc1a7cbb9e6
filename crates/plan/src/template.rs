//! Queries whose values come later: what does not depend on them is worked out once.

use std::ops::Bound;

use keyloom_key::Value;
use keyloom_schema::{Predicate, Table, field};

use crate::error::Error;
use crate::plan::{Access, Plan};
use crate::planner::direct::{Wanted, Way, in_one};
use crate::query::Query;

/// A query, and conditions whose values are given each time that it is run.
///
/// ```
/// use keyloom_plan::{Given, Query, Template};
/// use keyloom_schema::field;
/// let newest = Query::new().order_by_desc("order_date").limit(20);
/// let newest = Template::new(newest, [Given::equal("user_id"), Given::at_most("order_date")]);
///
/// let of_ada = newest.bind(["Ada".into(), "2025-06-30".into()])?;
/// let the_same = field("user_id").eq("Ada").and(field("order_date").le("2025-06-30"));
/// assert_eq!(of_ada, Query::new().filter(the_same).order_by_desc("order_date").limit(20));
/// # Ok::<(), keyloom_plan::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    query: Query,
    given: Vec<Given>,
}

/// A condition on a field whose value is given when the query is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    field: String,
    relation: Relation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Given {
    /// The field equals the value.
    pub fn equal(field: impl Into<String>) -> Self {
        Self { field: field.into(), relation: Relation::Equal }
    }

    /// The field is smaller.
    pub fn less(field: impl Into<String>) -> Self {
        Self { field: field.into(), relation: Relation::Less }
    }

    /// The field is smaller or equal.
    pub fn at_most(field: impl Into<String>) -> Self {
        Self { field: field.into(), relation: Relation::AtMost }
    }

    /// The field is greater.
    pub fn greater(field: impl Into<String>) -> Self {
        Self { field: field.into(), relation: Relation::Greater }
    }

    /// The field is greater or equal.
    pub fn at_least(field: impl Into<String>) -> Self {
        Self { field: field.into(), relation: Relation::AtLeast }
    }

    /// The condition with its value.
    fn with(&self, value: Value<'static>) -> Predicate {
        let field = field(&self.field);
        match self.relation {
            Relation::Equal => field.eq(value),
            Relation::Less => field.lt(value),
            Relation::AtMost => field.le(value),
            Relation::Greater => field.gt(value),
            Relation::AtLeast => field.ge(value),
        }
    }
}

impl Template {
    /// The query with these conditions too.
    pub fn new(query: Query, given: impl IntoIterator<Item = Given>) -> Self {
        Self { query, given: given.into_iter().collect() }
    }

    /// The query without the conditions whose values are given later.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Refuses values that are more or fewer than the conditions they are for.
    pub fn check(&self, values: usize) -> Result<(), Error> {
        if values == self.given.len() {
            return Ok(());
        }
        let fields: Vec<&str> = self.given.iter().map(|given| given.field.as_str()).collect();
        let reason = format!("{values} values for the conditions on ({})", fields.join(", "));
        let field = "a prepared query".to_owned();
        Err(keyloom_schema::Error::Value { field, reason: reason.into() }.into())
    }

    /// The query with the values of its conditions, in their order.
    pub fn bind<'v>(&self, values: impl IntoIterator<Item = Value<'v>>) -> Result<Query, Error> {
        let values: Vec<Value<'v>> = values.into_iter().collect();
        self.check(values.len())?;
        let pairs = self.given.iter().zip(values);
        Ok(pairs
            .fold(self.query.clone(), |query, (given, value)| query.filter(given.with(value.into_owned()))))
    }
}

/// The plan of a [`Template`] that one tree answers directly, whatever its values are.
#[derive(Debug, Clone)]
pub struct Shortcut {
    wanted: Wanted<Stand>,
    way: Way,
    plan: Plan,
}

/// What stands for a value.
#[derive(Debug, Clone)]
enum Stand {
    /// The value.
    Is(Value<'static>),
    /// The number of the condition that it is given for.
    Given(usize),
}

impl Shortcut {
    /// The plan of a template in a table; `None` if each query has to be planned for its values.
    pub fn of(table: &Table, template: &Template) -> Option<Self> {
        let mut wanted = Wanted::of(table, &template.query.filter, |value| Stand::Is(value.clone()))?;
        for (number, Given { field, relation }) in template.given.iter().enumerate() {
            let value = Stand::Given(number);
            let (lower, upper) = match relation {
                Relation::Equal => {
                    wanted.equals(table, field, value)?;
                    continue;
                }
                Relation::Less => (Bound::Unbounded, Bound::Excluded(value)),
                Relation::AtMost => (Bound::Unbounded, Bound::Included(value)),
                Relation::Greater => (Bound::Excluded(value), Bound::Unbounded),
                Relation::AtLeast => (Bound::Included(value), Bound::Unbounded),
            };
            wanted.lies_within(table, field, lower, upper)?;
        }
        let way = Way::of(table, &template.query, &wanted)?;
        let plan = way.plan(table, &template.query);
        Some(Self { wanted, way, plan })
    }

    /// The plan that [`route`](crate::route) gives for the query with any values, without the keys that are read and what
    /// statistics say of them.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The keys that are read for these values, in the table that this is a plan for; `None` if the query with them has to
    /// be planned: one has no place in the key, or nothing is like them.
    pub fn access<'v>(&'v self, table: &Table, values: &'v [Value<'_>]) -> Option<Access> {
        let value = |stand: &'v Stand| match stand {
            Stand::Is(value) => Some(value.borrowed()),
            Stand::Given(number) => values.get(*number).map(Value::borrowed),
        };
        self.way.span(table, &self.wanted, value).map(in_one)
    }
}
