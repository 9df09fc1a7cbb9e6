//! Queries that are asked again and again with other values: what does not depend on these is worked out once.

use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock};

use keyloom_key::Value;
use keyloom_plan::{Access, Given, Query, Shortcut, Template};
use keyloom_schema::Table as Definition;
use keyloom_store::Store;
use smallvec::SmallVec;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::execute::Examined;
use crate::reader::{Found, Planned};
use crate::row::Row;
use crate::table::Table;

/// A query of a table whose values are given each time that it is asked. See [`Table::prepare`].
#[derive(Debug)]
pub struct Prepared<S> {
    table: Table<S>,
    template: Template,
    shortcut: ByDefinition<Option<Arc<Shortcut>>>,
}

impl<S: Store> Table<S> {
    /// A query that is asked often, with conditions whose values are given each time.
    ///
    /// It answers what [`query`](Self::query) and [`each`](Self::each) do with the values in their places, and follows
    /// changes of the schema as they do. Where one tree answers directly, it is planned once and not each time.
    ///
    /// ```
    /// use keyloom_schema::{Document, Table};
    /// use keyloom_store::{MemoryStore, Wait};
    /// use keyloom_table::{Database, Given, Query};
    ///
    /// let database = Database::open(MemoryStore::new()).wait()?;
    /// let orders = Table::named("orders").column("user", "str").column("number", "i64").key(["user", "number"]);
    /// let orders = database.create_table(orders).wait()?;
    /// for (user, number) in [("Ada", 1_i64), ("Ada", 2), ("Ada", 3), ("Grace", 4)] {
    ///     orders.put(Document::new().with("user", user).with("number", number)).wait()?;
    /// }
    ///
    /// let newest = Query::new().order_by_desc("number").limit(1);
    /// let newest = orders.prepare(newest, [Given::equal("user"), Given::less("number")]);
    /// for (user, before, number) in [("Ada", 3_i64, 2_i64), ("Ada", 9, 3), ("Grace", 9, 4)] {
    ///     let found = newest.query([user.into(), before.into()]).wait()?;
    ///     assert_eq!(found.records[0].key, [user.into(), number.into()]);
    /// }
    /// # Ok::<(), keyloom_table::Error>(())
    /// ```
    pub fn prepare(&self, query: Query, given: impl IntoIterator<Item = Given>) -> Prepared<S> {
        let template = Template::new(query, given);
        Prepared { table: self.clone(), template, shortcut: ByDefinition::default() }
    }
}

impl<S: Store> Prepared<S> {
    /// The query with these values, for what is asked otherwise: [`Table::explain`], [`Table::page`], a transaction.
    pub fn bind<'v>(&self, values: impl IntoIterator<Item = Value<'v>>) -> Result<Query, Error> {
        Ok(self.template.bind(values)?)
    }

    /// Everything that the query finds with these values.
    pub async fn query<'v>(&self, values: impl IntoIterator<Item = Value<'v>>) -> Result<Found, Error> {
        let (values, query) = (self.values(values)?, self.template.query());
        while let Some(direct) = self.direct(&values)? {
            let found = self.table.found_planned(&direct.catalog, direct.planned(), query, None);
            if let Some(found) = found.await? {
                return Ok(found);
            }
        }
        self.table.query(&self.bind(values)?).await
    }

    /// Shows what the query finds with these values to `visit`, as [`Table::each`] does.
    pub async fn each<'v>(
        &self,
        values: impl IntoIterator<Item = Value<'v>>,
        mut visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Examined, Error> {
        let (values, query) = (self.values(values)?, self.template.query());
        while let Some(direct) = self.direct(&values)? {
            let shown = self.table.each_planned(&direct.catalog, direct.planned(), query, &mut visit);
            if let Some(examined) = shown.await? {
                return Ok(examined);
            }
        }
        // Kept apart, so that queries that need no planning need not have room for it.
        Box::pin(self.each_bound(values, visit)).await
    }

    async fn each_bound(
        &self,
        values: Values<'_>,
        visit: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, Error> + Send,
    ) -> Result<Examined, Error> {
        self.table.each(&self.bind(values)?, visit).await
    }

    /// The values, if they are as many as the conditions.
    fn values<'v>(&self, values: impl IntoIterator<Item = Value<'v>>) -> Result<Values<'v>, Error> {
        let values: Values<'v> = values.into_iter().collect();
        self.template.check(values.len())?;
        Ok(values)
    }

    /// The plan by the schema as it is known here; `None` if the query has to be planned for these values.
    fn direct(&self, values: &[Value<'_>]) -> Result<Option<Direct>, Error> {
        let catalog = self.table.database().catalog();
        let definition = catalog.table(self.table.name())?;
        let shortcut =
            self.shortcut.get(definition, |table| Ok(Shortcut::of(table, &self.template).map(Arc::new)))?;
        let Some(shortcut) = shortcut else { return Ok(None) };
        let access = shortcut.access(definition, values);
        Ok(access.map(|access| Direct { catalog, shortcut, access }))
    }
}

/// A plan that was made before its values came.
struct Direct {
    catalog: Arc<Catalog>,
    shortcut: Arc<Shortcut>,
    access: Access,
}

impl Direct {
    fn planned(&self) -> Planned<'_> {
        Planned { plan: self.shortcut.plan(), access: &self.access }
    }
}

/// The values of a query's conditions.
type Values<'v> = SmallVec<[Value<'v>; 4]>;

/// What depends on a table's definition alone, worked out anew when that is another.
#[derive(Debug)]
pub(crate) struct ByDefinition<T> {
    kept: RwLock<Option<(Arc<Definition>, T)>>,
}

impl<T> Default for ByDefinition<T> {
    fn default() -> Self {
        Self { kept: RwLock::default() }
    }
}

impl<T: Clone> ByDefinition<T> {
    pub(crate) fn get(
        &self,
        definition: &Arc<Definition>,
        make: impl FnOnce(&Definition) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, made)) = &*kept
            && Arc::ptr_eq(of, definition)
        {
            return Ok(made.clone());
        }
        drop(kept);
        let made = make(definition)?;
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((Arc::clone(definition), made.clone()));
        Ok(made)
    }
}
