//! URLs that are right and wrong.

use std::time::Duration;

use proptest::prelude::*;

use super::{Config, Replication, Scope};

fn read(url: &str) -> Config {
    url.parse().unwrap_or_else(|error| panic!("{url}: {error}"))
}

#[test]
fn everything_that_a_url_can_say() {
    let config = read(
        "cassandra://ada:l%40ve%2Flace@10.0.0.1,[::1]:9043,db.example/shop?replication=east:3,west:2\
         &consistency=local_quorum&datacenter=east&tls=true&ca=/etc/ca.pem&cert=c.pem&key=k.pem\
         &lease=1500ms&split_rows=100&split_bytes=1MiB&cache=7&timeout=2s&patience=1m",
    );
    assert_eq!(config.nodes(), ["10.0.0.1:9042", "[::1]:9043", "db.example:9042"]);
    assert_eq!(config.keyspace(), "shop");
    assert_eq!(config.user(), Some(&("ada".to_owned(), "l@ve/lace".to_owned())));
    let each = [("east".to_owned(), 3), ("west".to_owned(), 2)];
    assert_eq!(config.replication(), &Replication::Of(each.into()));
    assert_eq!((config.scope(), config.datacenter()), (Scope::Local, Some("east")));
    let tls = config.tls().expect("encrypted");
    assert_eq!(tls.ca.to_str(), Some("/etc/ca.pem"));
    assert!(tls.own.is_some());
    assert_eq!(config.lease(), Some(Duration::from_millis(1500)));
    assert_eq!((config.split_rows, config.split_bytes, config.cache), (100, 1 << 20, 7));
    assert_eq!((config.timeout, config.patience), (Duration::from_secs(2), Duration::from_secs(60)));
}

#[test]
fn the_password_is_never_shown() {
    let config = read("cassandra://ada:geheim@localhost/shop");
    assert_eq!(config.to_string(), "cassandra://ada@localhost:9042/shop");
    assert!(!format!("{config:?}").contains("geheim"));
}

#[test]
fn mistakes_are_named() {
    for (url, says) in [
        ("http://localhost/shop", "the URL of a cluster is"),
        ("cassandra://localhost", "the keyspace is missing"),
        ("cassandra://localhost/", "keyspace \"\""),
        ("cassandra://localhost/Shop", "a-z"),
        ("cassandra://localhost/1shop", "begins with a letter"),
        ("cassandra:///shop", "a host is missing"),
        ("cassandra://a,,b/shop", "a host is missing"),
        ("cassandra://a:0/shop", "1 to 65535"),
        ("cassandra://a:99999/shop", "1 to 65535"),
        ("cassandra://[::1/shop", "the ] is missing"),
        ("cassandra://ada@localhost/shop", "the password is missing"),
        ("cassandra://:x@localhost/shop", "the user is missing"),
        ("cassandra://a/shop?replication=0", "replication=0"),
        ("cassandra://a/shop?replication=x", "replication=x"),
        ("cassandra://a/shop?replication=east:3,west", "replication="),
        ("cassandra://a/shop?replication=ea'st:3", "replication="),
        ("cassandra://a/shop?consistency=one", "reads would miss"),
        ("cassandra://a/shop?consistency=local_quorum", "needs datacenter"),
        ("cassandra://a/shop?lease=10", "lease=10: write"),
        ("cassandra://a/shop?lease=1ms", "a second at least"),
        ("cassandra://a/shop?timeout=0s", "timeout is too small"),
        ("cassandra://a/shop?split_rows=1", "split_rows is too small"),
        ("cassandra://a/shop?split_bytes=5MB", "write 4096"),
        ("cassandra://a/shop?split_bytes=99999999999GiB", "write 4096"),
        ("cassandra://a/shop?cache=0", "cache is too small"),
        ("cassandra://a/shop?cache=-1", "whole number"),
        ("cassandra://a/shop?tls=yes", "true or false"),
        ("cassandra://a/shop?tls=true", "needs ca=FILE"),
        ("cassandra://a/shop?ca=x", "without tls=true"),
        ("cassandra://a/shop?tls=true&ca=x&cert=y", "give both files"),
        ("cassandra://a/shop?cert=x&key=y", "without tls=true"),
        ("cassandra://a/shop?leese=5s", "there is no option leese"),
        ("cassandra://a/shop?lease", "has no value"),
        ("cassandra://a/shop?lease=2s&lease=3s", "given twice"),
        ("cassandra://a/shop?ca=%zz", "hexadecimal"),
        ("cassandra://a/shop?ca=%f", "hexadecimal"),
    ] {
        let error = url.parse::<Config>().expect_err(url).to_string();
        assert!(error.contains(says), "{url}: {error}");
    }
}

proptest! {
    #[test]
    fn what_is_shown_reads_back(
        datacenter in proptest::option::of("[ -~]{1,12}"),
        ca in proptest::option::of("[ -~äß]{1,20}"),
        lease in proptest::option::of(1000u32..100_000),
        rows in 2usize..,
        bytes in 1usize..,
        copies in 1u8..,
    ) {
        let mut config = Config::plain(vec!["a:1".into(), "[::1]:9042".into()], "k_1".into());
        config.datacenter = datacenter;
        config.tls = ca.map(|ca| super::Tls { ca: ca.into(), own: None });
        config.lease = lease.map(|lease| Duration::from_millis(lease.into()));
        config.split_rows = rows;
        config.split_bytes = bytes;
        config.replication = Replication::Each(copies);
        prop_assert_eq!(read(&config.to_string()), config);
    }
}
