//! CREATE, ALTER, DROP and ANALYZE, and what else is no query and no write.

use keyloom_schema::sql::Statement;
use keyloom_schema::sql::sqlparser;
use keyloom_store::Store;
use keyloom_table::{Database, Error as TableError};
use sqlparser::ast::{ObjectName, ObjectType, Spanned, Statement as Ast};
use sqlparser::tokenizer::Location;

use crate::context::{plain_name, refused, wrong};
use crate::error::Error;

/// Creates a table, an index or a column, and says so.
pub(crate) async fn create<S: Store>(database: &Database<S>, statement: &Statement) -> Result<String, Error> {
    let what = match statement {
        Statement::CreateTable { table, .. } => format!("table {}", table.name()),
        Statement::CreateIndex { table, index, .. } => {
            let definition = database.table(table).await?.definition()?;
            format!("index {}", definition.describe_index((**index).clone())?.name())
        }
        Statement::AddColumn { table, name, .. } => format!("column {name} of {table}"),
        _ => "definition".to_owned(),
    };
    Ok(match database.define_one(statement.clone()).await? {
        true => format!("{what} created"),
        false => format!("{what} was there already"),
    })
}

/// Runs DROP or ANALYZE, and says what it did.
pub(crate) async fn run<S: Store>(
    database: &Database<S>,
    statement: &Ast,
    words: &str,
) -> Result<String, Error> {
    match statement {
        Ast::Drop {
            object_type,
            if_exists,
            names,
            cascade: false,
            restrict: false,
            purge: false,
            table,
            ..
        } => {
            let mut done = Vec::new();
            for name in names {
                let dropped = match (object_type, table) {
                    (ObjectType::Table, None) => drop_table(database, name).await,
                    (ObjectType::Index, table) => drop_index(database, name, table.as_ref()).await,
                    _ => return Err(unsupported(words)),
                };
                done.push(match dropped {
                    Err(Error::Table(TableError::Missing(_))) if *if_exists => {
                        format!("{name} was not there")
                    }
                    dropped => dropped?,
                });
            }
            Ok(done.join(", "))
        }
        Ast::Analyze(analyze) => {
            let plain = analyze.partitions.is_none()
                && analyze.columns.is_empty()
                && !(analyze.for_columns
                    || analyze.cache_metadata
                    || analyze.noscan
                    || analyze.compute_statistics);
            if !plain {
                return Err(refused(
                    Location::empty(),
                    &format!("`{words} …`"),
                    "write ANALYZE or ANALYZE table",
                ));
            }
            let tables = match &analyze.table_name {
                Some(name) => vec![plain_name(name)?.to_owned()],
                None => {
                    database.refresh().await?;
                    database.tables()
                }
            };
            for table in &tables {
                database.table(table).await?;
                database.analyze(table).await?;
            }
            Ok(format!("analyzed {}", tables.join(", ")))
        }
        Ast::Drop { .. } => Err(refused(
            Location::empty(),
            "CASCADE, RESTRICT or PURGE",
            "nothing depends on a table: leave it out",
        )),
        _ => Err(unsupported(words)),
    }
}

async fn drop_table<S: Store>(database: &Database<S>, name: &ObjectName) -> Result<String, Error> {
    let name = plain_name(name)?;
    database.table(name).await?;
    database.drop_table(name).await?;
    Ok(format!("table {name} dropped"))
}

/// Drops an index by its name; where several tables have one of that name, the table has to be said.
async fn drop_index<S: Store>(
    database: &Database<S>,
    index: &ObjectName,
    table: Option<&ObjectName>,
) -> Result<String, Error> {
    let (at, index) = (index.span().start, plain_name(index)?);
    let table = match table {
        Some(table) => plain_name(table)?.to_owned(),
        None => {
            database.refresh().await?;
            let mut found = Vec::new();
            for table in database.tables() {
                if database.table(&table).await?.definition()?.index(index).is_some() {
                    found.push(table);
                }
            }
            match <[String; 1]>::try_from(found) {
                Ok([table]) => table,
                Err(none) if none.is_empty() => {
                    return Err(TableError::Missing(format!("index {index}").into()).into());
                }
                Err(several) => {
                    let several = several.join(", ");
                    let reason =
                        format!("{several} have an index {index}: write DROP INDEX {index} ON table");
                    return Err(wrong(at, reason));
                }
            }
        }
    };
    database.table(&table).await?;
    database.drop_index(&table, index).await?;
    Ok(format!("index {index} dropped"))
}

/// Refuses what EXPLAIN can have beside a statement.
pub(crate) fn check_explain(statement: &Ast) -> Result<(), Error> {
    match statement {
        Ast::Explain {
            analyze: false, verbose: false, estimate: false, format: None, options: None, ..
        } => Ok(()),
        _ => Err(refused(Location::empty(), "EXPLAIN with options", "write EXPLAIN and the statement")),
    }
}

/// Refuses what BEGIN, COMMIT and ROLLBACK can have behind them.
pub(crate) fn check_transaction(statement: &Ast, words: &str) -> Result<(), Error> {
    let plain = match statement {
        Ast::StartTransaction { modes, modifier: None, statements, exception: None, .. } => {
            modes.is_empty() && statements.is_empty()
        }
        Ast::Commit { chain: false, modifier: None, .. }
        | Ast::Rollback { chain: false, savepoint: None } => true,
        _ => false,
    };
    if plain {
        return Ok(());
    }
    let remedy = "transactions are serializable: write BEGIN, COMMIT or ROLLBACK alone";
    Err(refused(Location::empty(), &format!("`{words}`"), remedy))
}

/// The error of a statement that there is not, which begins with these words.
pub(crate) fn unsupported(words: &str) -> Error {
    let remedy = "the statements are SELECT, INSERT, UPDATE, DELETE, CREATE TABLE, CREATE INDEX, ALTER TABLE … ADD \
                  COLUMN, DROP TABLE, DROP INDEX, ANALYZE, EXPLAIN, BEGIN, COMMIT, ROLLBACK and SET";
    refused(Location::empty(), &format!("`{words} …`"), remedy)
}
