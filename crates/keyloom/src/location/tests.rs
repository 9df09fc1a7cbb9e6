//! Texts that name a database.

use super::Location;

fn read(text: &str) -> Result<Location, String> {
    text.parse::<Location>().map_err(|error| error.to_string())
}

#[test]
fn memory_and_files() {
    assert_eq!(read("memory:"), Ok(Location::Memory));
    for slip in ["memory:?", "memory:shop"] {
        let error = read(slip).unwrap_err();
        assert!(error.ends_with(&format!("write memory:, or ./{slip} for a file")), "{error}");
        assert_eq!(read(&format!("./{slip}")), Ok(Location::File(format!("./{slip}").into())));
    }
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

/// redb itself refuses what it cannot promise: so it was told.
#[cfg(feature = "redb")]
#[test]
fn settings_reach_redb() {
    use keyloom_store::Wait;
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Redb(folder.path().join("shop"));
    let told = location.reach("durability=written".parse().unwrap()).wait().unwrap_err().to_string();
    assert!(told.contains("redb cannot promise `written`"), "{told}");
    assert!(!location.exists());
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

/// RocksDB writes down how it was opened.
#[cfg(feature = "rocksdb")]
#[test]
fn settings_reach_rocksdb() {
    use keyloom_store::Wait;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop");
    let url = format!("rocksdb:{}?write_buffer=3MiB&families=2&durability=buffered", path.display());
    let refused = url.parse::<crate::Url>().unwrap().open().wait().map(drop).unwrap_err().to_string();
    assert!(refused.contains("with durability=buffered"), "{refused}");
    assert!(!path.exists());
    let database = url.replace("buffered", "written").parse::<crate::Url>().unwrap().open().wait().unwrap();
    database.define("CREATE TABLE users (id TEXT PRIMARY KEY) WITH (stripes = 16)").wait().unwrap();
    let users = database.table("users").wait().unwrap();
    for number in 0..20 {
        users.put(crate::Document::new().with("id", format!("U{number}"))).wait().unwrap();
    }
    drop((users, database));
    let files = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
    let options = files.filter(|file| file.display().to_string().contains("OPTIONS-")).max().unwrap();
    let options = std::fs::read_to_string(options).unwrap();
    for told in ["write_buffer_size=3145728", "[CFOptions \"stripe-000\"]", "[CFOptions \"stripe-001\"]"] {
        assert!(options.contains(told), "{told} is not in {options}");
    }
    assert!(!options.contains("stripe-002"));
}

#[cfg(not(feature = "rocksdb"))]
#[test]
fn rocksdb_needs_a_feature() {
    assert!(read("rocksdb:shop").is_err_and(|error| error.contains("feature `rocksdb`")));
}
