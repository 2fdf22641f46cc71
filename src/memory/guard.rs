//! What looks over every text before it is written: secrets, personal data, unsafe characters.
//!
//! The scanner itself is the room [`crate::secrets`]; this is how the memory room asks it.

use crate::error::Code;

/// Reason codes of the guard.
pub mod codes {
    crate::codes! {
        UNSAFE_TEXT = "unsafe_text", Invalid, "the text holds characters that hide, reorder or control";
    }
}

/// One thing found in a text. Never holds the secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// `secret_detected`, `pii_detected`, `unsafe_text`, `allowlist_…`.
    pub code: &'static Code,
    /// What exactly, such as `github_token` or `bidi_control`.
    pub kind: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// For people.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

/// What came of looking a text over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screened {
    /// Has to go.
    pub blocking: Vec<Found>,
    /// To be shown to the reviewer.
    pub warnings: Vec<Found>,
    /// Number of regions that the text itself takes out of the scan; they need a person.
    pub allowed_regions: usize,
}

/// Looks texts over.
pub trait Guard {
    /// What is wrong with the lines of `after` that `before` does not have; what is wrong with
    /// the others is a warning.
    fn screen(&self, before: &str, after: &str) -> Screened;
}

/// Lets everything pass; for tests of the planner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl Guard for Open {
    fn screen(&self, _before: &str, _after: &str) -> Screened {
        Screened::default()
    }
}
