//! `--param`: the values that placeholders stand for.

use keyloom::key::{Decimal, Value, json};
use keyloom::sql::Parameters;
use serde_json::Value as Json;

use crate::failure::Failure;

/// The values of `--param`: by name if one stands before `=`, else by their place.
pub(crate) fn parameters(given: &[String]) -> Result<Parameters, Failure> {
    given.iter().try_fold(Parameters::new(), |parameters, text| match named(text) {
        Some((name, text)) => Ok(parameters.named(name, value(text)?)),
        None => Ok(parameters.with(value(text)?)),
    })
}

fn named(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let mut letters = name.chars();
    let is_name = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_');
    is_name.then_some((name, value))
}

/// JSON if it is that, else the text itself. A number is what it is in SQL.
fn value(text: &str) -> Result<Value<'static>, Failure> {
    match serde_json::from_str::<Json>(text) {
        Err(_) => Ok(text.to_owned().into()),
        Ok(Json::Number(number)) => Ok(match number.as_i64() {
            Some(number) => number.into(),
            None => match (number.to_string().parse::<Decimal>(), number.as_f64()) {
                (Ok(number), _) => number.into(),
                (Err(_), Some(number)) => number.into(),
                (Err(_), None) => text.to_owned().into(),
            },
        }),
        Ok(json) => json::plain_from_json(&json)
            .map_err(|refusal| Failure::Misuse(format!("--param {text}: {refusal}"))),
    }
}

#[cfg(test)]
mod tests;
