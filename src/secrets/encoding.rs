//! Decodes text before a scan.

use std::borrow::Cow;

/// Decodes UTF-16 with a byte order mark if half of it is ASCII, as in code: two bytes in front
/// must not hide other text.
pub(super) fn readable(text: &[u8]) -> Cow<'_, [u8]> {
    let little = text.starts_with(&[0xff, 0xfe]);
    if !little && !text.starts_with(&[0xfe, 0xff]) {
        return Cow::Borrowed(text);
    }
    let units = text[2..].chunks_exact(2).map(|pair| {
        let pair = [pair[0], pair[1]];
        if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    });
    let ascii = units.clone().filter(|unit| (1..0x80).contains(unit)).count();
    if ascii * 2 < units.len() {
        return Cow::Borrowed(text);
    }
    let text: String =
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Cow::Owned(text.into_bytes())
}
