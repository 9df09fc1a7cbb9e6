//! How the database was opened, and what that has done so far.

use keyloom::layers::LayerStats;
use keyloom::{AnyStore, Settings, UrlStore};

use super::figures::{bytes, number, percent};

/// A table of the settings, as the store has them, and the layers; nothing where all is as it comes.
pub(crate) fn opened(settings: Settings, store: &UrlStore) -> String {
    let mut rows = settings.pairs();
    let mut row = |name, value| rows.push((name, value));
    let (layers, stats) = (settings.layers(), store.stats());
    let LayerStats { filtered, false_positives, value_bytes, stored_bytes, .. } = stats;
    if layers.cache.is_some() {
        let rate = |hits: u64, misses: u64| {
            let all = hits + misses;
            format!("{} of {}, {}", number(hits), number(all), percent(hits, all))
        };
        row("cache hits", rate(stats.hits, stats.misses));
        row("page hits", rate(stats.page_hits, stats.page_misses));
        row("cached", format!("{} values and pages, {}", number(stats.cached), bytes(stats.cached_bytes)));
    }
    if layers.filter.is_some() {
        let answered = format!(
            "{} of {} keys that were not there",
            number(filtered),
            number(filtered + false_positives)
        );
        row("filter answered", answered);
        let size = keys(stats.filter_keys, stats.filter_bytes, stats.filter_whole);
        let overflown = stats.filter_overflown.then(|| "none: there are more than fit".to_owned());
        row("filter keys", overflown.unwrap_or(size));
    }
    if let AnyStore::Lmdb(file) = store.below()
        && let Some(stats) = file.filter_stats().filter(|stats| stats.asked + stats.keys > 0)
    {
        let answered =
            format!("{} of {} keys that were asked for", number(stats.answered), number(stats.asked));
        row("filter answered", answered);
        row("filter keys", keys(stats.keys, stats.bytes, stats.whole));
    }
    if let Some(compression) = store.compression() {
        let rate = percent(stored_bytes, value_bytes);
        row("values", format!("{} in {}, {rate} ({compression})", bytes(value_bytes), bytes(stored_bytes)));
    }
    let wide = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines: String = rows.iter().map(|(name, value)| format!("  {name:wide$}  {value}\n")).collect();
    if lines.is_empty() { lines } else { format!("opened with\n{lines}") }
}

/// How large a filter is.
fn keys(count: u64, size: u64, whole: bool) -> String {
    format!("{}, {}{}", number(count), bytes(size), if whole { "" } else { ", not filled yet" })
}
