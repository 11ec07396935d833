//! Event kinds, and the fields of their payloads.

/// A kind of event.
///
/// [`events!`](crate::events) implements this trait. Numbers below 8 are reserved for `hv-core`, and numbers 8 to 19 for the
/// performance counter service.
pub trait TraceEvent {
    /// The kind's number, 1 to 32767. In [`Clock27`](super::Clock27), numbers from 31 on need a full header.
    const ID: u16;
    /// The name under which a viewer shows events of this kind.
    const NAME: &'static str;
    /// The fields of the payload, packed from the lowest bits of the first word on. A field of 64 bits takes two words, upper half
    /// first. No other field may cross the end of a word.
    const FIELDS: &'static [Field];
    /// The size of the payload in 32-bit words.
    const WORDS: usize;
    /// An array of [`WORDS`](Self::WORDS) words.
    type Payload: AsRef<[u32]>;

    /// Packs the fields into words.
    fn payload(&self) -> Self::Payload;
}

/// Describes a field of an event: its name, its width, and how a viewer shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name under which a viewer shows the field.
    pub name: &'static str,
    /// The width in bits: 8, 16, 32 or 64.
    pub bits: u32,
    /// How a viewer shows the field.
    pub format: DisplayFormat,
}

/// How a viewer shows a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayFormat {
    /// The viewer shows the value as a decimal number.
    Number,
    /// The viewer shows the value as a hexadecimal number.
    Hex,
    /// The viewer shows the value's name in this list, or the number if the list has no name for it.
    Names(&'static [(u64, &'static str)]),
}

/// Shows a hypercall's status by name.
pub const STATUSES: DisplayFormat = {
    use guest_abi::HvError;
    const fn named(error: HvError) -> (u64, &'static str) {
        (error.number(), error.name().expect("a status of the contract has a name"))
    }
    DisplayFormat::Names(&[
        (guest_abi::status::EOK, "EOK"),
        named(HvError::Invalid),
        named(HvError::BadTrap),
        named(HvError::WouldBlock),
        named(HvError::NoAccess),
        named(HvError::NotSupported),
    ])
};

/// The description of a kind of event, with the constants of its [`TraceEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // As in `TraceEvent`.
pub struct Class {
    pub id: u16,
    pub name: &'static str,
    pub fields: &'static [Field],
}

impl Class {
    /// Returns the description of event kind `E`.
    pub const fn for_event<E: TraceEvent>() -> Self {
        Self { id: E::ID, name: E::NAME, fields: E::FIELDS }
    }

    /// Returns the size of the payload in 32-bit words.
    pub const fn words(&self) -> usize {
        bits(self.fields) as usize / 32
    }
}

const fn bits(fields: &[Field]) -> u32 {
    let (mut bits, mut index) = (0, 0);
    while index < fields.len() {
        bits += fields[index].bits;
        index += 1;
    }
    bits
}

/// Returns `true` if the fields fill whole words, and only 64-bit fields cross the end of a word.
#[doc(hidden)]
pub const fn fits(fields: &[Field]) -> bool {
    let (mut bit, mut index) = (0, 0);
    while index < fields.len() {
        let width = fields[index].bits;
        let room = if width == 64 { 64 } else { 32 };
        if bit % 32 + width > room {
            return false;
        }
        bit += width;
        index += 1;
    }
    bit % 32 == 0
}

/// Stores a field of `bits` bits after the first `at` bits of the words. The words must have zeros there.
#[doc(hidden)]
#[inline(always)]
pub fn put(words: &mut [u32], at: u32, bits: u32, value: u64) {
    let Some([first, rest @ ..]) = words.get_mut(at as usize / 32..) else {
        return;
    };
    match (bits, rest) {
        (64, [second, ..]) => (*first, *second) = ((value >> 32) as u32, value as u32),
        _ => *first |= (value as u32) << (at % 32),
    }
}

pub(super) const fn join(upper: u32, lower: u32) -> u64 {
    (upper as u64) << 32 | lower as u64
}

/// Returns the field of `bits` bits after the first `at` bits of the words. Missing words are read as 0.
#[doc(hidden)]
pub fn take(words: &[u32], at: u32, bits: u32) -> u64 {
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let index = at as usize / 32;
    match bits {
        64 => join(word(index), word(index + 1)),
        _ => u64::from(word(index) >> (at % 32)) & ((1 << bits) - 1),
    }
}

/// Declares kinds of events, and an enum that contains all of them.
///
/// A field needs no documentation if its name says what it holds. In each event of a call, `status` is the result, `guest` and
/// `strand` are the caller, and `duration` is the [duration](crate::trace::duration) of the call.
///
/// ```
/// hv_core::events! {
///     /// The events of a lamp.
///     pub enum LampEvent {
///         /// The lamp was switched.
///         9 Switched "lamp_switched" {
///             on: u8 = Names(&[(0, "off"), (1, "on")]),
///             /// The number of the switch.
///             by: u8 = Number,
///             code: u16 = Hex,
///         }
///     }
/// }
/// use hv_core::trace::TraceEvent;
/// assert_eq!(Switched { on: 1, by: 7, code: 0xabcd }.payload(), [0xabcd_0701]);
/// assert_eq!(LampEvent::CLASSES[0].name, "lamp_switched");
/// ```
#[macro_export]
macro_rules! events {
    ($(#[$all_doc:meta])* pub enum $All:ident {
        $($(#[$doc:meta])* $id:literal $Name:ident $text:literal {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $format:expr),* $(,)?
        })*
    }) => {
        $(
            $(#[$doc])*
            #[allow(missing_docs)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $Name {
                $($(#[$field_doc])* pub $field: $type,)*
            }

            impl $crate::trace::TraceEvent for $Name {
                const ID: u16 = $id;
                const NAME: &'static str = $text;
                const FIELDS: &'static [$crate::trace::Field] = {
                    #[allow(unused_imports)]
                    use $crate::trace::DisplayFormat::*;
                    &[$($crate::trace::Field {
                        name: stringify!($field),
                        bits: <$type>::BITS,
                        format: $format,
                    }),*]
                };
                const WORDS: usize = (0 $(+ <$type>::BITS as usize)*) / 32;
                type Payload = [u32; (0 $(+ <$type>::BITS as usize)*) / 32];

                #[inline(always)]
                fn payload(&self) -> Self::Payload {
                    let mut words = [0; (0 $(+ <$type>::BITS as usize)*) / 32];
                    let at = 0;
                    $(
                        $crate::trace::put(&mut words, at, <$type>::BITS, u64::from(self.$field));
                        let at = at + <$type>::BITS;
                    )*
                    let _ = at;
                    words
                }
            }

            const _: () = assert!(
                $crate::trace::fits(<$Name as $crate::trace::TraceEvent>::FIELDS) && $id >= 1 && $id < 1 << 15,
                "fields do not fill words, or the number is out of range"
            );
        )*

        // In a bare-metal image, the descriptions are in a section of their own: see `hv_core::trace::description`.
        #[cfg(target_os = "none")]
        const _: () = {
            use $crate::trace::description::{bytes, length};
            #[used]
            #[unsafe(link_section = ".vfalls_events")]
            static DESCRIPTION: [u8; length($All::CLASSES)] = bytes($All::CLASSES);
        };

        $(#[$all_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $All {
            $($(#[$doc])* $Name($Name),)*
        }

        impl $All {
            /// The descriptions of all kinds of events.
            pub const CLASSES: &'static [$crate::trace::Class] = &[$($crate::trace::Class::for_event::<$Name>()),*];

            /// Returns the payload size of a kind of event, in 32-bit words; `None` if this enum does not have the kind.
            pub fn words(id: u16) -> Option<usize> {
                Self::CLASSES.iter().find(|class| class.id == id).map(|class| class.words())
            }

            /// Decodes an event; `None` if this enum does not have the kind, or if the payload has the wrong length.
            pub fn decode(id: u16, payload: &[u32]) -> Option<Self> {
                if Self::words(id)? != payload.len() {
                    return None;
                }
                match id {
                    $($id => {
                        let at = 0;
                        $(
                            let $field = $crate::trace::take(payload, at, <$type>::BITS) as $type;
                            let at = at + <$type>::BITS;
                        )*
                        let _ = at;
                        Some(Self::$Name($Name { $($field),* }))
                    })*
                    _ => None,
                }
            }
        }
    };
}
