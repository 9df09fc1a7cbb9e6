//! Two tables with every kind of index, changed in steps that are known by their number: each step is one commit, so
//! the sequence of a file says which steps are in it, and what it must hold.

#![allow(dead_code, reason = "each test target uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use keyloom_key::Value;
use keyloom_lmdb::{LmdbStore, LogOptions, Options};
use keyloom_schema::{Document, Index, Placement, Table as Definition, TableBuilder, field};
use keyloom_store::{Durability, Wait};
use keyloom_table::{Change, Database, Error, Match, Query, Update};

pub(crate) type Shop = Database<LmdbStore>;

/// How many commits create the tables.
const CREATED: u64 = 2;

const STATUSES: [&str; 3] = ["open", "paid", "sent"];

pub(crate) fn orders() -> TableBuilder {
    Definition::named("orders")
        .column("id", "i64")
        .column("amount", "i64")
        .nullable("status", "str")
        .nullable("email", "str")
        .nullable("tags", "list(str)")
        .key(["id"])
        .index(Index::on(["email"]).unique())
        .index(Index::on(["tags"]))
        .index(Index::on(["status", "amount desc"]).covering(["email"]))
        .index(Index::on(["amount desc"]).named("open_orders").only(field("status").eq("open")))
        .index(Index::on(["amount"]).named("spread").placement("shards 4".parse::<Placement>().unwrap()))
}

fn events() -> TableBuilder {
    Definition::named("events")
        .column("kind", "str")
        .column("number", "i64")
        .column("step", "i64")
        .key(["kind", "number"])
        .shards(8)
        .index(Index::on(["step"]))
}

pub(crate) fn store(path: &Path, durability: Durability) -> LmdbStore {
    LmdbStore::open_with(path, Options { durability, ..Options::default() }).unwrap()
}

/// A file whose commits survive the process when they return, and go from a narrow log into the file every few steps.
pub(crate) fn written(path: &Path) -> LmdbStore {
    let log = LogOptions { entries: 60, bytes: 1 << 20, interval: std::time::Duration::from_millis(3) };
    let options = Options { durability: Durability::Written, log: Some(log), ..Options::default() };
    LmdbStore::open_with(path, options).unwrap()
}

/// Opens the file, and creates its tables if they are not there.
pub(crate) fn open(path: &Path, durability: Durability) -> Shop {
    open_in(store(path, durability))
}

/// The same in a store that is open.
pub(crate) fn open_in(store: LmdbStore) -> Shop {
    let shop = Database::open(store).wait().unwrap();
    shop.open_table(orders()).wait().unwrap();
    shop.open_table(events()).wait().unwrap();
    shop
}

/// How many steps are in the file.
pub(crate) fn steps(shop: &Shop) -> Result<u64, Error> {
    Ok(shop.sequence().wait()?.0.saturating_sub(CREATED))
}

/// What the first steps make.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) steps: u64,
    orders: BTreeMap<i64, Document>,
    events: BTreeMap<(String, i64), Document>,
}

/// A number that looks random.
fn mixed(number: u64, end: u64) -> i64 {
    let mixed = (number ^ 0x9E37_79B9).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    i64::try_from((mixed ^ mixed >> 32) % end).unwrap()
}

impl Model {
    pub(crate) fn of(steps: u64) -> Self {
        let mut model = Self::default();
        while model.steps < steps {
            model.step();
        }
        model
    }

    /// Goes one step on; returns the changes that do the same to the tables, as one commit.
    pub(crate) fn step(&mut self) -> Vec<(&'static str, Change)> {
        self.steps += 1;
        let step = self.steps;
        let id = mixed(step, 60);
        let status = STATUSES[usize::try_from(step % 3).unwrap()];
        let mut changes = match step % 4 {
            0 => {
                self.orders.remove(&id);
                vec![("orders", Change::delete([id]))]
            }
            1 => {
                let tags = Value::list([format!("t{}", step % 5), "all".to_owned()]);
                if let Some(order) = self.orders.get_mut(&id) {
                    order.set("status", status);
                    order.set("tags", tags.clone());
                }
                vec![("orders", Change::update([id], Update::new().set("status", status).set("tags", tags)))]
            }
            _ => self.put(id, status),
        };
        let (kind, number) = (format!("k{}", step % 3), mixed(step * 7, 20));
        let event = Document::new().with("kind", kind.clone()).with("number", number);
        let event = event.with("step", i64::try_from(step).unwrap());
        self.events.insert((kind, number), event.clone());
        changes.push(("events", Change::put(event)));
        changes
    }

    /// Puts an order, which takes the email of another that has it.
    fn put(&mut self, id: i64, status: &'static str) -> Vec<(&'static str, Change)> {
        let step = self.steps;
        let email = format!("e{}@example.org", mixed(step * 3, 40));
        let mut changes = Vec::new();
        for (other, order) in &mut self.orders {
            if *other != id && order.get("email") == Some(&email.clone().into()) {
                order.remove("email");
                changes.push(("orders", Change::update([*other], Update::new().remove("email"))));
            }
        }
        // Some need pages of their own.
        let note = if step.is_multiple_of(11) { "long ".repeat(1_200) } else { format!("step {step}") };
        let order = Document::new()
            .with("id", id)
            .with("amount", mixed(step * 5, 9))
            .with("status", status)
            .with("email", email)
            .with("note", note);
        self.orders.insert(id, order.clone());
        changes.push(("orders", Change::put(order)));
        changes
    }

    /// What the tables say otherwise, by the primary key or by an index.
    pub(crate) fn difference(&self, shop: &Shop) -> Result<Option<String>, Error> {
        let orders = shop.table("orders").wait()?;
        let differs = |query: Query, expected: BTreeSet<String>| -> Result<Option<String>, Error> {
            let found: BTreeSet<String> = orders.query(&query).wait()?.records.iter().map(text).collect();
            let text = format!("{query:?}: found {found:?} and not {expected:?}");
            Ok((found != expected).then_some(text))
        };
        let like = |holds: &dyn Fn(&Document) -> bool| -> BTreeSet<String> {
            self.orders.iter().filter(|(_, order)| holds(order)).map(line).collect()
        };
        let mut questions = vec![(Query::new().allow_scan(), like(&|_| true))];
        for status in STATUSES {
            let query = Query::new().filter(field("status").eq(status)).order_by_desc("amount");
            questions.push((query, like(&|order| order.get("status") == Some(&status.into()))));
        }
        for amount in 0..9_i64 {
            let query = Query::new().filter(field("amount").eq(amount));
            questions.push((query, like(&|order| order.get("amount") == Some(&amount.into()))));
        }
        for number in 0..40 {
            let email = format!("e{number}@example.org");
            let query = Query::new().filter(field("email").eq(email.clone()));
            questions.push((query, like(&|order| order.get("email") == Some(&email.clone().into()))));
        }
        let tagged = |order: &Document| matches!(order.get("tags"), Some(Value::List(_)));
        questions.push((Query::new().filter(field("tags").eq("all")), like(&tagged)));
        for (query, expected) in questions {
            if let Some(difference) = differs(query, expected)? {
                return Ok(Some(difference));
            }
        }
        for (id, order) in &self.orders {
            if orders.get([*id]).wait()?.as_ref() != Some(order) {
                return Ok(Some(format!("order {id} is not {order:?}")));
            }
        }
        let events = shop.table("events").wait()?;
        let found = events.query(&Query::new().filter(field("step").ge(0_i64)).order_by("step")).wait()?;
        let found: BTreeSet<String> = found.records.iter().map(text).collect();
        let expected: BTreeSet<String> = self.events.values().map(|event| format!("{event:?}")).collect();
        Ok((found != expected).then(|| format!("events: found {found:?} and not {expected:?}")))
    }

    /// Sees that the file has exactly this, and that every index says the same.
    pub(crate) fn check(&self, shop: &Shop) {
        assert_eq!(self.difference(shop).unwrap(), None, "after {} steps", self.steps);
        assert_eq!(verify(shop).unwrap(), Vec::<String>::new(), "after {} steps", self.steps);
    }
}

fn line((_, order): (&i64, &Document)) -> String {
    format!("{order:?}")
}

fn text(found: &Match) -> String {
    format!("{:?}", found.document)
}

/// What the indexes say otherwise than the records.
pub(crate) fn verify(shop: &Shop) -> Result<Vec<String>, Error> {
    let mut differences = Vec::new();
    for table in ["orders", "events"] {
        let verified = shop.verify(table).wait()?;
        differences.extend(verified.differences.iter().map(ToString::to_string));
    }
    Ok(differences)
}
