//! Ids that are never given twice, with the time of the write that they belong to.

use std::fmt;

/// An id: microseconds since 1970 by its maker's clock, then 64 random bits. Uniqueness is the random part's; the time is
/// what the cluster orders the write by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id([u8; 16]);

impl Id {
    /// An id of this time.
    pub fn new(time: i64, random: u64) -> Self {
        Self(((u128::from(time.cast_unsigned()) << 64) | u128::from(random)).to_be_bytes())
    }

    /// The same with a mark, for which the last of the random bits is kept: the row's key is claimed.
    pub(crate) fn marked(mut self) -> Self {
        let [.., last] = &mut self.0;
        *last |= 1;
        self
    }

    /// The same without a mark.
    pub(crate) fn unmarked(mut self) -> Self {
        let [.., last] = &mut self.0;
        *last &= !1;
        self
    }

    /// Whether the row's key is claimed.
    pub(crate) fn is_marked(self) -> bool {
        let [.., last] = self.0;
        last & 1 == 1
    }

    /// The time of the write.
    pub fn time(self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        i64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// As it is stored.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// As it was stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", u128::from_be_bytes(self.0))
    }
}
