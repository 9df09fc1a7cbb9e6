//! Reads a key's fields one after the other and knows where it stands.

use std::borrow::Cow;

use crate::decimal::Decimal;
use crate::error::Error;
use crate::native::{decimal, text};

/// A key that is being read.
#[derive(Debug)]
pub struct Reader<'a> {
    key: &'a [u8],
    at: usize,
    flip: u8,
}

impl<'a> Reader<'a> {
    #[inline(always)]
    pub(crate) fn new(key: &'a [u8]) -> Self {
        Self { key, at: 0, flip: 0 }
    }

    /// How far into the key it is.
    #[inline(always)]
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    #[inline(always)]
    fn input(&self) -> &'a [u8] {
        self.key.get(self.at..).unwrap_or_default()
    }

    /// What bytes were XORed with.
    #[inline(always)]
    fn flip(&self, desc: bool) -> u8 {
        if desc { !self.flip } else { self.flip }
    }

    /// Reads an array; `desc`: every byte is complemented.
    #[inline(always)]
    pub(crate) fn array<const N: usize>(&mut self, desc: bool) -> Result<[u8; N], Error> {
        let flip = self.flip(desc);
        match self.input().first_chunk::<N>() {
            Some(bytes) => {
                self.at += N;
                Ok(bytes.map(|byte| byte ^ flip))
            }
            None => Err(self.short(N)),
        }
    }

    #[cold]
    fn short(&self, wanted: usize) -> Error {
        Error::bytes(self.key.len(), format!("the key ends within a field of {wanted} bytes"))
    }

    /// Reads text or bytes. `rest`: how many bytes follow them, where that is known.
    #[inline(always)]
    pub(crate) fn text(&mut self, desc: bool, rest: Option<usize>) -> Result<(Cow<'a, [u8]>, bool), Error> {
        let flip = self.flip(desc);
        let read =
            if flip == 0 { text::read(self.input(), rest) } else { text::unescape(self.input(), flip, 0) };
        match read {
            Ok(read) => {
                self.at += read.taken;
                Ok((read.bytes, read.ascii))
            }
            Err(offset) => Err(self.bad_text(offset)),
        }
    }

    #[cold]
    fn bad_text(&self, offset: usize) -> Error {
        let offset = self.at + offset;
        if offset >= self.key.len() {
            return Error::bytes(offset, "the key ends within text");
        }
        Error::bytes(offset, "after a zero within text stands neither its end nor an escape")
    }

    /// Reads a decimal.
    pub(crate) fn decimal(&mut self, desc: bool) -> Result<Decimal, Error> {
        match decimal::decode(self.input(), self.flip(desc)) {
            Ok((value, taken)) => {
                self.at += taken;
                Ok(value)
            }
            Err(offset) => Err(Error::bytes(self.at + offset, "no decimal is spelt so")),
        }
    }

    /// Runs `read` with everything it reads complemented if `desc`.
    #[inline]
    pub(crate) fn within<T>(&mut self, desc: bool, read: impl FnOnce(&mut Self) -> T) -> T {
        let flip = self.flip;
        self.flip = self.flip(desc);
        let result = read(self);
        self.flip = flip;
        result
    }

    /// Checks that the whole key was read.
    #[inline(always)]
    pub(crate) fn finish(self) -> Result<(), Error> {
        if self.at == self.key.len() { Ok(()) } else { Err(self.long()) }
    }

    #[cold]
    fn long(self) -> Error {
        Error::bytes(self.at, format!("{} bytes follow the last field", self.key.len() - self.at))
    }
}
