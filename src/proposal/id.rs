//! Proposal ids: `prop_` and ten characters of Crockford's base32 (lower case), taken from the
//! id of the proposal's first event. Any unique prefix names a proposal.
//!
//! Alphabet: <https://www.crockford.com/base32.html>.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codes;
use crate::error::Error;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX: &str = "prop_";
const LEN: usize = 10;

/// What the id of a direct patch begins with, in front of the characters of its event.
pub const PATCH_PREFIX: &str = "patch_";

/// Characters behind `prop_` that a person has to type at least: fewer name one proposal today and
/// another one after the next fetch.
pub const SHORTEST: usize = 4;

/// The id of a proposal.
// In place, as a history has many hundred thousands of them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId([u8; PREFIX.len() + LEN]);

impl ProposalId {
    /// The id that belongs to a first event: 50 bits of its object id (hex).
    pub fn from_event(event_id: &str) -> Self {
        let digits = event_id.bytes().take(16).filter_map(|digit| char::from(digit).to_digit(16));
        let bits = digits.fold(0_u64, |bits, digit| (bits << 4) | u64::from(digit));
        let mut id = [0; PREFIX.len() + LEN];
        let (prefix, code) = id.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        for (i, character) in code.iter_mut().enumerate() {
            *character = ALPHABET[((bits >> (59 - 5 * i)) & 31) as usize];
        }
        Self(id)
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        // It is ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The id of the direct patch whose event would give a proposal this id.
    pub fn of_patch(&self) -> String {
        format!("{PATCH_PREFIX}{}", &self.as_str()[PREFIX.len()..])
    }

    /// Reads what [`ProposalId::of_patch`] writes; `None` for anything else.
    pub fn parse_patch(text: &str) -> Option<Self> {
        Self::parse(text.strip_prefix(PATCH_PREFIX)?).ok()
    }

    /// As [`ProposalId::parse`], of a text that mostly is as ids are written everywhere.
    fn read(text: &str) -> Result<Self, Error> {
        let code = text.strip_prefix(PREFIX).filter(|code| code.len() == LEN);
        if code.is_some_and(|code| code.bytes().all(|byte| ALPHABET.contains(&byte))) {
            text.as_bytes().try_into().map(Self).map_err(|_| invalid(text))
        } else {
            Self::parse(text)
        }
    }

    /// Reads a whole id.
    ///
    /// # Errors
    /// `invalid_id` if it has another form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let prefix = normalize(text)?;
        prefix.into_bytes().try_into().map(Self).map_err(|_| invalid(text))
    }
}

/// What a person typed, as a prefix of whole ids: `prop_` added where it is missing, lower case,
/// and the letters Crockford's alphabet leaves out read as the digits they look like.
///
/// # Errors
/// `invalid_id` if no id can begin like that.
pub fn normalize(text: &str) -> Result<String, Error> {
    let lower = text.trim().to_ascii_lowercase();
    let code = lower.strip_prefix(PREFIX).unwrap_or(&lower);
    if !(SHORTEST..=LEN).contains(&code.len()) {
        return Err(invalid(text));
    }
    let mut out = String::from(PREFIX);
    for c in code.chars() {
        let c = match c {
            'i' | 'l' => '1',
            'o' => '0',
            c => c,
        };
        if !ALPHABET.contains(&u8::try_from(c).unwrap_or(0)) {
            return Err(invalid(text));
        }
        out.push(c);
    }
    Ok(out)
}

fn invalid(text: &str) -> Error {
    let shown: String = text.chars().take(60).collect();
    Error::new(&codes::INVALID_ID, format!("'{shown}' is not a proposal id")).hint(
        "ids look like prop_m4k8n2q7xd; any unique beginning of four characters or more will do; \
         `aye list` shows them",
    )
}

impl fmt::Display for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProposalId").field(&self.as_str()).finish()
    }
}

impl Serialize for ProposalId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ProposalId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = ProposalId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the id of a proposal")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ProposalId, E> {
                ProposalId::read(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_fifty_bits_of_the_event() {
        let zero = ProposalId::from_event(&"0".repeat(40));
        assert_eq!(zero.as_str(), "prop_0000000000");
        let ones = ProposalId::from_event(&"f".repeat(40));
        assert_eq!(ones.as_str(), "prop_zzzzzzzzzz");
        assert_eq!(ProposalId::from_event("0800000000000000").as_str(), "prop_1000000000");
    }

    #[test]
    fn prefixes_are_forgiving_and_nonsense_is_not_an_id() {
        assert_eq!(normalize("PROP_m4K8").unwrap(), "prop_m4k8");
        assert_eq!(normalize("oil0").unwrap(), "prop_0110");
        for bad in
            ["", "prop_", "u", "m4k", "prop_m4k", "prop_!!!!", "../x", "prop_00000000000", "ü"]
        {
            assert!(normalize(bad).unwrap_err().is(&codes::INVALID_ID), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_event_id_makes_an_id_that_parses(hex in "[0-9a-f]{40}|[0-9a-f]{64}") {
            let id = ProposalId::from_event(&hex);
            prop_assert_eq!(ProposalId::parse(id.as_str()).unwrap(), id);
        }
        #[test]
        fn reading_never_panics(text in ".*") {
            let _ = normalize(&text);
        }
    }
}
