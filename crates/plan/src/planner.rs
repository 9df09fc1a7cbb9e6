//! From a query to a plan: every tree is tried, the best is taken, and a scan is refused.

mod candidate;
mod choice;
pub(crate) mod direct;
mod skip;

use keyloom_schema::{Index, Predicate, State, Table, Tree};

use crate::constraint::Conditions;
use crate::cursor::Resume;
use crate::error::{Error, Stale};
use crate::implies::all_imply;
use crate::order::wanted;
use crate::plan::{Access, Class, Order, Plan, Rejected};
use crate::query::{OrderBy, Query};
use crate::refuse::{self, Refusal};
use crate::statistics::Statistics;
use candidate::Candidate;

/// Plans a query: which tree is read, which spans of it, and what is done with what is found there.
///
/// # Behavior
/// - A query that would read every key is refused, with the index that would serve it, unless it allows the scan.
/// - Neither an index's name nor the permission to scan has a part in the choice.
/// - With a cursor, the plan is that of the page before, whatever statistics say now. [`Plan::resume`] cuts it.
///
/// ```
/// use keyloom_plan::{Query, Statistics, plan};
/// use keyloom_schema::{Table, field};
/// let orders = Table::named("orders")
///     .column("user_id", "str")
///     .column("day", "u32")
///     .column("status", "str")
///     .key(["user_id", "day desc"])
///     .build()?;
/// let newest = Query::new().filter(field("user_id").eq("U1")).order_by_desc("day").limit(10);
/// let plan_of = |query| plan(&orders, &Statistics::default(), query);
/// assert_eq!(plan_of(&newest)?.bound, Some(11));
///
/// let refused = plan_of(&Query::new().filter(field("status").eq("open"))).unwrap_err();
/// assert!(refused.to_string().contains("CREATE INDEX orders_by_status ON orders (status)"));
/// # Ok::<(), keyloom_plan::Error>(())
/// ```
pub fn plan(table: &Table, statistics: &Statistics, query: &Query) -> Result<Plan, Error> {
    planned(table, statistics, query, true)
}

/// Plans a query that is run and not explained: the same as [`plan`], at less cost.
///
/// What is only there to be read is left empty: the spans' texts, the key, the trees that were not chosen, the advice.
pub fn route(table: &Table, statistics: &Statistics, query: &Query) -> Result<Plan, Error> {
    match direct::direct(table, statistics, query) {
        Some(plan) => Ok(plan),
        None => planned(table, statistics, query, false),
    }
}

fn planned(table: &Table, statistics: &Statistics, query: &Query, words: bool) -> Result<Plan, Error> {
    let resume = query.after.as_ref().map(|cursor| cursor.read(table, query)).transpose()?;
    let asked = Asked::of(table, query, resume.as_ref(), words)?;
    if asked.conditions.never {
        return Ok(asked.nothing());
    }
    if let Some(resume) = &resume {
        return asked.again(resume);
    }
    let (mut candidates, mut rejected, mut scans) = (Vec::new(), Vec::new(), Vec::new());
    for (index, tree) in asked.trees() {
        match asked.may_serve(index)? {
            Ok(()) => {}
            Err(reason) => {
                rejected.push(Rejected { index: name(index), key: tree.text(), reason });
                continue;
            }
        }
        let known = statistics.0.get(&tree.id());
        if !words && asked.scans(index, tree) {
            scans.push((index, tree, known));
        } else {
            candidates.push(asked.candidate(index, tree, known)?);
        }
        if let Some(known) = known {
            candidates.extend(asked.skipping(index, tree, known)?);
        }
    }
    // What reads every key is looked at only where nothing else reads less.
    if candidates.iter().all(|one| one.class == Class::Scan || matches!(one.access, Access::Skip { .. })) {
        for (index, tree, known) in scans {
            candidates.push(asked.candidate(index, tree, known)?);
        }
    }
    // The primary key is always among them.
    let (best, losers) = choice::best(&asked, candidates, words).ok_or(Error::Cursor(Stale::Index))?;
    let refused = best.class == Class::Scan && !query.allow_scan;
    if !words {
        return if refused { plan(table, statistics, query) } else { Ok(asked.plan_of(best)) };
    }
    rejected.extend(losers);
    let advice = if best.class >= Class::Partition { refuse::advice(&asked, best.class)? } else { None };
    if refused {
        rejected.push(best.rejected(choice::needs(&asked, &best)));
        asked.sort(&mut rejected);
        return Err(Error::Refused(Box::new(Refusal::new(&asked, rejected, advice)?)));
    }
    asked.sort(&mut rejected);
    Ok(Plan { rejected, advice, ..asked.plan_of(best) })
}

/// What is asked, in the words that trees are asked with.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) table: &'a Table,
    pub(crate) query: &'a Query,
    pub(crate) conditions: Conditions,
    /// The order without fields that have one value.
    pub(crate) order: Vec<OrderBy>,
    pub(crate) limit: Option<u64>,
    /// Whether the plan is to be read by someone.
    pub(crate) words: bool,
}

impl<'a> Asked<'a> {
    pub(crate) fn of(
        table: &'a Table,
        query: &'a Query,
        resume: Option<&Resume>,
        words: bool,
    ) -> Result<Self, Error> {
        let conditions = Conditions::of(table, query.filter.clone().bind(table)?)?;
        let order = wanted(table, &query.order, &conditions)?;
        let limit = resume.map_or(query.limit, |resume| resume.remaining);
        Ok(Self { table, query, conditions, order, limit, words })
    }

    /// The same of another table, one that has an index more.
    pub(crate) fn with_table<'b>(&'b self, table: &'b Table) -> Asked<'b> {
        let (conditions, order) = (self.conditions.clone(), self.order.clone());
        Asked { table, query: self.query, conditions, order, limit: self.limit, words: false }
    }

    /// The primary key and every index.
    fn trees(&self) -> impl Iterator<Item = (Option<&'a Index>, &'a Tree)> {
        let indexes = self.table.indexes().iter().map(|index| (Some(index), index.tree()));
        std::iter::once((None, self.table.primary())).chain(indexes)
    }

    /// Brings trees into the order that they have in the table.
    fn sort(&self, trees: &mut [Rejected]) {
        trees.sort_by_key(|tree| self.table.indexes().iter().position(|index| index.name() == tree.index));
    }

    /// Whether an index holds every record that is asked for, or why not.
    fn may_serve(&self, index: Option<&Index>) -> Result<Result<(), String>, Error> {
        let Some(index) = index else { return Ok(Ok(())) };
        if index.state() != State::Ready {
            return Ok(Err("is still being filled".to_owned()));
        }
        if let Some(only) = index.only()
            && !all_imply(self.table, &self.conditions, &self.only(Some(index))?)?
        {
            return Ok(Err(format!("holds only records with {only}")));
        }
        let list = index.tree().parts().iter().find(|part| part.many);
        if let Some(part) = list
            && !self.conditions.on(&part.name).any(|(_, one)| !matches!(one, Predicate::IsNull { .. }))
        {
            return Ok(Err(format!("needs {}", part.name)));
        }
        Ok(Ok(()))
    }

    /// Whether a tree is read from end to end and filtered, which can be said without a look at its spans.
    fn scans(&self, index: Option<&Index>, tree: &Tree) -> bool {
        let part = index.is_none_or(|index| index.only().is_none() && !index.is_multi_valued());
        let rows = self.conditions.all.iter().any(|one| matches!(one, Predicate::Row { .. }));
        let first =
            tree.parts().first().is_some_and(|first| self.conditions.on(&first.name).next().is_none());
        part && first && !rows && !self.conditions.all.is_empty()
    }

    /// What a partial index says of its records.
    fn only(&self, index: Option<&Index>) -> Result<Conditions, Error> {
        match index.and_then(Index::only) {
            None => Ok(Conditions::default()),
            Some(only) => Conditions::of(self.table, only.clone()),
        }
    }

    /// The plan where conditions contradict one another: nothing is read.
    fn nothing(&self) -> Plan {
        let notes = vec!["no record can be like this".to_owned()];
        Plan { notes, ..self.no_plan(self.table.primary()) }
    }

    /// The plan that reads nothing of a tree.
    fn no_plan(&self, tree: &Tree) -> Plan {
        Plan {
            table: self.table.name().to_owned(),
            index: None,
            tree: tree.id(),
            key: if self.words { tree.text() } else { String::new() },
            access: Access::InTurn(Vec::new()),
            backward: false,
            fetch: false,
            filter: None,
            once: None,
            order: Order::Free,
            limit: self.limit,
            select: self.query.select.clone(),
            class: Class::Constant,
            bound: Some(0),
            estimate: None,
            rejected: Vec::new(),
            advice: None,
            notes: Vec::new(),
        }
    }

    /// The plan of the page before.
    fn again(&self, resume: &Resume) -> Result<Plan, Error> {
        let found = self.trees().find(|(_, tree)| tree.id() == resume.tree);
        let (index, tree) = found.ok_or(Error::Cursor(Stale::Index))?;
        if self.may_serve(index)?.is_err() {
            return Err(Error::Cursor(Stale::Index));
        }
        let candidate = match resume.skip {
            None => Some(self.candidate(index, tree, None)?),
            Some(values) => self.skip(index, tree, values, None)?,
        };
        match candidate {
            Some(candidate) if candidate.backward == resume.backward => Ok(self.plan_of(candidate)),
            _ => Err(Error::Cursor(Stale::Table)),
        }
    }
}

/// What a tree is called.
fn name(index: Option<&Index>) -> String {
    index.map_or("primary", Index::name).to_owned()
}

impl Candidate<'_> {
    /// Its tree as one that is not taken.
    fn rejected(&self, reason: String) -> Rejected {
        Rejected { index: name(self.index), key: self.tree.text(), reason }
    }
}
