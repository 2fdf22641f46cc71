//! Base 85 as git's binary hunks use it: five characters for four bytes, most significant first.
//!
//! The alphabet and the padding are those of git's `base85.c` (RFC 1924's alphabet).

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Value of each byte, or 255.
const VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut at = 0;
    while at < ALPHABET.len() {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values
};

/// Appends the first `len` bytes that `text` stands for. `None` if `text` has a foreign character,
/// is not five characters for each four bytes begun, or a group overflows 32 bits.
pub fn decode(text: &[u8], len: usize, out: &mut Vec<u8>) -> Option<()> {
    if text.len() != len.div_ceil(4) * 5 {
        return None;
    }
    let mut left = len;
    for group in text.chunks_exact(5) {
        let mut value: u32 = 0;
        for byte in group {
            let digit = VALUES[usize::from(*byte)];
            if digit == 255 {
                return None;
            }
            value = value.checked_mul(85)?.checked_add(u32::from(digit))?;
        }
        let take = left.min(4);
        out.extend_from_slice(&value.to_be_bytes()[..take]);
        left -= take;
    }
    Some(())
}

/// Appends `bytes` in base 85, the last group padded with zero bytes.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..group.len()].copy_from_slice(group);
        let mut value = u32::from_be_bytes(word);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = ALPHABET[(value % 85) as usize];
            value /= 85;
        }
        out.extend_from_slice(&digits);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn decoding_undoes_encoding(bytes: Vec<u8>) {
            let (mut text, mut back) = (Vec::new(), Vec::new());
            encode(&bytes, &mut text);
            prop_assert_eq!(decode(&text, bytes.len(), &mut back), Some(()));
            prop_assert_eq!(back, bytes);
        }
    }

    #[test]
    fn overflow_and_foreign_characters_are_refused() {
        assert_eq!(decode(b"~~~~~", 4, &mut Vec::new()), None);
        assert_eq!(decode(b"|NsC1", 4, &mut Vec::new()), None);
        assert_eq!(decode(b"0000 ", 4, &mut Vec::new()), None);
        assert_eq!(decode(b"0000", 4, &mut Vec::new()), None);
        let mut out = Vec::new();
        assert_eq!(decode(b"|NsC0", 4, &mut out), Some(()));
        assert_eq!(out, [255; 4]);
    }
}
