//! What settings come to, and which are no settings.

use std::time::Duration;

use keyloom_store::Durability;

use super::{Cache, Filter, Preset, Settings, WriteBuffer, free_memory};
use crate::Location;

fn read(text: &str) -> Result<Settings, String> {
    text.parse::<Settings>().map_err(|error| error.to_string())
}

/// As section 10 of the composite-key specification has them.
#[test]
fn presets_have_their_values() {
    let of = |preset: Preset| {
        let Settings { write_buffer, filter, cache, durability, .. } = preset.settings();
        (write_buffer.unwrap(), filter, cache.unwrap(), durability.unwrap())
    };
    let writes = WriteBuffer::Writes;
    assert_eq!(of(Preset::HighWrite), (writes(10_000), None, Cache::Off, Durability::Written));
    let on = Some(Filter::On);
    assert_eq!(of(Preset::HighRead), (writes(1_000), on, Cache::Percent(30), Durability::Synced));
    assert_eq!(of(Preset::Balanced), (writes(5_000), on, Cache::On, Durability::Synced));
    assert_eq!(Preset::HighWrite.settings().layers(), keyloom_layers::Layers::default());
    for preset in Preset::ALL {
        assert_eq!(read(&format!("preset={}", preset.name())).unwrap().effective(), preset.settings());
    }
}

#[test]
fn what_is_said_overrules_the_preset_and_what_comes_first_the_rest() {
    let url = read("preset=high-read&cache=off").unwrap();
    let file = read("preset=high-write&cache=256MB&cache_ttl=30s").unwrap();
    let both = url.over(file).effective();
    assert_eq!((both.preset, both.cache), (Some(Preset::HighRead), Some(Cache::Off)));
    assert_eq!((both.filter, both.cache_ttl), (Some(Filter::On), Some(Duration::from_secs(30))));
}

#[test]
fn settings_are_shown_as_they_are_read() {
    for text in [
        "",
        "preset=balanced",
        "durability=buffered&write_buffer=7&filter=1000&cache=30%&cache_ttl=90s&compression=zstd",
        "filter=off&cache=123456&cache_ttl=100ms&compression=none",
        "write_buffer=64000000B&store_cache=1000&families=16",
        "families=off",
        "log=off",
        "filter=on&filter_bytes=1000&cache=on",
        "write_buffer=7&log=on&filter=on",
    ] {
        assert_eq!(read(text).map(|settings| settings.to_string()), Ok(text.to_owned()));
    }
    let sizes = ["1", "2B", "3kB", "4MB", "5GB", "6KiB", "7M", "8GiB"].map(|size| {
        let settings = read(&format!("cache={size}")).unwrap();
        settings.cache.unwrap()
    });
    let bytes = [1, 2, 3_000, 4_000_000, 5_000_000_000, 6 << 10, 7 << 20, 8 << 30];
    assert_eq!(sizes, bytes.map(Cache::Bytes));
}

#[test]
fn what_is_wrong_is_told_with_the_choices() {
    for (text, told) in [
        (
            "colour=red",
            "there is no setting colour; the settings are: preset, durability, write_buffer, log, filter, filter_bytes, cache, \
             cache_ttl, compression, store_cache, families",
        ),
        ("preset=fast", "there is no preset fast: write high-write, high-read or balanced"),
        ("durability=maybe", "there is no durability maybe: write synced, written or buffered"),
        (
            "write_buffer=0",
            "there is no write_buffer 0: write a number of writes as in 10000, or bytes as in 64MB",
        ),
        ("log=none", "there is no log none: write on or off"),
        (
            "filter=some",
            "there is no filter some: write on, off or how many keys are expected, as in 1000000",
        ),
        (
            "cache=lots",
            "there is no cache lots: write on, off, bytes as in 256MB, or a share of the free memory as in 30%",
        ),
        ("filter_bytes=on", "there is no filter_bytes on: write bytes as in 64MB"),
        ("cache_ttl=5", "there is no cache_ttl 5: write a time as in 5m, 30s or 100ms"),
        ("compression=gzip", "there is no compression gzip: write none, lz4 or zstd"),
        ("store_cache=30%", "there is no store_cache 30%: write bytes as in 512MB"),
        ("families=257", "there is no families 257: write off, or a number of trees up to 256"),
    ] {
        assert_eq!(read(text), Err(told.to_owned()));
    }
    for text in [
        "cache=0%",
        "cache=91%",
        "cache=1TB",
        "cache=99999999999GB",
        "cache_ttl=1d",
        "preset",
        "write_buffer=0MB",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn files_are_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyloom.toml");
    std::fs::write(
        &path,
        "# for the shop\npreset = \"high-read\"\n\n  cache=1GB # more\nwrite_buffer = 500\n",
    )
    .unwrap();
    let read = Settings::read(&path).unwrap().to_string();
    assert_eq!(read, "preset=high-read&write_buffer=500&cache=1000000000");
    for (text, told) in
        [("preset", "line 1: write name = value"), ("\nx = 1", "line 2: there is no setting x")]
    {
        std::fs::write(&path, text).unwrap();
        assert!(Settings::read(&path).is_err_and(|error| error.to_string().contains(told)), "{text}");
    }
    assert!(Settings::read(&folder.path().join("none")).is_err());
}

#[test]
fn layers_are_what_is_asked() {
    let layers = read("preset=high-read&filter=1000").unwrap().layers();
    assert_eq!(layers.filter.map(|filter| filter.keys), Some(1_000));
    let filter = |text: &str| read(text).unwrap().layers().filter.map(|filter| (filter.keys, filter.bytes));
    assert_eq!(filter("filter=on"), Some((1 << 16, 32 << 20)));
    assert_eq!(filter("preset=balanced&filter_bytes=1MiB"), Some((1 << 16, 1 << 20)));
    assert_eq!(filter("filter=100000000"), Some((100_000_000, 300_000_000)));
    assert_eq!(filter("filter=100000000&filter_bytes=1MiB"), Some((100_000_000, 1 << 20)));
    assert_eq!(filter("filter_bytes=1MiB"), None);
    let cache = layers.cache.unwrap();
    assert_eq!(cache.time_to_live, Duration::from_secs(300));
    assert!(cache.bytes > free_memory() / 10 && cache.bytes < free_memory() / 2, "{}", cache.bytes);
    assert_eq!(read("preset=high-write").unwrap().layers(), keyloom_layers::Layers::default());
}

#[cfg(feature = "lmdb")]
#[test]
fn files_are_opened_so() {
    let options = |text: &str| read(text).unwrap().at(&"shop.klm".parse().unwrap()).unwrap().lmdb();
    assert_eq!(options(""), keyloom_lmdb::Options::default());
    let write = options("preset=high-write");
    assert_eq!(write.durability, Durability::Written);
    assert_eq!((write.log.unwrap().entries, write.exclusive), (10_000, false));
    assert!(
        options("preset=balanced").exclusive
            && options("cache=1MB").exclusive
            && options("filter=on").exclusive
    );
    // One filter is enough, and none if that is said; a preset for writes leaves the file its own.
    assert!(write.filter.is_some() && options("cache=1MB").filter.is_some());
    assert!(options("filter=on").filter.is_none() && options("preset=balanced").filter.is_none());
    assert!(
        options("filter=off").filter.is_none() && options("preset=high-write&filter=off").filter.is_none()
    );
    assert!(Preset::HighWrite.settings().lmdb().filter.is_some());
    assert_eq!(options("filter_bytes=1MiB").filter.map(|filter| filter.bytes), Some(1 << 20));
    let buffered = options("durability=buffered&write_buffer=50").durability;
    assert!(matches!(buffered, Durability::Buffered { entries: 50, .. }));
    let log = options("write_buffer=8MiB").log.unwrap();
    assert_eq!((log.entries, log.bytes), (700_000, 8 << 20));
}

/// It could be turned off in code only.
#[cfg(feature = "lmdb")]
#[test]
fn a_file_may_have_no_log() {
    use keyloom_lmdb::Options;
    let options = |text: &str| read(text).unwrap().at(&"shop.klm".parse().unwrap()).unwrap().lmdb();
    let none = Options { log: None, ..Options::default() };
    assert_eq!((options("log=on"), options("log=off")), (Options::default(), none));
    let buffered = options("log=off&durability=buffered&write_buffer=50");
    assert!(matches!(
        buffered,
        Options { durability: Durability::Buffered { entries: 50, .. }, log: None, .. }
    ));
    // What only the preset says is left out, and it promises more.
    assert_eq!(options("preset=high-write&log=off"), none);
    let shown = "preset=high-write&durability=synced&log=off&cache=off";
    assert_eq!(at("shop.klm", "preset=high-write&log=off"), Ok(shown.to_owned()));
    assert_eq!(at("shop.klm", shown), Ok(shown.to_owned()));
    for (text, told) in [
        (
            "log=off&durability=written",
            "has no durability written with log=off: what LMDB does not sync may ruin the file: write synced or buffered",
        ),
        (
            "log=off&write_buffer=50",
            "has no write_buffer with log=off: every commit goes into the file: leave one of both out",
        ),
    ] {
        assert_eq!(at("shop.klm", text), Err(format!("refused: shop.klm {told}")), "{text}");
    }
}

/// What the store of a place makes of settings, or why it refuses them.
fn at(place: &str, text: &str) -> Result<String, String> {
    let settings = read(text)?.at(&place.parse::<Location>().unwrap());
    settings.map(|settings| settings.to_string()).map_err(|error| error.to_string())
}

#[test]
fn what_only_a_preset_says_is_left_out_where_it_is_not_had() {
    let file = "preset=high-write&durability=written&write_buffer=10000&cache=off";
    assert_eq!(at("shop.klm", "preset=high-write"), Ok(file.to_owned()));
    assert_eq!(at("memory:", "preset=high-write"), Ok("preset=high-write&cache=off".to_owned()));
    for (text, told) in [
        ("durability=synced", "has no setting durability: it is for files"),
        ("write_buffer=1", "has no setting write_buffer: it is for files"),
        ("store_cache=1MB", "has no setting store_cache: it is for redb and RocksDB"),
        ("families=off", "has no setting families: it is for RocksDB"),
        ("log=on", "has no setting log: it is for files of LMDB's"),
        ("preset=high-write&durability=synced", "has no setting durability: it is for files"),
    ] {
        assert_eq!(at("memory:", text), Err(format!("refused: memory: {told}")), "{text}");
    }
    for text in ["store_cache=1MB", "families=1", "durability=buffered&write_buffer=1MB"] {
        assert!(at("shop.klm", text).is_err(), "{text}");
    }
}

#[cfg(feature = "redb")]
#[test]
fn files_of_redb_are_opened_so() {
    let options = |text: &str| read(text).unwrap().at(&"redb:shop".parse().unwrap()).unwrap().redb();
    assert_eq!(options(""), keyloom_redb::Options::default());
    let own = options("durability=buffered&write_buffer=50&store_cache=1MiB");
    assert!(matches!(own.durability, Durability::Buffered { entries: 50, .. }));
    assert_eq!(own.cache, 1 << 20);
    // There is no `written`, so the preset's promise is kept by more than it asks for.
    assert_eq!(options("preset=high-write").durability, Durability::Synced);
    let shown = "preset=high-write&durability=synced&cache=off";
    assert_eq!(at("redb:shop", "preset=high-write"), Ok(shown.to_owned()));
    assert_eq!(at("redb:shop", shown), Ok(shown.to_owned()));
    for (text, told) in [
        (
            "durability=written",
            "has no durability written: what redb does not sync is in memory only: write synced or buffered",
        ),
        ("write_buffer=50", "has no write_buffer without durability=buffered: what is synced is in the file"),
        (
            "durability=buffered&write_buffer=1MB",
            "has no write_buffer in bytes with durability=buffered: write a number of writes, as in 1000",
        ),
        ("families=1", "has no setting families: it is for RocksDB"),
    ] {
        assert_eq!(at("redb:shop", text), Err(format!("refused: redb:shop {told}")), "{text}");
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn folders_of_rocksdb_are_opened_so() {
    use keyloom_rocksdb::{Options, Stripes};
    let options = |text: &str| read(text).unwrap().at(&"rocksdb:shop".parse().unwrap()).unwrap().rocksdb();
    let plain = Options::default();
    assert_eq!(options(""), plain);
    assert_eq!(options("families=off"), plain);
    let own = options("durability=written&store_cache=1MiB&families=16&write_buffer=1MiB");
    let (durability, stripes) = (Durability::Written, Stripes::Families(16));
    assert_eq!(own, Options { durability, stripes, cache: 1 << 20, tree_buffer: 1 << 20, ..plain });
    // There is room for what was asked.
    let large = options("write_buffer=1GiB");
    assert_eq!((large.tree_buffer, large.buffer, large.log), (1 << 30, 2 << 30, 4 << 30));
    let buffered = options("durability=buffered&write_buffer=50").durability;
    assert!(matches!(buffered, Durability::Buffered { entries: 50, .. }));
    assert_eq!(options("preset=high-write"), Options { durability, ..plain });
    let shown = "preset=high-write&durability=written&cache=off";
    assert_eq!(at("rocksdb:shop", "preset=high-write"), Ok(shown.to_owned()));
    assert_eq!(
        at("rocksdb:shop", "write_buffer=50"),
        Err("refused: rocksdb:shop has no write_buffer in writes without durability=buffered: write bytes, as in 64MB"
            .to_owned())
    );
}
