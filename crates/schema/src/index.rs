//! An index: another sorted way to the records of a table.

use keyloom_key::placement::{Hash, Shards, Stripes};

use crate::format::{Format, Placement};
use crate::predicate::Predicate;
use crate::tree::{Part, Tree};

/// An index of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    pub(crate) name: String,
    pub(crate) tree: Tree,
    pub(crate) unique: bool,
    pub(crate) covering: Vec<u16>,
    pub(crate) only: Option<Predicate>,
    pub(crate) state: State,
    /// Worked out when the index is made, because every write asks.
    pub(crate) of_key: bool,
}

/// Whether an index serves queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// It holds every record it should.
    #[default]
    Ready,
    /// It is being filled: writes keep it up, and no query uses it.
    Building,
    /// It has been declared, where not all know it yet: a record that changes loses its entries in it and gets none.
    Starting,
    /// It is about to go, where not all know it yet: writes keep it up, and no query uses it.
    Stopping,
    /// The same later: a record that changes loses its entries in it and gets none.
    Ending,
}

impl State {
    /// Whether a record that is written gets its entries.
    pub fn is_kept_up(self) -> bool {
        matches!(self, Self::Ready | Self::Building | Self::Stopping)
    }
}

impl Index {
    /// An index on these columns, each with perhaps ` desc` behind its name.
    ///
    /// Without a name it is called by its table and columns. A column that is a list makes the index multi-valued: it
    /// has an entry for each element.
    pub fn on<'a>(parts: impl IntoIterator<Item = &'a str>) -> IndexBuilder {
        IndexBuilder { parts: parts.into_iter().map(str::to_owned).collect(), ..IndexBuilder::default() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its keys.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Whether no two records may have the same values. Records with a null among them may.
    pub fn is_unique(&self) -> bool {
        self.unique
    }

    /// The columns that its entries also carry.
    pub fn covering(&self) -> &[u16] {
        &self.covering
    }

    /// What a record must be like to be in it; all are if there is none.
    pub fn only(&self) -> Option<&Predicate> {
        self.only.as_ref()
    }

    /// Whether it serves queries.
    pub fn state(&self) -> State {
        self.state
    }

    /// The same index in another state.
    pub fn with_state(self, state: State) -> Self {
        Self { state, ..self }
    }

    /// Whether the keys of a record's entries follow from the record's key, whatever else it says.
    ///
    /// So a record can be written without a look at the one that was there, for none of its entries would have to go, and
    /// be deleted so, for its key says which ones go. What the entries carry is no matter: all are written anew.
    ///
    /// - All columns are of the primary key, so no list is among them. Of a column that is not
    ///   [exact](crate::Part::is_exact), such as text in any case, records of one key may have several spellings. Native
    ///   keys have the same bytes for all of them; so then both are native, the primary key and this one.
    /// - The condition is about columns of the primary key that are exact.
    /// - It is not unique: another record may have the entry, which has to be looked at.
    pub fn is_of_key(&self) -> bool {
        self.of_key
    }

    /// The same index of a table with this primary key, which knows whether it is [of the key](Self::is_of_key).
    pub(crate) fn knowing_key(self, primary: &Tree) -> Self {
        let native = [primary, &self.tree].iter().all(|tree| *tree.format() == Format::Native);
        let is_in = |own: &Part| primary.parts().iter().any(|part| part.column == own.column);
        let is_exact = |name: &str| primary.parts().iter().any(|part| part.name == name && part.is_exact());
        let of_key = !self.unique
            && self.tree.parts().iter().all(|own| is_in(own) && (native || own.is_exact()))
            && self.only.iter().flat_map(Predicate::fields).all(is_exact);
        Self { of_key, ..self }
    }

    /// Whether it has an entry for each element of a list.
    pub fn is_multi_valued(&self) -> bool {
        self.tree.parts().iter().any(|part| part.many)
    }
}

/// An index that is being described. See [`Index::on`].
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct IndexBuilder {
    pub(crate) name: Option<String>,
    pub(crate) parts: Vec<String>,
    pub(crate) unique: bool,
    pub(crate) covering: Vec<String>,
    pub(crate) only: Option<Predicate>,
    pub(crate) format: Format,
    pub(crate) placement: Placement,
    /// What was wrong with a part of the description, to be said when the index is built.
    pub(crate) wrong: Option<String>,
}

impl IndexBuilder {
    /// The same under this name. The name has no part in the choice of an index.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// The same, and no two records may have equal values in it.
    pub fn unique(self) -> Self {
        Self { unique: true, ..self }
    }

    /// The same, and its entries carry these columns too, so that a query of them reads no record.
    pub fn covering<'a>(self, columns: impl IntoIterator<Item = &'a str>) -> Self {
        Self { covering: columns.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// The same, only for records like this. It serves queries that ask for no others.
    pub fn only(self, predicate: Predicate) -> Self {
        Self { only: Some(predicate), ..self }
    }

    /// The same, only for records like this condition in SQL: `status = 'open'`.
    #[cfg(feature = "sql")]
    pub fn only_sql(self, condition: &str) -> Self {
        match crate::sql::condition(condition) {
            Ok(predicate) => self.only(predicate),
            Err(error) => self.but(format!("condition `{condition}`: {error}")),
        }
    }

    /// The same with its keys spread over `count` shards by its own first column (MD5).
    pub fn shards(self, count: u32) -> Self {
        match Shards::new(count, Hash::default()) {
            Some(shards) => self.placement(Placement::Shards(shards)),
            None => self.but(format!("{count} shards, where 1 to {} are possible", Shards::MAX)),
        }
    }

    /// The same with its keys spread over `count` stripes by its own first column (CRC-32).
    pub fn stripes(self, count: u32) -> Self {
        match Stripes::new(count) {
            Some(stripes) => self.placement(Placement::Stripes(stripes)),
            None => self.but(format!("{count} stripes, where 1 to {} are possible", Stripes::MAX)),
        }
    }

    /// The same with keys in the format of this text. See [`Format`].
    pub fn format_named(self, format: &str) -> Self {
        match format.parse() {
            Ok(format) => self.format(format),
            Err(error) => self.but(error.to_string()),
        }
    }

    fn but(self, wrong: String) -> Self {
        Self { wrong: self.wrong.or(Some(wrong)), ..self }
    }

    /// The same with keys in this format. Without, they are native, whatever the table's are.
    pub fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// The same with its keys spread by its own first column.
    pub fn placement(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }
}
