//! Tuples: as a whole key, and as a part of another.

use super::{DecodeKey, DecodePart, EncodeKey, EncodePart, no_value};
use crate::error::{Error, Refusal};
use crate::field::{Field, Fields, Type};
use crate::native::{Reader, TUPLE_END, TUPLE_MORE, Writer};

/// The sum of the widths, if all are known.
const fn sum(widths: &[Option<usize>]) -> Option<usize> {
    match widths {
        [] => Some(0),
        [None, ..] => None,
        [Some(width), rest @ ..] => match sum(rest) {
            Some(sum) => Some(*width + sum),
            None => None,
        },
    }
}

// A tuple is a key of its parts one after the other. As a part of another key it is framed by marks, so that
// it sorts among tuples that the dynamic format allows to be shorter.
macro_rules! tuples {
    ($($name:ident $index:tt $number:literal [$($after:ident)*]),+) => {
        impl<$($name: EncodePart),+> EncodeKey for ($($name,)+) {
            fn fields() -> Fields {
                [$($name::field()),+].into_iter().collect()
            }

            #[inline(always)]
            fn key_size(&self) -> usize {
                0 $(+ self.$index.size())+
            }

            #[inline(always)]
            fn encode_key(&self, out: &mut Vec<u8>) -> Result<(), Error> {
                let length = out.len();
                let mut writer = Writer::new(out);
                $(if let Err(refusal) = self.$index.write(&mut writer, false) {
                    out.truncate(length);
                    return Err(refusal.at($number));
                })+
                writer.finish();
                Ok(())
            }
        }

        impl<'a, $($name: DecodePart<'a>),+> DecodeKey<'a> for ($($name,)+) {
            #[inline(always)]
            fn decode_key(key: &'a [u8]) -> Result<Self, Error> {
                let mut reader = Reader::new(key);
                // What follows a part has a known length if every later part has.
                let value = ($($name::read(&mut reader, false, const { sum(&[$($after::WIDTH),*]) })?,)+);
                reader.finish()?;
                Ok(value)
            }
        }

        impl<$($name: EncodePart),+> EncodePart for ($($name,)+) {
            const WIDTH: Option<usize> = None;

            fn field() -> Field {
                Type::Tuple(Self::fields()).into()
            }

            fn size(&self) -> usize {
                1 $(+ 1 + self.$index.size())+
            }

            fn write(&self, out: &mut Writer<'_>, desc: bool) -> Result<(), Refusal> {
                out.within(desc, |out| {
                    $(
                        out.array([TUPLE_MORE], false);
                        self.$index.write(out, false).map_err(|refusal| refusal.in_element($number))?;
                    )+
                    out.array([TUPLE_END], false);
                    Ok(())
                })
            }
        }

        impl<'a, $($name: DecodePart<'a>),+> DecodePart<'a> for ($($name,)+) {
            const WIDTH: Option<usize> = None;

            fn read(reader: &mut Reader<'a>, desc: bool, _rest: Option<usize>) -> Result<Self, Error> {
                reader.within(desc, |reader| {
                    let value = ($({
                        read_mark(reader, TUPLE_MORE)?;
                        $name::read(reader, false, None)?
                    },)+);
                    read_mark(reader, TUPLE_END)?;
                    Ok(value)
                })
            }
        }
    };
}

fn read_mark(reader: &mut Reader<'_>, mark: u8) -> Result<(), Error> {
    let at = reader.offset();
    let [byte] = reader.array(false)?;
    if byte == mark { Ok(()) } else { Err(no_value(at, "tuple of this length")) }
}

tuples!(A 0 1 []);
tuples!(A 0 1 [B], B 1 2 []);
tuples!(A 0 1 [B C], B 1 2 [C], C 2 3 []);
tuples!(A 0 1 [B C D], B 1 2 [C D], C 2 3 [D], D 3 4 []);
tuples!(A 0 1 [B C D E], B 1 2 [C D E], C 2 3 [D E], D 3 4 [E], E 4 5 []);
tuples!(A 0 1 [B C D E F], B 1 2 [C D E F], C 2 3 [D E F], D 3 4 [E F], E 4 5 [F], F 5 6 []);
tuples!(A 0 1 [B C D E F G], B 1 2 [C D E F G], C 2 3 [D E F G], D 3 4 [E F G], E 4 5 [F G], F 5 6 [G], G 6 7 []);
tuples!(
    A 0 1 [B C D E F G H], B 1 2 [C D E F G H], C 2 3 [D E F G H], D 3 4 [E F G H], E 4 5 [F G H], F 5 6 [G H],
    G 6 7 [H], H 7 8 []
);
