//! Quoting for a POSIX shell.

/// One word, always in single quotes.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// One word, quoted only where needed.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./@%+=:,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quote(text) }
}
