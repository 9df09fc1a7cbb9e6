use proptest::collection::vec;
use proptest::prelude::*;

use super::Batch;

type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// Few bytes, so that keys begin alike, and are written twice.
fn writes() -> impl Strategy<Value = Writes> {
    let key = prop_oneof![vec(0_u8..2, 0..4), vec(0_u8..2, 15..24)];
    vec((key, proptest::option::of(vec(any::<u8>(), 0..4))), 0..20)
}

fn batch(writes: &Writes) -> Batch {
    let mut batch = Batch::new();
    writes.iter().for_each(|(key, value)| batch.write(key, value.as_deref()));
    batch
}

fn written(batch: &Batch) -> Writes {
    batch.writes().map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec))).collect()
}

proptest! {
    #[test]
    fn a_batch_gives_back_what_was_written(first in writes(), second in writes(), third in writes()) {
        let mut all = batch(&first);
        all.append(batch(&second).require_absent("a"));
        third.iter().for_each(|(key, value)| all.write(key, value.as_deref()));
        let expected = [first, second, third].concat();
        prop_assert_eq!(written(&all), expected.clone());
        prop_assert_eq!(all.conditions().len(), 1);
        prop_assert_eq!(&all, &batch(&expected).require_absent("a"));
        let size: usize = expected.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Vec::len)).sum();
        prop_assert_eq!(all.size(), size);
    }

    #[test]
    fn values_that_are_appended_are_values_that_were_given_and_one_that_fails_leaves_nothing(
        writes in writes(),
        failing in any::<u32>(),
    ) {
        let mut appended = Batch::new();
        for (number, (key, value)) in writes.iter().enumerate() {
            let fails = failing >> (number % 32) & 1 == 1;
            let written = appended.write_with(key, |out| {
                out.extend_from_slice(value.as_deref().unwrap_or_default());
                if fails { Err(number) } else { Ok(()) }
            });
            prop_assert_eq!(written, if fails { Err(number) } else { Ok(()) });
        }
        let kept = writes.iter().enumerate().filter(|(number, _)| failing >> (number % 32) & 1 == 0);
        let kept: Writes =
            kept.map(|(_, (key, value))| (key.clone(), Some(value.clone().unwrap_or_default()))).collect();
        prop_assert_eq!(&appended, &batch(&kept));
        prop_assert_eq!(appended.size(), batch(&kept).size());
    }

    #[test]
    fn a_sorted_batch_is_in_the_order_of_keys_and_then_of_time(first in writes(), second in writes()) {
        let mut sorted = batch(&first);
        sorted.append(batch(&second));
        let mut expected = [first, second].concat();
        expected.sort_by(|(a, _), (b, _)| a.cmp(b));
        let twin = expected.iter().zip(expected.iter().skip(1)).find(|((a, _), (b, _))| a == b);
        prop_assert_eq!(sorted.sort().map(<[u8]>::to_vec), twin.map(|((key, _), _)| key.clone()));
        prop_assert_eq!(written(&sorted), expected);
    }
}
