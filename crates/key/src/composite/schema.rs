//! Fields with names, given in their order.

use crate::composite::{Composite, NAME};
use crate::error::Error;
use crate::field::{Field, Fields};
use crate::format::KeyFormat;
use crate::value::Value;

/// Named fields and how their keys are written: values come with names, which must be the schema's in its order.
///
/// ```
/// use keyloom_key::composite::{Composite, CompositeSchema};
/// use keyloom_key::placement::{Hash, Shards};
/// use keyloom_key::{Field, Timestamp, Uuid};
/// let schema = CompositeSchema::new(
///     Composite::new().pad(1, 32).shards(Shards::new(256, Hash::Md5).unwrap()),
///     [
///         ("user_id", "str".parse::<Field>()?),
///         ("order_date", "timestamp(3)".parse()?),
///         ("order_id", "uuid".parse()?),
///     ],
/// )?;
/// let user = ("user_id", "USR_12345".into());
/// let date = ("order_date", Timestamp::from_millis(1_737_100_800_000).into());
/// let id = ("order_id", Uuid::from_u128(0x550e8400_e29b_41d4_a716_446655440001).into());
///
/// let mut key = Vec::new();
/// schema.create_key(&[user.clone(), date, id.clone()], &mut key)?;
/// assert_eq!(key.len(), 61);
///
/// let error = schema.create_key(&[user, id], &mut key).unwrap_err();
/// assert!(error.to_string().contains("field 2 is `order_id` where the schema has `order_date`"));
/// # Ok::<(), keyloom_key::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompositeSchema {
    composite: Composite,
    names: Vec<String>,
    fields: Fields,
}

impl CompositeSchema {
    /// A schema of these fields, if they can be keys of this format and no two have the same name.
    pub fn new<N, F>(composite: Composite, fields: impl IntoIterator<Item = (N, F)>) -> Result<Self, Error>
    where
        N: Into<String>,
        F: Into<Field>,
    {
        let (names, fields): (Vec<String>, Vec<Field>) =
            fields.into_iter().map(|(name, field)| (name.into(), field.into())).unzip();
        for (index, name) in names.iter().enumerate() {
            if let Some(first) = names.iter().take(index).position(|other| other == name) {
                let (first, second) = (first + 1, index + 1);
                let reason = format!("fields {first} and {second} are both `{name}`: rename one");
                return Err(Error::layout(NAME, reason));
            }
        }
        let fields = fields.into_iter().collect();
        composite.promises(&fields)?;
        Ok(Self { composite, names, fields })
    }

    /// How keys are written.
    pub fn composite(&self) -> &Composite {
        &self.composite
    }

    /// The fields.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The fields' names, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Appends the key of these values to `out`, which stays as it was if they are refused.
    ///
    /// Names must be those of the schema, in its order. Fewer values give the bytes that every key with these
    /// first values starts with.
    pub fn create_key(&self, values: &[(&str, Value<'_>)], out: &mut Vec<u8>) -> Result<(), Error> {
        for (index, (given, _)) in values.iter().enumerate() {
            match self.names.get(index) {
                Some(name) if name == given => {}
                place => return Err(self.misplaced(index + 1, given, place)),
            }
        }
        self.composite.write(&self.fields, values.iter().map(|(_, value)| value), out)
    }

    #[cold]
    fn misplaced(&self, number: usize, given: &str, place: Option<&String>) -> Error {
        let order = self.names.join(", ");
        Error::layout(
            NAME,
            match place {
                Some(name) => format!(
                    "field {number} is `{given}` where the schema has `{name}`: give the values in the order {order}"
                ),
                None => format!(
                    "field {number} is `{given}` where the schema has only {} fields: {order}",
                    self.names.len()
                ),
            },
        )
    }
}
