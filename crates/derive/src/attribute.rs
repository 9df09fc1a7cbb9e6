//! What stands in `#[record(…)]`.

use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Ident, LitInt, LitStr, Path, Result, Token, parenthesized};

/// A field in a key, and how it runs.
pub(crate) struct Part {
    pub(crate) field: Ident,
    pub(crate) modifiers: String,
}

impl syn::parse::Parse for Part {
    fn parse(input: syn::parse::ParseStream<'_>) -> Result<Self> {
        let field = input.call(Ident::parse_any)?;
        let mut modifiers = String::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            let word = input.call(Ident::parse_any)?;
            modifiers.push_str(match word.to_string().as_str() {
                "asc" => " asc",
                "desc" => " desc",
                "nulls_first" => " nulls-first",
                "nulls_last" => " nulls-last",
                _ => {
                    let known = "behind a field may stand asc, desc, nulls_first or nulls_last";
                    return Err(Error::new(word.span(), known));
                }
            });
        }
        Ok(Self { field, modifiers })
    }
}

/// What the attributes of the struct say.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) name: Option<LitStr>,
    pub(crate) key: Option<Vec<Part>>,
    pub(crate) expires: Option<Ident>,
    pub(crate) krate: Option<Path>,
    pub(crate) tree: Tree,
    pub(crate) indexes: Vec<Index>,
}

/// What the attribute of an index says.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) parts: Vec<Part>,
    pub(crate) name: Option<LitStr>,
    pub(crate) unique: bool,
    pub(crate) covering: Vec<Ident>,
    pub(crate) only: Option<LitStr>,
    pub(crate) tree: Tree,
}

/// How keys are written and where they go.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) format: Option<LitStr>,
    pub(crate) shards: Option<LitInt>,
    pub(crate) stripes: Option<LitInt>,
}

/// What the attributes of a field say.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) rename: Option<LitStr>,
    pub(crate) kind: Option<LitStr>,
}

const TABLE: &str = "the options of a table are table, key(…), shards, stripes, format, expires and crate; an index \
                     begins with index(…)";
const INDEX: &str = "the options of an index are name, unique, covering(…), only, shards, stripes and format";
const FIELD: &str = "the options of a field are rename and kind";

impl Table {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut table = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
            let mut index = None;
            let mut first = true;
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("index") && first {
                    index = Some(Index { parts: list(&meta)?, ..Index::default() });
                } else if let Some(index) = &mut index {
                    index.option(&meta)?;
                } else {
                    table.option(&meta)?;
                }
                first = false;
                Ok(())
            })?;
            table.indexes.extend(index);
        }
        Ok(table)
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("table") {
            once(meta, &mut self.name)
        } else if meta.path.is_ident("key") {
            if self.key.is_some() {
                return Err(twice(meta));
            }
            self.key = Some(list(meta)?);
            Ok(())
        } else if meta.path.is_ident("expires") {
            once(meta, &mut self.expires)
        } else if meta.path.is_ident("crate") {
            let mut text: Option<LitStr> = None;
            once(meta, &mut text)?;
            self.krate = text.map(|text| text.parse()).transpose()?;
            Ok(())
        } else if self.tree.option(meta)? {
            Ok(())
        } else if meta.path.is_ident("index") {
            Err(meta.error("an index has an attribute of its own: #[record(index(…))]"))
        } else {
            Err(meta.error(TABLE))
        }
    }
}

impl Index {
    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("name") {
            once(meta, &mut self.name)
        } else if meta.path.is_ident("unique") {
            self.unique = true;
            Ok(())
        } else if meta.path.is_ident("covering") {
            self.covering = list(meta)?;
            Ok(())
        } else if meta.path.is_ident("only") {
            once(meta, &mut self.only)
        } else if self.tree.option(meta)? {
            Ok(())
        } else {
            Err(meta.error(INDEX))
        }
    }
}

impl Tree {
    /// Reads the option if it is one of these.
    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<bool> {
        if meta.path.is_ident("format") {
            once(meta, &mut self.format)?;
        } else if meta.path.is_ident("shards") {
            once(meta, &mut self.shards)?;
        } else if meta.path.is_ident("stripes") {
            once(meta, &mut self.stripes)?;
        } else {
            return Ok(false);
        }
        if self.shards.is_some() && self.stripes.is_some() {
            return Err(meta.error("shards and stripes: choose one"));
        }
        Ok(true)
    }
}

impl Field {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut field = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("record")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    once(&meta, &mut field.rename)
                } else if meta.path.is_ident("kind") {
                    once(&meta, &mut field.kind)
                } else {
                    Err(meta.error(FIELD))
                }
            })?;
        }
        Ok(field)
    }
}

fn twice(meta: &ParseNestedMeta<'_>) -> Error {
    meta.error("this is said twice: say it once")
}

fn once<T: syn::parse::Parse>(meta: &ParseNestedMeta<'_>, place: &mut Option<T>) -> Result<()> {
    if place.is_some() {
        return Err(twice(meta));
    }
    *place = Some(meta.value()?.parse()?);
    Ok(())
}

fn list<T: syn::parse::Parse>(meta: &ParseNestedMeta<'_>) -> Result<Vec<T>> {
    let inner;
    parenthesized!(inner in meta.input);
    let items = Punctuated::<T, Token![,]>::parse_terminated(&inner)?;
    if items.is_empty() {
        return Err(meta.error("name at least one field"));
    }
    Ok(items.into_iter().collect())
}
