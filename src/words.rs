//! Enums whose variants are words of a format.

/// Declares such an enum with `ALL`, `as_str`, `parse` and `words`; serde uses the same words.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize,
            serde::Deserialize, schemars::JsonSchema,
        )]
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// All variants, in the order of the format.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == text)
            }

            pub fn words() -> impl Iterator<Item = &'static str> + Clone {
                Self::ALL.iter().map(|known| known.as_str())
            }
        }
    };
}

pub(crate) use words;
