//! Untrusted text: the one table of characters that mislead, and safe output for terminals, YAML
//! and shells.

pub mod escape;
pub mod shell;
pub mod yaml;

/// True for characters that act on a terminal or mislead a reader: controls, bidi controls,
/// invisible characters, line separators.
///
/// Line feed and tab are among them; callers that accept these test first.
pub fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// True for controls that reorder text (UAX #9).
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub fn is_control(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

/// One line for git, JSON or a document, without controls. A terminal needs [`escape`] as well.
pub fn one_line(text: &str) -> String {
    text.replace(is_control, " ")
}

/// `1 file`, `3 files`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Keeps line feeds and tabs.
pub fn lines(text: &str) -> String {
    text.replace(|c| is_control(c) && c != '\n' && c != '\t', " ")
}

pub fn is_variation(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// True for a variation selector after an ASCII letter or digit. These vary in keycaps alone, so
/// invisible selectors can hide text.
pub fn varies_nothing(before: Option<char>, c: char) -> bool {
    let is_plain = |b: char| b.is_ascii_alphanumeric() && !(b.is_ascii_digit() && c == '\u{fe0f}');
    is_variation(c) && before.is_some_and(is_plain)
}

/// True where a zero-width joiner is ordinary: in emoji, and between letters of Arabic, Syriac,
/// Indic scripts, Mongolian.
pub fn joins(before: Option<char>, next: Option<char>) -> bool {
    let emoji = |c: char| matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}' | '\u{20e3}');
    let joining = |c: char| {
        matches!(c, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{18af}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
    };
    match (before, next) {
        (Some(a), Some(b)) => emoji(a) && emoji(b) || joining(a) && joining(b),
        // A non-joiner at the end of a Persian or Indic word.
        (Some(a), None) => joining(a),
        _ => false,
    }
}
