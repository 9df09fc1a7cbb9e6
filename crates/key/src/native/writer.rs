//! Where encoded fields go: fixed widths gather in an array and are appended as one.

use crate::native::text;

/// Appends a key's fields to a buffer.
///
/// Appending is dear (a capacity check and a copy of unknown length each), so the bytes of fixed width that
/// follow one another wait in an array of their own; their number is known when the code is compiled.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    waiting: [u8; WAITING],
    count: usize,
    flip: u8,
}

const WAITING: usize = 64;

impl<'a> Writer<'a> {
    #[inline(always)]
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, waiting: [0; WAITING], count: 0, flip: 0 }
    }

    /// What bytes are XORed with.
    #[inline(always)]
    fn flip(&self, desc: bool) -> u8 {
        if desc { !self.flip } else { self.flip }
    }

    /// Appends an array; `desc`: every byte complemented.
    #[inline(always)]
    pub(crate) fn array<const N: usize>(&mut self, bytes: [u8; N], desc: bool) {
        let flip = self.flip(desc);
        let bytes = bytes.map(|byte| byte ^ flip);
        if self.count + N > WAITING {
            self.flush();
        }
        match self.waiting.get_mut(self.count..self.count + N) {
            Some(place) => {
                place.copy_from_slice(&bytes);
                self.count += N;
            }
            None => self.out.extend_from_slice(&bytes),
        }
    }

    /// Appends text or bytes and their end.
    #[inline(always)]
    pub(crate) fn text(&mut self, bytes: &[u8], desc: bool) {
        let flip = self.flip(desc);
        self.flush();
        if flip != 0 || text::scan(bytes).has_zero() {
            text::escape(bytes, flip, self.out);
        } else {
            self.out.extend_from_slice(bytes);
        }
        self.array(text::END, desc);
    }

    /// Appends text that comes character by character, and its end.
    pub(crate) fn characters(&mut self, text: impl Iterator<Item = char>, desc: bool) {
        let flip = self.flip(desc);
        self.flush();
        for character in text {
            text::escape(character.encode_utf8(&mut [0; 4]).as_bytes(), flip, self.out);
        }
        self.array(text::END, desc);
    }

    /// Runs `write` with everything it writes complemented if `desc`.
    #[inline]
    pub(crate) fn within<T>(&mut self, desc: bool, write: impl FnOnce(&mut Self) -> T) -> T {
        let flip = self.flip;
        self.flip = self.flip(desc);
        let result = write(self);
        self.flip = flip;
        result
    }

    #[inline(always)]
    fn flush(&mut self) {
        if let Some(bytes) = self.waiting.get(..self.count)
            && self.count > 0
        {
            self.out.extend_from_slice(bytes);
            self.count = 0;
        }
    }

    /// Appends what still waits.
    #[inline(always)]
    pub(crate) fn finish(mut self) {
        self.flush();
    }
}
