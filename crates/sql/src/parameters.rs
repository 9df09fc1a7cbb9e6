//! The values that placeholders stand for.

use std::collections::BTreeMap;

use keyloom_key::Value;

/// The values that `?`, `?1`, `$1`, `:name`, `$name` and `@name` stand for.
///
/// A `?` without a number is counted through the whole text, whatever statement it is in.
///
/// ```
/// use keyloom_sql::Parameters;
/// let parameters = Parameters::new().with("U1").with(20_i64).named("status", "open");
/// # let _ = parameters;
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use]
pub struct Parameters {
    positional: Vec<Value<'static>>,
    named: BTreeMap<String, Value<'static>>,
}

impl Parameters {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more value by its place.
    pub fn with(mut self, value: impl Into<Value<'static>>) -> Self {
        self.positional.push(value.into());
        self
    }

    /// The same with a value by name, which is written without a sign before it.
    pub fn named(mut self, name: impl Into<String>, value: impl Into<Value<'static>>) -> Self {
        self.named.insert(name.into(), value.into());
        self
    }

    /// The value that a placeholder stands for, as the text has it.
    pub(crate) fn get(&self, placeholder: &str) -> Option<&Value<'static>> {
        let name = placeholder.strip_prefix(['?', '$', ':', '@'])?;
        match name.parse::<usize>() {
            Ok(number) => self.positional.get(number.checked_sub(1)?),
            Err(_) => self.named.get(name),
        }
    }
}
