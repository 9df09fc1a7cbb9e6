//! What a statement answers.

use std::ops::ControlFlow;

use keyloom_key::Value;
use keyloom_table::{Examined, Plan};

/// What a statement answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// What a SELECT found.
    Rows {
        /// The names of the columns.
        columns: Vec<String>,
        /// The rows, in their order; none if they were [streamed](crate::Session::stream).
        rows: Vec<Vec<Value<'static>>>,
        /// What it cost.
        examined: Examined,
    },
    /// Records were inserted, updated or deleted.
    Changed {
        /// How many.
        records: u64,
    },
    /// Something else was done, and this is what.
    Done(String),
    /// How a statement would read: one plan for each read, none if it reads nothing.
    Explained(Vec<Plan>),
}

/// Takes the rows of a SELECT one by one.
///
/// Every `FnMut(&[Value]) -> ControlFlow<()>` does.
pub trait Rows: Send {
    /// Takes the names of the columns, before the first row.
    fn columns(&mut self, _names: &[String]) {}

    /// Takes a row; no more are wanted if it breaks. It must not call the database.
    fn row(&mut self, values: &[Value<'_>]) -> ControlFlow<()>;
}

impl<F: FnMut(&[Value<'_>]) -> ControlFlow<()> + Send> Rows for F {
    fn row(&mut self, values: &[Value<'_>]) -> ControlFlow<()> {
        self(values)
    }
}

/// Keeps all rows.
#[derive(Debug, Default)]
pub(crate) struct Kept(pub(crate) Vec<Vec<Value<'static>>>);

impl Rows for Kept {
    fn row(&mut self, values: &[Value<'_>]) -> ControlFlow<()> {
        self.0.push(values.iter().map(|value| value.clone().into_owned()).collect());
        ControlFlow::Continue(())
    }
}
