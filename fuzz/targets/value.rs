//! Records' bytes: one field, all of them, and as a document.

#![no_main]

use keyloom_schema::document::{FieldRef, Names, Payload};

/// Every other id has a name.
struct Even;

const DECLARED: [&str; 4] = ["a", "b", "c", "d"];

impl Names for Even {
    fn id(&self, name: &str) -> Option<u16> {
        let index = DECLARED.iter().position(|declared| *declared == name)?;
        u16::try_from(2 * index).ok()
    }

    fn name(&self, id: u16) -> Option<&str> {
        DECLARED.get(usize::from(id / 2)).copied().filter(|_| id % 2 == 0)
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(payload) = Payload::new(data) else { return };
    for id in 0..8 {
        let _ = payload.get(id);
    }
    for name in ["", "a", "z"] {
        let _ = payload.get_named(&Even, name);
    }
    let Ok(fields) = payload.iter().collect::<Result<Vec<_>, _>>() else { return };
    let document = payload.to_document(&Even).expect("what was read once is read again");
    let mut again = Vec::new();
    document.encode(&Even, &mut again).expect("what was read can be written");
    // Names that are declared by now get their ids, and where both are there the declared one stays.
    let declared_by_name = |field: &FieldRef<'_>| matches!(field, FieldRef::Name(name) if Even.id(name).is_some());
    if fields.iter().any(|(field, _)| declared_by_name(field)) {
        let read = Payload::new(&again).expect("its own bytes").to_document(&Even).expect("its own bytes");
        // By their texts, because no NaN equals itself.
        assert_eq!(format!("{read:?}"), format!("{document:?}"));
    } else {
        assert_eq!(again, data, "{fields:?}");
    }
});
