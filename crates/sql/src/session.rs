//! A session: statements one after the other, with perhaps a transaction open between them.

use std::sync::Arc;

use keyloom_plan::{Budget, Query};
use keyloom_schema::sql::{self, sqlparser};
use keyloom_schema::{Table, sql::Statement as Parsed};
use keyloom_store::Store;
use keyloom_table::{Database, Error as TableError, Plan, Transaction};
use sqlparser::ast::{self, Statement as Ast};

use crate::answer::{Answer, Kept, Rows};
use crate::context::Context;
use crate::define;
use crate::error::Error;
use crate::insert::{self, Insert};
use crate::modify::{self, Modify};
use crate::parameters::Parameters;
use crate::select::{Parts, Select};
use crate::settings::Settings;
use crate::statement::{Statement, parse};
use crate::view::View;
use crate::writer::transacts;

/// Statements over a database, one after the other.
///
/// ```
/// use keyloom_sql::{Answer, Session};
/// use keyloom_store::{MemoryStore, Wait};
/// use keyloom_table::Database;
///
/// let mut session = Session::new(Database::open(MemoryStore::new()).wait().unwrap());
/// session.run("
///     CREATE TABLE orders (user TEXT, number INTEGER, amount DECIMAL, PRIMARY KEY (user, number));
///     INSERT INTO orders VALUES ('U1', 1, 9.90), ('U1', 2, 20), ('U10', 1, 5);
/// ").wait()?;
/// let answers = session.run("SELECT number, amount * 2 AS double FROM orders WHERE user = 'U1'").wait()?;
/// let [Answer::Rows { columns, rows, .. }] = answers.as_slice() else { panic!() };
/// assert_eq!(columns, &["number", "double"]);
/// assert_eq!(rows[0][1], "19.8".parse::<keyloom_key::Decimal>().unwrap().into());
/// # Ok::<(), keyloom_sql::Error>(())
/// ```
#[derive(Debug)]
pub struct Session<S: Store> {
    database: Database<S>,
    transaction: Open<S>,
    settings: Settings,
}

/// The transaction of a session.
#[derive(Debug)]
enum Open<S: Store> {
    No,
    Yes(Box<Transaction<S>>),
    /// A statement of it failed, and may have written a part.
    Failed,
}

/// A statement that writes, ready to run.
enum Write {
    Insert(Insert),
    Modify(Box<Modify>),
}

impl<S: Store> Session<S> {
    /// A session on a database.
    pub fn new(database: Database<S>) -> Self {
        Self { database, transaction: Open::No, settings: Settings::default() }
    }

    /// The database.
    pub fn database(&self) -> &Database<S> {
        &self.database
    }

    /// Changes what a statement may cost. `SET max_rows` changes the rows of it.
    pub fn set_budget(&mut self, budget: Budget) {
        self.settings.budget = budget;
    }

    /// Whether a statement may read every key if nothing better is there. `SET allow_scan` changes it too.
    pub fn set_allow_scan(&mut self, allowed: bool) {
        self.settings.allow_scan = allowed;
    }

    /// Whether BEGIN was said, and neither COMMIT nor ROLLBACK since.
    pub fn is_in_transaction(&self) -> bool {
        !matches!(self.transaction, Open::No)
    }

    /// Runs the statements of a text; their answers in order. All are read before the first runs.
    ///
    /// If one fails, those behind it do not run, and what those before it did stays: the error says the line.
    pub async fn run(&mut self, text: &str) -> Result<Vec<Answer>, Error> {
        self.run_with(text, &Parameters::new()).await
    }

    /// The same with values for the placeholders.
    pub async fn run_with(&mut self, text: &str, parameters: &Parameters) -> Result<Vec<Answer>, Error> {
        let statements = parse(text)?;
        let several = statements.len() > 1;
        let mut answers = Vec::with_capacity(statements.len());
        for statement in &statements {
            let answer = self.execute(statement, parameters).await;
            answers
                .push(answer.map_err(|error| if several { error.on_line(statement.line) } else { error })?);
        }
        Ok(answers)
    }

    /// Runs one statement.
    pub async fn execute(&mut self, statement: &Statement, parameters: &Parameters) -> Result<Answer, Error> {
        let mut kept = Kept::default();
        let mut answer = self.stream(statement, parameters, &mut kept).await?;
        if let Answer::Rows { rows, .. } = &mut answer {
            *rows = kept.0;
        }
        Ok(answer)
    }

    /// Runs one statement; the rows of a SELECT go to `rows` one by one and are not kept.
    pub async fn stream(
        &mut self,
        statement: &Statement,
        parameters: &Parameters,
        rows: &mut impl Rows,
    ) -> Result<Answer, Error> {
        let context = Context::new(parameters);
        let words = statement.words.as_str();
        let parsed = match &statement.parsed {
            Parsed::Other(parsed) => &**parsed,
            definition => return self.define(definition).await,
        };
        match parsed {
            Ast::StartTransaction { .. } | Ast::Commit { .. } | Ast::Rollback { .. } => {
                self.transact(parsed, words).await
            }
            Ast::Set(set) => self.settings.set(set, context, words).map(Answer::Done),
            _ if matches!(self.transaction, Open::Failed) => Err(failed()),
            Ast::Query(query) => {
                let select = self.select(query, context).await?;
                let examined = self.view().select(&select, rows).await?;
                Ok(Answer::Rows { columns: select.columns, rows: Vec::new(), examined })
            }
            Ast::Explain { statement, .. } => {
                define::check_explain(parsed)?;
                self.plans(statement, context, words).await.map(Answer::Explained)
            }
            Ast::Drop { .. } | Ast::Analyze(_) => {
                self.check_alone()?;
                define::run(&self.database, parsed, words).await.map(Answer::Done)
            }
            _ => {
                let write = self.prepare(parsed, context, words).await?;
                self.write(&write).await.map(|records| Answer::Changed { records })
            }
        }
    }

    /// How a statement would read: one plan for each read, none if it reads no table by a query.
    ///
    /// `EXPLAIN` may stand before it or not.
    pub async fn explain(&self, statement: &Statement, parameters: &Parameters) -> Result<Vec<Plan>, Error> {
        match explainable(statement)? {
            Some(asked) => self.plans(asked, Context::new(parameters), &statement.words).await,
            None => Ok(Vec::new()),
        }
    }

    /// What a statement asks of which table, before any plan is made: one query for each read.
    ///
    /// `MIN` and `MAX` ask for the ends of an order where an index could give them.
    pub async fn queries(
        &self,
        statement: &Statement,
        parameters: &Parameters,
    ) -> Result<Vec<(String, Query)>, Error> {
        let context = Context::new(parameters);
        match explainable(statement)? {
            None => Ok(Vec::new()),
            Some(Ast::Query(query)) => Ok(self.select(query, context).await?.queries()),
            Some(other) => match self.prepare(other, context, &statement.words).await? {
                Write::Insert(_) => Ok(Vec::new()),
                Write::Modify(modify) => Ok(vec![(modify.table().to_owned(), modify.query)]),
            },
        }
    }

    fn view(&self) -> View<'_, S> {
        let transaction = match &self.transaction {
            Open::Yes(transaction) => Some(&**transaction),
            Open::No | Open::Failed => None,
        };
        View { database: &self.database, transaction }
    }

    async fn definition(&self, table: &str) -> Result<Arc<Table>, Error> {
        Ok(self.database.table(table).await?.definition()?)
    }

    /// The table as another process has changed it meanwhile, or the error that there was if it has not.
    async fn newer(&self, table: &Table, error: Error) -> Result<Arc<Table>, Error> {
        self.database.refresh().await?;
        let newest = self.definition(table.name()).await?;
        if *newest == *table { Err(error) } else { Ok(newest) }
    }

    fn check_alone(&self) -> Result<(), Error> {
        match self.transaction {
            Open::No => Ok(()),
            Open::Failed => Err(failed()),
            Open::Yes(_) => Err(Error::Transaction(
                "a transaction is open, and tables and indexes change outside of it: COMMIT or ROLLBACK first".into(),
            )),
        }
    }

    async fn define(&self, definition: &sql::Statement) -> Result<Answer, Error> {
        self.check_alone()?;
        define::create(&self.database, definition).await.map(Answer::Done)
    }

    async fn select(&self, query: &ast::Query, context: Context<'_>) -> Result<Select, Error> {
        let parts = Parts::of(query)?;
        let mut select = match parts.table {
            None => parts.bind(context, None)?,
            Some(name) => {
                let table = self.definition(name).await?;
                match parts.bind(context, Some(&table)) {
                    Ok(select) => select,
                    Err(error) => parts.bind(context, Some(&*self.newer(&table, error).await?))?,
                }
            }
        };
        select.query = self.settings.apply(select.query);
        Ok(select)
    }

    async fn plans(&self, statement: &Ast, context: Context<'_>, words: &str) -> Result<Vec<Plan>, Error> {
        if let Ast::Query(query) = statement {
            let select = self.select(query, context).await?;
            return self.view().explain(&select).await;
        }
        match self.prepare(statement, context, words).await? {
            Write::Insert(_) => Ok(Vec::new()),
            Write::Modify(modify) => {
                let table = self.database.table(modify.table()).await?;
                Ok(vec![table.explain(&modify.query).await?])
            }
        }
    }

    async fn prepare(&self, statement: &Ast, context: Context<'_>, words: &str) -> Result<Write, Error> {
        match statement {
            Ast::Insert(insert) => {
                let table = self.definition(insert::table_name(insert)?).await?;
                Ok(Write::Insert(match Insert::read(insert, table.clone(), context) {
                    Ok(insert) => insert,
                    Err(error) => Insert::read(insert, self.newer(&table, error).await?, context)?,
                }))
            }
            Ast::Update(update) => {
                let table = self.definition(modify::update_table(update)?).await?;
                let modify = match Modify::update(update, table.clone(), context) {
                    Ok(modify) => modify,
                    Err(error) => Modify::update(update, self.newer(&table, error).await?, context)?,
                };
                Ok(Write::Modify(self.settled(modify)))
            }
            Ast::Delete(delete) => {
                let table = self.definition(modify::delete_table(delete)?).await?;
                let modify = match Modify::delete(delete, table.clone(), context) {
                    Ok(modify) => modify,
                    Err(error) => Modify::delete(delete, self.newer(&table, error).await?, context)?,
                };
                Ok(Write::Modify(self.settled(modify)))
            }
            _ => Err(define::unsupported(words)),
        }
    }

    fn settled(&self, mut modify: Modify) -> Box<Modify> {
        let query = std::mem::replace(&mut modify.query, Query::new());
        modify.query = self.settings.apply(query);
        Box::new(modify)
    }

    async fn write(&mut self, write: &Write) -> Result<u64, Error> {
        if matches!(self.transaction, Open::No) {
            return match write {
                Write::Insert(insert) => modify::insert_alone(&self.database, insert).await,
                Write::Modify(modify) => modify.alone(&self.database).await,
            };
        }
        // It comes back only if all was written: not after an error, nor if nobody waits for the end.
        let Open::Yes(mut transaction) = std::mem::replace(&mut self.transaction, Open::Failed) else {
            return Err(failed());
        };
        let written = match write {
            Write::Insert(insert) => insert.apply(&mut transaction).await?,
            Write::Modify(modify) => modify.apply(&self.database, &mut transaction).await?,
        };
        self.transaction = Open::Yes(transaction);
        Ok(written)
    }

    async fn transact(&mut self, statement: &Ast, words: &str) -> Result<Answer, Error> {
        define::check_transaction(statement, words)?;
        let open = std::mem::replace(&mut self.transaction, Open::No);
        match (statement, open) {
            (Ast::StartTransaction { .. }, Open::No) if !transacts(&self.database) => {
                let store = self.database.store().capability().name;
                Err(Error::Transaction(
                    format!(
                        "{store} has no transactions: run the statements without BEGIN; each changes one record after the other"
                    )
                    .into(),
                ))
            }
            (Ast::StartTransaction { .. }, Open::No) => {
                self.transaction = Open::Yes(Box::new(self.database.begin().await?));
                Ok(Answer::Done("transaction begun".to_owned()))
            }
            (Ast::StartTransaction { .. }, open) => {
                self.transaction = open;
                Err(Error::Transaction("a transaction is open already: COMMIT or ROLLBACK it first".into()))
            }
            (_, Open::No) => Err(Error::Transaction("no transaction is open: write BEGIN first".into())),
            (Ast::Commit { .. }, Open::Failed) => Err(Error::Transaction(
                "a statement of the transaction failed, so nothing of it was written: run it again from BEGIN".into(),
            )),
            (Ast::Commit { .. }, Open::Yes(transaction)) => match transaction.commit().await {
                Ok(_) => Ok(Answer::Done("transaction committed".to_owned())),
                Err(TableError::Conflict(reason)) => Err(Error::Conflict(reason)),
                Err(error) => Err(error.into()),
            },
            (_, Open::Yes(_) | Open::Failed) => Ok(Answer::Done("transaction rolled back".to_owned())),
        }
    }
}

/// The statement behind EXPLAIN, or the statement itself, if it asks something of a table.
fn explainable(statement: &Statement) -> Result<Option<&Ast>, Error> {
    let Parsed::Other(parsed) = &statement.parsed else { return Ok(None) };
    match &**parsed {
        Ast::Explain { statement, .. } => {
            define::check_explain(parsed)?;
            Ok(Some(statement))
        }
        asked @ (Ast::Query(_) | Ast::Insert(_) | Ast::Update(_) | Ast::Delete(_)) => Ok(Some(asked)),
        _ => Ok(None),
    }
}

fn failed() -> Error {
    Error::Transaction("a statement of the transaction failed: ROLLBACK, and run it again from BEGIN".into())
}
