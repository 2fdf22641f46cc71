//! Secrets and unsafe text: what must not be written down, and what must not act on a reader.
//!
//! [`Scanner`] finds credentials, [`unsafe_text`] finds characters and phrases that mislead. Both say where and what
//! kind; neither repeats the text. A scan is one pass for keywords, then lazily compiled patterns only where a keyword
//! stands.

pub mod allow;
pub mod rules;
pub mod unsafe_text;

mod added;
mod encoding;
mod finding;
mod keys;
mod prefilter;
mod scanner;
mod value;

pub use finding::{Finding, fingerprint};
pub use scanner::{AllowRegions, Options, Scan, Scanner};

/// Error codes of this room.
pub mod codes {
    crate::codes! {
        ALLOWLIST_PARSE = "allowlist_parse_error", Invalid, "an allow marker or the scan allow-list cannot be read";
        ALLOWLIST_LIMIT = "allowlist_limit_exceeded", Invalid, "more text is allowed than the limits permit";
        SECRET_DETECTED = "secret_detected", Refused, "the text holds a credential";
        UNSAFE_TEXT = "unsafe_text", Invalid, "the text holds characters that hide, reorder or control";
    }
}
