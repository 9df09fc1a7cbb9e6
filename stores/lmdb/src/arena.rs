//! Bytes that are kept for a while and let go together: adding some is a copy and, now and then, an allocation.

/// How many bytes a piece has, if nothing larger comes.
const PIECE: usize = 1 << 18;

/// Bytes by their places.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    /// None ever moves: the last is added to while it has room.
    pieces: Vec<Vec<u8>>,
}

/// Where some bytes lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    piece: u32,
    start: u32,
    length: u32,
}

impl Arena {
    /// Keeps a copy. Of more than 4 GiB at once, or in all of more than 2^32 pieces, nothing is found again.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Place {
        let full = |piece: &Vec<u8>| piece.capacity() - piece.len() < bytes.len();
        if self.pieces.last().is_none_or(full) {
            // Few commits need little.
            let room = if self.pieces.is_empty() { 4_096 } else { PIECE };
            self.pieces.push(Vec::with_capacity(room.max(bytes.len())));
        }
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let piece = number(self.pieces.len() - 1);
        let Some(last) = self.pieces.last_mut() else { return Place { piece, start: 0, length: 0 } };
        let start = number(last.len());
        last.extend_from_slice(bytes);
        Place { piece, start, length: number(bytes.len()) }
    }

    /// The bytes that were added here.
    pub(crate) fn get(&self, place: Place) -> &[u8] {
        self.behind(place).get(..size(place.length)).unwrap_or_default()
    }

    /// So many bytes from here on, if they are there: these, and what was added behind them.
    pub(crate) fn from(&self, place: Place, length: usize) -> &[u8] {
        let behind = self.behind(place);
        behind.get(..length).unwrap_or(behind)
    }

    fn behind(&self, place: Place) -> &[u8] {
        let piece = self.pieces.get(size(place.piece)).map(Vec::as_slice).unwrap_or_default();
        piece.get(size(place.start)..).unwrap_or_default()
    }
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
