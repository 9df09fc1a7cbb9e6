//! How do I keep orders and ask for them by user, by date and by status? The composite-key specification's own example.

use keyloom::key::{Timestamp, Uuid};
use keyloom::lmdb::LmdbStore;
use keyloom::schema::{Index, Table};
use keyloom::{Database, Document, Error, Query, Wait, field};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let database = Database::open(LmdbStore::open(folder.path().join("shop.klm"))?).wait()?;

    // [shard:2][user_id:32][order_date:8][order_id:16], byte for byte as the specification has it, and beside it a
    // second key for the other question: what is open, newest first?
    let orders = Table::named("orders")
        .column("user_id", "str")
        .column("order_date", "timestamp(3)")
        .column("order_id", "uuid")
        .column("amount", "decimal(10,2)")
        .column("status", "str")
        .key(["user_id", "order_date", "order_id"])
        .format("composite pad=1:32".parse()?)
        .shards(256)
        .index(Index::on(["status", "order_date desc"]));
    let orders = database.create_table(orders).wait()?;

    let first = Uuid::from_u128(0x550e8400_e29b_41d4_a716_446655440001);
    let noon = 1_737_100_800_000_i64;
    for number in 0..100_u32 {
        let user = if number % 10 == 0 { "USR_12345".to_owned() } else { format!("USR_{number:05}") };
        let id = Uuid::from_u128(first.as_u128() + u128::from(number));
        let order = Document::new()
            .with("user_id", user)
            .with("order_date", Timestamp::from_millis(noon + i64::from(number) * 60_000))
            .with("order_id", id)
            .with("amount", format!("{number}.99"))
            .with("status", if number % 3 == 0 { "open" } else { "paid" })
            .with("gift", number == 7); // not declared, and kept all the same
        orders.put(order).wait()?;
    }

    let key = ["USR_12345".into(), Timestamp::from_millis(noon).into(), first.into()];
    let exact = orders.get(key.clone()).wait()?;
    println!("exact lookup: {:?}", exact.and_then(|order| order.get("amount").cloned()));
    let mut bytes = Vec::new();
    orders.definition()?.primary().key(&key, &mut bytes)?;
    println!("its key, behind the 4 bytes of its tree: {} bytes", bytes.len() - 4);

    let of_user = Query::new().filter(field("user_id").eq("USR_12345"));
    println!("prefix scan: {} orders", orders.query(&of_user.clone().limit(100)).wait()?.records.len());

    let (from, to) = (Timestamp::from_millis(noon), Timestamp::from_millis(noon + 30 * 60_000));
    let in_half_an_hour = of_user.filter(field("order_date").between(from, to));
    let found = orders.query(&in_half_an_hour).wait()?;
    println!("range scan: {} orders, {} rows examined", found.records.len(), found.examined.rows);

    let newest_open = Query::new().filter(field("status").eq("open")).order_by_desc("order_date").limit(5);
    println!("\n{}", orders.explain(&newest_open).wait()?);
    for record in orders.query(&newest_open).wait()?.records {
        println!("  {:?}", record.document);
    }

    // What no key serves is not answered slowly: it is refused, with the index that is missing.
    match orders.query(&Query::new().filter(field("amount").gt(90_i64))).wait() {
        Err(Error::Plan(refused)) => println!("\n{refused}"),
        other => println!("\n{other:?}"),
    }
    Ok(())
}
