//! UPDATE and DELETE: the records that a bounded query finds, changed in as few commits as they fit in.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyloom_key::Value;
use keyloom_plan::Query;
use keyloom_schema::sql::{self, sqlparser};
use keyloom_schema::{Document, Predicate, Table};
use keyloom_store::Store;
use keyloom_table::{Change, Database, Error as TableError, Row, Transaction, Update, When};
use sqlparser::ast::{self, AssignmentTarget, FromTable, Spanned, TableWithJoins};
use sqlparser::tokenizer::Location;

use crate::context::{Context, refused, wrong};
use crate::error::Error;
use crate::expression::Expression;
use crate::insert::Insert;
use crate::select::{refuse_rest, table_name};
use crate::view::View;
use crate::writer::{partly, transacts};

/// The most records that one commit changes, outside of a transaction.
pub(crate) const BATCH: usize = 1_000;

/// How long a commit that others keep overtaking is tried again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The columns that are set, and to what.
pub(crate) type Assignments = Vec<(String, Expression)>;

/// The key of a record.
type Key = Vec<Value<'static>>;

/// An UPDATE or a DELETE that can be run.
#[derive(Debug)]
pub(crate) struct Modify {
    table: Arc<Table>,
    pub(crate) query: Query,
    /// What an UPDATE sets; a DELETE sets nothing.
    sets: Option<Assignments>,
}

/// What is written by one commit.
enum Work<'a> {
    Insert(&'a Insert),
    /// Records by their keys, those that are still like this.
    Records(&'a Modify, &'a [Key], &'a Predicate),
}

/// The table of an UPDATE.
pub(crate) fn update_table(update: &ast::Update) -> Result<&str, Error> {
    let at = update.update_token.0.span.start;
    one_table(at, std::slice::from_ref(&update.table))
}

/// The table of a DELETE.
pub(crate) fn delete_table(delete: &ast::Delete) -> Result<&str, Error> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    one_table(delete.delete_token.0.span.start, from)
}

fn one_table(at: Location, from: &[TableWithJoins]) -> Result<&str, Error> {
    match from {
        [from] if from.joins.is_empty() => table_name(from),
        _ => Err(refused(at, "a join", "a statement changes one table: change one after the other")),
    }
}

/// What SET says.
pub(crate) fn assignments(
    given: &[ast::Assignment],
    table: &Table,
    context: Context<'_>,
) -> Result<Assignments, Error> {
    let mut sets: Assignments = Vec::with_capacity(given.len());
    for assignment in given {
        let at = sql::place(&assignment.value);
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(refused(at, "SET of several columns at once", "set one after the other"));
        };
        let at = name.span().start;
        let column = context.named_column(name)?;
        if table.primary().parts().iter().any(|part| part.name == column) {
            let reason = "is part of the primary key and cannot change: DELETE the record and INSERT another";
            return Err(wrong(at, format!("{column} {reason}")));
        }
        if sets.iter().any(|(other, _)| *other == column) {
            return Err(wrong(at, format!("{column} is set twice")));
        }
        sets.push((column, context.expression(&assignment.value)?));
    }
    Ok(sets)
}

impl Modify {
    pub(crate) fn update(
        update: &ast::Update,
        table: Arc<Table>,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        let at = update.update_token.0.span.start;
        let rest = [
            ("FROM", "a statement changes one table by what is in it", update.from.is_some()),
            ("RETURNING", "select the records", update.returning.is_some() || update.output.is_some()),
            ("OR", "a record that cannot change stops the statement: leave it out", update.or.is_some()),
            ("ORDER BY", "leave it out", !update.order_by.is_empty()),
            ("LIMIT", "name the records with WHERE", update.limit.is_some()),
            ("a hint", "leave it out", !update.optimizer_hints.is_empty()),
        ];
        refuse_rest(at, &rest)?;
        let sets = assignments(&update.assignments, &table, context.of(&table))?;
        let filter = update.selection.as_ref();
        Self::new(table.clone(), filter, Some(sets), context)
    }

    pub(crate) fn delete(
        delete: &ast::Delete,
        table: Arc<Table>,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        let at = delete.delete_token.0.span.start;
        let rest = [
            ("USING", "a statement changes one table by what is in it", delete.using.is_some()),
            ("DELETE of several tables", "delete from one after the other", !delete.tables.is_empty()),
            ("RETURNING", "select the records", delete.returning.is_some() || delete.output.is_some()),
            ("ORDER BY", "leave it out", !delete.order_by.is_empty()),
            ("LIMIT", "name the records with WHERE", delete.limit.is_some()),
            ("a hint", "leave it out", !delete.optimizer_hints.is_empty()),
        ];
        refuse_rest(at, &rest)?;
        Self::new(table.clone(), delete.selection.as_ref(), None, context)
    }

    fn new(
        table: Arc<Table>,
        filter: Option<&ast::Expr>,
        sets: Option<Assignments>,
        context: Context<'_>,
    ) -> Result<Self, Error> {
        let mut query = Query::new().select([]);
        if let Some(filter) = filter {
            query = query.filter(context.predicate(&table, filter)?);
        }
        Ok(Self { table, query, sets })
    }

    pub(crate) fn table(&self) -> &str {
        self.table.name()
    }

    /// Changes all records within a transaction; how many.
    pub(crate) async fn apply<S: Store>(
        &self,
        database: &Database<S>,
        transaction: &mut Transaction<S>,
    ) -> Result<u64, Error> {
        let keys = self.keys(&View { database, transaction: Some(transaction) }, usize::MAX).await?;
        self.change(transaction, &keys, None).await
    }

    /// Changes all records: in one commit if they are few, else one batch after the other.
    pub(crate) async fn alone<S: Store>(&self, database: &Database<S>) -> Result<u64, Error> {
        if !transacts(database) {
            return self.each(database).await;
        }
        let started = Instant::now();
        loop {
            let mut transaction = database.begin().await?;
            let keys = self.keys(&View { database, transaction: Some(&transaction) }, BATCH + 1).await?;
            if keys.len() > BATCH {
                break;
            }
            let records = self.change(&mut transaction, &keys, None).await?;
            if commit(transaction, started).await? {
                return Ok(records);
            }
        }
        // All keys first: a record that a change moves in its index is not met twice.
        let keys = self.keys(&View { database, transaction: None }, usize::MAX).await?;
        let mut records = 0;
        for batch in keys.chunks(BATCH) {
            match alone(database, &Work::Records(self, batch, &self.query.filter)).await {
                Ok(changed) => records += changed,
                Err(error) => return Err(partly(records, error)),
            }
        }
        Ok(records)
    }

    /// Changes all records one by one, each by itself and if it is still one of them.
    async fn each<S: Store>(&self, database: &Database<S>) -> Result<u64, Error> {
        // All keys first: a record that a change moves in its index is not met twice.
        let keys = self.keys(&View { database, transaction: None }, usize::MAX).await?;
        let mut records = 0;
        for key in keys {
            match self.change_one(database, &key).await {
                Ok(changed) => records += u64::from(changed),
                Err(error) => return Err(partly(records, error)),
            }
        }
        Ok(records)
    }

    /// Changes a record by itself, if it is still there and like the query's filter; whether it did.
    async fn change_one<S: Store>(&self, database: &Database<S>, key: &Key) -> Result<bool, Error> {
        let table = database.table(self.table.name()).await?;
        let (filter, started) = (&self.query.filter, Instant::now());
        loop {
            let change = match &self.sets {
                None => Change::delete(key.clone()).when(When::Is(filter.clone())),
                Some(sets) => {
                    let Some(record) = table.get(key.clone()).await? else { return Ok(false) };
                    let update = Change::update(key.clone(), update(sets, &record)?);
                    update.when(When::Is(filter.clone())).when(When::Same(record))
                }
            };
            match table.change(change).await {
                Ok((before, _)) => return Ok(before.is_some()),
                Err(TableError::Condition { condition, .. }) if condition == filter.to_string() => {
                    return Ok(false);
                }
                // It has changed since it was read.
                Err(TableError::Condition { .. }) if started.elapsed() < PATIENCE => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The keys of the records that it is about, at most this many.
    async fn keys<S: Store>(&self, view: &View<'_, S>, most: usize) -> Result<Vec<Key>, Error> {
        let mut keys = Vec::new();
        let visit = |row: &Row<'_>| {
            keys.push(row.key()?.into_iter().map(Value::into_owned).collect());
            Ok(if keys.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        };
        view.each(self.table.name(), &self.query, visit).await?;
        Ok(keys)
    }

    /// Changes records by their keys, if they are still there and like this; how many.
    async fn change<S: Store>(
        &self,
        transaction: &mut Transaction<S>,
        keys: &[Key],
        only: Option<&Predicate>,
    ) -> Result<u64, Error> {
        let mut records = 0;
        for key in keys {
            let change = match &self.sets {
                None => Change::delete(key.clone()),
                Some(sets) => {
                    let Some(record) = transaction.get(self.table.name(), key.clone()).await? else {
                        continue;
                    };
                    Change::update(key.clone(), update(sets, &record)?)
                }
            };
            let change = match only {
                None => change,
                Some(filter) => change.when(When::Is(filter.clone())),
            };
            match transaction.apply(self.table.name(), change).await {
                Ok((before, _)) => records += u64::from(before.is_some()),
                // Somebody else has changed it since it was found.
                Err(TableError::Condition { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(records)
    }
}

fn update(sets: &Assignments, record: &Document) -> Result<Update, Error> {
    let mut update = Update::new();
    for (column, expression) in sets {
        update = update.set(column, expression.evaluate(record)?.into_owned());
    }
    Ok(update)
}

/// Inserts by a commit of its own; how many records were written.
pub(crate) async fn insert_alone<S: Store>(database: &Database<S>, insert: &Insert) -> Result<u64, Error> {
    if !transacts(database) {
        return insert.apply_each(database).await;
    }
    alone(database, &Work::Insert(insert)).await
}

/// Works and commits; again if something that was read has changed meanwhile.
async fn alone<S: Store>(database: &Database<S>, work: &Work<'_>) -> Result<u64, Error> {
    let started = Instant::now();
    loop {
        let mut transaction = database.begin().await?;
        let records = match work {
            Work::Insert(insert) => insert.apply(&mut transaction).await?,
            Work::Records(modify, keys, only) => modify.change(&mut transaction, keys, Some(only)).await?,
        };
        if commit(transaction, started).await? {
            return Ok(records);
        }
    }
}

/// Commits; false if that has to be tried again from the start.
async fn commit<S: Store>(transaction: Transaction<S>, started: Instant) -> Result<bool, Error> {
    match transaction.commit().await {
        Ok(_) => Ok(true),
        Err(TableError::Conflict(_)) if started.elapsed() < PATIENCE => Ok(false),
        Err(error) => Err(error.into()),
    }
}
