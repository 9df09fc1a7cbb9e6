use keyloom_derive::Record;

#[derive(Record)]
#[record(crate = "keyloom_schema", table = "orders", key(id), index(status))]
struct Order {
    id: u64,
    status: String,
}

fn main() {}
