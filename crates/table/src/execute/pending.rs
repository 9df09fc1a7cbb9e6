//! Index entries whose records are fetched together.

/// For how many entries room is made before they come.
const MOST_ROOM: usize = 32;

/// Entries that wait for their records: where each was found, its key and the record's, in one piece of memory.
#[derive(Default)]
pub(super) struct Pending {
    bytes: Vec<u8>,
    /// The number of its stretch, and where its key and the record's end.
    places: Vec<(usize, usize, usize)>,
}

/// One entry that waits.
#[derive(Clone, Copy)]
pub(super) struct Waiting<'p> {
    pub(super) stretch: usize,
    pub(super) entry: &'p [u8],
    pub(super) record: &'p [u8],
}

impl Pending {
    /// Adds an entry. The first one makes room for as many as are expected, for most are as long as it.
    pub(super) fn push(&mut self, stretch: usize, entry: &[u8], record: &[u8], expected: usize) {
        if self.places.is_empty() {
            let room = expected.min(MOST_ROOM);
            self.places.reserve(room);
            self.bytes.reserve(room * (entry.len() + record.len()));
        }
        self.bytes.extend_from_slice(entry);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.places.push((stretch, middle, self.bytes.len()));
    }

    pub(super) fn get(&self, number: usize) -> Option<Waiting<'_>> {
        let (stretch, middle, end) = *self.places.get(number)?;
        let start =
            number.checked_sub(1).and_then(|before| self.places.get(before)).map_or(0, |before| before.2);
        Some(Waiting { stretch, entry: self.bytes.get(start..middle)?, record: self.bytes.get(middle..end)? })
    }

    /// The keys of the records that are waited for.
    pub(super) fn records(&self) -> Vec<&[u8]> {
        let record =
            |(_, middle, end): &(usize, usize, usize)| self.bytes.get(*middle..*end).unwrap_or_default();
        self.places.iter().map(record).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}
