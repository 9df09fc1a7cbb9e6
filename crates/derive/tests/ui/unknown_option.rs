use keyloom_derive::Record;

#[derive(Record)]
#[record(crate = "keyloom_schema", table = "orders", key(id), shard = 16)]
struct Order {
    id: u64,
}

fn main() {}
