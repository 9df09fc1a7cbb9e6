//! Tables and filters as SQL says them.
//!
//! ```
//! use keyloom_schema::Table;
//! let orders = Table::from_sql(
//!     "CREATE TABLE orders (
//!          user_id TEXT, order_date TIMESTAMP, order_id UUID, amount DECIMAL(10,2) NOT NULL, status TEXT COLLATE NOCASE,
//!          tags TEXT[], PRIMARY KEY (user_id, order_date DESC, order_id)
//!      ) WITH (shards = 16);
//!      CREATE INDEX open_orders ON orders (status, order_date DESC) INCLUDE (amount) WHERE amount > 0;",
//! )?;
//! assert_eq!(orders.primary().fields().to_string(), "str,timestamp:desc,uuid");
//! assert_eq!(Table::from_sql(&orders.to_sql())?, orders);
//! # Ok::<(), keyloom_schema::Error>(())
//! ```
//!
//! | SQL | type |
//! |---|---|
//! | `TEXT` `VARCHAR` `STRING` `CHAR`, with perhaps `COLLATE NOCASE` | str |
//! | `BIGINT` `INTEGER` `INT`, `SMALLINT`, `TINYINT`, with perhaps `UNSIGNED` | i64, i16, i8; u64, u16, u8 |
//! | `DOUBLE` `DOUBLE PRECISION` `FLOAT` `REAL` | f64 |
//! | `DECIMAL` `NUMERIC`, with perhaps `(p)` or `(p,s)` | decimal |
//! | `BOOLEAN`, `BLOB` `BYTEA`, `INTERVAL` | bool, bytes, duration |
//! | `TIMESTAMP` `TIMESTAMPTZ`, with perhaps `(3)`, `(6)` or `(9)` | timestamp |
//! | `type[]` `ARRAY<type>` `LIST(type)` | list |
//! | `TUPLE(type DESC NULLS LAST, …)` | tuple |
//! | the names of [`keyloom_key::Type`] | themselves |
//!
//! A column is nullable unless it is `NOT NULL` or in the primary key; there it is nullable if it says `NULL`. Names
//! are taken as they are written, capitals and all.

mod definition;
mod kind;
mod literal;
mod options;
mod predicate;
mod reader;
mod write;

pub use sqlparser;

use crate::builder;
use crate::error::Error;
use crate::index::IndexBuilder;
use crate::table::Table;
pub use literal::{expression_text, literal, place, shown};
pub use predicate::{Values, chain, predicate, predicate_with};
use reader::Reader;
use sqlparser::tokenizer::Location;

/// A statement.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Statement {
    /// `CREATE TABLE`.
    CreateTable {
        /// The table, as yet without numbers.
        table: Box<Table>,
        /// Whether it is no error if there is one of that name.
        if_not_exists: bool,
    },
    /// `CREATE INDEX`.
    CreateIndex {
        /// The table's name.
        table: String,
        /// The index.
        index: Box<IndexBuilder>,
        /// Whether it is no error if there is one of that name.
        if_not_exists: bool,
    },
    /// `ALTER TABLE … ADD COLUMN`.
    AddColumn {
        /// The table's name.
        table: String,
        /// The column's name.
        name: String,
        /// What its values are, as a builder takes it.
        kind: String,
        /// Whether it is no error if there is one of that name.
        if_not_exists: bool,
    },
    /// Any other statement, as it was parsed: whether it can be run is for the caller to say.
    Other(Box<sqlparser::ast::Statement>),
}

/// The statements of a text.
pub fn parse(text: &str) -> Result<Vec<Statement>, Error> {
    Ok(parse_places(text)?.into_iter().map(|(_, statement)| statement).collect())
}

/// The statements of a text, each with the place where it begins.
///
/// Placeholders without a number get the one of their place in the whole text: the first `?` is `?1`.
pub fn parse_places(text: &str) -> Result<Vec<(Location, Statement)>, Error> {
    parse_part(text, &mut Before::default())
}

/// What of a longer text stands before a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Before {
    /// Whole lines.
    pub lines: u64,
    /// Placeholders without a number.
    pub placeholders: u32,
}

/// The statements of whole lines of a longer text, which becomes what is before the next lines.
pub fn parse_part(text: &str, before: &mut Before) -> Result<Vec<(Location, Statement)>, Error> {
    let mut reader = Reader::new(text, before)?;
    let mut statements = Vec::new();
    while reader.next_statement() {
        let place = reader.place();
        let statement = match definition::statement(&mut reader)? {
            Some(statement) => statement,
            None => Statement::Other(Box::new(reader.parsed(|parser| parser.parse_statement())?)),
        };
        statements.push((place, statement));
        reader.end_statement()?;
    }
    Ok(statements)
}

/// What a record must be like, from the text of a condition: `status = 'open' AND amount > 10`.
pub fn condition(text: &str) -> Result<crate::predicate::Predicate, Error> {
    let mut reader = Reader::new(text, &mut Before::default())?;
    let condition = predicate(&reader.parsed(|parser| parser.parse_expr())?)?;
    if !reader.at_end() {
        return Err(reader.expected("the end of the condition"));
    }
    Ok(condition)
}

impl Table {
    /// The table of one `CREATE TABLE` statement and of the `CREATE INDEX` statements behind it.
    pub fn from_sql(text: &str) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Sql { line: 0, column: 0, reason: reason.into() };
        let mut statements = parse(text)?.into_iter();
        let Some(Statement::CreateTable { table, .. }) = statements.next() else {
            return Err(wrong("a table begins with CREATE TABLE".to_owned()));
        };
        let mut table = *table;
        for statement in statements {
            match statement {
                Statement::CreateIndex { table: name, index, .. } if name == table.name => {
                    let index = builder::index(&table, *index)?;
                    table.indexes.push(index);
                }
                Statement::CreateIndex { table: name, .. } => {
                    return Err(wrong(format!(
                        "an index on {name} behind the table {}: parse them apart",
                        table.name
                    )));
                }
                _ => {
                    return Err(wrong(
                        "behind CREATE TABLE only CREATE INDEX may stand: parse them apart".to_owned(),
                    ));
                }
            }
        }
        Ok(table)
    }
}
