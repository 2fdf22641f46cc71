//! Enums that are words of a format: one table each for reading, writing and listing them.

/// Declares an enum whose variants are words, with `ALL`, `as_str`, `parse` and `words`, and
/// serialised as those words.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize,
            serde::Deserialize, schemars::JsonSchema,
        )]
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every one, in the order of the format.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word, as it is written.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Reads the word.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.as_str() == text)
            }

            /// Every word, in the order of the format.
            pub fn words() -> impl Iterator<Item = &'static str> + Clone {
                Self::ALL.iter().map(|known| known.as_str())
            }
        }
    };
}

pub(crate) use words;
