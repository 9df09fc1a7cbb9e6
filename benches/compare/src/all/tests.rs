use keyloom_store::MemoryStore;
use keyloom_workload::{Keyloom, Layout, Order, Shop};

use super::{Scale, measure, systems};

/// The systems of this program, as it is built.
fn all_systems() -> Vec<String> {
    let systems = "keyloom-lmdb,keyloom-memory,hashmap,keyloom-redb,keyloom-rocksdb,raw-lmdb,redb,fjall,raw-rocksdb,\
                   sqlite,sqlite-without-rowid,sqlite-columns,sqlite-columns-sorted,sqlite-columns-clustered";
    let built = |name: &&str| cfg!(feature = "rocksdb") || !name.ends_with("-rocksdb");
    systems.split(',').filter(built).map(str::to_owned).collect()
}

/// Those of `names` that are built.
fn built<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let all = all_systems();
    let is_built = |name: &&&str| !name.ends_with("-rocksdb") || all.iter().any(|built| built == **name);
    names.iter().filter(is_built).copied().collect()
}

/// Every system of this program does every work; what they read and the bytes that they keep are compared on the way.
#[test]
fn all_systems_do_the_same_work() {
    let systems = all_systems();
    let only =
        "load,get,miss,prefix100,range20,range20_rev,index20,full_scan,single_write,synced16,sustained_write";
    let only = only.split(',').map(str::to_owned).collect();
    let scale = Scale { count: 300, rounds: 2, only, systems: systems.clone() };
    let folder = tempfile::tempdir().unwrap();
    let figures = measure(&scale, folder.path()).unwrap();
    let of = |work: &str, promise: Option<&str>| {
        let named = figures.iter().filter(|figure| figure.work == work && figure.promise == promise);
        named.map(|figure| figure.system).collect::<Vec<_>>()
    };
    assert_eq!(of("load", None), systems);
    assert_eq!(of("get", None), systems);
    let sorted: Vec<_> = systems.iter().filter(|system| *system != "hashmap").collect();
    assert_eq!(of("index20", None), sorted);
    let written = built(&[
        "keyloom-lmdb",
        "keyloom-rocksdb",
        "fjall",
        "raw-rocksdb",
        "sqlite-normal",
        "sqlite-clustered-normal",
    ]);
    assert_eq!(of("single_write", Some("written")), written);
    let less =
        ["keyloom-buffered", "keyloom-memory", "hashmap", "redb-none", "sqlite-off", "sqlite-clustered-off"];
    assert_eq!(of("single_write", Some("less")), less);
    let synced = [
        "keyloom-lmdb",
        "keyloom-redb",
        "keyloom-rocksdb",
        "raw-lmdb",
        "redb",
        "fjall",
        "raw-rocksdb",
        "sqlite-full",
        "sqlite-clustered-full",
    ];
    assert_eq!(of("synced16", Some("synced")), built(&synced));
    assert_eq!(of("sustained_write", Some("written")), written);
    assert!(figures.iter().all(|figure| figure.value.is_finite() && figure.value >= 0.0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn a_system_that_is_not_there_is_named() {
    let scale = Scale { count: 100, rounds: 1, only: Vec::new(), systems: vec!["lmbd".to_owned()] };
    let scale = Scale { only: vec!["get".to_owned()], ..scale };
    let error = measure(&scale, &std::env::temp_dir()).unwrap_err().to_string();
    assert_eq!(error, "there is no system lmbd in this build, or not at this size");
}

/// A system that writes without a look would do less work than the others.
#[test]
fn no_system_inserts_an_order_that_is_there() {
    let scale = Scale { count: 100, rounds: 1, only: Vec::new(), systems: all_systems() };
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::of(Keyloom::open(MemoryStore::new()).unwrap().table().unwrap()).unwrap();
    let orders: Vec<Order> = Shop::of(100).orders(100, 0).collect();
    for system in systems(&scale, folder.path(), &layout).unwrap() {
        let (_, mut peer) = (system.load)(folder.path(), &orders[..50]).unwrap();
        peer.write(1, &orders[50..]).unwrap();
        assert!(peer.write(1, &orders[7..8]).is_err(), "{}", system.name);
    }
}
