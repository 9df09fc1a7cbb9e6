use keyloom_derive::Record;

#[derive(Record)]
#[record(crate = "keyloom_schema", table = "orders", key(id))]
struct Order {
    id: u64,
    #[record(rename = "id")]
    number: u64,
}

fn main() {}
