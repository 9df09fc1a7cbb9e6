//! Documents as JSON objects, as [`keyloom_key::json::plain_from_json`] has their values.

use std::str::FromStr;

use keyloom_key::json::{plain_from_json, plain_to_json};
use serde_json::Value as Json;

use super::Document;
use crate::error::Error;

impl Document {
    /// Reads a document from a JSON object: an array is a list, an object within it a map.
    ///
    /// ```
    /// use keyloom_schema::Document;
    /// let order: Document = r#"{"user": "U1", "lines": [{"sku": "A", "price": 9.99}]}"#.parse()?;
    /// assert_eq!(order.len(), 2);
    /// assert_eq!(order.to_string(), r#"{"lines":[{"price":9.99,"sku":"A"}],"user":"U1"}"#);
    /// # Ok::<(), keyloom_schema::Error>(())
    /// ```
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        let Json::Object(fields) = json else {
            return Err(Error::text(
                "document",
                &json.to_string(),
                "not a JSON object: write {\"name\": value, …}",
            ));
        };
        let read = |(name, json): (&String, &Json)| {
            let value = plain_from_json(json).map_err(|refusal| Error::value(name, refusal.to_string()))?;
            Ok((name.clone(), value))
        };
        fields.iter().map(read).collect()
    }

    /// Writes the named fields as a JSON object, sorted by name.
    ///
    /// What JSON has no type for becomes text: a schema's types bring the values back.
    pub fn to_json(&self) -> Json {
        Json::Object(self.iter().map(|(name, value)| (name.to_owned(), plain_to_json(value))).collect())
    }
}

impl FromStr for Document {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let json =
            serde_json::from_str(text).map_err(|error| Error::text("document", text, error.to_string()))?;
        Self::from_json(&json)
    }
}

impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_json().fmt(f)
    }
}
