//! The varint of SQLite 4: short for small numbers, and its bytes sort as the numbers do.
//!
//! ```text
//! 0 … 240          │n│
//! 241 … 2287       │F1 + (n - 240) / 256│(n - 240) % 256│
//! 2288 … 67823     │F9│n - 2288, two bytes│
//! from 67824       │F7 + k│n, k bytes│     k = 3 … 8, as few as it takes
//! ```

/// The bytes of one number.
pub(super) struct Varint {
    bytes: [u8; 9],
    length: usize,
}

impl Varint {
    pub(super) fn new(value: u64) -> Self {
        let (first, rest, length) = match value {
            0..=240 => (value, 0, 1),
            241..=2287 => (241 + ((value - 240) >> 8), (value - 240) & 0xFF, 2),
            2288..=67823 => (249, value - 2288, 3),
            _ => {
                let zeros = value.leading_zeros() / 8;
                (255 - u64::from(zeros), value, (zeros..8).count() + 1)
            }
        };
        let mut bytes = [0; 9];
        let [place, places @ ..] = &mut bytes;
        [.., *place] = first.to_be_bytes();
        for (place, byte) in places.iter_mut().zip(rest.to_be_bytes().into_iter().skip(9 - length)) {
            *place = byte;
        }
        Self { bytes, length }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }

    /// The number that has exactly these bytes.
    pub(super) fn read(bytes: &[u8]) -> Option<u64> {
        let (&first, rest) = bytes.split_first()?;
        if rest.len() > 8 {
            return None;
        }
        let number = rest.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let value = match first {
            0..=240 => u64::from(first),
            241..=248 => number.checked_add(240 + (u64::from(first - 241) << 8))?,
            249 => number.checked_add(2288)?,
            250..=255 => number,
        };
        // One number, one form: what has too many bytes, or too few, is written otherwise.
        (Self::new(value).as_bytes() == bytes).then_some(value)
    }
}
