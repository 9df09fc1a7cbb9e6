use keyloom_derive::Record;

#[derive(Record)]
#[record(crate = "keyloom_schema", table = "orders", key(id))]
enum Order {
    One,
}

fn main() {}
