//! What is to become of a record, and what it must be like for that.

use keyloom_key::{Decimal, Value};
use keyloom_schema::{Document, Predicate};

use crate::error::Error;

/// A change of one record.
///
/// ```
/// use keyloom_schema::field;
/// use keyloom_table::{Change, Update, When};
/// let pay = Change::update(["U1"], Update::new().set("status", "paid").add("version", 1_i64))
///     .when(When::Is(field("status").eq("open")));
/// # let _ = pay;
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Change {
    pub(crate) what: What,
    /// All of them must hold.
    pub(crate) when: Vec<When>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    Put(Document),
    Update(Vec<Value<'static>>, Update),
    Delete(Vec<Value<'static>>),
    /// The record with this key stays as it is, and gets its entries in the index with this tree.
    Enter {
        key: Vec<u8>,
        tree: u32,
    },
    /// The record with this key stays as it is, and loses this entry, which says nothing of it.
    Leave {
        key: Vec<u8>,
        entry: Vec<u8>,
    },
}

/// What a record must be like for a change of it to happen. An expired record is not there.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
    /// It is there and like this.
    Is(Predicate),
    /// It is there and exactly this: nothing has changed since it was read.
    Same(Document),
}

impl Change {
    /// The record becomes this, whatever it was.
    pub fn put(document: impl Into<Document>) -> Self {
        Self { what: What::Put(document.into()), when: Vec::new() }
    }

    /// Some fields of the record with this key change; nothing happens if it is not there.
    pub fn update<V: Into<Value<'static>>>(key: impl IntoIterator<Item = V>, update: Update) -> Self {
        Self { what: What::Update(key.into_iter().map(Into::into).collect(), update), when: Vec::new() }
    }

    /// The record with this key goes; nothing happens if it is not there.
    pub fn delete<V: Into<Value<'static>>>(key: impl IntoIterator<Item = V>) -> Self {
        Self { what: What::Delete(key.into_iter().map(Into::into).collect()), when: Vec::new() }
    }

    /// The same, only if the record is like this too; else it is [`Error::Condition`].
    pub fn when(mut self, when: When) -> Self {
        self.when.push(when);
        self
    }

    pub(crate) fn enter(key: Vec<u8>, tree: u32) -> Self {
        Self { what: What::Enter { key, tree }, when: Vec::new() }
    }

    pub(crate) fn leave(key: Vec<u8>, entry: Vec<u8>) -> Self {
        Self { what: What::Leave { key, entry }, when: Vec::new() }
    }
}

/// Fields that change, one after the other. Fields that are not named stay as they are.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use]
pub struct Update {
    steps: Vec<(String, Step)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Set(Value<'static>),
    Remove,
    Add(Value<'static>),
}

impl Update {
    /// Nothing changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and a field becomes this.
    pub fn set(self, field: impl Into<String>, value: impl Into<Value<'static>>) -> Self {
        self.step(field, Step::Set(value.into()))
    }

    /// The same, and a field goes.
    pub fn remove(self, field: impl Into<String>) -> Self {
        self.step(field, Step::Remove)
    }

    /// The same, and a number grows by this much; a field that is not there or null counts as zero.
    pub fn add(self, field: impl Into<String>, amount: impl Into<Value<'static>>) -> Self {
        self.step(field, Step::Add(amount.into()))
    }

    fn step(mut self, field: impl Into<String>, step: Step) -> Self {
        self.steps.push((field.into(), step));
        self
    }

    /// The names of the fields that change.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|(field, _)| field.as_str())
    }

    /// Changes a document.
    pub(crate) fn apply(&self, document: &mut Document) -> Result<(), Error> {
        for (field, step) in &self.steps {
            match step {
                Step::Set(value) => drop(document.set(field.clone(), value.clone())),
                Step::Remove => drop(document.remove(field)),
                Step::Add(amount) => {
                    let before = document.get(field).cloned().unwrap_or(Value::Null);
                    let sum = add(&before, amount).ok_or_else(|| {
                        let reason = format!(
                            "a {} and a {} have no sum that can be kept",
                            before.kind(),
                            amount.kind()
                        );
                        keyloom_schema::Error::Value { field: field.clone(), reason: reason.into() }
                    })?;
                    document.set(field.clone(), sum);
                }
            }
        }
        Ok(())
    }
}

/// The exact sum of two numbers; floats are added as floats only to floats.
fn add(a: &Value<'_>, b: &Value<'_>) -> Option<Value<'static>> {
    Some(match (a, b) {
        (Value::Null, number @ (Value::Int(_) | Value::Uint(_) | Value::Float(_) | Value::Decimal(_))) => {
            number.clone().into_owned()
        }
        (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
        (a, b) => {
            let whole = |value: &Value<'_>| match value {
                Value::Int(number) => Some(i128::from(*number)),
                Value::Uint(number) => Some(i128::from(*number)),
                _ => None,
            };
            if let (Some(x), Some(y)) = (whole(a), whole(b)) {
                let sum = x + y;
                // The field keeps its kind while the sum fits it.
                return match a {
                    Value::Uint(_) => u64::try_from(sum).map(Value::Uint).ok(),
                    _ => i64::try_from(sum).map(Value::Int).ok(),
                };
            }
            let decimal = |value: &Value<'_>| match value {
                Value::Decimal(number) => Some(*number),
                other => Decimal::new(whole(other)?, 0),
            };
            Value::Decimal(sum(decimal(a)?, decimal(b)?)?)
        }
    })
}

fn sum(a: Decimal, b: Decimal) -> Option<Decimal> {
    let exponent = a.exponent().min(b.exponent());
    let raised = |number: Decimal| {
        let places = u32::try_from(number.exponent() - exponent).ok()?;
        number.coefficient().checked_mul(10_i128.checked_pow(places)?)
    };
    Decimal::new(raised(a)?.checked_add(raised(b)?)?, exponent)
}
