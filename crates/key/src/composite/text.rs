//! What stands between fields, and what is done so that text cannot be taken for it.
//!
//! ```text
//! delimiter   1F                  00                  00 01            FF
//! refused     00 … 1F             00                  00               nothing
//! escaped     00 … 20 → 20 b      00, 01 → 01 b       00 → 00 FF       nothing
//! ```
//!
//! Why escaping keeps order and fields apart. Take the delimiter 1F. Behind the escape byte 20 stands a data
//! byte, whatever it is; a 1F that is not behind one ends the text. Text that ends sorts before text that goes
//! on, for what goes on starts with 20 or more. A byte up to 20 starts with 20, so it sorts before the
//! higher bytes, which stand as they are; two bytes up to 20 share the 20 and differ behind it as they did.
//! The same holds for 00 with 01 as the escape byte, and for `00 01` because it sorts before `00 FF`.

use std::borrow::Cow;

use crate::error::{Error, Refusal};

/// What stands between two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Delimiter {
    /// The byte 00.
    Null,
    /// The byte 1F, ASCII's unit separator.
    #[default]
    Unit,
    /// The byte FF, which UTF-8 never has. Text sorts behind what it begins: "ab" before "a".
    High,
    /// The bytes 00 01.
    Double,
}

impl Delimiter {
    /// The bytes.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Self::Null => &[0x00],
            Self::Unit => &[0x1F],
            Self::High => &[0xFF],
            Self::Double => &[0x00, 0x01],
        }
    }

    /// The lowest byte of text that stands for itself. The [module](self) has the table.
    fn plain(self, escape: bool) -> u8 {
        match (self, escape) {
            (Self::High, _) => 0x00,
            (Self::Double, _) | (Self::Null, false) => 0x01,
            (Self::Null, true) => 0x02,
            (Self::Unit, false) => 0x20,
            (Self::Unit, true) => 0x21,
        }
    }

    /// The two bytes for a byte that cannot stand for itself.
    fn escaped(self, byte: u8) -> [u8; 2] {
        match self {
            Self::Double | Self::High => [byte, 0xFF],
            Self::Null => [0x01, byte],
            Self::Unit => [0x20, byte],
        }
    }

    /// The byte that these two stand for.
    fn unescaped(self, [first, second]: [u8; 2]) -> Option<u8> {
        let byte = if self == Self::Double { first } else { second };
        (byte < self.plain(true) && self.escaped(byte) == [first, second]).then_some(byte)
    }
}

/// What is done with the text of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Text {
    /// It is written as it is; text that could be taken for the delimiter, or sort before it, is refused.
    #[default]
    Refuse,
    /// Any text: the bytes that the delimiter rules out become two.
    Escape,
    /// Always this many bytes, filled up with 00. Longer text, or text that ends with 00, is refused.
    Pad(u16),
}

/// Appends text; on a refusal some of it may have been written.
pub(super) fn write(text: &str, rule: Text, delimiter: Delimiter, out: &mut Vec<u8>) -> Result<(), Refusal> {
    let bytes = text.as_bytes();
    if let Text::Pad(width) = rule {
        let Some(fill) = usize::from(width).checked_sub(bytes.len()) else {
            let reason =
                format!("text of {} bytes where {width} are kept: pad wider, or escape", bytes.len());
            return Err(Refusal::new(reason));
        };
        if bytes.last() == Some(&0) {
            return Err(Refusal::new("text that ends with 00 is not told from its padding: escape instead"));
        }
        out.extend_from_slice(bytes);
        out.extend(std::iter::repeat_n(0, fill));
        return Ok(());
    }
    let escape = rule == Text::Escape;
    let plain = delimiter.plain(escape);
    match bytes.iter().find(|byte| **byte < plain) {
        None => out.extend_from_slice(bytes),
        Some(_) if escape => {
            for &byte in bytes {
                if byte < plain {
                    out.extend_from_slice(&delimiter.escaped(byte));
                } else {
                    out.push(byte);
                }
            }
        }
        Some(byte) => return Err(ruled_out(*byte, delimiter)),
    }
    Ok(())
}

#[cold]
fn ruled_out(byte: u8, delimiter: Delimiter) -> Refusal {
    let what = if delimiter.bytes().first() == Some(&byte) { "is taken for" } else { "sorts before" };
    Refusal::new(format!(
        "text with the byte {byte:02x}, which {what} the delimiter {}: escape, pad, or use another delimiter",
        hex::encode(delimiter.bytes())
    ))
}

/// Reads the text that stands at `at`, without the delimiter behind it. `last`: no field follows.
pub(super) fn read(
    key: &[u8],
    at: usize,
    rule: Text,
    delimiter: Delimiter,
    last: bool,
) -> Result<(Cow<'_, str>, usize), Error> {
    let input = key.get(at..).unwrap_or_default();
    let wrong = |offset: usize, reason: &'static str| Err(Error::bytes(at + offset, reason));
    if let Text::Pad(width) = rule {
        let width = usize::from(width);
        let Some(padded) = input.get(..width) else {
            return Err(Error::bytes(key.len(), format!("the key ends within text of {width} bytes")));
        };
        let length = padded.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        return Ok((utf8(padded.get(..length).unwrap_or_default().into(), at)?, width));
    }
    let plain = delimiter.plain(rule == Text::Escape);
    let high = delimiter == Delimiter::High;
    let stop = |byte: &u8| *byte < plain || high && *byte == 0xFF;
    let mut unescaped: Option<Vec<u8>> = None;
    let mut from = 0;
    loop {
        let rest = input.get(from..).unwrap_or_default();
        let run = rest.iter().position(stop);
        let (text, rest) = rest.split_at(run.unwrap_or(rest.len()));
        let end = from + text.len();
        let ends = if run.is_none() { last } else { !last && rest.starts_with(delimiter.bytes()) };
        if ends {
            let text = match unescaped {
                None => text.into(),
                Some(mut before) => {
                    before.extend_from_slice(text);
                    before.into()
                }
            };
            return Ok((utf8(text, at)?, end));
        }
        if run.is_none() {
            return wrong(end, "the key ends within text");
        }
        let pair = rest.first_chunk().filter(|_| rule == Text::Escape);
        let Some(byte) = pair.and_then(|pair| delimiter.unescaped(*pair)) else {
            return wrong(end, "a byte that stands in no text here");
        };
        let before = unescaped.get_or_insert_default();
        before.extend_from_slice(text);
        before.push(byte);
        from = end + 2;
    }
}

fn utf8(bytes: Cow<'_, [u8]>, at: usize) -> Result<Cow<'_, str>, Error> {
    let text = match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    };
    text.ok_or_else(|| Error::bytes(at, "text that is not UTF-8"))
}
