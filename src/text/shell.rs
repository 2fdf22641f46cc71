//! Text for a POSIX shell.

/// `text` as one word of a POSIX shell, in single quotes.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// `text` as one word of a POSIX shell, in quotes only where it needs them.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./@%+=:,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quote(text) }
}
