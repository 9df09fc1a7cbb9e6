//! `CREATE TABLE`, `CREATE INDEX` and `ALTER TABLE … ADD COLUMN`.

use sqlparser::tokenizer::Token;

use super::reader::Reader;
use super::{Statement, kind, options, predicate};
use crate::error::Error;
use crate::index::{Index, IndexBuilder};
use crate::table::Table;

/// The definition that begins here; `None` if something else does.
pub(super) fn statement(reader: &mut Reader) -> Result<Option<Statement>, Error> {
    if reader.words(&["CREATE", "TABLE"]) {
        return create_table(reader).map(Some);
    }
    let unique = reader.words(&["CREATE", "UNIQUE", "INDEX"]);
    if unique || reader.words(&["CREATE", "INDEX"]) {
        return create_index(reader, unique).map(Some);
    }
    if reader.words(&["ALTER", "TABLE"]) {
        return alter_table(reader).map(Some);
    }
    Ok(None)
}

struct Column {
    name: String,
    kind: String,
    nullable: Option<bool>,
}

/// A column of a key, and the text that a builder takes for it.
struct Part {
    name: String,
    text: String,
}

/// What stands within the brackets of a table.
#[derive(Default)]
struct Elements {
    columns: Vec<Column>,
    key: Vec<Part>,
    indexes: Vec<IndexBuilder>,
}

fn create_table(reader: &mut Reader) -> Result<Statement, Error> {
    let if_not_exists = reader.words(&["IF", "NOT", "EXISTS"]);
    let name = reader.name("the name of a table")?;
    let mut elements = Elements::default();
    reader.list(|reader| element(reader, &mut elements))?;
    let Elements { columns, key, indexes } = elements;
    let keyed = |name: &str| key.iter().any(|part| part.name == name);
    let mut table = Table::named(name);
    for column in &columns {
        let nullable = column.nullable.unwrap_or(!keyed(&column.name));
        table = match nullable {
            true => table.nullable(&column.name, &column.kind),
            false => table.column(&column.name, &column.kind),
        };
    }
    table = table.key(key.iter().map(|part| part.text.as_str()));
    for index in indexes {
        table = table.index(index);
    }
    if reader.word("WITH") {
        let options = options::read(reader, &["shards", "hash", "stripes", "format", "expires"])?;
        table = table.placement(options.placement).format(options.format);
        if let Some(column) = options.expires {
            table = table.expires_by(column);
        }
    }
    Ok(Statement::CreateTable { table: Box::new(table.build()?), if_not_exists })
}

fn element(reader: &mut Reader, elements: &mut Elements) -> Result<(), Error> {
    let named = reader.word("CONSTRAINT").then(|| reader.name("the name of a constraint")).transpose()?;
    if reader.words(&["PRIMARY", "KEY"]) {
        let key = parts(reader)?;
        return primary_key(reader, elements, key);
    }
    if reader.word("UNIQUE") {
        let parts = parts(reader)?;
        let index = Index::on(parts.iter().map(|part| part.text.as_str())).unique();
        elements.indexes.push(match named {
            Some(name) => index.named(name),
            None => index,
        });
        return Ok(());
    }
    for unsupported in ["FOREIGN", "CHECK", "EXCLUDE", "LIKE"] {
        if reader.word(unsupported) {
            return Err(reader.wrong(format!("{unsupported} is not supported: leave it out")));
        }
    }
    if named.is_some() {
        return Err(reader.expected("PRIMARY KEY or UNIQUE"));
    }
    column(reader, elements)
}

fn primary_key(reader: &Reader, elements: &mut Elements, key: Vec<Part>) -> Result<(), Error> {
    if !elements.key.is_empty() {
        return Err(reader.wrong("a second primary key: name all its columns in one PRIMARY KEY (…)"));
    }
    elements.key = key;
    Ok(())
}

fn column(reader: &mut Reader, elements: &mut Elements) -> Result<(), Error> {
    let name = reader.name("the name of a column")?;
    let mut kind = kind::read(reader)?;
    let mut nullable = None;
    loop {
        if reader.words(&["NOT", "NULL"]) {
            nullable = Some(false);
        } else if reader.word("NULL") {
            nullable = Some(true);
        } else if reader.words(&["PRIMARY", "KEY"]) {
            primary_key(reader, elements, vec![Part { name: name.clone(), text: name.clone() }])?;
        } else if reader.word("UNIQUE") {
            elements.indexes.push(Index::on([name.as_str()]).unique());
        } else if reader.word("COLLATE") {
            kind = kind::collate(reader, kind)?;
        } else {
            break;
        }
    }
    for (word, remedy) in [
        ("DEFAULT", "give the value with the record"),
        ("REFERENCES", "leave it out"),
        ("CHECK", "leave it out"),
        ("GENERATED", "give the value with the record"),
        ("AUTOINCREMENT", "give the value with the record: a UUID needs no counter"),
        ("AUTO_INCREMENT", "give the value with the record: a UUID needs no counter"),
    ] {
        if reader.word(word) {
            return Err(reader.wrong(format!("{word} is not supported: {remedy}")));
        }
    }
    elements.columns.push(Column { name, kind: kind.to_string(), nullable });
    Ok(())
}

fn alter_table(reader: &mut Reader) -> Result<Statement, Error> {
    let table = reader.name("the name of a table")?;
    for (word, remedy) in [
        ("DROP", "a column stays, and costs nothing where it is not given"),
        ("RENAME", "create a table with that name and copy the records"),
        ("ALTER", "add another column and fill it"),
    ] {
        if reader.word(word) {
            return Err(reader.wrong(format!("ALTER TABLE … {word} is not supported: {remedy}")));
        }
    }
    if !reader.word("ADD") {
        return Err(reader.expected("ADD COLUMN"));
    }
    reader.word("COLUMN");
    let if_not_exists = reader.words(&["IF", "NOT", "EXISTS"]);
    let mut elements = Elements::default();
    column(reader, &mut elements)?;
    let wrong = |reason| Err(reader.wrong(reason));
    if !elements.key.is_empty() {
        return wrong("a column that is added cannot be in the primary key: create another table");
    }
    if !elements.indexes.is_empty() {
        return wrong("UNIQUE is not supported here: add the column, then CREATE UNIQUE INDEX");
    }
    match elements.columns.pop() {
        Some(Column { nullable: Some(false), .. }) => {
            wrong("a column that is added is nullable: the records that are there have no value for it")
        }
        Some(Column { name, kind, .. }) => Ok(Statement::AddColumn { table, name, kind, if_not_exists }),
        None => Err(reader.expected("the name of a column")),
    }
}

fn parts(reader: &mut Reader) -> Result<Vec<Part>, Error> {
    reader.list(part)
}

fn part(reader: &mut Reader) -> Result<Part, Error> {
    let name = reader.name("the name of a column")?;
    let mut text = name.clone();
    if reader.word("DESC") {
        text.push_str(" desc");
    } else {
        reader.word("ASC");
    }
    if reader.words(&["NULLS", "FIRST"]) {
        text.push_str(" nulls-first");
    } else if reader.words(&["NULLS", "LAST"]) {
        text.push_str(" nulls-last");
    }
    if reader.token(&Token::LParen) {
        return Err(reader.wrong("only columns can be in a key, no expressions: keep the value in a column"));
    }
    if reader.word("COLLATE") {
        return Err(reader.wrong("a collation belongs to the column: say it where the column is declared"));
    }
    Ok(Part { name, text })
}

fn create_index(reader: &mut Reader, unique: bool) -> Result<Statement, Error> {
    let if_not_exists = reader.words(&["IF", "NOT", "EXISTS"]);
    let mut name = None;
    if !reader.word("ON") {
        name = Some(reader.name("the name of an index, or ON")?);
        if !reader.word("ON") {
            return Err(reader.expected("ON"));
        }
    }
    let table = reader.name("the name of a table")?;
    let parts = parts(reader)?;
    let mut index = Index::on(parts.iter().map(|part| part.text.as_str()));
    if unique {
        index = index.unique();
    }
    if let Some(name) = name {
        index = index.named(name);
    }
    if reader.word("INCLUDE") {
        let columns = reader.list(|reader| reader.name("the name of a column"))?;
        index = index.covering(columns.iter().map(String::as_str));
    }
    // PostgreSQL has WITH before WHERE; people write it either way.
    let before = reader.word("WITH");
    if before {
        index = index_options(reader, index)?;
    }
    if reader.word("WHERE") {
        index = index.only(predicate(&reader.parsed(|parser| parser.parse_expr())?)?);
    }
    if !before && reader.word("WITH") {
        index = index_options(reader, index)?;
    }
    Ok(Statement::CreateIndex { table, index: Box::new(index), if_not_exists })
}

fn index_options(reader: &mut Reader, index: IndexBuilder) -> Result<IndexBuilder, Error> {
    let options = options::read(reader, &["shards", "hash", "stripes", "format"])?;
    Ok(index.placement(options.placement).format(options.format))
}
