//! Layers so small that everything happens: entries are pushed out and expire, filters overflow.

use std::time::Duration;

use keyloom_layers::{CacheOptions, Compression, FilterOptions, Layers};

/// The name and the layers of each setting.
pub fn settings() -> Vec<(&'static str, Layers)> {
    let filter = Some(FilterOptions { keys: 1, ..FilterOptions::default() });
    let tiny = Some(FilterOptions { keys: 1, bytes: 64 });
    let cache = Some(CacheOptions { bytes: 2_000, ..CacheOptions::default() });
    let brief = Some(CacheOptions { bytes: 1 << 20, time_to_live: Duration::from_micros(200) });
    let (lz4, zstd) = (Some(Compression::Lz4), Some(Compression::Zstd));
    vec![
        ("none", Layers::default()),
        ("filter", Layers { filter, ..Layers::default() }),
        ("a filter that overflows", Layers { filter: tiny, ..Layers::default() }),
        ("cache", Layers { cache, ..Layers::default() }),
        ("lz4", Layers { compression: lz4, ..Layers::default() }),
        ("zstd, brief cache", Layers { cache: brief, compression: zstd, ..Layers::default() }),
        ("all", Layers { filter, cache, compression: lz4 }),
    ]
}
