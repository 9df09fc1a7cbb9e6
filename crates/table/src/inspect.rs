//! What a raw key of the store is: whose it is, where it lies, and which bytes are which field.
//!
//! ```text
//! │00 00 00 01│00 09│80 00 00 00 00 00 00 01│
//!  tree        shard id = 1                      a record of the table u
//! ```

use std::ops::Range;

use keyloom_key::{Field, Fields, KeyFormat, Native, Value};
use keyloom_schema::{Format, Placement, Table, Tree};
use keyloom_store::Store;

use crate::catalog::Catalog;
use crate::database::Database;
use crate::error::Error;
use crate::keyspace;

/// What a key of the store is, and what its bytes are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KeyMeaning {
    /// What it is.
    pub kind: KeyKind,
    /// Its bytes from the first to the last, each in one piece.
    pub pieces: Vec<KeyPiece>,
    /// Whether it can be a key, and is not only the beginning of keys, as the bound of a span is.
    pub whole: bool,
}

/// What a key of the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyKind {
    /// The schema's version, which every commit requires unchanged.
    Version,
    /// The definition of a table, or of a plain index.
    Definition(Owner),
    /// What ANALYZE has counted in a tree.
    Statistics {
        /// The tree's number.
        tree: u32,
        /// Whose it is; nobody's if it was dropped.
        owner: Option<Owner>,
    },
    /// How far an index has been filled.
    Filling {
        /// The tree's number.
        tree: u32,
        /// Whose it is; nobody's if it was dropped.
        owner: Option<Owner>,
    },
    /// How far a load has come, or the new trees that it fills.
    Load,
    /// A record of a table, an entry of an index, a value of a plain index: what its owner has.
    Row {
        /// The tree's number.
        tree: u32,
        /// Whose it is.
        owner: Owner,
    },
    /// A key of a tree that belongs to nobody: what it belonged to was dropped, or a load fills it.
    Leftover {
        /// The tree's number.
        tree: u32,
    },
    /// Nothing that this version writes.
    Unknown,
}

/// Whose a tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The records of a table. [Items](crate::Items) are records of the table that they are kept in.
    Table(String),
    /// An index of a table.
    Index {
        /// The table's name.
        table: String,
        /// The index's name.
        index: String,
    },
    /// A [plain index](crate::Index).
    PlainIndex(String),
}

/// Bytes of a key that are one thing.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KeyPiece {
    /// What they are: `tree`, `shard`, `stripe`, `delimiter`, the name of a column, or `rest` for what is no field.
    pub name: String,
    /// Where they are.
    pub bytes: Range<usize>,
    /// The field, if they are one.
    pub field: Option<Field>,
    /// What they say.
    pub value: Option<Value<'static>>,
}

impl<S: Store> Database<S> {
    /// Says what a raw key of the store is, by the newest schema; whether there is such a key is another question.
    ///
    /// A key that is only the beginning of keys, such as the bound of a span in a [plan](crate::Plan), is read as far
    /// as it goes.
    ///
    /// ```
    /// use keyloom_store::{MemoryStore, Wait};
    /// use keyloom_table::{Database, KeyKind, Owner};
    ///
    /// let database = Database::open(MemoryStore::new()).wait()?;
    /// database.define("CREATE TABLE orders (user TEXT, number INTEGER, PRIMARY KEY (user, number))").wait()?;
    /// let meaning = database.inspect_key(b"\0\0\0\x01U1\0\x01\x80\0\0\0\0\0\0\x07").wait()?;
    /// assert_eq!(meaning.kind, KeyKind::Row { tree: 1, owner: Owner::Table("orders".into()) });
    /// let number = &meaning.pieces[2];
    /// assert_eq!((number.name.as_str(), number.bytes.clone(), number.value.clone()), ("number", 8..16, Some(7_i64.into())));
    /// # Ok::<(), keyloom_table::Error>(())
    /// ```
    pub async fn inspect_key(&self, key: &[u8]) -> Result<KeyMeaning, Error> {
        Ok(meaning(&*self.newest().await?, key))
    }
}

fn meaning(catalog: &Catalog, key: &[u8]) -> KeyMeaning {
    let unknown = |pieces| KeyMeaning { kind: KeyKind::Unknown, pieces, whole: false };
    let Some((number, _)) = key.split_first_chunk() else { return unknown(rest(0, key)) };
    let tree = u32::from_be_bytes(*number);
    let head = KeyPiece {
        name: "tree".to_owned(),
        bytes: 0..Tree::ID,
        field: None,
        value: Some(Value::Uint(tree.into())),
    };
    if let Some((kind, name)) = keyspace::parse(key) {
        let Some((kind, mut pieces)) = of_catalog(catalog, kind, name) else {
            return unknown([vec![head], rest(Tree::ID, key)].concat());
        };
        pieces.insert(0, head);
        return KeyMeaning { kind, pieces, whole: true };
    }
    let (pieces, whole, kind) = match owner(catalog, tree) {
        None if tree == 0 => return unknown([vec![head], rest(Tree::ID, key)].concat()),
        None => (rest(Tree::ID, key), false, KeyKind::Leftover { tree }),
        Some((owner, Keys::Tree(keys, unique))) => {
            let (pieces, whole) = fields(keys, unique, key);
            (pieces, whole, KeyKind::Row { tree, owner })
        }
        Some((owner, Keys::Plain(keys))) => {
            let names = ["key".to_owned(), "value".to_owned()];
            let pieces = native(keys, &names, Tree::ID, key);
            let whole = pieces.iter().filter(|piece| piece.field.is_some()).count() == 2 && pieces.len() == 2;
            (pieces, whole, KeyKind::Row { tree, owner })
        }
    };
    KeyMeaning { kind, pieces: [vec![head], pieces].concat(), whole }
}

/// A key of the catalog, and its pieces behind the tree's number.
fn of_catalog(catalog: &Catalog, kind: u8, name: &[u8]) -> Option<(KeyKind, Vec<KeyPiece>)> {
    let piece = |what: &str, bytes: Range<usize>, value: Value<'static>| KeyPiece {
        name: what.to_owned(),
        bytes,
        field: None,
        value: Some(value),
    };
    let (start, end) = (Tree::ID + 1, Tree::ID + 1 + name.len());
    let letter = piece("kind", Tree::ID..start, Value::from(char::from(kind).to_string()));
    let text = std::str::from_utf8(name).ok().map(str::to_owned);
    let named = |text: &str| piece("name", start..end, Value::from(text.to_owned()));
    let numbered = |tree: u32| piece("of tree", start..end, Value::Uint(tree.into()));
    let tree = name.try_into().ok().map(u32::from_be_bytes);
    let whose = |tree: u32| owner(catalog, tree).map(|(owner, _)| owner);
    let (kind, piece) = match (kind, text, tree) {
        (b'v', _, _) if name.is_empty() => return Some((KeyKind::Version, vec![letter])),
        (b't', Some(text), _) => (KeyKind::Definition(Owner::Table(text.clone())), named(&text)),
        (b'i', Some(text), _) => (KeyKind::Definition(Owner::PlainIndex(text.clone())), named(&text)),
        (b's', _, Some(tree)) => (KeyKind::Statistics { tree, owner: whose(tree) }, numbered(tree)),
        (b'b', _, Some(tree)) => (KeyKind::Filling { tree, owner: whose(tree) }, numbered(tree)),
        (b'n', _, Some(tree)) => (KeyKind::Load, numbered(tree)),
        (b'l', _, _) => {
            let load = u64::from_be_bytes(name.try_into().ok()?);
            (KeyKind::Load, piece("load", start..end, Value::Uint(load)))
        }
        _ => return None,
    };
    Some((kind, vec![letter, piece]))
}

/// How the keys of a tree are made.
enum Keys<'a> {
    Tree(&'a Tree, bool),
    Plain(&'a Fields),
}

/// Whose a tree is.
fn owner(catalog: &Catalog, tree: u32) -> Option<(Owner, Keys<'_>)> {
    let of_table = |table: &'_ Table| table.name().to_owned();
    for table in catalog.tables.values() {
        if table.primary().id() == tree {
            return Some((Owner::Table(of_table(table)), Keys::Tree(table.primary(), false)));
        }
        if let Some(index) = table.indexes().iter().find(|index| index.tree().id() == tree) {
            let owner = Owner::Index { table: of_table(table), index: index.name().to_owned() };
            return Some((owner, Keys::Tree(index.tree(), index.is_unique())));
        }
    }
    let (name, plain) = catalog.indexes.iter().find(|(_, plain)| plain.tree() == tree)?;
    Some((Owner::PlainIndex(name.clone()), Keys::Plain(plain.fields())))
}

/// The pieces of a tree's key behind the tree's number, and whether all fields are there and nothing else.
fn fields(tree: &Tree, unique: bool, key: &[u8]) -> (Vec<KeyPiece>, bool) {
    let head = tree.head_length();
    if key.len() < head {
        return (rest(Tree::ID, key), false);
    }
    let mut pieces = place(tree, key);
    let names: Vec<String> = tree.parts().iter().map(|part| part.name.clone()).collect();
    let found = if *tree.format() == Format::Native {
        native(tree.fields(), &names, head, key)
    } else {
        foreign(tree, unique, head, key)
    };
    let count = found.iter().filter(|piece| piece.field.is_some()).count();
    let all = count == tree.parts().len() || unique && count == tree.declared();
    let whole = all && found.len() == count;
    pieces.extend(found);
    (pieces, whole)
}

/// The shard or the stripe, and what stands behind it.
fn place(tree: &Tree, key: &[u8]) -> Vec<KeyPiece> {
    let name = match tree.placement() {
        Placement::Ordered => return Vec::new(),
        Placement::Shards(_) => "shard",
        Placement::Stripes(_) => "stripe",
    };
    let end = Tree::ID + tree.placement().width();
    let bytes = key.get(Tree::ID..end).unwrap_or_default();
    let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let mut pieces = vec![KeyPiece {
        name: name.to_owned(),
        bytes: Tree::ID..end,
        field: None,
        value: Some(number.into()),
    }];
    if tree.head_length() > end {
        pieces.push(KeyPiece {
            name: "delimiter".to_owned(),
            bytes: end..tree.head_length(),
            field: None,
            value: None,
        });
    }
    pieces
}

/// The fields of a native key, as far as they go.
fn native(fields: &Fields, names: &[String], head: usize, key: &[u8]) -> Vec<KeyPiece> {
    let bytes = key.get(head..).unwrap_or_default();
    let (mut pieces, mut start) = (Vec::new(), 0);
    for (count, (field, name)) in (1..).zip(fields.iter().zip(names)) {
        let Ok(end) = Native.length(fields, count, bytes) else { break };
        let own: Fields = [field.clone()].into_iter().collect();
        let Some(piece) = bytes.get(start..end) else { break };
        let Some(value) = Native.decode(&own, piece).ok().and_then(|mut values| values.pop()) else { break };
        pieces.push(KeyPiece {
            name: name.clone(),
            bytes: head + start..head + end,
            field: Some(field.clone()),
            value: Some(value.into_owned()),
        });
        start = end;
    }
    pieces.extend(rest(head + start, key));
    pieces
}

/// The fields of a key in another format, which does not say where each ends: a whole key, or none of it.
fn foreign(tree: &Tree, unique: bool, head: usize, key: &[u8]) -> Vec<KeyPiece> {
    let declared = || if unique { tree.declared_values(key).ok() } else { None };
    let Some(values) = tree.values(key).ok().or_else(declared) else { return rest(head, key) };
    let mut pieces = Vec::new();
    let mut start = head;
    for (count, (part, value)) in (1..).zip(tree.parts().iter().zip(&values)) {
        // A field ends where the key of the values up to it does, and the last one where the key does.
        let mut upto = Vec::new();
        let before = values.get(..count).unwrap_or_default();
        let end = match tree.format().encode(tree.fields(), before, &mut upto) {
            Ok(()) if count < values.len() => (head + upto.len()).min(key.len()),
            _ => key.len(),
        };
        pieces.push(KeyPiece {
            name: part.name.clone(),
            bytes: start..end.max(start),
            field: Some(part.field.clone()),
            value: Some(value.clone().into_owned()),
        });
        start = end.max(start);
    }
    pieces
}

/// What is left of a key from `start` on, if anything is.
fn rest(start: usize, key: &[u8]) -> Vec<KeyPiece> {
    let piece = KeyPiece { name: "rest".to_owned(), bytes: start..key.len(), field: None, value: None };
    if start < key.len() { vec![piece] } else { Vec::new() }
}
