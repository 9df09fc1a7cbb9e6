//! What SET changes in a session.

use keyloom_key::Value;
use keyloom_plan::{Budget, Query};
use keyloom_schema::sql::{self, sqlparser};
use sqlparser::ast::{Expr, Set};

use crate::context::{Context, plain_name, refused};
use crate::error::Error;

/// What SET changes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Settings {
    /// Whether a statement may read every key if nothing better is there.
    pub(crate) allow_scan: bool,
    /// What it may cost.
    pub(crate) budget: Budget,
}

const KNOWN: &str = "the settings are allow_scan = on|off and max_rows = number";

impl Settings {
    /// The query as the session allows it.
    pub(crate) fn apply(&self, query: Query) -> Query {
        Query { allow_scan: self.allow_scan, budget: self.budget, ..query }
    }

    /// Changes a setting, and says what it is then.
    pub(crate) fn set(&mut self, set: &Set, context: Context<'_>, words: &str) -> Result<String, Error> {
        let wrong = || refused(sqlparser::tokenizer::Location::empty(), &format!("`{words} …`"), KNOWN);
        let Set::SingleAssignment { scope: None, hivevar: false, variable, values } = set else {
            return Err(wrong());
        };
        let [value] = values.as_slice() else { return Err(wrong()) };
        match plain_name(variable)?.to_ascii_lowercase().as_str() {
            "allow_scan" => {
                self.allow_scan = switch(value).ok_or_else(wrong)?;
                Ok(format!("allow_scan = {}", if self.allow_scan { "on" } else { "off" }))
            }
            "max_rows" => match context.constant(value)? {
                Value::Int(rows @ 1..) => {
                    self.budget.rows = rows.unsigned_abs();
                    Ok(format!("max_rows = {rows}"))
                }
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

fn switch(value: &Expr) -> Option<bool> {
    match sql::expression_text(value)?.trim_matches('\'').to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}
