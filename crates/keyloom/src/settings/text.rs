//! Settings as text: in a URL, in a file, and as they are shown.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use keyloom_store::Durability;
use keyloom_table::Error;

use super::{Cache, Filter, Preset, Settings, WriteBuffer, refused};

/// The names of the settings.
const NAMES: [&str; 11] = [
    "preset",
    "durability",
    "write_buffer",
    "log",
    "filter",
    "filter_bytes",
    "cache",
    "cache_ttl",
    "compression",
    "store_cache",
    "families",
];

/// `name=value` with `&` between them.
impl FromStr for Settings {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut settings = Self::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            settings.set(name, value)?;
        }
        Ok(settings)
    }
}

pub(super) fn read(path: &Path) -> Result<Settings, Error> {
    let wrong = |reason: String| refused(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut settings = Settings::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |reason: String| wrong(format!("line {}: {reason}", number + 1));
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("write name = value".to_owned()))?;
        let value = value.trim().trim_matches('"');
        settings.set(name.trim(), value).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(settings)
}

impl Settings {
    /// Sets one by its name.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let wrong = |choices: &str| Error::Missing(format!("{name} {value}: write {choices}").into());
        match name {
            "preset" => {
                let preset = Preset::ALL.into_iter().find(|preset| preset.name() == value);
                self.preset = Some(preset.ok_or_else(|| wrong("high-write, high-read or balanced"))?);
            }
            "durability" => {
                self.durability = Some(match value {
                    "synced" => Durability::Synced,
                    "written" => Durability::Written,
                    "buffered" => Durability::buffered(),
                    _ => return Err(wrong("synced, written or buffered")),
                });
            }
            "write_buffer" => {
                let most = match value.parse() {
                    Ok(writes) => Some(WriteBuffer::Writes(writes)),
                    Err(_) => bytes(value).map(WriteBuffer::Bytes),
                };
                let none = [WriteBuffer::Writes(0), WriteBuffer::Bytes(0)];
                let most = most.filter(|most| !none.contains(most));
                let choices = "a number of writes as in 10000, or bytes as in 64MB";
                self.write_buffer = Some(most.ok_or_else(|| wrong(choices))?);
            }
            "log" => {
                self.log = Some(match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(wrong("on or off")),
                });
            }
            "filter" => {
                self.filter = Some(match (value, value.parse()) {
                    ("on", _) => Filter::On,
                    ("off", _) => Filter::Off,
                    (_, Ok(keys)) => Filter::Keys(keys),
                    _ => return Err(wrong("on, off or how many keys are expected, as in 1000000")),
                });
            }
            "filter_bytes" => {
                self.filter_bytes = Some(bytes(value).ok_or_else(|| wrong("bytes as in 64MB"))?);
            }
            "cache" => {
                let choices = "on, off, bytes as in 256MB, or a share of the free memory as in 30%";
                self.cache = Some(cache(value).ok_or_else(|| wrong(choices))?);
            }
            "cache_ttl" => {
                self.cache_ttl = Some(time(value).ok_or_else(|| wrong("a time as in 5m, 30s or 100ms"))?);
            }
            "compression" => {
                self.compression = Some(value.parse().map_err(|_| wrong("none, lz4 or zstd"))?);
            }
            "store_cache" => {
                self.store_cache = Some(bytes(value).ok_or_else(|| wrong("bytes as in 512MB"))?);
            }
            "families" => {
                let families = if value == "off" { Some(0) } else { value.parse().ok() };
                let families = families.filter(|families| *families <= 256);
                self.families = Some(families.ok_or_else(|| wrong("off, or a number of trees up to 256"))?);
            }
            _ => {
                let known = NAMES.join(", ");
                return Err(Error::Missing(format!("setting {name}; the settings are: {known}").into()));
            }
        }
        Ok(())
    }
}

fn cache(text: &str) -> Option<Cache> {
    match text {
        "on" => return Some(Cache::On),
        "off" => return Some(Cache::Off),
        _ => {}
    }
    if let Some(share) = text.strip_suffix('%') {
        return share.parse().ok().filter(|share| (1..=90).contains(share)).map(Cache::Percent);
    }
    bytes(text).map(Cache::Bytes)
}

fn bytes(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let unit: usize = match unit {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

fn time(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3_600).map(Duration::from_secs),
        _ => None,
    }
}

/// Those that are said, as they can be read back.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said: Vec<String> =
            self.pairs().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&said.join("&"))
    }
}

impl Settings {
    /// The names and values of those that are said.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let Self { preset, durability, write_buffer, filter, cache, cache_ttl, .. } = self;
        let durability = durability.map(|durability| match durability {
            Durability::Synced => "synced".to_owned(),
            Durability::Written => "written".to_owned(),
            Durability::Buffered { .. } => "buffered".to_owned(),
        });
        let write_buffer = write_buffer.map(|most| match most {
            WriteBuffer::Writes(writes) => writes.to_string(),
            WriteBuffer::Bytes(bytes) => format!("{bytes}B"),
        });
        let filter = filter.map(|filter| match filter {
            Filter::Off => "off".to_owned(),
            Filter::On => "on".to_owned(),
            Filter::Keys(keys) => keys.to_string(),
        });
        let cache = cache.map(|cache| match cache {
            Cache::Off => "off".to_owned(),
            Cache::On => "on".to_owned(),
            Cache::Bytes(bytes) => bytes.to_string(),
            Cache::Percent(share) => format!("{share}%"),
        });
        let ttl = cache_ttl.map(|time| match time.subsec_millis() {
            0 => format!("{}s", time.as_secs()),
            _ => format!("{}ms", time.as_millis()),
        });
        let values = [
            preset.map(|preset| preset.name().to_owned()),
            durability,
            write_buffer,
            self.log.map(|log| if log { "on" } else { "off" }.to_owned()),
            filter,
            self.filter_bytes.map(|bytes| bytes.to_string()),
            cache,
            ttl,
            self.compression.map(|compression| compression.to_string()),
            self.store_cache.map(|bytes| bytes.to_string()),
            self.families.map(|families| if families == 0 { "off".to_owned() } else { families.to_string() }),
        ];
        NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
