//! Constructors for statics. They are not `const` under loom.

/// Defines functions that are `const`, except under loom, whose atomics have no `const` constructors.
#[doc(hidden)]
#[macro_export]
macro_rules! const_unless_loom {
    ($($(#[$attribute:meta])* $visibility:vis fn $name:ident($($parameter:ident: $type:ty),*) -> $result:ty $body:block)*) => {$(
        #[cfg(not(loom))]
        $(#[$attribute])*
        $visibility const fn $name($($parameter: $type),*) -> $result $body

        #[cfg(loom)]
        $(#[$attribute])*
        $visibility fn $name($($parameter: $type),*) -> $result $body
    )*};
}

/// Creates an array whose elements all come from one expression. The array is a constant, except under loom.
#[cfg(not(loom))]
#[doc(hidden)]
#[macro_export]
macro_rules! array_of {
    ($element:expr; $length:expr) => {
        [const { $element }; $length]
    };
}

#[cfg(loom)]
#[doc(hidden)]
#[macro_export]
macro_rules! array_of {
    ($element:expr; $length:expr) => {
        ::core::array::from_fn(|_| $element)
    };
}
