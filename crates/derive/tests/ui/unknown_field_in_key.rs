use keyloom_derive::Record;

#[derive(Record)]
#[record(crate = "keyloom_schema", table = "orders", key(user, id))]
struct Order {
    user_id: String,
    id: u64,
}

fn main() {}
