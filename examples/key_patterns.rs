//! How do I design keys? KeystoneDB's five patterns, first with its raw byte keys and then with typed ones.

use keyloom::key::keystone::Key;
use keyloom::key::{Timestamp, Value};
use keyloom::lmdb::LmdbStore;
use keyloom::schema::Table;
use keyloom::{Database, Document, ItemQuery, Items, Query, Wait, field};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let database = Database::open(LmdbStore::open(folder.path().join("patterns.klm"))?).wait()?;
    let items = Items::open(&database, "items").wait()?;
    let item = |name: &'static str| Document::new().with("name", name);

    // 1. Hierarchical keys: a name within a name.
    for key in ["tenant#acme:user#123", "tenant#acme:order#789", "tenant#beta:user#456"] {
        items.put(&Key::new(key.as_bytes()), item("anything")).wait()?;
    }
    let acme = items.get(&Key::new(b"tenant#acme:user#123")).wait()?;
    println!("1. hierarchy: {acme:?}");

    // 2. Timestamps as sort keys: a range of time is a range of keys.
    for hour in 10..15 {
        let time = format!("2024-01-15T{hour}:00:00Z");
        items.put(&Key::with_sk(b"sensor#temperature", time.as_bytes()), item("reading")).wait()?;
    }
    let readings = ItemQuery::new(b"sensor#temperature").sk_between(b"2024-01-15T11", b"2024-01-15T13");
    println!("2. time: {} readings from 11 to 13", items.query(readings).wait()?.len());

    // 3. Composite sort keys: several attributes, most significant first.
    for (status, time, order) in
        [("pending", "10:00", "o1"), ("pending", "11:00", "o2"), ("sent", "09:00", "o3")]
    {
        let sort = format!("{status}#2024-01-15T{time}:00Z#{order}");
        items.put(&Key::with_sk(b"order#queue", sort.as_bytes()), item("order")).wait()?;
    }
    let pending = ItemQuery::new(b"order#queue").sk_begins_with(b"pending#");
    println!("3. composite: {} orders are pending", items.query(pending).wait()?.len());

    // 4. Versions: the newest is the last.
    for version in ["v1", "v2", "v3"] {
        items.put(&Key::with_sk(b"doc#readme", version.as_bytes()), item(version)).wait()?;
    }
    let latest = items.query(ItemQuery::new(b"doc#readme").forward(false).limit(1)).wait()?;
    println!("4. versions: the latest is {:?}", latest.first().and_then(|(_, item)| item.get("name")));

    // 5. Aggregates beside what they sum up, in the same partition and so in the same read.
    for sort in ["2024-01-15#user#123", "2024-01-15#user#456", "daily#2024-01-15", "monthly#2024-01"] {
        items.put(&Key::with_sk(b"stats#page:/home", sort.as_bytes()), item("views")).wait()?;
    }
    let daily = ItemQuery::new(b"stats#page:/home").sk_begins_with(b"daily#");
    println!("5. aggregates: {} day is summed up", items.query(daily).wait()?.len());

    // The same with typed keys: no numbers padded by hand, no times turned round, no delimiters to keep out of the data.
    let tasks = Table::named("tasks")
        .column("queue", "str")
        .column("priority", "i64")
        .column("created", "timestamp")
        .key(["queue", "priority desc", "created"])
        .stripes(256);
    let tasks = database.create_table(tasks).wait()?;
    for (priority, second) in [(1_i64, 30), (10, 20), (10, 10), (2, 0)] {
        let created = Timestamp::from_millis(second * 1_000);
        let task = Document::new().with("queue", "mail").with("priority", priority).with("created", created);
        tasks.put(task).wait()?;
    }
    let next = Query::new().filter(field("queue").eq("mail")).limit(2);
    let next: Vec<Vec<Value<'static>>> =
        tasks.query(&next).wait()?.records.into_iter().map(|task| task.key).collect();
    println!("typed: the next tasks are {next:?}");
    Ok(())
}
