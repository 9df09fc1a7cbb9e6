//! A schema that is read while another client changes it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use keyloom_cassandra::simulation::{Asked, Local, Observed};
use keyloom_cassandra::{ClusterStore, Order, Settings};
use keyloom_schema::Table as Definition;
use keyloom_store::Wait;
use keyloom_table::Database;

use super::orders;

/// What is done once, between two statements.
type Between = Box<dyn FnOnce() + Send>;

/// A cluster reads which definitions there may be, and then which of them count, together with the version. One that
/// came in between would be missing though the version says that it is there, for as long as the schema stays so.
#[test]
fn a_definition_that_comes_while_the_schema_is_read_is_not_missed() {
    let between = Arc::new(Mutex::new(None::<Between>));
    let told = {
        let (between, last) = (Arc::clone(&between), Mutex::new(None));
        move |asked: Asked| {
            let before = last.lock().unwrap().replace(asked);
            if (before, asked) == (Some(Asked::Rows), Asked::Cell) {
                let act = between.lock().unwrap().take();
                act.into_iter().for_each(|act| act());
            }
        }
    };
    let settings = Settings { lease: Duration::from_secs(1), ..Settings::default() };
    let store = ClusterStore::new(Order::new(Arc::new(Observed::new(Local::default(), told)), settings));
    let [one, other] = [store.clone(), store].map(|store| Database::open(store).wait().unwrap());
    one.create_table(orders()).wait().unwrap();
    other.refresh().wait().unwrap();
    *between.lock().unwrap() = Some(Box::new(move || {
        let more = Definition::named("more").column("id", "i64").key(["id"]);
        other.create_table(more).wait().unwrap();
    }));
    one.refresh().wait().unwrap();
    assert!(between.lock().unwrap().is_none(), "nothing came in between");
    assert_eq!(one.tables(), ["more", "orders"]);
}
