//! Random fields and rows for property tests: any type, direction, place of nulls and nesting.

use keyloom_key::{
    Collation, Date, Decimal, Duration, Field, Fields, Nulls, Precision, Scale, Timestamp, Type, Uuid, Value,
    Width,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::hurtful;
use crate::laws::Row;

/// Any type that the native format holds, tuples to the given depth.
pub fn kind(depth: u32) -> BoxedStrategy<Type> {
    let simple = prop_oneof![
        Just(Type::Bool),
        prop::sample::select(Width::ALL.to_vec()).prop_map(Type::Int),
        prop::sample::select(Width::ALL.to_vec()).prop_map(Type::Uint),
        Just(Type::F32),
        Just(Type::F64),
        Just(Type::Decimal(None)),
        (1_u32..=38).prop_flat_map(|p| (Just(p), 0..=p)).prop_map(|(p, s)| Type::Decimal(Scale::new(p, s))),
        Just(Type::Str(Collation::Binary)),
        Just(Type::Str(Collation::NoCase)),
        Just(Type::Bytes),
        Just(Type::Uuid),
        prop::sample::select(vec![Precision::Millis, Precision::Micros, Precision::Nanos])
            .prop_map(Type::Timestamp),
        Just(Type::Date),
        Just(Type::Duration),
    ];
    if depth == 0 {
        return simple.boxed();
    }
    prop_oneof![6 => simple, 1 => vec(field(depth - 1), 0..3).prop_map(|f| Type::Tuple(f.into_iter().collect()))].boxed()
}

/// Any field: any type, direction and place of nulls.
pub fn field(depth: u32) -> BoxedStrategy<Field> {
    let nulls = option::of(prop_oneof![Just(Nulls::First), Just(Nulls::Last)]);
    (kind(depth), any::<bool>(), nulls)
        .prop_map(|(kind, desc, nulls)| {
            let field = Field { nulls, ..Field::from(kind) };
            if desc { field.descending() } else { field }
        })
        .boxed()
}

/// One to four fields.
pub fn fields() -> impl Strategy<Value = Fields> {
    vec(field(2), 1..5).prop_map(|fields| fields.into_iter().collect())
}

/// A value of this type: one that is built to hurt, or any other.
pub fn value(kind: &Type) -> BoxedStrategy<Value<'static>> {
    let other: BoxedStrategy<Value<'static>> = match kind {
        Type::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Type::Int(width) => {
            let shift = 64 - width.bits();
            any::<i64>().prop_map(move |v| Value::from(v >> shift)).boxed()
        }
        Type::Uint(width) => {
            let shift = 64 - width.bits();
            any::<u64>().prop_map(move |v| Value::from(v >> shift)).boxed()
        }
        Type::Varint => (any::<u64>(), 0_u32..64).prop_map(|(v, shift)| Value::from(v >> shift)).boxed(),
        Type::F32 => any::<f32>().prop_map(Value::from).boxed(),
        Type::F64 => any::<f64>().prop_map(Value::from).boxed(),
        Type::Decimal(scale) => decimal(*scale).prop_map(Value::from).boxed(),
        Type::Str(_) => text().prop_map(Value::from).boxed(),
        Type::Bytes => bytes().prop_map(Value::from).boxed(),
        Type::Uuid => any::<u128>().prop_map(|v| Uuid::from_u128(v).into()).boxed(),
        Type::Timestamp(precision) => {
            let precision = *precision;
            any::<i64>().prop_map(move |v| Timestamp::new(v, precision).into()).boxed()
        }
        Type::Date => any::<i32>().prop_map(|v| Date::from_days(v).into()).boxed(),
        Type::Duration => any::<i64>().prop_map(|v| Duration::from_nanos(v).into()).boxed(),
        Type::Tuple(fields) => (row(fields), 0..=fields.len())
            .prop_map(|(mut row, length)| {
                row.truncate(length);
                Value::Tuple(row)
            })
            .boxed(),
        _ => Just(Value::Null).boxed(),
    };
    let hurtful = hurtful::values(kind);
    if hurtful.is_empty() {
        return other;
    }
    prop_oneof![prop::sample::select(hurtful), other].boxed()
}

/// A row of values of these fields.
pub fn row(fields: &Fields) -> BoxedStrategy<Row> {
    fields
        .iter()
        .map(|field| {
            let value = value(&field.kind);
            if field.nulls.is_some() {
                prop_oneof![1 => Just(Value::Null), 4 => value].boxed()
            } else {
                value
            }
        })
        .collect::<Vec<_>>()
        .boxed()
}

/// Fields, and some rows of them.
pub fn table(rows: usize) -> impl Strategy<Value = (Fields, Vec<Row>)> {
    fields().prop_flat_map(move |fields| {
        let row = row(&fields);
        (Just(fields), vec(row, 2..rows))
    })
}

/// Text of the characters that hurt, among others.
pub fn text() -> impl Strategy<Value = String> {
    let character =
        prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), Just('A'), Just('\u{7f}'), any::<char>()];
    vec(character, 0..40).prop_map(|characters| characters.into_iter().collect())
}

/// Bytes that hurt, among others.
pub fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0_u8), Just(1), Just(2), Just(0xFE), Just(0xFF), any::<u8>()], 0..40)
}

/// A decimal of this size, or of any.
pub fn decimal(scale: Option<Scale>) -> BoxedStrategy<Decimal> {
    let limit = 10_i128.pow(scale.map_or(38, Scale::precision));
    let exponent = scale.map_or(-130..126, |scale| {
        let least = -i32::try_from(scale.scale()).unwrap_or(0);
        least..least + 1
    });
    (1 - limit..limit, exponent)
        .prop_map(|(coefficient, exponent)| Decimal::new(coefficient, exponent).unwrap_or(Decimal::ZERO))
        .boxed()
}
