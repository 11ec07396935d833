/// Declares a struct whose fields are counts. Two structs of this type can be added.
macro_rules! counts {
    ($(#[$about:meta])* $vis:vis struct $Counts:ident {
        $($(#[$doc:meta])* $field_vis:vis $field:ident: $of:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $Counts {
            $($(#[$doc])* $field_vis $field: $of,)*
        }

        impl std::ops::AddAssign for $Counts {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}
pub(super) use counts;
