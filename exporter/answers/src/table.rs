//! Enumerations with a table: each variant has a row of facts about it, which stands where the variant is declared.

/// An enumeration with `ALL` its variants in order, and a `row` of each.
///
/// ```text
/// table! {
///     /// A colour.
///     Colour -> (&'static str, u32) {
///         /// As of a ripe tomato.
///         Red = ("red", 0xff_00_00),
///     }
/// }
/// ```
macro_rules! table {
    ($(#[$doc:meta])* $name:ident -> $row:ty { $($(#[$of:meta])* $variant:ident = $value:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[non_exhaustive]
        pub enum $name { $($(#[$of])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$(stringify!($variant)),*].len()] = [$(Self::$variant),*];

            const fn row(self) -> $row {
                match self { $(Self::$variant => $value,)* }
            }
        }
    };
}
