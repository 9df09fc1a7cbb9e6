//! `keyloom import`: a file of records into a table.
//!
//! ```text
//! file ─→ records ─→ documents ─→ sorted by key (Loader) ─→ table
//!         (lines)    (types)
//! ```
//!
//! Every line is read and checked before the first record is written.

mod define;
mod errors;
mod run;

use std::path::PathBuf;

use crate::files::format::FileFormat;

/// What `keyloom import` is asked.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  keyloom import shop.klm orders.csv --table orders --key user_id,order_date,order_id
  keyloom import shop.klm users.jsonl.gz --table users --key id --types \"id uuid, born date\"
  zcat orders.csv.gz | keyloom import shop.klm - --input-format csv --table orders --key id

An import that was cut off goes on where it stopped when the same command is run again. docs/import.md says more.")]
pub(crate) struct Import {
    /// The database: a file, which is made if it is not there
    url: String,
    /// The file to load: .csv, .tsv, .jsonl or .parquet, also as .gz or .zst; `-` is the standard input
    file: PathBuf,
    /// The table, which is made if it is not there
    #[arg(long)]
    table: String,
    /// The columns of the primary key of a table that is made: `user_id, order_date desc`
    #[arg(long, value_name = "COLUMNS")]
    key: Option<String>,
    /// The types of columns, where those that the first records seem to have are not meant: `id text, at timestamp`
    #[arg(long)]
    types: Option<String>,
    /// What else a table that is made is to be like: `shards = 16`
    #[arg(long = "with", value_name = "OPTIONS")]
    with: Option<String>,
    /// What the file is, where its name does not say it
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<FileFormat>,
    /// What stands between the values of CSV; `\t` is a tab
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// The first line of CSV has values, not names
    #[arg(long, requires = "columns")]
    no_header: bool,
    /// The names of the columns, if the file has none
    #[arg(long, value_name = "NAMES", requires = "no_header", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// What stands for null in CSV where it is not in quotes
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    null: String,
    /// What happens to a line that cannot be loaded
    #[arg(long, value_name = "WHAT", default_value = "stop")]
    on_error: OnError,
    /// Where lines that were skipped are listed, with the reasons
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    /// What happens to a record that is there already and is another
    #[arg(long, value_name = "WHAT", default_value = "replace")]
    on_conflict: OnConflict,
    /// How much memory is used to sort records before files are: `64K`, `512M`, `2G`
    #[arg(long, value_name = "SIZE", default_value = "128M", value_parser = size)]
    memory: usize,
}

/// What happens to a line that cannot be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnError {
    /// Nothing is loaded
    Stop,
    /// The others are loaded
    Skip,
}

/// What happens to a record that is there already and is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnConflict {
    /// The file's takes its place
    Replace,
    /// It stays
    Skip,
    /// The import ends
    Error,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        br"\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("one ASCII character, which is no quote".to_owned()),
    }
}

fn size(text: &str) -> Result<usize, String> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("a number with K, M or G behind it".to_owned()),
    };
    let number: usize = digits.parse().map_err(|_| "a number with K, M or G behind it".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more than there can be".to_owned())
}
