//! How do I read and write the keys of LexKey, RowKey, KeystoneDB and the composite-key specification?

use keyloom::key::composite::Composite;
use keyloom::key::keystone::Keystone;
use keyloom::key::lexkey::LexKey;
use keyloom::key::placement::{Hash, Shards};
use keyloom::key::rowkey::RowKey;
use keyloom::key::{Error, Fields, KeyFormat, Timestamp, Uuid, Value};

/// Writes a key, shows it with what its format promises, and reads it back.
fn show(format: &dyn KeyFormat, fields: &str, values: &[Value<'_>]) -> Result<(), Error> {
    let fields: Fields = fields.parse()?;
    let mut key = Vec::new();
    format.encode(&fields, values, &mut key)?;
    println!("{:<10} {key:02x?}\n           {:?}", format.name(), format.promises(&fields)?);
    assert_eq!(format.decode(&fields, &key)?, values);
    Ok(())
}

fn main() -> Result<(), Error> {
    show(&LexKey::canonical(), "str,i64,bool", &["foo".into(), 42_i64.into(), true.into()])?;
    show(&RowKey::exact(), "str,i64,bytes", &["building".into(), 123_i64.into(), vec![4, 0, 5].into()])?;
    show(&Keystone, "str,str", &["user#123".into(), "post#001".into()])?;

    let mut composite = Composite::default().pad(1, 32);
    if let Some(shards) = Shards::new(256, Hash::Md5) {
        composite = composite.shards(shards);
    }
    let id = Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0001);
    let order = ["USR_12345".into(), Timestamp::from_millis(1_737_100_800_000).into(), id.into()];
    show(&composite, "str,timestamp(3),uuid", &order)
}
