use keyloom_derive::Record;

#[derive(Record)]
struct Order {
    id: u64,
}

fn main() {}
