//! What a file is, by the end of its name.

use std::path::Path;

/// What the records of a file look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FileFormat {
    /// Comma-separated values under a line of names
    Csv,
    /// One JSON object a line
    Jsonl,
    /// Apache Parquet
    Parquet,
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// The name of a file without the ends that say what it is: `orders` of `orders.csv.gz`.
pub(crate) fn stem(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?;
    let stem = match of_name(path) {
        (_, Compression::None, _) => stem,
        _ => Path::new(stem).file_stem()?,
    };
    stem.to_str()
}

/// What the end of a name says: the format, how it is compressed, and what stands between values of CSV.
pub(crate) fn of_name(path: &Path) -> (Option<FileFormat>, Compression, u8) {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let (name, compression) = if let Some(name) = name.strip_suffix(".gz") {
        (name, Compression::Gzip)
    } else if let Some(name) = name.strip_suffix(".zst") {
        (name, Compression::Zstd)
    } else {
        (name.as_str(), Compression::None)
    };
    let (format, delimiter) = match name.rsplit_once('.').map(|(_, end)| end) {
        Some("csv") => (Some(FileFormat::Csv), b','),
        Some("tsv") => (Some(FileFormat::Csv), b'\t'),
        Some("jsonl" | "ndjson" | "json") => (Some(FileFormat::Jsonl), b','),
        Some("parquet" | "pq") => (Some(FileFormat::Parquet), b','),
        _ => (None, b','),
    };
    (format, compression, delimiter)
}
