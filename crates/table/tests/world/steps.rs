//! What is done to a table, and asked of it in between.

use keyloom_key::Value;
use keyloom_schema::Document;
use keyloom_table::{Change, PageLimits, Update, When};
use keyloom_testkit::model::{Edit, Guard, Step as FieldStep, Write};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::ask::Question;
use super::{IndexSpec, TableSpec, ask, documents, field_of, index_specs};

/// A write whose key is that of a document, whatever the table's key is.
#[derive(Debug, Clone)]
pub struct Planned {
    document: Document,
    what: What,
    guard: Option<Guard>,
}

#[derive(Debug, Clone)]
enum What {
    Put,
    Update(Vec<(String, FieldStep)>),
    Delete,
}

impl Planned {
    /// The write to this table.
    pub fn write(&self, table: &TableSpec) -> Write {
        let key = table.key_of(&self.document);
        let edit = match &self.what {
            What::Put => Edit::Put(self.document.clone()),
            What::Update(steps) => Edit::Update(key, steps.clone()),
            What::Delete => Edit::Delete(key),
        };
        Write { edit, guard: self.guard.clone() }
    }
}

/// One thing that happens.
#[derive(Debug, Clone)]
pub enum Step {
    /// Writes that are made as one.
    Write(Vec<Planned>),
    /// Writes in a transaction, then a question in it; it may be given up.
    Transact {
        writes: Vec<Planned>,
        query: Question,
        commit: bool,
    },
    CreateIndex(IndexSpec),
    /// The index of this number, counted around.
    DropIndex(usize),
    Analyze,
    DeleteExpired,
    /// The clock goes on by so many seconds.
    Wait(i64),
    Get(Document),
    Ask(Question),
    /// A question by pages, with writes in between.
    Page {
        query: Question,
        limits: PageLimits,
        between: Vec<Planned>,
    },
}

/// A write as the table knows it.
pub fn change(write: &Write) -> Change {
    let change = match &write.edit {
        Edit::Put(document) => Change::put(document.clone()),
        Edit::Update(key, steps) => Change::update(key.clone(), update(steps)),
        Edit::Delete(key) => Change::delete(key.clone()),
    };
    match &write.guard {
        None => change,
        Some(Guard::Exists) => change.when(When::Exists),
        Some(Guard::Absent) => change.when(When::Absent),
        Some(Guard::Is(predicate)) => change.when(When::Is(predicate.clone())),
    }
}

pub fn update(steps: &[(String, FieldStep)]) -> Update {
    steps.iter().fold(Update::new(), |update, (name, step)| match step {
        FieldStep::Set(value) => update.set(name, value.clone()),
        FieldStep::Remove => update.remove(name),
        FieldStep::Add(amount) => update.add(name, *amount),
    })
}

fn field_steps() -> impl Strategy<Value = (String, FieldStep)> {
    const NAMES: [&str; 12] = ["s", "b", "c", "d", "x", "n", "tags", "words", "ends", "flag", "extra", "a"];
    let set = select(&NAMES[..]).prop_flat_map(|name| {
        field_of(name).prop_map(move |value| {
            let step = value.map_or(FieldStep::Remove, FieldStep::Set);
            (name.to_owned(), step)
        })
    });
    let remove = select(&NAMES[..]).prop_map(|name| (name.to_owned(), FieldStep::Remove));
    let add = (select(&["b", "c", "extra", "id"][..]), -2..3_i64)
        .prop_map(|(name, amount)| (name.to_owned(), FieldStep::Add(amount)));
    prop_oneof![6 => set, 1 => remove, 3 => add]
}

fn guards() -> impl Strategy<Value = Option<Guard>> {
    prop_oneof![
        6 => Just(None),
        1 => Just(Some(Guard::Exists)),
        2 => Just(Some(Guard::Absent)),
        2 => ask::predicates().prop_map(|predicate| Some(Guard::Is(predicate))),
    ]
}

fn writes() -> impl Strategy<Value = Planned> {
    let what = prop_oneof![
        6 => Just(What::Put),
        3 => vec(field_steps(), 0..4).prop_map(What::Update),
        2 => Just(What::Delete),
    ];
    let documents = prop_oneof![
        30 => documents(),
        // Wrong ones: a column that must be there is not, or is of another type.
        1 => documents().prop_map(|mut document| {
            document.remove("c");
            document
        }),
        1 => documents().prop_map(|document| document.with("b", Value::from("no number"))),
    ];
    (documents, what, guards()).prop_map(|(document, what, guard)| Planned { document, what, guard })
}

fn limits() -> impl Strategy<Value = PageLimits> {
    (1..4_u64, prop_oneof![Just(u64::MAX), 1..4_u64])
        .prop_map(|(records, rows)| PageLimits { rows, ..PageLimits::records(records) })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        14 => writes().prop_map(|write| Step::Write(vec![write])),
        3 => vec(writes(), 0..5).prop_map(Step::Write),
        2 => (vec(writes(), 0..4), ask::questions(), any::<bool>())
            .prop_map(|(writes, query, commit)| Step::Transact { writes, query, commit }),
        1 => index_specs().prop_map(Step::CreateIndex),
        1 => (0..8_usize).prop_map(Step::DropIndex),
        2 => Just(Step::Analyze),
        1 => Just(Step::DeleteExpired),
        1 => (0..4_i64).prop_map(Step::Wait),
        1 => documents().prop_map(Step::Get),
        12 => ask::questions().prop_map(Step::Ask),
        3 => (ask::questions(), limits(), prop_oneof![1 => Just(Vec::new()), 1 => vec(writes(), 0..6)])
            .prop_map(|(query, limits, between)| Step::Page { query, limits, between }),
    ]
}

/// A history without values that some formats refuse: what one does not keep, another would.
#[allow(dead_code, reason = "not every test asks")]
pub fn tame_histories(length: usize) -> impl Strategy<Value = Vec<Step>> {
    histories(length).prop_map(|mut history| {
        for step in &mut history {
            match step {
                Step::Write(writes) | Step::Transact { writes, .. } | Step::Page { between: writes, .. } => {
                    writes.iter_mut().for_each(tame);
                }
                Step::Get(document) => tame_document(document),
                _ => {}
            }
        }
        history
    })
}

fn tame(write: &mut Planned) {
    tame_document(&mut write.document);
    if let What::Update(steps) = &mut write.what {
        steps.retain(|(name, _)| name != "a");
    }
}

fn tame_document(document: &mut Document) {
    if document.get("a").is_some_and(|text| ["", "a\0b"].map(Value::from).contains(text)) {
        document.set("a", "c");
    }
}

/// The same history for stores that commit one record at a time: what would be one commit is several, and what is done in
/// a transaction is asked outside of it.
#[allow(dead_code, reason = "not every test asks")]
pub fn apart(history: &[Step]) -> Vec<Step> {
    let one = |write: &Planned| Step::Write(vec![write.clone()]);
    let step = |step: &Step| match step {
        Step::Write(writes) => writes.iter().map(one).collect(),
        Step::Transact { writes, query, commit } => {
            let writes = writes.iter().filter(|_| *commit).map(one);
            writes.chain([Step::Ask(query.clone())]).collect()
        }
        other => vec![other.clone()],
    };
    history.iter().flat_map(step).collect()
}

/// A history: first some records, then anything.
pub fn histories(length: usize) -> impl Strategy<Value = Vec<Step>> {
    let put = documents()
        .prop_map(|document| Step::Write(vec![Planned { document, what: What::Put, guard: None }]));
    (vec(put, 0..20), vec(step(), 1..length)).prop_map(|(first, then)| [first, then].concat())
}
