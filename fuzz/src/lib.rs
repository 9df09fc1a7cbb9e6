//! What all targets do: choose fields by the first bytes, decode the rest, encode what came out.

#![forbid(unsafe_code)]

use keyloom_key::{Fields, KeyFormat};

/// Reads `data` as a key of fields that its first bytes choose from `types`, and writes it again.
///
/// A decoder may refuse any bytes; what it accepts, the encoder must give back byte for byte.
pub fn decode_then_encode(format: &impl KeyFormat, types: &[&str], data: &[u8]) {
    let Some((fields, key)) = choose(types, data) else { return };
    if format.promises(&fields).is_err() {
        return;
    }
    if let Ok(values) = format.decode(&fields, key) {
        let mut again = Vec::new();
        format.encode(&fields, &values, &mut again).expect("what was read can be written");
        assert_eq!(again, key, "({fields}) {values:?}");
    }
}

/// One to four fields, chosen by the first bytes, and the bytes behind them.
fn choose<'a>(types: &[&str], data: &'a [u8]) -> Option<(Fields, &'a [u8])> {
    let (count, data) = data.split_first()?;
    let (chosen, key) = data.split_at_checked(usize::from(count % 4) + 1)?;
    let chosen: Vec<&str> = chosen.iter().map(|byte| types[usize::from(*byte) % types.len()]).collect();
    Some((chosen.join(",").parse().expect("the types are well written"), key))
}
