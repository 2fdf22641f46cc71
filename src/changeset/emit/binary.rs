//! Binary hunks of `git diff --binary`: a zlib stream in base 85.

use flate2::{Compress, Compression, FlushCompress, Status};

/// Git's alphabet, from RFC 1924.
const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// With the final empty line.
pub(super) fn literal(content: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
    for line in deflate(content).chunks(52) {
        let len = line.len() as u8;
        out.push(if len <= 26 { b'A' + len - 1 } else { b'a' + len - 27 });
        base85(line, out);
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// Five characters per four bytes, zero-padded.
fn base85(bytes: &[u8], out: &mut Vec<u8>) {
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

fn deflate(content: &[u8]) -> Vec<u8> {
    let mut stream = Compress::new(Compression::default(), true);
    let mut out = Vec::with_capacity(content.len() / 2 + 64);
    loop {
        let read = usize::try_from(stream.total_in()).unwrap_or(content.len());
        let status = stream.compress_vec(&content[read..], &mut out, FlushCompress::Finish);
        if matches!(status, Ok(Status::StreamEnd) | Err(_)) {
            return out;
        }
        out.reserve(out.capacity().max(64));
    }
}
