//! How do I turn the fields of a record into one sorted key, and back?

use keyloom::key::{DecodeKey, Desc, EncodeKey, Error, KeyStr, Timestamp, Uuid};

/// An order's key: user, newest first, then the order's id.
type OrderKey<'a> = (KeyStr<'a>, Desc<Timestamp>, Uuid);

fn main() -> Result<(), Error> {
    let id = Uuid::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0001);
    let placed: Timestamp = "2025-01-17T08:00:00Z".parse()?;

    let mut key = Vec::new();
    ("USR_12345", Desc(placed), id).encode_key(&mut key)?;
    println!("{} bytes: {key:02x?}", key.len());

    let (user, Desc(when), order) = <OrderKey<'_>>::decode_key(&key)?;
    println!("user {} ordered {order} at {when}", user.as_str()?);
    assert_eq!((user.as_str()?, when, order), ("USR_12345", placed, id));
    Ok(())
}
