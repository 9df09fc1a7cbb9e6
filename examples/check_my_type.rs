//! How do I know that the keys of my own type sort right and never collide?

use keyloom::key::{Fields, Native};
use keyloom_testkit::{hurtful, laws};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A Rust type: any tuple of parts. The laws sort its values and look at every neighbour.
    let mut values = Vec::new();
    for text in ["", "a", "a\0", "a\u{1}", "ab", "é"] {
        for number in [i64::MIN, -1, 0, 1, i64::MAX] {
            values.push((text.to_owned(), number));
        }
    }
    laws::check_type(&values)?;

    // A schema: values built to hurt are made for its fields.
    let fields: Fields = "str:desc:nulls-last,decimal(10,2),tuple(bytes,u64)".parse()?;
    let rows = hurtful::rows(&fields);
    laws::check(&Native, &fields, &rows)?;
    println!(
        "{} values and {} rows: order, injective, prefix-free, round trip, ends",
        values.len(),
        rows.len()
    );
    Ok(())
}
