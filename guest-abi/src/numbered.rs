//! A macro for enumerations with variants numbered from 0, each with a text.

macro_rules! numbered {
    ($($(#[$doc:meta])* $type:ident $what:literal { $($(#[$item_doc:meta])* $item:ident $text:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type {
            $(
                $(#[$item_doc])*
                #[doc = concat!("Written `", $text, "`.")]
                $item,
            )*
        }

        impl $type {
            /// All values, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// Returns the value with this number; `None` if no value has this number.
            pub const fn new(number: usize) -> Option<Self> {
                $(if number == Self::$item as usize {
                    return Some(Self::$item);
                })*
                None
            }

            /// Returns the number, from 0.
            pub const fn index(self) -> usize {
                self as usize
            }

            /// Returns the text that stands for this value, as in register names.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$item => $text,)* }
            }
        }

        $crate::error::named!($type, $what, text);
        $crate::error::in_range!($type, usize, $what, 0, Self::ALL.len() - 1);
    )* };
}
pub(crate) use numbered;
