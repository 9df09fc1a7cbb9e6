use keyloom_derive::Record;

#[derive(Record)]
#[record(crate = "keyloom_schema", table = "orders", key(id descending))]
struct Order {
    id: u64,
}

fn main() {}
