//! Case-insensitive text: full Unicode case folding, of one version for ever.
//!
//! A key that was folded by one table cannot be found by another, so the table is part of the key format: it
//! is Unicode 17.0.0's (statuses C and F of its case folding data), kept here and never taken from a library
//! that may move on. There is no normalisation: `é` as one character and as two stay different.
//!
//! ```
//! let folded: String = keyloom_key::casefold::fold("Straße ÀÉ").collect();
//! assert_eq!(folded, "strasse àé");
//! ```

mod table;

/// The version of Unicode whose folding this is.
pub const UNICODE_VERSION: &str = "17.0.0";

/// SHA-256 of the table, written as one line `0041; 0061` for each character that folds, in order.
pub const TABLE_SHA256: &str = "e96c622430671596ba43ba9cb23bcb62d34d4ac28650023d7fdf0fccd374688c";

/// The characters of `text`, folded.
pub fn fold(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(fold_char)
}

/// Whether folding leaves `text` as it is.
pub fn is_folded(text: &str) -> bool {
    fold(text).eq(text.chars())
}

/// The one to three characters that `c` folds to.
pub fn fold_char(c: char) -> impl Iterator<Item = char> {
    let full =
        table::FULL.binary_search_by_key(&c, |(from, _)| *from).ok().and_then(|at| table::FULL.get(at));
    let (several, one) = match full {
        Some((_, several)) => (*several, None),
        None => (&[][..], Some(fold_simple(c))),
    };
    several.iter().copied().chain(one)
}

fn fold_simple(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let code = u32::from(c);
    let at = table::SIMPLE.partition_point(|(_, last, _, _)| *last < code);
    match table::SIMPLE.get(at) {
        Some((first, _, step, add)) if *first <= code && (code - first) % step == 0 => {
            code.checked_add_signed(*add).and_then(char::from_u32).unwrap_or(c)
        }
        _ => c,
    }
}

#[cfg(test)]
mod tests;
