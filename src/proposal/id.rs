//! Proposal ids: `prop_` and the first ten characters of the first event's id in lower-case
//! Crockford base32, or all of them if another proposal shares ten. Any unique prefix names a
//! proposal.
//!
//! Alphabet: <https://www.crockford.com/base32.html>.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codes;
use crate::error::Error;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const PREFIX: &str = "prop_";

/// Characters of a short id: 50 bits.
const LEN: usize = 10;

/// Characters of a SHA-256 event id.
const MAX_LEN: usize = 52;

/// Replaces `prop_` in the id of a direct patch.
pub const PATCH_PREFIX: &str = "patch_";

/// Fewest characters after `prop_` that a person must type: with fewer, the next fetch could change
/// which proposal is meant.
pub const SHORTEST: usize = 4;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId(Box<str>);

impl ProposalId {
    /// Short id for a first event (hex).
    pub fn from_event(event: &str) -> Self {
        Self(characters(event).take(LEN).fold(PREFIX.to_owned(), |id, next| id + next).into())
    }

    /// Long id, which is unique.
    pub fn long(event: &str) -> Self {
        Self(characters(event).fold(PREFIX.to_owned(), |id, next| id + next).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the first event `event` (hex) may have this id; a short id leaves doubt.
    pub fn is_of(&self, event: &str) -> bool {
        begins(&self.0, event)
    }

    /// Id of the direct patch with the same event.
    pub fn of_patch(&self) -> String {
        format!("{PATCH_PREFIX}{}", &self.0[PREFIX.len()..])
    }

    /// Inverse of `of_patch`; `None` for other text.
    pub fn parse_patch(text: &str) -> Option<Self> {
        Self::parse(text.strip_prefix(PATCH_PREFIX)?).ok()
    }

    /// Reads a whole id, short or long.
    ///
    /// # Errors
    /// `invalid_id`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let prefix = normalize(text)?;
        if prefix.len() < PREFIX.len() + LEN { Err(invalid(text)) } else { Ok(Self(prefix.into())) }
    }
}

/// Base32 characters of the hex digits of `event`: five bits each, the last padded with zeros.
fn characters(event: &str) -> impl Iterator<Item = &'static str> {
    let bits = event.bytes().filter_map(|digit| char::from(digit).to_digit(16));
    let bits: Vec<u32> =
        bits.flat_map(|digit| (0..4).rev().map(move |at| digit >> at & 1)).collect();
    const TEXT: &str = "0123456789abcdefghjkmnpqrstvwxyz";
    (0..bits.len().div_ceil(5)).map(move |at| {
        let value = (0..5).fold(0, |value, bit| value << 1 | bits.get(at * 5 + bit).unwrap_or(&0));
        &TEXT[value as usize..=value as usize]
    })
}

/// True if the first event `event` (hex) may have an id that begins with `prefix` (normalised).
pub fn begins(prefix: &str, event: &str) -> bool {
    let mut characters = characters(event);
    let code = prefix.strip_prefix(PREFIX).unwrap_or(prefix);
    (0..code.len()).all(|at| characters.next() == code.get(at..=at))
}

/// Hex digits that begin every event whose id begins with `prefix` (normalised); not all such
/// events match, see `begins`.
pub fn hex_prefix(prefix: &str) -> String {
    let code = prefix.strip_prefix(PREFIX).unwrap_or(prefix);
    let value = |byte: u8| ALPHABET.iter().position(|known| *known == byte).unwrap_or_default();
    let bits: Vec<usize> =
        code.bytes().flat_map(|byte| (0..5).rev().map(move |at| value(byte) >> at & 1)).collect();
    let digit = |bits: &[usize]| bits.iter().fold(0, |digit, bit| digit << 1 | *bit as u32);
    // Padding bits are not a digit.
    let digits = (bits.len() / 4).min(if code.len() == MAX_LEN { 64 } else { 63 });
    bits.chunks_exact(4).take(digits).filter_map(|bits| char::from_digit(digit(bits), 16)).collect()
}

/// Normalises typed text to a prefix of whole ids: adds `prop_`, lowers case, and reads letters
/// outside the alphabet as the digits that they resemble.
///
/// # Errors
/// `invalid_id` if no id begins so.
pub fn normalize(text: &str) -> Result<String, Error> {
    let lower = text.trim().to_ascii_lowercase();
    let code = lower.strip_prefix(PREFIX).unwrap_or(&lower);
    if !(SHORTEST..=MAX_LEN).contains(&code.len()) {
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
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let id = Self::parse(&text).map_err(D::Error::custom)?;
        if id.as_str() == text { Ok(id) } else { Err(D::Error::custom("an id in another form")) }
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
        let long = format!("prop_{}", "0".repeat(53));
        for bad in ["", "prop_", "u", "m4k", "prop_m4k", "prop_!!!!", "../x", &long, "ü"] {
            assert!(normalize(bad).unwrap_err().is(&codes::INVALID_ID), "{bad}");
        }
        assert!(ProposalId::parse("prop_012345678").is_err());
    }

    proptest! {
        #[test]
        fn every_event_id_makes_an_id_that_parses(hex in "[0-9a-f]{40}|[0-9a-f]{64}") {
            for id in [ProposalId::from_event(&hex), ProposalId::long(&hex)] {
                prop_assert_eq!(&ProposalId::parse(id.as_str()).unwrap(), &id);
                prop_assert!(id.is_of(&hex) && hex.starts_with(&hex_prefix(id.as_str())));
                prop_assert_eq!(ProposalId::parse_patch(&id.of_patch()), Some(id));
            }
            prop_assert_eq!(hex_prefix(ProposalId::long(&hex).as_str()), hex);
        }
        #[test]
        fn an_id_is_of_the_events_that_begin_so(hex in "[0-9a-f]{40}", other in "[0-9a-f]{40}", same in 0..40_usize) {
            let other = [&hex[..same], &other[same..]].concat();
            let id = ProposalId::from_event(&hex);
            prop_assert_eq!(id.is_of(&other), id == ProposalId::from_event(&other));
            prop_assert_eq!(ProposalId::long(&hex).is_of(&other), hex == other);
            if id.is_of(&other) {
                prop_assert!(other.starts_with(&hex_prefix(id.as_str())));
            }
        }
        #[test]
        fn reading_never_panics(text in ".*") {
            let _ = normalize(&text);
        }
    }
}
