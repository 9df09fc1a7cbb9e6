//! A table as the catalog keeps it: a document of named fields, so that a later version can add some.
//!
//! ```text
//! name      "orders"
//! columns   [{id, name, type, nullable}, …]
//! primary   {id, parts: [{column, descending, nulls}, …], declared, format, placement}
//! indexes   [{name, tree: as primary, unique, covering: [column, …], only: predicate or null, state}, …]
//! expiry    column or null
//! ```
//!
//! Types, formats and placements are kept as their text, columns by their number. A name that this version does not
//! know may change what the others mean, so it is an error and never passed over.

mod entry;
mod predicate;

use keyloom_key::{Direction, Field, Nulls, Value};

use crate::builder;
use crate::column::Column;
use crate::document::{Document, Names, Payload};
use crate::error::Error;
use crate::index::{Index, State};
use crate::table::Table;
use crate::tree::{Part, Tree};
use entry::{Entry, damaged};

/// The catalog's fields have names and no numbers.
struct Nameless;

impl Names for Nameless {
    fn id(&self, _: &str) -> Option<u16> {
        None
    }

    fn name(&self, _: u16) -> Option<&str> {
        None
    }
}

impl Table {
    /// Appends the table as the catalog keeps it, numbers and states included.
    ///
    /// Fails only if a partial index's predicate nests deeper than documents do; then `out` is as it was.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let columns = self.columns.iter().map(|column| {
            Value::map([
                ("id", Value::from(column.id)),
                ("name", column.name.clone().into()),
                ("type", column.kind.to_string().into()),
                ("nullable", column.nullable.into()),
            ])
        });
        Document::new()
            .with("name", self.name.clone())
            .with("columns", Value::list(columns))
            .with("primary", tree(&self.primary))
            .with("indexes", Value::list(self.indexes.iter().map(index)))
            .with("expiry", self.expiry)
            .encode(&Nameless, out)
    }

    /// Reads a table as the catalog keeps it.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let document = Payload::new(bytes)?.to_document(&Nameless)?;
        if let Some((id, _)) = document.foreign().next() {
            return Err(entry::unknown("a table", &format!("#{id}")));
        }
        let mut table = Entry::new("a table", document);
        let name = table.text("name")?;
        let columns = read_columns(table.list("columns")?)?;
        let primary = read_tree(&name, &columns, table.entry("primary", "a primary key")?)?;
        let indexes = table.list("indexes")?.into_iter();
        let index = |value| Ok(read_index(&name, &columns, value)?.knowing_key(&primary));
        let indexes = indexes.map(index).collect::<Result<_, Error>>()?;
        let expiry = table.optional("expiry", |value| column(&columns, value).map(|column| column.id))?;
        table.end()?;
        Ok(Self { name, columns, primary, indexes, expiry })
    }
}

fn tree(tree: &Tree) -> Value<'static> {
    let parts = tree.parts().iter().map(|part| {
        let nulls = part.field.nulls.map(|nulls| match nulls {
            Nulls::First => "first",
            Nulls::Last => "last",
        });
        Value::map([
            ("column", Value::from(part.column)),
            ("descending", (part.field.direction == Direction::Descending).into()),
            ("nulls", nulls.into()),
        ])
    });
    Value::map([
        ("id", Value::from(tree.id())),
        ("parts", Value::list(parts)),
        ("declared", Value::Uint(u64::try_from(tree.declared()).unwrap_or(u64::MAX))),
        ("format", tree.format().to_string().into()),
        ("placement", tree.placement().to_string().into()),
    ])
}

fn index(index: &Index) -> Value<'static> {
    let state = match index.state {
        State::Ready => "ready",
        State::Building => "building",
        State::Starting => "starting",
        State::Stopping => "stopping",
        State::Ending => "ending",
    };
    Value::map([
        ("name", Value::from(index.name.clone())),
        ("tree", tree(&index.tree)),
        ("unique", index.unique.into()),
        ("covering", Value::list(index.covering.iter().copied())),
        ("only", index.only.as_ref().map(predicate::write).into()),
        ("state", state.into()),
    ])
}

fn read_columns(values: Vec<Value<'static>>) -> Result<Vec<Column>, Error> {
    let columns = values.into_iter().enumerate().map(|(index, value)| {
        let mut entry = Entry::read("a column", value)?;
        let id: u16 = entry.number("id")?;
        if usize::from(id) != index + 1 {
            return Err(damaged(format!("column {id} stands at place {}", index + 1)));
        }
        let kind = entry.text("type")?.parse()?;
        let column = Column { id, name: entry.text("name")?, kind, nullable: entry.flag("nullable")? };
        entry.end()?;
        Ok(column)
    });
    columns.collect()
}

/// The column whose number this is.
fn column<'c>(columns: &'c [Column], value: Value<'static>) -> Result<&'c Column, Error> {
    let id: u16 = entry::number("a column", value)?;
    let column = usize::from(id).checked_sub(1).and_then(|index| columns.get(index));
    column.ok_or_else(|| damaged(format!("there is no column {id}")))
}

fn read_tree(table: &str, columns: &[Column], mut entry: Entry) -> Result<Tree, Error> {
    let parts = entry.list("parts")?.into_iter().map(|value| {
        let mut entry = Entry::read("a part of a key", value)?;
        let column = column(columns, entry.take("column")?)?;
        let mut field = Field::from(column.kind.element().clone());
        if entry.flag("descending")? {
            field = field.descending();
        }
        field.nulls = entry.optional("nulls", |value| match value {
            Value::Str(text) if text == "first" => Ok(Nulls::First),
            Value::Str(text) if text == "last" => Ok(Nulls::Last),
            _ => Err(damaged("nulls that are neither first nor last")),
        })?;
        entry.end()?;
        Ok(Part { column: column.id, name: column.name.clone(), field, many: column.kind.is_many() })
    });
    let parts = parts.collect::<Result<Vec<_>, Error>>()?;
    let declared = entry.number("declared")?;
    if !(1..=parts.len()).contains(&declared) {
        return Err(damaged(format!("{declared} declared parts of {}", parts.len())));
    }
    let (format, placement) = (entry.text("format")?.parse()?, entry.text("placement")?.parse()?);
    let mut tree = builder::tree(table, parts, declared, format, placement)?;
    tree.set_id(entry.number("id")?);
    entry.end()?;
    Ok(tree)
}

fn read_index(table: &str, columns: &[Column], value: Value<'static>) -> Result<Index, Error> {
    let mut entry = Entry::read("an index", value)?;
    let covering =
        entry.list("covering")?.into_iter().map(|value| column(columns, value).map(|column| column.id));
    let index = Index {
        covering: covering.collect::<Result<_, _>>()?,
        name: entry.text("name")?,
        tree: read_tree(table, columns, entry.entry("tree", "a key")?)?,
        unique: entry.flag("unique")?,
        only: entry.optional("only", predicate::read)?,
        state: match entry.text("state")?.as_str() {
            "ready" => State::Ready,
            "building" => State::Building,
            "starting" => State::Starting,
            "stopping" => State::Stopping,
            "ending" => State::Ending,
            other => return Err(entry::unknown("the state of an index", other)),
        },
        of_key: false,
    };
    entry.end()?;
    Ok(index)
}
