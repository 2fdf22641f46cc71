//! Secrets and unsafe text: kind and location, never the text.
//!
//! [`Scanner`] finds credentials, [`unsafe_text`] misleading characters and phrases. A scan looks
//! for all keywords in one pass and runs lazily compiled patterns around the hits.

pub mod allow;
pub mod rules;
pub mod unsafe_text;

mod added_lines;
mod encoding;
mod finding;
mod keys;
mod prefilter;
mod scanner;
mod value;

pub use finding::{Finding, fingerprint};
pub use scanner::{AllowRegions, Options, ScanFindings, Scanner};

pub mod codes {
    crate::codes! {
        ALLOWLIST_PARSE = "allowlist_parse_error", Invalid, "the scan allow-list or an allow marker is malformed";
        ALLOWLIST_LIMIT = "allowlist_limit_exceeded", Invalid, "the scan allow-list allows more text than its limit";
        SECRET_DETECTED = "secret_detected", Refused, "the text contains a credential";
        UNSAFE_TEXT = "unsafe_text", Invalid, "the text contains characters that hide, reorder or control";
    }
}
