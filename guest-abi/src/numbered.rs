//! A macro for enumerations with variants numbered from 0. Each variant has a string, which is part of register names.

macro_rules! numbered {
    ($($(#[$doc:meta])* $type:ident { $($(#[$item_doc:meta])* $item:ident $text:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type {
            $(
                $(#[$item_doc])*
                #[doc = concat!("`", $text, "` in the names of registers.")]
                $item,
            )*
        }

        impl $type {
            /// Every value, in the order of the numbers.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// Returns the value with this number; `None` if no value has it.
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

            /// Returns the string that represents this value in register names.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$item => $text,)* }
            }
        }
    )* };
}
pub(crate) use numbered;
