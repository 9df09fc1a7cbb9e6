//! The same keys for both systems.

use keyloom_key::Span;

use super::Error;

/// Keys of a run: each has spaces of its own, so that runs do not meet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    run: u32,
}

impl Keys {
    pub(super) fn new(run: u32) -> Self {
        Self { run: run << 3 }
    }

    /// A space of the run, one of eight.
    pub(super) fn space(self, place: u32) -> [u8; 4] {
        (self.run | place).to_be_bytes()
    }

    fn key(self, place: u32, number: u64) -> Vec<u8> {
        [self.space(place).as_slice(), &number.to_be_bytes()].concat()
    }

    pub(super) fn record(self, number: u64) -> Vec<u8> {
        self.key(0, number)
    }

    /// The entry of a record that has moved it so often.
    pub(super) fn entry(self, number: u64, moved: u64) -> Vec<u8> {
        // Another place in the order each time.
        let field = (number + moved).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [self.key(1, field), self.record(number)].concat()
    }

    pub(super) fn member(self, number: u64) -> Vec<u8> {
        self.key(2, number)
    }
}

/// From a key to the end of its space.
pub(super) fn from(key: Vec<u8>) -> Span {
    let space = key.first_chunk::<4>().map_or(0, |space| u32::from_be_bytes(*space));
    Span { start: key, end: Some((space + 1).to_be_bytes().to_vec()) }
}

/// The value of a record: a hundred bytes.
pub(super) fn value(number: u64) -> Vec<u8> {
    number.to_be_bytes().into_iter().cycle().take(100).collect()
}

/// URLs of two keyspaces beside the one that is named, which are made for the run and dropped at its end.
pub(super) fn keyspaces(url: &str) -> Result<[String; 2], Error> {
    let (before, keyspace) = url
        .rsplit_once('/')
        .filter(|(before, _)| before.contains("://") && !before.ends_with('/'))
        .ok_or("the URL has no keyspace: cassandra://host/keyspace")?;
    let (keyspace, options) = match keyspace.split_once('?') {
        Some((keyspace, options)) => (keyspace, format!("?{options}")),
        None => (keyspace, String::new()),
    };
    Ok(["keyloom", "hand"].map(|system| format!("{before}/{keyspace}_{system}{options}")))
}
