//! INSERT, and what happens where there is a record with the key already.

use std::sync::Arc;
use std::time::Instant;

use keyloom_schema::sql::{self, sqlparser};
use keyloom_schema::{Document, Table, field};
use keyloom_store::Store;
use keyloom_table::{Change, Database, Error as TableError, Transaction, Update, When};
use sqlparser::ast::{
    self, ConflictTarget, OnConflictAction, OnInsert, SetExpr, SqliteOnConflict, TableObject,
};

use crate::context::{Context, plain_name, refused, wrong};
use crate::error::Error;
use crate::evaluate::Conflict;
use crate::expression::Expression;
use crate::modify::{Assignments, PATIENCE, assignments};
use crate::select::refuse_rest;
use crate::writer::{Writer, partly};

/// An INSERT that can be run.
#[derive(Debug)]
pub(crate) struct Insert {
    table: Arc<Table>,
    rows: Vec<Document>,
    conflict: OnConflict,
}

/// What happens where there is a record with the key already.
#[derive(Debug)]
enum OnConflict {
    Refuse,
    /// The record stays. Whether that is also so if a unique index has its values.
    Nothing {
        unique: bool,
    },
    Replace,
    Update {
        sets: Assignments,
        only: Option<Expression>,
    },
}

/// The name of the table that is inserted into.
pub(crate) fn table_name(insert: &ast::Insert) -> Result<&str, Error> {
    match &insert.table {
        TableObject::TableName(name) => plain_name(name),
        _ => Err(wrong(insert_at(insert), "behind INTO stands the name of a table")),
    }
}

fn insert_at(insert: &ast::Insert) -> sqlparser::tokenizer::Location {
    insert.insert_token.0.span.start
}

impl Insert {
    pub(crate) fn read(insert: &ast::Insert, table: Arc<Table>, context: Context<'_>) -> Result<Self, Error> {
        let at = insert_at(insert);
        let given = "write INSERT INTO table (columns) VALUES (…)";
        let rest = [
            ("RETURNING", "select the records", insert.returning.is_some() || insert.output.is_some()),
            (
                "another name for a table",
                "leave it out",
                insert.table_alias.is_some() || insert.insert_alias.is_some(),
            ),
            ("SET", given, !insert.assignments.is_empty()),
            ("PARTITION", given, insert.partitioned.is_some() || !insert.after_columns.is_empty()),
            ("OVERWRITE", "write INSERT OR REPLACE", insert.overwrite),
            ("IGNORE", "write ON CONFLICT DO NOTHING", insert.ignore),
            ("a priority", "leave it out", insert.priority.is_some()),
            ("SETTINGS or FORMAT", given, insert.settings.is_some() || insert.format_clause.is_some()),
            ("INSERT ALL", "insert into one table at a time", insert.multi_table_insert_type.is_some()),
            ("a hint", "leave it out", !insert.optimizer_hints.is_empty()),
        ];
        refuse_rest(at, &rest)?;
        let rows = rows(insert, &table, context)?;
        let conflict = on_conflict(insert, &table, context)?;
        Ok(Self { table, rows, conflict })
    }

    /// Inserts the rows; how many records were written.
    pub(crate) async fn apply<S: Store>(&self, transaction: &mut Transaction<S>) -> Result<u64, Error> {
        let (mut writer, mut written) = (Writer::Transaction(transaction), 0);
        for row in &self.rows {
            written += u64::from(self.apply_row(&mut writer, row).await?);
        }
        Ok(written)
    }

    /// Inserts the rows one by one, each by itself; how many records were written.
    pub(crate) async fn apply_each<S: Store>(&self, database: &Database<S>) -> Result<u64, Error> {
        let (mut writer, mut written) = (Writer::Each(database), 0);
        for row in &self.rows {
            match self.apply_row(&mut writer, row).await {
                Ok(done) => written += u64::from(done),
                Err(error) => return Err(partly(written, error)),
            }
        }
        Ok(written)
    }

    async fn apply_row<S: Store>(&self, writer: &mut Writer<'_, S>, row: &Document) -> Result<bool, Error> {
        let name = self.table.name();
        let started = Instant::now();
        loop {
            let put = Change::put(row.clone());
            if let OnConflict::Replace = self.conflict {
                writer.apply(name, put).await?;
                return Ok(true);
            }
            return match (writer.apply(name, put.when(When::Absent)).await, &self.conflict) {
                (Ok(_), _) => Ok(true),
                (Err(TableError::Condition { .. }), OnConflict::Nothing { .. }) => Ok(false),
                (Err(TableError::Unique { .. }), OnConflict::Nothing { unique: true }) => Ok(false),
                (Err(TableError::Condition { .. }), OnConflict::Update { sets, only }) => {
                    match self.update(writer, row, sets, only.as_ref()).await? {
                        // Somebody else has changed the record since it was read.
                        None if started.elapsed() < PATIENCE => continue,
                        None => Err(TableError::Conflict("others keep changing the record".into()).into()),
                        Some(updated) => Ok(updated),
                    }
                }
                (Err(TableError::Condition { .. }), _) => Err(self.exists(row)),
                (Err(error), _) => Err(error.into()),
            };
        }
    }

    /// Updates the record that is there, if it is to be; `None` if it has changed meanwhile.
    async fn update<S: Store>(
        &self,
        writer: &mut Writer<'_, S>,
        row: &Document,
        sets: &Assignments,
        only: Option<&Expression>,
    ) -> Result<Option<bool>, Error> {
        let name = self.table.name();
        let excluded = self.table.check(row.clone())?;
        let key: Vec<_> =
            self.table.key_values(&excluded).into_iter().map(|value| value.into_owned()).collect();
        let Some(there) = writer.get(name, key.clone()).await? else { return Ok(None) };
        let update = {
            let scope = Conflict { there: &there, excluded: &excluded };
            if let Some(only) = only
                && only.truth(&scope)? != Some(true)
            {
                return Ok(Some(false));
            }
            let mut update = Update::new();
            for (column, expression) in sets {
                update = update.set(column, expression.evaluate(&scope)?.into_owned());
            }
            update
        };
        match writer.apply(name, Change::update(key, update).when(When::Same(there))).await {
            Err(TableError::Condition { .. }) => Ok(None),
            updated => Ok(updated.map(|_| Some(true))?),
        }
    }

    fn exists(&self, row: &Document) -> Error {
        let key = match self.table.check(row.clone()) {
            Ok(row) => {
                let parts = self.table.primary().parts().iter().zip(self.table.key_values(&row));
                let pairs = parts.map(|(part, value)| field(&part.name).eq(value.into_owned()).to_string());
                pairs.collect::<Vec<_>>().join(", ")
            }
            Err(_) => "this key".to_owned(),
        };
        Error::Exists { table: self.table.name().to_owned(), key }
    }
}

fn rows(insert: &ast::Insert, table: &Table, context: Context<'_>) -> Result<Vec<Document>, Error> {
    let at = insert_at(insert);
    let columns = match insert.columns.as_slice() {
        [] => table.columns().iter().map(|column| column.name.clone()).collect(),
        names => {
            let mut columns: Vec<String> = Vec::with_capacity(names.len());
            for name in names {
                let name = context.of(table).named_column(name)?;
                if columns.contains(&name) {
                    return Err(wrong(at, format!("the column {name} is named twice")));
                }
                columns.push(name);
            }
            columns
        }
    };
    let values = insert.source.as_deref().filter(|source| {
        source.with.is_none()
            && source.order_by.is_none()
            && source.limit_clause.is_none()
            && source.fetch.is_none()
    });
    let Some(SetExpr::Values(values)) = values.map(|source| &*source.body) else {
        return Err(refused(
            at,
            "INSERT without VALUES",
            "select the rows first, then write their values here",
        ));
    };
    let rows = values.rows.iter().map(|row| {
        let row = &row.content;
        if row.len() != columns.len() {
            let at = row.first().map_or(at, sql::place);
            return Err(wrong(at, format!("{} values for {} columns", row.len(), columns.len())));
        }
        let fields =
            columns.iter().zip(row).map(|(column, value)| Ok((column.clone(), context.constant(value)?)));
        fields.collect::<Result<Document, Error>>()
    });
    rows.collect()
}

fn on_conflict(insert: &ast::Insert, table: &Table, context: Context<'_>) -> Result<OnConflict, Error> {
    let at = insert_at(insert);
    match (&insert.or, &insert.on) {
        (None, None) if insert.replace_into => Ok(OnConflict::Replace),
        (None | Some(SqliteOnConflict::Abort), None) => Ok(OnConflict::Refuse),
        (Some(SqliteOnConflict::Replace), None) => Ok(OnConflict::Replace),
        (Some(SqliteOnConflict::Ignore), None) => Ok(OnConflict::Nothing { unique: true }),
        (None, Some(OnInsert::OnConflict(clause))) => {
            let target = match &clause.conflict_target {
                None => false,
                Some(ConflictTarget::Columns(columns)) if is_key(table, columns) => true,
                Some(_) => {
                    let key = table.primary().text();
                    return Err(refused(
                        at,
                        "ON CONFLICT of other columns",
                        &format!("the primary key is {key}"),
                    ));
                }
            };
            match &clause.action {
                OnConflictAction::DoNothing => Ok(OnConflict::Nothing { unique: !target }),
                OnConflictAction::DoUpdate(update) => {
                    let context = context.of(table).with_excluded();
                    let sets = assignments(&update.assignments, table, context)?;
                    let only = update.selection.as_ref().map(|only| context.expression(only)).transpose()?;
                    Ok(OnConflict::Update { sets, only })
                }
            }
        }
        (Some(or), None) => {
            Err(refused(at, &or.to_string(), "a statement that fails writes nothing: leave it out"))
        }
        (Some(or), Some(_)) => {
            Err(wrong(at, format!("{or} and ON CONFLICT contradict each other: keep one")))
        }
        (None, Some(_)) => Err(refused(at, "ON DUPLICATE KEY", "write ON CONFLICT DO UPDATE SET …")),
    }
}

fn is_key(table: &Table, columns: &[ast::Ident]) -> bool {
    let parts = table.primary().parts();
    parts.len() == columns.len()
        && parts.iter().all(|part| columns.iter().any(|column| column.value == part.name))
}
