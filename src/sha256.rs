//! SHA-256: binds content independently of git's hash.

use sha2::{Digest as _, Sha256};

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        out.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_standard_vector_holds() {
        // FIPS 180-4, one-block example.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::hex(b"abc"), expected);
    }
}
