//! Every key that lies in a store is told: whose it is, where it lies, and which bytes are which field.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not see as such"
)]

use std::ops::ControlFlow;

use keyloom_key::keystone::Key;
use keyloom_key::{Span, Value};
use keyloom_schema::{Document, Index, Table as Definition};
use keyloom_store::{Batch, Direction, Limits, MemoryStore, Read, Store, Wait};
use keyloom_table::{Database, Items, KeyKind, KeyMeaning, Owner};

fn database() -> Database<MemoryStore> {
    Database::open(MemoryStore::new()).wait().unwrap()
}

/// Every key of the store.
fn keys(database: &Database<MemoryStore>) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let look = |key: &[u8], _: &[u8]| {
        keys.push(key.to_vec());
        ControlFlow::Continue(())
    };
    let everything = Span { start: Vec::new(), end: None };
    database.store().scan(&everything, Direction::Forward, Limits::default(), look).wait().unwrap();
    keys
}

/// What a key is, and each of its pieces as `name=value`. The pieces are side by side and leave nothing out.
fn told(database: &Database<MemoryStore>, key: &[u8]) -> (KeyMeaning, String) {
    let meaning = database.inspect_key(key).wait().unwrap();
    let mut at = 0;
    for piece in &meaning.pieces {
        assert_eq!(piece.bytes.start, at, "{meaning:?}");
        at = piece.bytes.end;
    }
    assert_eq!(at, key.len(), "{meaning:?}");
    let pieces = meaning.pieces.iter().map(|piece| match &piece.value {
        None => piece.name.clone(),
        Some(Value::Str(text)) => format!("{}={text}", piece.name),
        Some(Value::Int(number)) => format!("{}={number}", piece.name),
        Some(Value::Uint(number)) => format!("{}={number}", piece.name),
        Some(Value::Null) => format!("{}=null", piece.name),
        Some(Value::Bytes(bytes)) => format!("{}={}", piece.name, String::from_utf8_lossy(bytes)),
        Some(other) => format!("{}={other:?}", piece.name),
    });
    let text = pieces.collect::<Vec<_>>().join(" ");
    (meaning, text)
}

#[test]
fn every_kind_of_key_is_told() {
    let database = database();
    let users = Definition::named("u")
        .column("id", "i64")
        .nullable("mail", "str")
        .nullable("tags", "list(str)")
        .key(["id"])
        .shards(16)
        .index(Index::on(["mail"]).unique())
        .index(Index::on(["tags"]));
    let users = database.create_table(users).wait().unwrap();
    let tags = Value::List(vec!["b".into()]);
    users.put(Document::new().with("id", 1_i64).with("mail", "m").with("tags", tags)).wait().unwrap();
    users.put(Document::new().with("id", 2_i64)).wait().unwrap();
    database.open_index("i", "i64", "str").wait().unwrap().add(7_i64, "x").wait().unwrap();
    let items = Items::open(&database, "things").wait().unwrap();
    items.put(&Key::with_sk(&b"user#1"[..], &b"order"[..]), Document::new()).wait().unwrap();
    items.put(&Key::new(&b"user#1"[..]), Document::new()).wait().unwrap();
    database.analyze("u").wait().unwrap();
    let by_hand = Batch::new()
        .put(b"\0\0\0\0b\0\0\0\x02", vec![])
        .put(b"\0\0\0\0l\0\0\0\0\0\0\0\x07", vec![])
        .put(b"\0\0\0\0s\0\0\0\x63", vec![])
        .put(b"\0\0\0\x63left", vec![]);
    database.store().commit(by_hand).wait().unwrap();

    let table = |name: &str| Owner::Table(name.to_owned());
    let index = |name: &str| Owner::Index { table: "u".to_owned(), index: name.to_owned() };
    let plain = || Owner::PlainIndex("i".to_owned());
    let row = |tree: u32, owner: Owner| KeyKind::Row { tree, owner };
    let statistics = |tree: u32, owner: Owner| KeyKind::Statistics { tree, owner: Some(owner) };
    let expected = [
        (KeyKind::Filling { tree: 2, owner: Some(index("u_by_mail")) }, "tree=0 kind=b of tree=2"),
        (KeyKind::Definition(plain()), "tree=0 kind=i name=i"),
        (KeyKind::Load, "tree=0 kind=l load=7"),
        (statistics(1, table("u")), "tree=0 kind=s of tree=1"),
        (statistics(2, index("u_by_mail")), "tree=0 kind=s of tree=2"),
        (statistics(3, index("u_by_tags")), "tree=0 kind=s of tree=3"),
        (KeyKind::Statistics { tree: 99, owner: None }, "tree=0 kind=s of tree=99"),
        (KeyKind::Definition(table("things")), "tree=0 kind=t name=things"),
        (KeyKind::Definition(table("u")), "tree=0 kind=t name=u"),
        (KeyKind::Version, "tree=0 kind=v"),
        (row(1, table("u")), "tree=1 shard=9 id=1"),
        (row(1, table("u")), "tree=1 shard=12 id=2"),
        (row(2, index("u_by_mail")), "tree=2 mail=null id=2"),
        // An entry of a unique index ends with what is unique.
        (row(2, index("u_by_mail")), "tree=2 mail=m"),
        (row(3, index("u_by_tags")), "tree=3 tags=b id=1"),
        (row(4, plain()), "tree=4 key=7 value=x"),
        (row(5, table("things")), "tree=5 stripe=154 pk=user#1 sk=null"),
        (row(5, table("things")), "tree=5 stripe=154 pk=user#1 sk=order"),
        (KeyKind::Leftover { tree: 99 }, "tree=99 rest"),
    ];
    let keys = keys(&database);
    assert_eq!(keys.len(), expected.len());
    for (key, (kind, pieces)) in keys.iter().zip(expected) {
        let (meaning, text) = told(&database, key);
        assert_eq!((&meaning.kind, text.as_str()), (&kind, pieces));
        assert_eq!(meaning.whole, !matches!(kind, KeyKind::Leftover { .. }), "{pieces}");
    }
}

#[test]
fn fields_are_found_in_every_format() {
    for format in [
        "native",
        "lexkey",
        "lexkey-legacy",
        "rowkey",
        "keystone",
        "composite",
        "composite escape delimiter=0001",
    ] {
        for shards in [0, 8] {
            let database = database();
            let mut table = Definition::named("t").column("a", "str").column("b", "str").format_named(format);
            if shards > 0 {
                table = table.shards(shards);
            }
            let table = database.create_table(table.key(["a", "b"])).wait().unwrap();
            for (a, b) in [("x", "yy"), ("xx", "y")] {
                table.put(Document::new().with("a", a).with("b", b)).wait().unwrap();
            }
            let keys: Vec<_> =
                keys(&database).into_iter().filter(|key| key.starts_with(&[0, 0, 0, 1])).collect();
            assert_eq!(keys.len(), 2);
            for key in keys {
                let (meaning, text) = told(&database, &key);
                assert!(meaning.whole, "{format}: {text}");
                assert!(text.contains("a=x b=yy") || text.contains("a=xx b=y"), "{format}: {text}");
                assert_eq!(text.contains("shard="), shards > 0, "{format}: {text}");
            }
        }
    }
}

#[test]
fn a_shard_has_two_bytes_and_a_stripe_one() {
    for (shards, name) in [(true, "shard"), (false, "stripe")] {
        let database = database();
        let table = Definition::named("t").column("a", "str").key(["a"]);
        let table = if shards { table.shards(60_000) } else { table.stripes(250) };
        let table = database.create_table(table).wait().unwrap();
        table.put(Document::new().with("a", "x")).wait().unwrap();
        let place = table.definition().unwrap().primary().place(&"x".into()).unwrap();
        assert!(place > 255 || !shards);
        let (_, text) = told(&database, keys(&database).last().unwrap());
        assert_eq!(text, format!("tree=1 {name}={place} a=x"));
    }
}

#[test]
fn the_beginning_of_a_key_is_told_as_far_as_it_goes() {
    let database = database();
    let table = Definition::named("t").column("a", "str").column("n", "i64").key(["a", "n"]).stripes(4);
    database.create_table(table).wait().unwrap();
    let part = |bytes: &[u8]| {
        let (meaning, text) = told(&database, bytes);
        assert!(!meaning.whole, "{text}");
        text
    };
    assert_eq!(part(b"\0\0\0\x01"), "tree=1");
    assert_eq!(part(b"\0\0\0\x01\x02"), "tree=1 stripe=2");
    assert_eq!(part(b"\0\0\0\x01\x02a\0\x01"), "tree=1 stripe=2 a=a");
    assert_eq!(part(b"\0\0\0\x01\x02a\0\x01\x80\0"), "tree=1 stripe=2 a=a rest");
    assert_eq!(part(b"\0\0\0\x01\x02a\0\x01\x80\0\0\0\0\0\0\x01!"), "tree=1 stripe=2 a=a n=1 rest");
    for unknown in
        [&b""[..], b"\0\0\0", b"\0\0\0\0", b"\0\0\0\0x", b"\0\0\0\0vv", b"\0\0\0\0s\x01", b"\0\0\0\0t\xFF"]
    {
        assert_eq!(told(&database, unknown).0.kind, KeyKind::Unknown, "{unknown:?}");
    }
}
