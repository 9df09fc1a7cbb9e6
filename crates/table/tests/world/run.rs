//! Runs a history on a real table and on the model, and compares them step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering as Atomic};

use keyloom_key::{KeyFormat, Timestamp, Value};
use keyloom_plan::{Access, Class, Order};
use keyloom_schema::{Document, Tree};
use keyloom_store::{Store, Wait};
use keyloom_table::{
    Clock, Cursor, Database, Error, Examined, Match, PageLimits, Plan, Prepared, Query, Row, Table, Writer,
};
use keyloom_testkit::model::{Edit, Guard, Model, Refusal, Write};
use keyloom_testkit::template::given_later;

use super::steps::{Planned, Step, change, update};
use super::{IndexSpec, TABLE, TableSpec, instant};

/// A real table and its model. Two handles take turns, so that each meets a schema that the other has changed.
struct World<S: Store> {
    spec: TableSpec,
    databases: [Database<S>; 2],
    turn: usize,
    model: Model,
    clock: Arc<AtomicI64>,
    /// Made once and used until the end, whatever becomes of the schema: by their columns and their words, for each handle.
    writers: BTreeMap<(usize, Vec<String>), Writer<S>>,
    prepared: BTreeMap<(usize, String), Prepared<S>>,
    /// What was answered, in words that do not depend on where keys lie.
    log: Vec<String>,
}

/// Runs a history on a table in this store; returns what was answered.
pub fn run<S: Store + Clone>(store: S, spec: &TableSpec, history: &[Step]) -> Vec<String> {
    let mut world = World::new(store, spec);
    for step in history {
        world.step(step);
        world.turn += 1;
    }
    world.ask(&Query::new());
    world.verify();
    world.log
}

impl<S: Store + Clone> World<S> {
    fn new(store: S, spec: &TableSpec) -> Self {
        let clock = Arc::new(AtomicI64::new(6));
        let open = || {
            let clock = Arc::clone(&clock);
            let clock: Clock = Arc::new(move || instant(clock.load(Atomic::SeqCst)));
            Database::open_with_clock(store.clone(), clock).wait().unwrap()
        };
        let first = open();
        first.create_table(spec.build()).wait().unwrap();
        let databases = [first, open()];
        let model = Model::new(spec.build().build().unwrap());
        let (writers, prepared) = (BTreeMap::new(), BTreeMap::new());
        Self { spec: spec.clone(), databases, turn: 0, model, clock, writers, prepared, log: Vec::new() }
    }

    fn now(&self) -> Timestamp {
        instant(self.clock.load(Atomic::SeqCst))
    }

    fn database(&self) -> &Database<S> {
        &self.databases[self.turn % 2]
    }

    fn table(&self) -> Table<S> {
        self.database().table(TABLE).wait().unwrap()
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Write(writes) => self.write(writes),
            Step::Transact { writes, query, commit } => {
                self.transact(writes, &query.query(self.model.table()), *commit);
            }
            Step::CreateIndex(index) => self.create_index(index),
            Step::DropIndex(number) => self.drop_index(*number),
            Step::Analyze => self.database().analyze(TABLE).wait().unwrap(),
            Step::DeleteExpired => self.delete_expired(),
            Step::Wait(seconds) => drop(self.clock.fetch_add(*seconds, Atomic::SeqCst)),
            Step::Get(document) => self.get(document),
            Step::Ask(query) => self.ask(&query.query(self.model.table())),
            Step::Page { query, limits, between } => {
                let query = query.query(self.model.table());
                self.ask(&query);
                self.page(&query, *limits, between);
            }
        }
    }

    fn write(&mut self, planned: &[Planned]) {
        let writes: Vec<Write> = planned.iter().map(|planned| planned.write(&self.spec)).collect();
        let table = self.table();
        let before = self.model.clone();
        let expected = self.model.apply(&writes, self.now());
        let (real, expected) = match writes.as_slice() {
            [Write { edit: Edit::Put(document), guard: guard @ (None | Some(Guard::Absent)) }] => {
                (self.put(document, guard.is_some()).map(|()| None), expected.map(|_| None))
            }
            [Write { edit: Edit::Update(key, steps), guard: None }] => {
                (table.update(key.clone(), update(steps)).wait(), expected.map(|done| done[0].1.clone()))
            }
            // Every other time nobody asks what it was.
            [Write { edit: Edit::Delete(key), guard: None }] if (self.turn / 2).is_multiple_of(2) => {
                (table.delete(key.clone()).wait(), expected.map(|done| done[0].0.clone()))
            }
            writes => {
                let changes: Vec<_> = writes.iter().map(|write| (TABLE, change(write))).collect();
                (self.database().apply(changes).wait().map(|_| None), expected.map(|_| None))
            }
        };
        let what = || format!("{writes:?} of {:?}", before.kept());
        self.agree(real.map(|done| shown(done.as_ref())), expected.map(|done| shown(done.as_ref())), what);
    }

    /// Puts a record by the names of its fields or, where all are declared, now and then by its columns.
    fn put(&mut self, document: &Document, absent: bool) -> Result<(), Error> {
        let declared = document.iter().all(|(name, _)| self.model.table().column(name).is_some());
        if (self.turn / 2).is_multiple_of(3) || !declared {
            let (table, document) = (self.table(), document.clone());
            return if absent { table.insert(document).wait() } else { table.put(document).wait() }.map(drop);
        }
        let columns: Vec<String> = document.iter().map(|(name, _)| name.to_owned()).collect();
        let handle = (self.turn % 2, columns.clone());
        if !self.writers.contains_key(&handle) {
            self.writers.insert(handle.clone(), self.table().writer(columns)?);
        }
        let (writer, row) = (&self.writers[&handle], document.iter().map(|(_, value)| value.borrowed()));
        if absent { writer.insert(row).wait() } else { writer.put(row).wait() }.map(drop)
    }

    /// A query whose values are given later answers what it answers with them.
    fn ask_prepared(&mut self, query: &Query) {
        for each in [1, 2] {
            let (rest, given, values) = given_later(query, each);
            let handle = (self.turn % 2, format!("{rest:?} {given:?}"));
            let table = self.table();
            let make = || table.prepare(rest, given);
            let prepared = self.prepared.entry(handle).or_insert_with(make);
            let bound = prepared.bind(values.iter().map(Value::borrowed)).unwrap();
            let found = prepared.query(values.iter().map(Value::borrowed)).wait().unwrap();
            let expected = table.query(&bound).wait().unwrap();
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{bound:?}");
            let mut shown = Vec::new();
            let visit = |row: &Row<'_>| {
                shown.push(row.key()?.into_iter().map(Value::into_owned).collect::<Vec<_>>());
                Ok(ControlFlow::Continue(()))
            };
            let examined = prepared.each(values.iter().map(Value::borrowed), visit).wait().unwrap();
            let keys: Vec<_> = expected.records.iter().map(|record| record.key.clone()).collect();
            assert_eq!(format!("{shown:?} {examined:?}"), format!("{keys:?} {:?}", expected.examined));
        }
    }

    /// The table does what the model does, or refuses for one of its reasons.
    fn agree(
        &mut self,
        real: Result<String, Error>,
        expected: Result<String, Vec<Refusal>>,
        what: impl Fn() -> String,
    ) {
        match (&real, &expected) {
            (Ok(real), Ok(expected)) => {
                assert_eq!(real, expected, "{}", what());
                self.log.push(real.clone());
            }
            (Err(error), Err(reasons)) => {
                let reason = reason(error);
                assert!(reasons.contains(&reason), "{error}, where {reasons:?} was expected: {}", what());
                self.log.push("refused".to_owned());
            }
            _ => panic!("{real:?}, where {expected:?} was expected: {}", what()),
        }
    }

    fn transact(&mut self, planned: &[Planned], query: &Query, commit: bool) {
        let mut transaction = self.database().begin().wait().unwrap();
        let mut model = self.model.clone();
        for planned in planned {
            let write = planned.write(&self.spec);
            let expected = model.apply(std::slice::from_ref(&write), self.now());
            let expected = expected.map(|mut done| done.swap_remove(0));
            let what = || format!("{write:?} in a transaction");
            if let Write { edit: Edit::Put(document), guard: None } = &write
                && self.turn.is_multiple_of(2)
            {
                let real = transaction.put(TABLE, document.clone()).wait();
                self.agree(real.map(|()| String::new()), expected.map(|_| String::new()), what);
                continue;
            }
            let real = transaction.apply(TABLE, change(&write)).wait();
            // Without indexes, a put does not look at what was there.
            let looks = !model.table().indexes().is_empty();
            let both = |(before, after): (Option<Document>, Option<Document>)| {
                (shown(before.as_ref().filter(|_| looks)), shown(after.as_ref()))
            };
            let both = |done| format!("{:?}", both(done));
            self.agree(real.map(both), expected.map(both), what);
        }
        let found = transaction.query(TABLE, &query.clone().allow_scan()).wait().unwrap();
        check_answer(&model, query, &found.records, self.now(), "in a transaction");
        if commit {
            transaction.commit().wait().unwrap();
            self.model = model;
        }
    }

    fn create_index(&mut self, index: &IndexSpec) {
        let real = self.databases[0].create_index(TABLE, index.build()).wait();
        let expected = self.model.create_index(index.build(), self.now());
        if real.is_err() && !self.database().store().capability().atomic_batch {
            // Some of the records that have ended went before the one that cannot be in it was met.
            self.table().delete_expired().wait().unwrap();
            self.model.delete_expired(self.now());
        }
        let done = |()| "created".to_owned();
        self.agree(real.map(done), expected.map(done), || format!("creating {index:?}"));
        let definition = self.databases[0].table(TABLE).wait().unwrap().definition().unwrap();
        let names = |table: &keyloom_schema::Table| -> Vec<(String, keyloom_schema::State)> {
            table.indexes().iter().map(|index| (index.name().to_owned(), index.state())).collect()
        };
        assert_eq!(names(&definition), names(self.model.table()), "after creating {index:?}");
    }

    fn drop_index(&mut self, number: usize) {
        let count = self.model.table().indexes().len();
        if count > 0 {
            let name = self.model.table().indexes()[number % count].name().to_owned();
            self.databases[0].drop_index(TABLE, &name).wait().unwrap();
            self.model.drop_index(&name);
        }
    }

    fn delete_expired(&mut self) {
        let ended = self.model.kept().len() - self.model.records(self.now()).count();
        let real = self.table().delete_expired().wait().unwrap();
        assert_eq!(real, ended as u64, "ended records");
        self.model.delete_expired(self.now());
    }

    fn get(&mut self, document: &Document) {
        let key = self.spec.key_of(document);
        let real = self.table().get(key.clone()).wait();
        if !self.model.is_key(&key) {
            assert!(matches!(real, Err(Error::Schema(_))), "{real:?}");
            return;
        }
        let expected = self.model.get(&key, self.now());
        assert_eq!(shown(real.unwrap().as_ref()), shown(expected), "{key:?}");
        for one in self.table().get_many(&[key.clone(), key]).wait().unwrap() {
            assert_eq!(shown(one.as_ref()), shown(expected));
        }
    }

    fn ask(&mut self, query: &Query) {
        let (table, now) = (self.table(), self.now());
        let allowed = query.clone().allow_scan();
        let found = table.query(&allowed).wait().unwrap();
        // The question has brought the schema up to date, if it had to: the plan is the one that was run.
        let plan = table.explain(&allowed).wait().unwrap();
        assert_eq!(found.cursor, None);
        check_answer(&self.model, query, &found.records, now, &plan.to_string());
        check_sorted(&self.model, query, &found.records, &plan, now);
        check_bounds(&self.model, &plan, found.examined);
        match table.query(query).wait() {
            Ok(same) => assert_eq!(format!("{:?}", same.records), format!("{:?}", found.records)),
            Err(Error::Plan(keyloom_plan::Error::Refused(_))) => assert_eq!(plan.class, Class::Scan),
            Err(error) => panic!("{error}"),
        }
        self.ask_prepared(&allowed);
        let count = table.count(&allowed).wait().unwrap();
        assert_eq!(count, found.records.len() as u64, "the count of {}", query.filter);
        self.log.push(answer(&self.model, query, &found.records, now));
    }

    fn page(&mut self, query: &Query, limits: PageLimits, between: &[Planned]) {
        let mut query = query.clone().allow_scan();
        if !between.is_empty() {
            // Whether a record that moves is one of the first few cannot be said.
            query.limit = None;
        }
        let plan = self.table().explain(&query).wait().unwrap();
        let limits = match plan.order {
            Order::Free => limits,
            // What is sorted must be read first.
            Order::Sort(_) => PageLimits { rows: u64::MAX, ..limits },
        };
        let before = self.model.clone();
        let (mut records, mut touched) = (Vec::new(), BTreeSet::new());
        let mut between = between.iter();
        for pages in 0.. {
            assert!(pages < 1_000, "pages without end: {plan}");
            let found = self.table().page(&query, limits).wait().unwrap();
            assert!(found.records.len() as u64 <= limits.records);
            check_page(&plan, found.examined, limits);
            records.extend(found.records);
            let Some(cursor) = found.cursor else { break };
            query.after = Some(cursor.to_string().parse::<Cursor>().unwrap());
            if let Some(planned) = between.next() {
                let write = planned.write(&self.spec);
                let key = match &write.edit {
                    Edit::Put(document) => self.spec.key_of(document),
                    Edit::Update(key, _) | Edit::Delete(key) => key.clone(),
                };
                touched.insert(bytes_of(self.model.table().primary(), &key));
                self.write(std::slice::from_ref(planned));
            }
        }
        // How many pages there are depends on where keys lie; what is written must not.
        between.for_each(|planned| self.write(std::slice::from_ref(planned)));
        query.after = None;
        // Whatever was written meanwhile, the records that nobody touched come once and in order.
        let primary = before.table().primary().clone();
        let key = |record: &Match| bytes_of(&primary, &record.key);
        records.retain(|record| !touched.contains(&key(record)));
        let mut still = before.clone();
        still.retain(|key| !touched.contains(&bytes_of(&primary, key)));
        check_answer(&still, &query, &records, self.now(), &format!("by pages: {plan}"));
    }

    fn verify(&mut self) {
        let verified = self.database().verify(TABLE).wait().unwrap();
        let differences: Vec<String> = verified.differences.iter().map(ToString::to_string).collect();
        assert!(differences.is_empty(), "{differences:#?}");
        assert_eq!(verified.records, self.model.kept().len() as u64);
    }
}

fn reason(error: &Error) -> Refusal {
    match error {
        Error::Unique { .. } => Refusal::Unique,
        Error::Condition { .. } => Refusal::Condition,
        Error::Schema(_) | Error::Exists(_) => Refusal::Value,
        other => panic!("{other}"),
    }
}

/// The bytes of a key, by which records are told apart; none if it has none.
fn bytes_of(primary: &Tree, key: &[Value<'static>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = primary.key(key, &mut bytes);
    bytes
}

/// The records are those that the model finds, each once, in the order that is asked for, as many as are asked for.
fn check_answer(model: &Model, query: &Query, records: &[Match], now: Timestamp, what: &str) {
    let expected = model.find(query, now);
    let primary = model.table().primary();
    let limit = query.limit.map_or(usize::MAX, |limit| limit as usize);
    let say = || {
        let filter = &query.filter;
        format!("{filter}, order {:?}, of {:#?}\n{what}\nanswer {records:#?}", query.order, model.kept())
    };
    assert_eq!(records.len(), expected.len().min(limit), "{}", say());
    let mut seen = BTreeSet::new();
    let of = |bytes: &[u8]| {
        expected.iter().find(|record| bytes_of(primary, &model.key_of(record)) == bytes).copied()
    };
    for (record, ranked) in records.iter().zip(&expected) {
        let bytes = bytes_of(primary, &record.key);
        let Some(own) = of(&bytes) else { panic!("{:?} is not asked for: {}", record.key, say()) };
        assert!(seen.insert(bytes), "{:?} comes twice: {}", record.key, say());
        assert_eq!(shown(Some(&record.document)), shown(Some(&model.shown(query, own))), "{}", say());
        // Among those that the order leaves equal, any may come.
        assert!(
            model.in_order(&query.order, own, ranked).is_eq(),
            "{:?} out of order: {}",
            record.key,
            say()
        );
    }
}

/// Rows that were sorted stand in the order of their primary key where the order leaves them equal.
fn check_sorted(model: &Model, query: &Query, records: &[Match], plan: &Plan, now: Timestamp) {
    if plan.order == Order::Free {
        return;
    }
    let primary = model.table().primary();
    for pair in records.windows(2) {
        let [a, b] = [&pair[0].key, &pair[1].key];
        let [one, other] = [a, b].map(|key| model.get(key, now).unwrap());
        let order = model.in_order(&query.order, one, other);
        assert!(order.then(bytes_of(primary, a).cmp(&bytes_of(primary, b))).is_lt(), "{plan}");
    }
}

/// What was read is as bounded as the plan said.
fn check_bounds(model: &Model, plan: &Plan, examined: Examined) {
    if let Some(bound) = plan.bound {
        assert!(examined.rows <= bound, "{examined:?}: {plan}");
    }
    // Rows that have ended are read over.
    if plan.class != Class::Output || model.table().expiry().is_some() {
        return;
    }
    let more = match &plan.access {
        Access::InTurn(stretches) | Access::Merged(stretches) => stretches.len(),
        Access::Skip { places, .. } => {
            let index = plan.index.as_deref().and_then(|name| model.table().index(name));
            let tree = index.map_or(model.table().primary(), |index| index.tree());
            // One row for each value that is skipped to.
            let firsts: BTreeSet<Vec<u8>> = model.kept().iter().map(|record| first(tree, record)).collect();
            places.len() + firsts.len()
        }
    };
    assert!(examined.rows <= examined.returned + more as u64, "{examined:?}: {plan}");
}

/// A page reads no more than it may, but for one row that shows it, and one that each merged span has ready.
fn check_page(plan: &Plan, examined: Examined, limits: PageLimits) {
    let more = match &plan.access {
        Access::InTurn(_) => 1,
        Access::Merged(stretches) => stretches.len() as u64 + 1,
        // The value that was skipped to, and the first row behind it.
        Access::Skip { .. } => 3,
    };
    assert!(examined.rows <= limits.rows.saturating_add(more), "{examined:?}, {limits:?}: {plan}");
}

/// The bytes of a record's first part in a tree.
fn first(tree: &Tree, record: &Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    let value = record.get(&tree.parts()[0].name).cloned().unwrap_or(Value::Null);
    tree.format().encode(tree.fields(), &[value], &mut bytes).unwrap();
    bytes
}

/// An answer in words that do not depend on the order of what the question leaves equal.
fn answer(model: &Model, query: &Query, records: &[Match], now: Timestamp) -> String {
    let order: Vec<Vec<Option<Value<'static>>>> = records
        .iter()
        .map(|record| {
            let own = model.get(&record.key, now).unwrap();
            query.order.iter().map(|by| folded(own.get(&by.field).cloned())).collect()
        })
        .collect();
    let mut all: Vec<String> = records.iter().map(|record| shown(Some(&record.document))).collect();
    if query.limit.is_some() {
        all.clear();
    }
    all.sort();
    format!("{} {order:?} {all:?}", query.filter)
}

/// A document to the last bit: the sign of a zero counts, and how an instant is held does not.
fn shown(document: Option<&Document>) -> String {
    let held = |value: &Value<'static>| match value {
        Value::Timestamp(instant) => instant.total_nanos().to_string(),
        other => format!("{other:?}"),
    };
    let fields = document.map(|document| document.iter().map(|(name, value)| (name, held(value))));
    format!("{:?}", fields.map(Iterator::collect::<Vec<_>>))
}

/// The value that stands for all that are equal to it.
fn folded(value: Option<Value<'static>>) -> Option<Value<'static>> {
    match value {
        Some(Value::Str(text)) => Some(keyloom_key::casefold::fold(&text).collect::<String>().into()),
        Some(Value::Float(number)) => Some(Value::Float(number + 0.0)),
        Some(Value::Timestamp(instant)) => Some(Value::from(instant.total_nanos().to_string())),
        Some(Value::Null) => None,
        other => other,
    }
}
