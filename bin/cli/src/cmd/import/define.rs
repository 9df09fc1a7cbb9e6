//! The table that a file goes to: the one that is there, or one that is made for it.

use keyloom::key::{Direction, Nulls};
use keyloom::schema::{Column, Part, Table};

use super::Import;
use crate::failure::Failure;
use crate::files::infer::Columns;

/// Sees that a table which is there is as it was asked for.
pub(super) fn check(import: &Import, table: &Table) -> Result<(), Failure> {
    let differs = |what: &str, there: &str| {
        let name = table.name();
        Err(Failure::Misuse(format!(
            "the table {name} is there already, {there}: leave out --{what}, or choose another table"
        )))
    };
    let parts = |table: &Table| table.primary().parts().to_vec();
    if let Some(key) = &import.key {
        let asked = like(table, &split(key), None)?;
        if parts(&asked) != parts(table) {
            return differs("key", &format!("with the key {}", table.primary().text()));
        }
    }
    for column in given(import)? {
        match table.column(&column.name) {
            Some(there) if there.kind == column.kind => {}
            Some(there) => return differs("types", &format!("and its {} is {}", there.name, there.kind)),
            None => return differs("types", &format!("and declares no {}", column.name)),
        }
    }
    if let Some(with) = &import.with {
        let asked = like(table, &key_of(table), Some(with))?;
        if asked.primary().placement() != table.primary().placement() {
            return differs("with", "and its records are placed otherwise");
        }
    }
    Ok(())
}

/// A table for a file with these columns. `stored` is the table that the file was written from; `all` says whether the
/// file has no other columns.
pub(super) fn define(
    import: &Import,
    columns: &Columns,
    all: bool,
    stored: Option<&Table>,
) -> Result<Table, Failure> {
    if let (Some(stored), None, None, None) = (stored, &import.key, &import.types, &import.with) {
        let primary = stored.primary();
        let mut builder = builder(&import.table, stored.columns())
            .format(primary.format().clone())
            .placement(primary.placement());
        if let Some(column) = stored.expiry() {
            builder = builder.expires_by(&column.name);
        }
        return builder.key(key_of(stored).iter().map(String::as_str)).build().map_err(misuse);
    }
    let key = match (&import.key, stored) {
        (Some(key), _) => split(key),
        (None, Some(stored)) => key_of(stored),
        (None, None) => {
            let remedy = "say with --key which columns tell one record from another";
            return Err(Failure::Misuse(format!("there is no table {} yet: {remedy}", import.table)));
        }
    };
    let given = given(import)?;
    let known = || columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let is_known = |column: &&Column| columns.iter().any(|(name, _)| *name == column.name);
    let others: Vec<&Column> = given.iter().filter(|column| !is_known(column)).collect();
    if let Some(column) = others.first().filter(|_| all) {
        let (name, known) = (&column.name, known());
        return Err(Failure::Misuse(format!("--types: the file has no {name}; its columns are: {known}")));
    }
    let from_file = columns.iter().filter_map(|(name, kind)| {
        let given = given.iter().find(|column| column.name == *name);
        let nullable = given.is_none_or(|column| column.nullable);
        let kind = given.map(|column| &column.kind).or(kind.as_ref())?.clone();
        Some(Column { id: 0, name: name.clone(), kind, nullable })
    });
    let mut declared: Vec<Column> = from_file.chain(others.into_iter().cloned()).collect();
    for column in &mut declared {
        column.nullable &= !key.iter().any(|part| is_named(part, &column.name));
    }
    let built = builder(&import.table, &declared).key(key.iter().map(String::as_str)).build();
    let built = built.map_err(|error| {
        Failure::Misuse(format!("{error}; the columns of the file that can be declared are: {}", known()))
    })?;
    like(&built, &key_of(&built), import.with.as_deref())
}

/// Whether a part of a key is this column, with perhaps its direction behind it.
fn is_named(part: &str, name: &str) -> bool {
    part.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn builder(name: &str, columns: &[Column]) -> keyloom::schema::TableBuilder {
    columns.iter().fold(Table::named(name), |builder, column| match column.nullable {
        true => builder.nullable(&column.name, column.kind.to_string()),
        false => builder.column(&column.name, column.kind.to_string()),
    })
}

/// A table of the same columns with this key and these options.
fn like(table: &Table, key: &[String], with: Option<&str>) -> Result<Table, Failure> {
    let key = key.iter().map(String::as_str);
    let built = builder(table.name(), table.columns()).key(key).build().map_err(misuse)?;
    let Some(with) = with else { return Ok(built) };
    let sql = built.to_sql();
    let sql = sql.trim_end().trim_end_matches(';');
    Table::from_sql(&format!("{sql} WITH ({with})")).map_err(|error| {
        Failure::Misuse(format!("--with `{with}`: {error}; write it like --with \"shards = 16\""))
    })
}

fn misuse(error: keyloom::schema::Error) -> Failure {
    Failure::Misuse(error.to_string())
}

fn split(list: &str) -> Vec<String> {
    list.split(',').map(|part| part.trim().to_owned()).collect()
}

/// The columns that `--types` gives.
pub(super) fn given(import: &Import) -> Result<Vec<Column>, Failure> {
    let Some(types) = &import.types else { return Ok(Vec::new()) };
    // A table needs a key, and this one is looked at only for its columns.
    const KEY: &str = "\u{1}";
    let table = Table::from_sql(&format!("CREATE TABLE t ({types}, \"{KEY}\" TEXT PRIMARY KEY)"));
    let table = table.map_err(|error| {
        let remedy = "write it like \"user_id text, order_date timestamp\"";
        Failure::Misuse(format!("--types `{types}`: {error}; {remedy}"))
    })?;
    Ok(table.columns().iter().filter(|column| column.name != KEY).cloned().collect())
}

/// The parts of a table's key, as a builder takes them.
fn key_of(table: &Table) -> Vec<String> {
    let part = |part: &Part| {
        let direction = if part.field.direction == Direction::Descending { " desc" } else { "" };
        let nulls = match part.field.nulls {
            None => "",
            Some(Nulls::First) => " nulls-first",
            Some(Nulls::Last) => " nulls-last",
        };
        format!("{}{direction}{nulls}", part.name)
    };
    table.primary().parts().iter().map(part).collect()
}
