use keyloom_store::MemoryStore;
use keyloom_workload::{Keyloom, Layout, Order, Shop};

use super::{Scale, measure, systems};

/// Every system of this program does every work; what they read and the bytes that they keep are compared on the way.
#[test]
fn all_systems_do_the_same_work() {
    let systems = "keyloom-lmdb,keyloom-memory,hashmap,raw-lmdb,redb,fjall,sqlite,sqlite-without-rowid,sqlite-columns,sqlite-columns-sorted,sqlite-columns-clustered";
    let systems: Vec<String> = systems.split(',').map(str::to_owned).collect();
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
    assert_eq!(of("single_write", Some("written")), ["keyloom-lmdb", "fjall", "sqlite-normal"]);
    let less = ["keyloom-buffered", "keyloom-memory", "hashmap", "redb-none", "sqlite-off"];
    assert_eq!(of("single_write", Some("less")), less);
    assert_eq!(of("synced16", Some("synced")), ["keyloom-lmdb", "raw-lmdb", "redb", "fjall", "sqlite-full"]);
    assert_eq!(of("sustained_write", Some("written")), ["keyloom-lmdb", "fjall", "sqlite-normal"]);
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
    let systems_here =
        "keyloom-lmdb,keyloom-memory,hashmap,raw-lmdb,redb,fjall,sqlite,sqlite-without-rowid,sqlite-columns";
    let systems_here = systems_here.split(',').map(str::to_owned).collect();
    let scale = Scale { count: 100, rounds: 1, only: Vec::new(), systems: systems_here };
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::of(Keyloom::open(MemoryStore::new()).unwrap().table().unwrap()).unwrap();
    let orders: Vec<Order> = Shop::of(100).orders(100, 0).collect();
    for system in systems(&scale, folder.path(), &layout).unwrap() {
        let (_, mut peer) = (system.load)(folder.path(), &orders[..50]).unwrap();
        peer.write(1, &orders[50..]).unwrap();
        assert!(peer.write(1, &orders[7..8]).is_err(), "{}", system.name);
    }
}
