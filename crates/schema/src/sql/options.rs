//! `WITH (shards = 16, format = 'lexkey', …)`.

use keyloom_key::placement::{Hash, Shards, Stripes};
use sqlparser::tokenizer::Token;

use super::reader::Reader;
use crate::error::Error;
use crate::format::{Format, Placement};

#[derive(Default)]
pub(super) struct Options {
    pub(super) placement: Placement,
    pub(super) format: Format,
    pub(super) expires: Option<String>,
}

/// Reads the options in brackets. Each may be given once.
pub(super) fn read(reader: &mut Reader, known: &[&str]) -> Result<Options, Error> {
    let mut options = Options::default();
    let (mut shards, mut stripes, mut hash) = (None, None, None);
    let mut seen: Vec<String> = Vec::new();
    reader.list(|reader| {
        let unknown = reader.expected(&format!("an option; the options are {}", known.join(", ")));
        let name = reader.name("an option")?.to_ascii_lowercase();
        if !known.contains(&name.as_str()) {
            return Err(unknown);
        }
        if seen.contains(&name) {
            return Err(reader.wrong(format!("{name} is given twice: give it once")));
        }
        reader.take(&Token::Eq)?;
        let wrong = |error: keyloom_key::Error, reader: &Reader| reader.wrong(error.to_string());
        match name.as_str() {
            "shards" => shards = Some(reader.number("a number of shards")?),
            "stripes" => stripes = Some(reader.number("a number of stripes")?),
            "hash" => hash = Some(text(reader)?.parse::<Hash>().map_err(|error| wrong(error, reader))?),
            "format" => options.format = text(reader)?.parse().map_err(|error| wrong(error, reader))?,
            _ => options.expires = Some(text(reader)?),
        }
        seen.push(name);
        Ok(())
    })?;
    options.placement = match (shards, stripes) {
        (None, None) => Placement::Ordered,
        (Some(count), None) => {
            Shards::new(count, hash.take().unwrap_or_default()).map(Placement::Shards).ok_or_else(|| {
                reader.wrong(format!("{count} shards, where 1 to {} are possible", Shards::MAX))
            })?
        }
        (None, Some(count)) => Stripes::new(count).map(Placement::Stripes).ok_or_else(|| {
            reader.wrong(format!("{count} stripes, where 1 to {} are possible", Stripes::MAX))
        })?,
        (Some(_), Some(_)) => return Err(reader.wrong("shards and stripes: choose one")),
    };
    if hash.is_some() {
        return Err(reader.wrong("a hash without shards: say how many with shards = …"));
    }
    Ok(options)
}

/// A text in quotes, or a name.
fn text(reader: &mut Reader) -> Result<String, Error> {
    match reader.string() {
        Some(text) => Ok(text),
        None => reader.name("a text"),
    }
}
