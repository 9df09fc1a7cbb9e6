//! Texts that name a database.

use super::Location;

fn read(text: &str) -> Result<Location, String> {
    text.parse::<Location>().map_err(|error| error.to_string())
}

#[test]
fn memory_and_files() {
    assert_eq!(read("memory:"), Ok(Location::Memory));
    for text in ["shop.klm", "file:shop.klm"] {
        assert_eq!(read(text), Ok(Location::File("shop.klm".into())));
    }
    assert_eq!(read("file:///tmp/shop.klm"), Ok(Location::File("/tmp/shop.klm".into())));
    assert!(read("http://shop").is_err_and(|error| error.contains("cassandra://host/keyspace")));
}

#[cfg(feature = "cassandra")]
#[test]
fn clusters() {
    let shown = read("cassandra://ada:secret@10.0.0.1/shop?lease=2s").map(|location| location.to_string());
    assert_eq!(shown, Ok("cassandra://ada@10.0.0.1:9042/shop?lease=2s".to_owned()));
    assert!(read("cassandra://10.0.0.1").is_err_and(|error| error.contains("the keyspace is missing")));
    assert!(read("cassandra://h/k?leese=2s").is_err_and(|error| error.contains("no option leese")));
}

#[cfg(not(feature = "cassandra"))]
#[test]
fn clusters_need_a_feature() {
    assert!(read("cassandra://10.0.0.1/shop").is_err_and(|error| error.contains("feature `cassandra`")));
}

/// A database is made there, and found again.
#[cfg(any(feature = "redb", feature = "rocksdb"))]
fn is_kept(scheme: &str) {
    use keyloom_store::Wait;
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{scheme}:{}", folder.path().join("shop").display());
    let location = read(&text).unwrap();
    assert_eq!((location.to_string(), location.exists()), (text, false));
    let database = location.open().wait().unwrap();
    database.define("CREATE TABLE users (id TEXT PRIMARY KEY) WITH (stripes = 16)").wait().unwrap();
    drop(database);
    assert!(location.exists());
    assert_eq!(location.open().wait().unwrap().tables(), ["users"]);
}

#[cfg(feature = "redb")]
#[test]
fn redb() {
    is_kept("redb");
}

#[cfg(not(feature = "redb"))]
#[test]
fn redb_needs_a_feature() {
    assert!(read("redb:shop").is_err_and(|error| error.contains("feature `redb`")));
}

#[cfg(feature = "rocksdb")]
#[test]
fn rocksdb() {
    is_kept("rocksdb");
}

#[cfg(not(feature = "rocksdb"))]
#[test]
fn rocksdb_needs_a_feature() {
    assert!(read("rocksdb:shop").is_err_and(|error| error.contains("feature `rocksdb`")));
}
