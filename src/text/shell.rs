//! Text for a POSIX shell.

/// `text` as one word of a POSIX shell, in single quotes.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
