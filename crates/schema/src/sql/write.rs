//! The statements that make a table.

use std::fmt::Write as _;

use keyloom_key::placement::Hash;
use keyloom_key::{Collation, Direction, Field, Nulls, Type};

use crate::column::Kind;
use crate::format::{Format, Placement};
use crate::index::Index;
use crate::predicate::{Literal, Name};
use crate::table::Table;
use crate::tree::{Tree, default_nulls};

impl Table {
    /// The statements that make the table: `CREATE TABLE`, and `CREATE INDEX` for each index.
    ///
    /// [`Table::from_sql`] reads the same table from them, up to numbers and states. Only a predicate with an instant
    /// or a day outside the years 0 to 9999, or with an infinite number, has no text that is read back.
    pub fn to_sql(&self) -> String {
        let mut elements: Vec<String> = self
            .columns
            .iter()
            .map(|column| {
                let keyed = self.primary.parts().iter().any(|part| part.column == column.id);
                let nulls = match column.nullable {
                    false => " NOT NULL",
                    true if keyed => " NULL",
                    true => "",
                };
                format!("{:#} {}{nulls}", Name(&column.name), kind(&column.kind))
            })
            .collect();
        elements.push(format!("PRIMARY KEY {}", parts(&self.primary)));
        let expires = self.expiry().map(|column| column.name.as_str());
        let options = options(&self.primary, expires);
        let mut sql =
            format!("CREATE TABLE {:#} (\n  {}\n){options};\n", Name(&self.name), elements.join(",\n  "));
        for index in &self.indexes {
            sql.push_str(&self.index_to_sql(index));
            sql.push_str(";\n");
        }
        sql
    }

    /// The statement that makes the index.
    pub fn index_to_sql(&self, index: &Index) -> String {
        let unique = if index.unique { "UNIQUE " } else { "" };
        let (name, table, parts) = (Name(&index.name), Name(&self.name), parts(&index.tree));
        let mut sql = format!("CREATE {unique}INDEX {name:#} ON {table:#} {parts}");
        if !index.covering.is_empty() {
            let columns = index.covering.iter().filter_map(|id| self.column_by_id(*id));
            let columns: Vec<String> = columns.map(|column| format!("{:#}", Name(&column.name))).collect();
            let _ = write!(sql, " INCLUDE ({})", columns.join(", "));
        }
        sql.push_str(&options(&index.tree, None));
        if let Some(only) = &index.only {
            let _ = write!(sql, " WHERE {only:#}");
        }
        sql
    }
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::One(kind) => one(kind),
        Kind::Many(kind) => format!("LIST({})", one(kind)),
    }
}

fn one(kind: &Type) -> String {
    match kind {
        Type::Str(Collation::Binary) => "TEXT".to_owned(),
        Type::Str(Collation::NoCase) => "TEXT COLLATE NOCASE".to_owned(),
        Type::Tuple(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| format!("{}{}", one(&field.kind), order(field, field.nulls)))
                .collect();
            format!("TUPLE({})", fields.join(", "))
        }
        other => other.to_string().to_ascii_uppercase(),
    }
}

fn order(field: &Field, nulls: Option<Nulls>) -> String {
    let direction = if field.direction == Direction::Descending { " DESC" } else { "" };
    let nulls = match nulls {
        None => "",
        Some(Nulls::First) => " NULLS FIRST",
        Some(Nulls::Last) => " NULLS LAST",
    };
    format!("{direction}{nulls}")
}

fn parts(tree: &Tree) -> String {
    let parts = tree.parts().iter().take(tree.declared()).map(|part| {
        let nulls = part.field.nulls.filter(|nulls| *nulls != default_nulls(part.field.direction));
        format!("{:#}{}", Name(&part.name), order(&part.field, nulls))
    });
    format!("({})", parts.collect::<Vec<_>>().join(", "))
}

fn options(tree: &Tree, expires: Option<&str>) -> String {
    let text = |text: &str| Literal(&text.into()).to_string();
    let mut options = Vec::new();
    match tree.placement() {
        Placement::Ordered => {}
        Placement::Shards(shards) => {
            options.push(format!("shards = {}", shards.count()));
            if shards.hash() != Hash::default() {
                options.push(format!("hash = {}", text(&shards.hash().to_string())));
            }
        }
        Placement::Stripes(stripes) => options.push(format!("stripes = {}", stripes.count())),
    }
    if *tree.format() != Format::Native {
        options.push(format!("format = {}", text(&tree.format().to_string())));
    }
    options.extend(expires.map(|column| format!("expires = {}", text(column))));
    if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) }
}
