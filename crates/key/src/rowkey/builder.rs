//! Keys written component by component.

use super::component::{SEPARATOR, escape, split};
use super::varint::Varint;
use super::{write_int, write_uint};
use crate::error::{Error, Refusal};
use crate::field::Width;

/// Writes a key component by component, in the reference's bytes.
///
/// Negative integers are taken, and sort behind positive ones. [`RowKey::strict`](super::RowKey::strict)
/// refuses them.
///
/// ```
/// use keyloom_key::rowkey::{RowKeyBuilder, RowKeyParts};
/// let key = RowKeyBuilder::new().add("building").add_int64(123).add([4, 0, 5]).finish();
/// assert!(key.ends_with(b"\x7b\x00\x00\x04\x00\x01\x05"));
/// let parts = RowKeyParts::new(&key)?;
/// assert_eq!(parts.get_str(0)?, "building");
/// assert_eq!(parts.get_int64(1)?, 123);
/// assert_eq!(parts.get(2).as_deref(), Some([4, 0, 5].as_slice()));
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct RowKeyBuilder {
    key: Vec<u8>,
    components: usize,
}

impl RowKeyBuilder {
    /// A key without components.
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes on with a key that has its first components: the next one stands behind a separator.
    ///
    /// The empty key counts as one empty component.
    ///
    /// ```
    /// use keyloom_key::rowkey::RowKeyBuilder;
    /// assert_eq!(RowKeyBuilder::extending("a").add("x").finish(), b"a\x00\x00x");
    /// assert_eq!(RowKeyBuilder::extending("").add("x").finish(), b"\x00\x00x");
    /// ```
    pub fn extending(key: impl Into<Vec<u8>>) -> Self {
        let key = key.into();
        let components = split(&key).count();
        Self { key, components }
    }

    /// Adds text or bytes.
    #[allow(clippy::should_implement_trait, reason = "`add` is the format's own word; a key is no sum")]
    pub fn add(mut self, bytes: impl AsRef<[u8]>) -> Self {
        escape(bytes.as_ref(), self.begin());
        self
    }

    /// Adds an integer of one byte.
    pub fn add_int8(self, value: i8) -> Self {
        self.add(value.to_be_bytes())
    }

    /// Adds an integer of two bytes.
    pub fn add_int16(self, value: i16) -> Self {
        self.add(value.to_be_bytes())
    }

    /// Adds an integer of four bytes.
    pub fn add_int32(self, value: i32) -> Self {
        self.add(value.to_be_bytes())
    }

    /// Adds an integer of eight bytes.
    pub fn add_int64(self, value: i64) -> Self {
        self.add(value.to_be_bytes())
    }

    /// Adds a signed integer of any width; one that does not fit is refused.
    pub fn add_int(self, width: Width, value: i64) -> Result<Self, Error> {
        self.try_add(|out| write_int(width, value, out))
    }

    /// Adds an unsigned integer of any width; one that does not fit is refused.
    pub fn add_uint(self, width: Width, value: u64) -> Result<Self, Error> {
        self.try_add(|out| write_uint(width, value, out))
    }

    /// Adds an integer in as few bytes as it needs.
    pub fn add_varint(self, value: u64) -> Self {
        self.add(Varint::new(value).as_bytes())
    }

    /// The key.
    pub fn finish(self) -> Vec<u8> {
        self.key
    }

    fn try_add(mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), Refusal>) -> Result<Self, Error> {
        write(self.begin()).map_err(|refusal| refusal.at(self.components))?;
        Ok(self)
    }

    /// Starts a component.
    fn begin(&mut self) -> &mut Vec<u8> {
        if self.components > 0 {
            self.key.extend_from_slice(&SEPARATOR);
        }
        self.components += 1;
        &mut self.key
    }
}
