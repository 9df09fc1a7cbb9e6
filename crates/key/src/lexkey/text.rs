//! Keys as hex and as JSON, for people and for the wire. Stores get the bytes.
//!
//! ```text
//! │66│00│FF│   hex 6600ff   JSON "6600ff"
//! ```

use crate::error::Error;

/// The key in lowercase hex, two digits a byte.
///
/// ```
/// use keyloom_key::lexkey::{from_hex, to_hex};
/// assert_eq!(to_hex(b"f\x00\xff"), "6600ff");
/// assert_eq!(from_hex("6600FF")?, b"f\x00\xff");
/// # Ok::<(), keyloom_key::Error>(())
/// ```
pub fn to_hex(key: &[u8]) -> String {
    hex::encode(key)
}

/// The key that a hex text stands for. Digits may be of either case.
///
/// An odd number of digits, a `0x` in front and blanks are errors.
pub fn from_hex(text: &str) -> Result<Vec<u8>, Error> {
    hex::decode(text).map_err(|error| {
        let reason = match error {
            hex::FromHexError::InvalidHexCharacter { c, index } => {
                format!("{c:?} at byte {index} is no hex digit: write two digits a byte and nothing else")
            }
            _ => "an odd number of digits: write two a byte".to_owned(),
        };
        Error::text("hex key", text, reason)
    })
}

/// The key as JSON: a string of lowercase hex.
///
/// ```
/// use keyloom_key::lexkey::{from_json, to_json};
/// assert_eq!(to_json(b"f\x00\xff"), "\"6600ff\"");
/// assert_eq!(from_json("\"6600ff\"")?, b"f\x00\xff");
/// assert_eq!(from_json("null")?, b"");
/// # Ok::<(), keyloom_key::Error>(())
/// ```
pub fn to_json(key: &[u8]) -> String {
    format!("\"{}\"", hex::encode(key))
}

/// The key of a JSON value: `null` is the empty key, a string must be plain hex without escapes.
pub fn from_json(json: &str) -> Result<Vec<u8>, Error> {
    let text = json.trim_matches([' ', '\t', '\n', '\r']);
    if text == "null" {
        return Ok(Vec::new());
    }
    let inside = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inside = inside
        .ok_or_else(|| Error::text("JSON key", json, "neither null nor a string: write hex in quotes"))?;
    from_hex(inside)
}
