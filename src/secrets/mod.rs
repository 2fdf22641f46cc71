//! Secrets, personal data and unsafe text: what must not be written down, and what must not act
//! on a reader.
//!
//! [`Scanner`] finds credentials and personal data, [`unsafe_text`] finds characters and phrases
//! that mislead. Both say where and what kind; neither repeats the text. A scan is one pass for
//! keywords, then small readers and lazily compiled patterns only where a keyword stands, and one
//! skipping pass for random strings and numbers.

pub mod allow;
pub mod rules;
pub mod unsafe_text;

mod added;
mod assign;
mod bigrams;
mod decoded;
mod encoding;
mod entropy;
mod finding;
mod keys;
mod pii;
mod prefilter;
mod probe;
mod runs;
mod scanner;
mod value;

pub use finding::{Category, Finding, fingerprint};
pub use scanner::{AllowRegions, Options, Scan, Scanner};

/// Error codes of this room.
pub mod codes {
    crate::codes! {
        ALLOWLIST_PARSE = "allowlist_parse_error", Invalid, "an allow marker or the scan allow-list cannot be read";
        ALLOWLIST_LIMIT = "allowlist_limit_exceeded", Invalid, "more text is allowed than the limits permit";
        SECRET_DETECTED = "secret_detected", Refused, "the text holds a credential";
        PII_DETECTED = "pii_detected", Refused, "the text holds personal data";
        UNSAFE_TEXT = "unsafe_text", Invalid, "the text holds characters that hide, reorder or control";
    }
}
