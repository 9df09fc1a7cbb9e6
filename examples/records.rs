//! How do I keep my own structs in a file?

use keyloom::key::{Decimal, Timestamp, Uuid};
use keyloom::lmdb::LmdbStore;
use keyloom::{Database, Query, Record, Wait, field};

#[derive(Debug, Clone, PartialEq, Record)]
#[record(table = "orders", key(user_id, order_date desc, order_id), shards = 16)]
#[record(index(status, order_date desc))]
#[record(index(tags))]
struct Order {
    user_id: String,
    order_date: Timestamp,
    order_id: Uuid,
    #[record(kind = "decimal(10,2)")]
    amount: Decimal,
    status: Option<String>,
    tags: Vec<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let database = Database::open(LmdbStore::open(folder.path().join("shop.klm"))?).wait()?;
    let orders = database.open_records::<Order>().wait()?;
    for number in 0..10_u8 {
        let order = Order {
            user_id: format!("U{}", number % 3),
            order_date: Timestamp::from_millis(1_737_100_800_000 + i64::from(number) * 1_000),
            order_id: Uuid::from_u128(number.into()),
            amount: "19.90".parse()?,
            status: (number % 2 == 0).then(|| "open".to_owned()),
            tags: if number == 4 { vec!["gift".to_owned(), "late".to_owned()] } else { Vec::new() },
        };
        orders.put(&order).wait()?;
    }
    let newest = Query::new().filter(field("user_id").eq("U1")).limit(1);
    println!("the newest of U1: {:?}", orders.query(&newest).wait()?);
    let open = Query::new().filter(field("status").eq("open"));
    println!("open: {}", orders.table().count(&open).wait()?);
    let gifts = Query::new().filter(field("tags").eq("gift"));
    println!(
        "gifts: {:?}",
        orders.query(&gifts).wait()?.iter().map(|order| order.order_id).collect::<Vec<_>>()
    );
    Ok(())
}
