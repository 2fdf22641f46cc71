//! Text as it is scanned, whatever it is encoded in. Pure.

use std::borrow::Cow;

/// UTF-16 with a byte order mark as UTF-8, anything else as it is. Two bytes in front of other text make no UTF-16
/// of it, and would hide what it says: half of the characters have to be ASCII, as in code.
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
