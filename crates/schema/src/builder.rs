//! Describing a table, and what makes a description wrong.

use keyloom_key::placement::{Hash, Shards, Stripes};
use keyloom_key::{Direction, Field, KeyFormat, Nulls, Type};

use crate::column::{Column, Kind};
use crate::error::Error;
use crate::format::{Format, Placement};
use crate::index::{Index, IndexBuilder, State};
use crate::table::Table;
use crate::tree::{Part, Tree, default_nulls};

/// A table that is being described. See [`Table::named`].
///
/// What is wrong with it is said by [`build`](Self::build).
#[derive(Debug, Clone)]
#[must_use]
pub struct TableBuilder {
    name: String,
    columns: Vec<(String, String, bool)>,
    key: Vec<String>,
    indexes: Vec<IndexBuilder>,
    format: Result<Format, String>,
    placement: Result<Placement, String>,
    expiry: Option<String>,
}

impl TableBuilder {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            columns: Vec::new(),
            key: Vec::new(),
            indexes: Vec::new(),
            format: Ok(Format::Native),
            placement: Ok(Placement::Ordered),
            expiry: None,
        }
    }

    /// The same with a column that every record has. Its type is text as in [`keyloom_key::Type`], or `list(type)`.
    pub fn column(mut self, name: impl Into<String>, kind: impl Into<String>) -> Self {
        self.columns.push((name.into(), kind.into(), false));
        self
    }

    /// The same with a column that may be null or left out.
    pub fn nullable(mut self, name: impl Into<String>, kind: impl Into<String>) -> Self {
        self.columns.push((name.into(), kind.into(), true));
        self
    }

    /// The same with this primary key: column names, each with perhaps ` desc` behind it.
    pub fn key<'a>(mut self, parts: impl IntoIterator<Item = &'a str>) -> Self {
        self.key = parts.into_iter().map(str::to_owned).collect();
        self
    }

    /// The same with one more index.
    pub fn index(mut self, index: IndexBuilder) -> Self {
        self.indexes.push(index);
        self
    }

    /// The same with its records spread over `count` shards by the first column of the key (MD5).
    pub fn shards(self, count: u32) -> Self {
        let shards = Shards::new(count, Hash::default()).map(Placement::Shards);
        let placement =
            shards.ok_or_else(|| format!("{count} shards, where 1 to {} are possible", Shards::MAX));
        Self { placement, ..self }
    }

    /// The same with its records spread over `count` stripes by the first column of the key (CRC-32).
    pub fn stripes(self, count: u32) -> Self {
        let stripes = Stripes::new(count).map(Placement::Stripes);
        let placement =
            stripes.ok_or_else(|| format!("{count} stripes, where 1 to {} are possible", Stripes::MAX));
        Self { placement, ..self }
    }

    /// The same with its records placed like this.
    pub fn placement(self, placement: Placement) -> Self {
        Self { placement: Ok(placement), ..self }
    }

    /// The same with its primary key in this format.
    pub fn format(self, format: Format) -> Self {
        Self { format: Ok(format), ..self }
    }

    /// The same with its primary key in the format of this text. See [`Format`].
    pub fn format_named(self, format: &str) -> Self {
        Self { format: format.parse().map_err(|error: keyloom_key::Error| error.to_string()), ..self }
    }

    /// The same with records that are gone from the instant on that this column says.
    pub fn expires_by(self, column: impl Into<String>) -> Self {
        Self { expiry: Some(column.into()), ..self }
    }

    /// The table, or what is wrong with it.
    pub fn build(self) -> Result<Table, Error> {
        let wrong = |reason: String| Error::definition(&self.name, reason);
        if self.name.is_empty() {
            return Err(wrong("it has no name".to_owned()));
        }
        let columns = columns(&self.name, &self.columns)?;
        let placement = self.placement.clone().map_err(wrong)?;
        let format = self.format.clone().map_err(wrong)?;
        if self.key.is_empty() {
            return Err(wrong("it has no primary key: name at least one column".to_owned()));
        }
        let parts = parts(&self.name, &columns, &self.key, "primary key")?;
        if let Some(part) = parts.iter().find(|part| part.many) {
            let reason = format!("{} is a list and cannot be in the primary key: use an index", part.name);
            return Err(wrong(reason));
        }
        let declared = parts.len();
        let primary = tree(&self.name, parts, declared, format, placement)?;
        let expiry = match &self.expiry {
            None => None,
            Some(name) => match columns.iter().find(|column| column.name == *name) {
                Some(Column { id, kind: Kind::One(Type::Timestamp(_)), .. }) => Some(*id),
                Some(_) => return Err(wrong(format!("{name} ends records and is no timestamp"))),
                None => return Err(wrong(format!("{name} ends records and is no column: declare it"))),
            },
        };
        let mut table = Table { name: self.name, columns, primary, indexes: Vec::new(), expiry };
        for builder in self.indexes {
            let index = index(&table, builder)?;
            table.indexes.push(index);
        }
        Ok(table)
    }
}

fn columns(table: &str, given: &[(String, String, bool)]) -> Result<Vec<Column>, Error> {
    let mut columns: Vec<Column> = Vec::with_capacity(given.len());
    for (name, kind, nullable) in given {
        let next = column(table, &columns, name, kind, *nullable)?;
        columns.push(next);
    }
    Ok(columns)
}

/// The column that comes behind these.
pub(crate) fn column(
    table: &str,
    columns: &[Column],
    name: &str,
    kind: &str,
    nullable: bool,
) -> Result<Column, Error> {
    if name.trim() != name
        || name.is_empty()
        || name.rsplit_once(char::is_whitespace).is_some_and(|(_, last)| modifier(last))
    {
        let reason = "it is empty, has a space at an end, or ends in a word such as desc: rename it";
        return Err(Error::definition(table, format!("`{name}` is no name of a column: {reason}")));
    }
    if columns.iter().any(|column| column.name == *name) {
        return Err(Error::definition(table, format!("two columns are named {name}: rename one")));
    }
    let wrong = |reason: String| Error::definition(table, format!("column {name}: {reason}"));
    let id = u16::try_from(columns.len() + 1);
    let id = id.map_err(|_| wrong("there are 65,535 columns at most".to_owned()))?;
    let kind: Kind = kind.parse().map_err(|error: keyloom_key::Error| wrong(error.to_string()))?;
    if matches!(kind.element(), Type::Null | Type::End) {
        return Err(wrong(format!("{kind} is no type of a column")));
    }
    Ok(Column { id, name: name.to_owned(), kind, nullable })
}

/// Whether the word may stand behind a column in a key.
fn modifier(word: &str) -> bool {
    ["asc", "desc", "nulls-first", "nulls-last"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The parts of a key from their texts: `name`, `name desc`, `name desc nulls-first`.
fn parts(table: &str, columns: &[Column], texts: &[String], what: &str) -> Result<Vec<Part>, Error> {
    let mut parts: Vec<Part> = Vec::with_capacity(texts.len());
    for text in texts {
        let wrong = |reason: String| Error::definition(table, format!("{what}: {reason}"));
        // A name may hold spaces: the longest that the text begins with is meant.
        let named = columns.iter().filter_map(|column| {
            let rest = text.trim_start().strip_prefix(column.name.as_str())?;
            (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some((column, rest))
        });
        let Some((column, rest)) = named.max_by_key(|(column, _)| column.name.len()) else {
            let name = text.split_whitespace().next().unwrap_or_default();
            return Err(wrong(format!("there is no column `{name}`: declare it")));
        };
        if parts.iter().any(|part| part.column == column.id) {
            return Err(wrong(format!("{} is in it twice", column.name)));
        }
        let mut field = Field::from(column.kind.element().clone());
        let mut nulls = None;
        for word in rest.split_whitespace() {
            match word.to_ascii_lowercase().as_str() {
                "asc" => field.direction = Direction::Ascending,
                "desc" => field.direction = Direction::Descending,
                "nulls-first" => nulls = Some(Nulls::First),
                "nulls-last" => nulls = Some(Nulls::Last),
                _ => {
                    let known = "behind a column may stand desc, nulls-first or nulls-last";
                    return Err(wrong(format!("`{word}` in `{text}`: {known}")));
                }
            }
        }
        // A list without elements has no entries, so the entries have no nulls.
        if column.nullable && !column.kind.is_many() {
            field.nulls = Some(nulls.unwrap_or_else(|| default_nulls(field.direction)));
        }
        let many = column.kind.is_many();
        parts.push(Part { column: column.id, name: column.name.clone(), field, many });
    }
    Ok(parts)
}

/// A tree of these parts, if its format can hold them and keep all keys apart.
pub(crate) fn tree(
    table: &str,
    parts: Vec<Part>,
    declared: usize,
    format: Format,
    placement: Placement,
) -> Result<Tree, Error> {
    let tree = Tree::new(parts, declared, format, placement);
    let promises = tree
        .format()
        .promises(tree.fields())
        .map_err(|error| Error::definition(table, format!("key {}: {error}", tree.text())))?;
    if !(promises.injective && promises.decodable) {
        let reason = format!(
            "key {}: the {} format may give two records the same key: use the native format",
            tree.text(),
            tree.format()
        );
        return Err(Error::definition(table, reason));
    }
    Ok(tree)
}

/// An index of a table, if its columns are there.
pub(crate) fn index(table: &Table, builder: IndexBuilder) -> Result<Index, Error> {
    let what = match &builder.name {
        Some(name) => format!("index {name}"),
        None => format!("index on ({})", builder.parts.join(", ")),
    };
    let mut all = parts(&table.name, &table.columns, &builder.parts, &what)?;
    let name = builder.name.clone().unwrap_or_else(|| {
        let columns = all.iter().map(|part| part.name.as_str());
        format!("{}_by_{}", table.name, columns.collect::<Vec<_>>().join("_"))
    });
    let wrong = |reason: String| Error::definition(&table.name, format!("{what}: {reason}"));
    if table.index(&name).is_some() {
        return Err(wrong("there is one of that name already".to_owned()));
    }
    if let Some(reason) = builder.wrong {
        return Err(wrong(reason));
    }
    if builder.parts.is_empty() {
        return Err(wrong("it has no columns".to_owned()));
    }
    if all.iter().filter(|part| part.many).count() > 1 {
        return Err(wrong(
            "it has two lists, and an entry for every pair of elements is too many".to_owned(),
        ));
    }
    if builder.unique && builder.format != Format::Native {
        return Err(wrong("a unique index has native keys: leave out the format".to_owned()));
    }
    let declared = all.len();
    for part in table.primary.parts() {
        if !all.iter().any(|own| own.column == part.column) {
            all.push(part.clone());
        }
    }
    let tree = tree(&table.name, all, declared, builder.format, builder.placement)?;
    let mut covering = Vec::new();
    for name in &builder.covering {
        let column =
            table.column(name).ok_or_else(|| wrong(format!("it covers `{name}`, which is no column")))?;
        if !covering.contains(&column.id) {
            covering.push(column.id);
        }
    }
    // Whether a record has ended must be known wherever it is found.
    if let (false, Some(expiry)) = (covering.is_empty(), table.expiry)
        && !covering.contains(&expiry)
    {
        covering.push(expiry);
    }
    covering.sort_unstable();
    let only = builder.only.map(|only| only.bind(table)).transpose()?;
    let index =
        Index { name, tree, unique: builder.unique, covering, only, state: State::Ready, of_key: false };
    Ok(index.knowing_key(&table.primary))
}
