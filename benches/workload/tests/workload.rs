//! What benchmarks rely on: the same orders in every run, the same bytes by hand, questions that have answers, counters.

use std::collections::BTreeMap;
use std::time::Duration;

use keyloom::MemoryStore;
use keyloom_workload::allocated::{self, Counting};
use keyloom_workload::{
    Keyloom, Layout, Order, Questions, Reads as _, Shop, Tally, Times, Work, count, seed, write_with,
};

#[global_allocator]
static HEAP: Counting = Counting;

const ORDERS: usize = 2_000;

#[expect(clippy::unwrap_used, reason = "as in the tests that call it")]
fn loaded(shop: &Shop) -> Keyloom<MemoryStore> {
    let keyloom = Keyloom::open(MemoryStore::new()).unwrap();
    keyloom.load_all(shop.orders(ORDERS, 0)).unwrap();
    keyloom
}

#[test]
fn bytes_by_hand_are_keylooms() {
    let shop = Shop::of(ORDERS);
    let keyloom = loaded(&shop);
    let mut by_hand = Vec::new();
    let orders: Vec<Order> = shop.orders(ORDERS, 0).collect();
    let layout = Layout::of(keyloom.table().unwrap()).unwrap();
    layout
        .each_sorted(&orders, |key, value| {
            by_hand.push((key.to_vec(), value.to_vec()));
            Ok::<_, keyloom_workload::Error>(())
        })
        .unwrap();
    assert!(by_hand.is_sorted(), "they are shown in the order of their keys");
    let mut stored = Vec::new();
    keyloom.bytes(|key, value| stored.push((key.to_vec(), value.to_vec()))).unwrap();
    assert_eq!(by_hand.len(), 2 * ORDERS);
    assert!(by_hand == stored, "the bytes differ");
}

#[test]
fn questions_find_what_a_list_finds() {
    let shop = Shop::of(ORDERS);
    let keyloom = loaded(&shop);
    let questions = Questions::new(&shop, ORDERS, |most| most.min(50));
    let orders: BTreeMap<_, Order> =
        shop.orders(ORDERS, 0).map(|order| ((order.user.clone(), order.date, order.id), order)).collect();
    let of = |work| questions.ask(work, &keyloom).unwrap();
    let tally = |found: Vec<&Order>| Tally::of(found);
    assert_eq!(of(Work::Get), Tally::of(&questions.picked));
    assert_eq!(of(Work::Miss), Tally::default());
    assert_eq!(of(Work::Scan), Tally::of(orders.values()));
    let user = |name: &str| orders.values().filter(|order| &*order.user == name).collect::<Vec<_>>();
    let whole = questions.whole.iter().flat_map(|ask| user(&ask.name)).collect();
    assert_eq!(of(Work::Prefix), tally(whole));
    let from = |ask: &keyloom_workload::Ask| {
        user(&ask.name).into_iter().filter(|order| order.date >= ask.date).take(20).collect::<Vec<_>>()
    };
    assert_eq!(of(Work::Range), tally(questions.from.iter().flat_map(from).collect()));
    let back = |ask: &keyloom_workload::Ask| {
        user(&ask.name).into_iter().rev().filter(|order| order.date <= ask.date).take(20).collect::<Vec<_>>()
    };
    assert_eq!(of(Work::RangeBack), tally(questions.from.iter().flat_map(back).collect()));
    let newest = |ask: &keyloom_workload::Ask| {
        let mut of_status: Vec<&Order> =
            orders.values().filter(|order| order.status == &*ask.name && order.date <= ask.date).collect();
        of_status.sort_by_key(|order| std::cmp::Reverse(order.date));
        of_status.into_iter().take(20).collect::<Vec<_>>()
    };
    assert_eq!(of(Work::Index), tally(questions.newest.iter().flat_map(newest).collect()));
    assert!(
        of(Work::Index).rows > 500 && of(Work::Prefix).rows > 4_000,
        "questions without answers measure nothing"
    );
}

#[test]
fn clients_write_every_order_once() {
    let shop = Shop::of(ORDERS);
    let keyloom = loaded(&shop);
    let orders: Vec<Order> = shop.orders(101, 7).collect();
    write_with(16, &keyloom, &orders).unwrap();
    assert_eq!(keyloom.get(&orders).unwrap(), Tally::of(&orders));
    assert_eq!(keyloom.scan().unwrap().rows, 2_101);
}

#[test]
fn every_system_of_the_specifications_work_is_measured() {
    let figures = seed::measure(1, |_| ()).unwrap();
    let named: Vec<_> = figures.iter().map(|figure| (figure.work.name(), figure.system)).collect();
    let expected = [
        ("write", "keyloom"),
        ("write", "btreemap"),
        ("write", "hashmap"),
        ("lookup", "keyloom"),
        ("lookup", "btreemap"),
        ("lookup", "hashmap"),
        ("prefix100", "keyloom"),
        ("prefix100", "btreemap"),
    ];
    assert_eq!(named, expected);
    // A map's lookup allocates the key of 41 bytes or fewer, and nothing else.
    let bytes = figures.iter().find(|figure| (figure.work.name(), figure.system) == ("lookup", "btreemap"));
    assert!((30.0..=48.0).contains(&bytes.unwrap().bytes.unwrap()), "{bytes:?}");
    // Keyloom's too: the key, and room for what the store needs to answer.
    let bytes = figures.iter().find(|figure| (figure.work.name(), figure.system) == ("lookup", "keyloom"));
    assert!((30.0..=96.0).contains(&bytes.unwrap().bytes.unwrap()), "{bytes:?}");
    assert!(figures.iter().all(|figure| figure.per_second > 0.0));
}

#[test]
fn bytes_are_counted_only_when_asked() {
    let (vec, bytes) = allocated::bytes(|| Vec::<u8>::with_capacity(1_000));
    assert_eq!(vec.capacity(), 1_000);
    // Other tests of this program may allocate at the same time.
    assert!(bytes.unwrap() >= 1_000);
}

#[test]
fn times_are_medians_and_percentiles() {
    let mut times = Times::default();
    assert!(times.is_empty());
    (1..=1_000).rev().for_each(|micros| times.push(Duration::from_micros(micros)));
    assert_eq!(times.median(), Duration::from_micros(501));
    let latency = times.latency();
    assert_eq!((latency.p99, latency.p999), (Duration::from_micros(991), Duration::from_micros(1_000)));
    assert!((times.per_second(501) - 1e6).abs() < 1.0);
}

#[test]
fn counts_are_read_as_people_write_them() {
    assert_eq!(["7", "100k", "10M"].map(|text| count(text).unwrap()), [7, 100_000, 10_000_000]);
    for wrong in ["", "0", "k", "-1", "1G", "1.5M", "99999999999999999999"] {
        assert!(count(wrong).is_err(), "{wrong}");
    }
}
