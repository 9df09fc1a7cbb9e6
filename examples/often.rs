//! How do I ask the same question, or write the same kind of record, very often?

use std::ops::ControlFlow;

use keyloom::lmdb::LmdbStore;
use keyloom::schema::Table;
use keyloom::{Database, Given, Query, Wait};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let database = Database::open(LmdbStore::open(folder.path().join("readings.klm"))?).wait()?;
    let readings = Table::named("readings")
        .column("device", "str")
        .column("at", "i64")
        .column("celsius", "f64")
        .key(["device", "at"]);
    let readings = database.open_table(readings).wait()?;

    // The names of the columns are looked for once, and values are borrowed.
    let writer = readings.writer(["device", "at", "celsius"])?;
    for at in 0..1_000_i64 {
        let device = if at % 2 == 0 { "attic" } else { "cellar" };
        let celsius = 18.0 + f64::from(i16::try_from(at % 7)?);
        writer.insert([device.into(), at.into(), celsius.into()]).wait()?;
    }

    // The plan is made once; only the two bounds of its span are made of the values.
    let latest = Query::new().order_by_desc("at").limit(3);
    let latest = readings.prepare(latest, [Given::equal("device"), Given::less("at")]);
    for (device, before) in [("attic", 500_i64), ("cellar", 500), ("cellar", 1_000)] {
        let mut warmest = f64::MIN;
        let examined = latest
            .each([device.into(), before.into()], |row| {
                if let keyloom::key::Value::Float(celsius) = row.get("celsius")? {
                    warmest = warmest.max(celsius);
                }
                Ok(ControlFlow::Continue(()))
            })
            .wait()?;
        println!("{device} before {before}: at most {warmest} °C, {} rows read", examined.rows);
    }
    // With its values it is a query like any other.
    println!("{}", readings.explain(&latest.bind(["attic".into(), 500_i64.into()])?).wait()?);
    Ok(())
}
