//! The table that is stored against the one that a program declares.

use crate::column::Column;
use crate::error::Error;
use crate::index::Index;
use crate::table::Table;
use crate::tree::Tree;

impl Table {
    /// Checks that a program which declares the table like that can work with it as it is stored, which is `self`.
    ///
    /// What is declared must be stored the same way: types, key order, formats, placement, expiry, indexes. Only the
    /// stored table may have further indexes, further columns if they are nullable, and numbers and states.
    pub fn compare(&self, declared: &Self) -> Result<(), Error> {
        let differ = |stored: String, declared: String| -> Result<(), Error> {
            if stored == declared {
                return Ok(());
            }
            Err(Error::Differs { table: self.name.clone(), stored, declared })
        };
        differ(format!("table {}", self.name), format!("table {}", declared.name))?;
        for column in &declared.columns {
            let stored = match self.column(&column.name) {
                Some(stored) => column_line(stored),
                None => format!(
                    "no column {}: add it, or leave it undeclared and it is kept all the same",
                    column.name
                ),
            };
            differ(stored, column_line(column))?;
        }
        for column in self.columns.iter().filter(|column| !column.nullable) {
            if declared.column(&column.name).is_none() {
                let missing = format!("no column {}: declare it, for every record must have it", column.name);
                differ(column_line(column), missing)?;
            }
        }
        let primary = |table: &Self| format!("primary key {}", tree_line(&table.primary));
        differ(primary(self), primary(declared))?;
        let expiry = |table: &Self| match table.expiry() {
            Some(column) => format!("records end by {}", column.name),
            None => "records do not end".to_owned(),
        };
        differ(expiry(self), expiry(declared))?;
        for index in &declared.indexes {
            let stored = match self.index(&index.name) {
                Some(stored) => self.index_line(stored),
                None => format!("no index {}: create it", index.name),
            };
            differ(stored, declared.index_line(index))?;
        }
        Ok(())
    }

    /// A hash of everything that the bytes of its records and entries depend on.
    ///
    /// Names of indexes and whether they are ready have no part in it; numbers of columns and trees have.
    pub fn fingerprint(&self) -> u64 {
        let columns =
            self.columns.iter().map(|column| format!("{} {} {}", column.id, column.name, column.kind));
        let primary = format!("{} {}", self.primary.id(), self.primary.layout());
        let indexes = self.indexes.iter().map(|index| {
            let only = index.only.as_ref().map(|only| format!("{only:#}"));
            let tree = &index.tree;
            let (id, declared, layout) = (tree.id(), tree.declared(), tree.layout());
            format!("{id} {declared} {layout} {} {:?} {only:?}", index.unique, index.covering)
        });
        let parts: Vec<String> =
            columns.chain([format!("{:?}", self.expiry), primary]).chain(indexes).collect();
        // The length of each part keeps the parts apart, whatever names hold.
        let text: String = parts.iter().map(|part| format!("{}:{part}\n", part.len())).collect();
        twox_hash::XxHash3_64::oneshot(text.as_bytes())
    }

    fn index_line(&self, index: &Index) -> String {
        let mut line = format!(
            "{}index {} {}",
            if index.unique { "unique " } else { "" },
            index.name,
            tree_line(&index.tree)
        );
        let mut covering: Vec<&str> = index
            .covering
            .iter()
            .filter_map(|id| self.column_by_id(*id))
            .map(|column| column.name.as_str())
            .collect();
        if !covering.is_empty() {
            covering.sort_unstable();
            line.push_str(&format!(" covering ({})", covering.join(", ")));
        }
        if let Some(only) = &index.only {
            line.push_str(&format!(" only {only:#}"));
        }
        line
    }
}

fn column_line(column: &Column) -> String {
    format!("column {} {}{}", column.name, column.kind, if column.nullable { " nullable" } else { "" })
}

fn tree_line(tree: &Tree) -> String {
    let mut line = tree.text();
    for said in [tree.format().to_string(), tree.placement().to_string()] {
        if said != "native" && said != "ordered" {
            line.push_str(&format!(" {said}"));
        }
    }
    line
}
