//! CSV as RFC 4180 has it, where quotes tell an empty text from no value: `a,,b` has a null, `a,"",b` an empty text.

use std::io::{self, BufRead, Write};

/// The longest record: a quote that is never closed must not take all of memory.
const LONGEST: usize = 64 << 20;

/// The values of one record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The line that it begins on.
    pub(crate) line: u64,
    text: String,
    /// Where each value ends, and whether it stood in quotes.
    ends: Vec<(usize, bool)>,
}

impl Record {
    /// The values, each with whether it stood in quotes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, bool)> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        let text = |(start, (end, quoted)): (usize, &(usize, bool))| {
            (self.text.get(start..*end).unwrap_or_default(), *quoted)
        };
        starts.zip(&self.ends).map(text)
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it is a line with nothing on it.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_empty() && matches!(self.ends.as_slice(), [(_, false)])
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn size(&self) -> usize {
        self.text.len() + self.ends.len() * 16
    }
}

/// Why there is no record.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// The record that begins on this line is wrong; the next one can be read.
    Record(u64, String),
    /// The file cannot be read.
    Io(io::Error),
}

/// Reads records.
pub(crate) struct Reader<R> {
    source: R,
    delimiter: u8,
    /// The bytes of this record, line by line.
    raw: Vec<u8>,
    at: usize,
    /// Lines that were read.
    lines: u64,
}

impl<R: BufRead> Reader<R> {
    pub(crate) fn new(source: R, delimiter: u8) -> Self {
        Self { source, delimiter, raw: Vec::new(), at: 0, lines: 0 }
    }

    /// Appends the next line; `false` at the end.
    fn more(&mut self) -> Result<bool, Wrong> {
        let read = self.source.read_until(b'\n', &mut self.raw).map_err(Wrong::Io)?;
        if self.lines == 0 && self.raw.starts_with(b"\xEF\xBB\xBF") {
            self.raw.drain(..3);
        }
        self.lines += u64::from(read > 0);
        Ok(read > 0)
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record>, Wrong> {
        self.raw.clear();
        self.at = 0;
        if !self.more()? {
            return Ok(None);
        }
        let line = self.lines;
        let mut bytes = Vec::with_capacity(self.raw.len());
        let mut ends = Vec::with_capacity(16);
        loop {
            let quoted = self.raw.get(self.at) == Some(&b'"');
            let last = if quoted { self.quoted(line, &mut bytes)? } else { self.plain(&mut bytes) };
            ends.push((bytes.len(), quoted));
            if last {
                break;
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(Record { line, text, ends })),
            Err(_) => Err(Wrong::Record(line, "it is not UTF-8: convert the file first".to_owned())),
        }
    }

    /// A value without quotes; whether it is the last of its record.
    fn plain(&mut self, out: &mut Vec<u8>) -> bool {
        let rest = self.raw.get(self.at..).unwrap_or_default();
        if let Some(length) = rest.iter().position(|byte| *byte == self.delimiter) {
            out.extend_from_slice(rest.get(..length).unwrap_or_default());
            self.at += length + 1;
            return false;
        }
        out.extend_from_slice(without_end(rest));
        true
    }

    /// A value in quotes, perhaps of several lines; whether it is the last of its record.
    fn quoted(&mut self, line: u64, out: &mut Vec<u8>) -> Result<bool, Wrong> {
        let opened = self.lines;
        self.at += 1;
        loop {
            let rest = self.raw.get(self.at..).unwrap_or_default();
            let Some(length) = rest.iter().position(|byte| *byte == b'"') else {
                out.extend_from_slice(rest);
                self.at = self.raw.len();
                if self.raw.len() > LONGEST || !self.more()? {
                    let reason = format!("a quote is opened on line {opened} and never closed");
                    return Err(Wrong::Record(line, reason));
                }
                continue;
            };
            out.extend_from_slice(rest.get(..length).unwrap_or_default());
            self.at += length + 1;
            let rest = self.raw.get(self.at..).unwrap_or_default();
            match rest.first() {
                Some(b'"') => {
                    out.push(b'"');
                    self.at += 1;
                }
                Some(byte) if *byte == self.delimiter => {
                    self.at += 1;
                    return Ok(false);
                }
                _ if without_end(rest).is_empty() => return Ok(true),
                _ => {
                    let reason = "text stands behind a closing quote: a quote within quotes is written twice";
                    return Err(Wrong::Record(line, reason.to_owned()));
                }
            }
        }
    }
}

/// The line without the bytes that end it.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Writes one value, in quotes where they are needed; a null as nothing.
pub(crate) fn write_value(out: &mut impl Write, value: Option<&str>, delimiter: u8) -> io::Result<()> {
    let Some(text) = value else { return Ok(()) };
    let special = |byte: u8| matches!(byte, b'"' | b'\n' | b'\r') || byte == delimiter;
    // A mark of byte order is left out where a file begins.
    if !text.is_empty() && text != "*" && !text.starts_with('\u{feff}') && !text.bytes().any(special) {
        return out.write_all(text.as_bytes());
    }
    out.write_all(b"\"")?;
    out.write_all(text.replace('"', "\"\"").as_bytes())?;
    out.write_all(b"\"")
}

/// Writes a record.
pub(crate) fn write_record<'v>(
    out: &mut impl Write,
    values: impl IntoIterator<Item = Option<&'v str>>,
    delimiter: u8,
) -> io::Result<()> {
    for (number, value) in values.into_iter().enumerate() {
        if number > 0 {
            out.write_all(&[delimiter])?;
        }
        write_value(out, value, delimiter)?;
    }
    out.write_all(b"\n")
}
