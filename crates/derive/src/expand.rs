//! The implementation of `Record` from what the struct says.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result, Type};

use crate::attribute::{self, Part, Table, Tree};

/// A field and the column it becomes.
struct Column<'a> {
    ident: &'a Ident,
    kind: &'a Type,
    name: String,
    said: attribute::Field,
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let columns = columns(input)?;
    let table = Table::read(&input.attrs)?;
    let whole = |reason: &str| Error::new(input.ident.span(), reason);
    let Some(name) = &table.name else {
        return Err(whole("the table has no name: add #[record(table = \"…\", key(…))]"));
    };
    let Some(key) = &table.key else {
        return Err(whole(
            "the table has no key: add key(…) with the fields of its primary key to #[record(…)]",
        ));
    };
    let krate = match &table.krate {
        Some(path) => quote!(#path),
        None => quote!(::keyloom::schema),
    };
    let key = parts(&columns, key)?;
    let tree = tree(&table.tree);
    let expires = match &table.expires {
        Some(field) => {
            let name = &column(&columns, field)?.name;
            quote!(.expires_by(#name))
        }
        None => quote!(),
    };
    let indexes =
        table.indexes.iter().map(|said| index(&krate, &columns, said)).collect::<Result<Vec<_>>>()?;
    let declared = columns.iter().map(|column| {
        let Column { kind, name, said, .. } = column;
        let said = match &said.kind {
            Some(text) => quote!(::core::option::Option::Some(#text)),
            None => quote!(::core::option::Option::None),
        };
        quote_spanned!(at(kind)=> let table = #krate::record::column::<#kind>(table, #name, #said);)
    });
    let written = columns.iter().map(|Column { ident, kind, name, .. }| {
        quote_spanned!(at(kind)=> #krate::record::put::<#kind>(&mut document, #name, &self.#ident);)
    });
    let read = columns.iter().map(|Column { ident, kind, name, .. }| {
        quote_spanned!(at(kind)=> #ident: #krate::record::take::<#kind>(&mut document, #name)?,)
    });
    let record = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl #krate::Record for #record {
            fn table() -> #krate::TableBuilder {
                let table = #krate::Table::named(#name);
                #(#declared)*
                table.key([#(#key),*]) #tree #expires #(.index(#indexes))*
            }

            fn to_document(&self) -> #krate::Document {
                let mut document = #krate::Document::new();
                #(#written)*
                document
            }

            fn from_document(mut document: #krate::Document) -> ::core::result::Result<Self, #krate::Error> {
                ::core::result::Result::Ok(Self { #(#read)* })
            }
        }
    })
}

/// Where the type of a field stands, so that what is wrong with it is said there.
fn at(kind: &Type) -> Span {
    Span::call_site().located_at(kind.span())
}

fn columns(input: &DeriveInput) -> Result<Vec<Column<'_>>> {
    if let Some(generic) = input.generics.params.first() {
        return Err(Error::new_spanned(generic, "a record is one type: it cannot be generic"));
    }
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            _ => return Err(Error::new(input.ident.span(), "a record is a struct whose fields have names")),
        },
        _ => return Err(Error::new(input.ident.span(), "a record is a struct whose fields have names")),
    };
    let mut columns: Vec<Column<'_>> = Vec::with_capacity(fields.len());
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let said = attribute::Field::read(&field.attrs)?;
        let name = said.rename.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
        if columns.iter().any(|column| column.name == name) {
            let reason = format!("two fields are the column `{name}`: rename one");
            return Err(Error::new(ident.span(), reason));
        }
        columns.push(Column { ident, kind: &field.ty, name, said });
    }
    Ok(columns)
}

/// The column that a field is.
fn column<'c>(columns: &'c [Column<'c>], field: &Ident) -> Result<&'c Column<'c>> {
    columns.iter().find(|column| column.ident.unraw() == field.unraw()).ok_or_else(|| {
        let known: Vec<String> = columns.iter().map(|column| column.ident.to_string()).collect();
        Error::new(field.span(), format!("there is no field `{field}`: the fields are {}", known.join(", ")))
    })
}

fn parts(columns: &[Column<'_>], parts: &[Part]) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::with_capacity(parts.len());
    for (place, part) in parts.iter().enumerate() {
        if parts.iter().take(place).any(|before| before.field == part.field) {
            return Err(Error::new(part.field.span(), "this field is in the key twice: once is enough"));
        }
        texts.push(format!("{}{}", column(columns, &part.field)?.name, part.modifiers));
    }
    Ok(texts)
}

fn tree(said: &Tree) -> TokenStream {
    let format = said.format.iter().map(|format| quote!(.format_named(#format)));
    let shards = said.shards.iter().map(|count| quote!(.shards(#count)));
    let stripes = said.stripes.iter().map(|count| quote!(.stripes(#count)));
    quote!(#(#format)* #(#shards)* #(#stripes)*)
}

fn index(krate: &TokenStream, columns: &[Column<'_>], said: &attribute::Index) -> Result<TokenStream> {
    let parts = parts(columns, &said.parts)?;
    let name = said.name.iter().map(|name| quote!(.named(#name)));
    let unique = said.unique.then(|| quote!(.unique()));
    let covering = said
        .covering
        .iter()
        .map(|field| column(columns, field).map(|column| &column.name))
        .collect::<Result<Vec<_>>>()?;
    let covering = (!covering.is_empty()).then(|| quote!(.covering([#(#covering),*])));
    let only = said.only.iter().map(|condition| quote!(.only_sql(#condition)));
    let tree = tree(&said.tree);
    Ok(quote!(#krate::Index::on([#(#parts),*]) #(#name)* #unique #covering #(#only)* #tree))
}
