//! How do I read one user's orders of one month out of a sorted store, and nothing else?

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};

use keyloom::key::{Error, Fields, KeyFormat, Native, Timestamp, Value};

fn main() -> Result<(), Error> {
    let fields: Fields = "str,timestamp".parse()?;
    let mut store = BTreeMap::new();
    for user in ["U1", "U10", "U2"] {
        for day in 1..=28 {
            for month in 1..=3 {
                let placed: Timestamp = format!("2025-{month:02}-{day:02}T12:00:00Z").parse()?;
                let mut key = Vec::new();
                Native.encode(&fields, &[user.into(), placed.into()], &mut key)?;
                store.insert(key, format!("{user} {placed}"));
            }
        }
    }

    let all = Native.prefix(&fields, &["U1".into()])?;
    let (from, to): (Timestamp, Timestamp) =
        ("2025-02-01T00:00:00Z".parse()?, "2025-03-01T00:00:00Z".parse()?);
    let (from, to) = (Value::from(from), Value::from(to));
    let february = Native.range(&fields, &["U1".into()], Included(&from), Excluded(&to))?;

    let count = |span: &keyloom::key::Span| store.range::<[u8], _>(span.bounds()).count();
    println!("{} of {} orders are U1's, {} of February", count(&all), store.len(), count(&february));
    assert_eq!((count(&all), count(&february)), (84, 28));
    Ok(())
}
