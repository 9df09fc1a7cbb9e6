//! A file to be read, wherever it is and however it is compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::{Compression, FileFormat, of_name};

const BUFFER: usize = 256 << 10;

/// A file that is being read.
pub(crate) struct Input {
    /// Its text, not compressed any more.
    pub(crate) text: Box<dyn BufRead + Send>,
    /// What its name or its first bytes say that it is.
    pub(crate) format: Option<FileFormat>,
    /// What stands between values, as its name says.
    pub(crate) delimiter: u8,
    /// How many bytes of it were read.
    pub(crate) read: Arc<AtomicU64>,
    /// How many bytes it has, if that is known.
    pub(crate) length: Option<u64>,
    /// Its first bytes as they lie there, by which it can be told from another.
    pub(crate) head: Vec<u8>,
}

/// Counts what is read.
struct Counted<R> {
    source: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.read.fetch_add(u64::try_from(read).unwrap_or(0), Ordering::Relaxed);
        Ok(read)
    }
}

/// Opens a file; `-` is the standard input.
pub(crate) fn open(path: &Path) -> io::Result<Input> {
    let (format, _, delimiter) = of_name(path);
    let (source, length): (Box<dyn Read + Send>, _) = if path.as_os_str() == "-" {
        (Box::new(io::stdin()), None)
    } else {
        let file = File::open(path)?;
        let facts = file.metadata()?;
        if facts.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        (Box::new(file), facts.is_file().then_some(facts.len()))
    };
    let read = Arc::new(AtomicU64::new(0));
    let mut source = BufReader::with_capacity(BUFFER, Counted { source, read: Arc::clone(&read) });
    let mut head = Vec::with_capacity(BUFFER);
    // A pipe gives what it has; what tells a file from another should not depend on that.
    source.by_ref().take(1 << 16).read_to_end(&mut head)?;
    let whole = io::Cursor::new(head.clone()).chain(source);
    let text: Box<dyn BufRead + Send> = match compression(&head) {
        Compression::None => Box::new(whole),
        Compression::Gzip => {
            Box::new(BufReader::with_capacity(BUFFER, flate2::bufread::MultiGzDecoder::new(whole)))
        }
        Compression::Zstd => {
            Box::new(BufReader::with_capacity(BUFFER, zstd::stream::read::Decoder::with_buffer(whole)?))
        }
    };
    let mut input = Input { text, format, delimiter, read, length, head };
    if input.text.fill_buf()?.starts_with(b"PAR1") {
        input.format = Some(FileFormat::Parquet);
    }
    Ok(input)
}

fn compression(head: &[u8]) -> Compression {
    if head.starts_with(&[0x1F, 0x8B]) {
        Compression::Gzip
    } else if head.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
        Compression::Zstd
    } else {
        Compression::None
    }
}

impl Input {
    /// The same as a file that can be read from anywhere, as Parquet must be: a copy if it is none.
    pub(crate) fn into_file(mut self, path: &Path) -> io::Result<File> {
        if path.as_os_str() != "-" && self.length.is_some() && self.head.starts_with(b"PAR1") {
            return File::open(path);
        }
        let mut copy = tempfile::tempfile()?;
        io::copy(&mut self.text, &mut copy)?;
        copy.flush()?;
        copy.rewind()?;
        Ok(copy)
    }
}
