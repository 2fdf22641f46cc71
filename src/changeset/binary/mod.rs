//! Binary hunks of a git patch: `GIT binary patch`, then `literal` or `delta` blocks, each a zlib
//! stream in base 85 (see `git diff --binary`).

pub mod base85;
pub mod delta;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::limits::codes;
use crate::error::{Error, Result};

/// Deflate cannot make more than this many bytes out of one (RFC 1951: 258 bytes for two bits,
/// so 1,032).
const MAX_RATIO: u64 = 1032;

/// How a block leads to the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// It is the content.
    Literal,
    /// It is a delta against the other side's content.
    Delta,
}

/// One block, still encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// What the decoded bytes are.
    pub kind: BlockKind,
    /// How many decoded bytes it says it holds.
    pub size: u64,
    /// The encoded lines, each with its length character and LF.
    pub lines: &'a [u8],
    /// Line of the patch the block starts on, counted from 1.
    pub number: usize,
}

impl Block<'_> {
    /// The content this block makes of `base`, at most `limit` bytes.
    ///
    /// # Errors
    /// `patch_invalid` if it is malformed, `size_limit_exceeded` if it would be larger than
    /// `limit`. Memory in use stays below the encoded size plus twice the limit.
    pub fn decode(&self, base: &[u8], limit: usize) -> Result<Vec<u8>> {
        if self.size > limit as u64 {
            return Err(self.too_large(self.size, limit));
        }
        let bytes = self.unpack()?;
        match self.kind {
            BlockKind::Literal => Ok(bytes),
            BlockKind::Delta => delta::apply(base, &bytes, limit).map_err(|broken| match broken {
                delta::Broken::Base { expected } => Error::new(
                    &codes::BINARY_MISMATCH,
                    format!(
                        "the binary delta at line {} is for a file of {expected} bytes, this one has {}",
                        self.number,
                        base.len()
                    ),
                )
                .hint("the file has changed since the patch was made; ask for a new patch"),
                delta::Broken::Limit { size } => self.too_large(size, limit),
                delta::Broken::Malformed => self.invalid("is not a sound delta".to_owned()),
            }),
        }
    }

    /// Is all of its data there? More than `limit` bytes are not looked at.
    pub fn is_whole(&self, limit: usize) -> bool {
        self.size <= limit as u64 && self.unpack().is_ok()
    }

    /// The content, or the delta that makes it.
    fn unpack(&self) -> Result<Vec<u8>> {
        let packed = self.unarmour()?;
        if self.size > (packed.len() as u64).saturating_mul(MAX_RATIO) {
            return Err(self.invalid(format!(
                "says it holds {} bytes, more than {} compressed bytes can hold",
                self.size,
                packed.len()
            )));
        }
        inflate(&packed, self.size as usize)
            .ok_or_else(|| self.invalid(format!("does not inflate to {} bytes", self.size)))
    }

    fn unarmour(&self) -> Result<Vec<u8>> {
        let mut packed = Vec::with_capacity(self.lines.len() / 5 * 4);
        for (at, line) in self.lines.split(|b| *b == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some((first, text)) = line.split_first() else { continue };
            let decoded = length(*first).and_then(|len| base85::decode(text, len, &mut packed));
            if decoded.is_none() {
                return Err(self.invalid(format!("is damaged in its line {}", at + 2)));
            }
        }
        Ok(packed)
    }

    fn invalid(&self, what: String) -> Error {
        Error::new(&codes::PATCH_INVALID, format!("the binary hunk at line {} {what}", self.number))
            .with("line", self.number)
            .hint("make the patch again with `git diff --binary`")
    }

    fn too_large(&self, size: u64, limit: usize) -> Error {
        Error::new(
            &crate::error::codes::SIZE_LIMIT,
            format!(
                "the binary hunk at line {} makes a file of {size} bytes; the limit is {limit}",
                self.number
            ),
        )
        .with("line", self.number)
        .hint("put the file in place by hand, or keep it outside the repository")
    }
}

/// Is this a line of a block, as long as its first character says?
pub fn is_line(line: &[u8]) -> bool {
    line.split_first().is_some_and(|(first, text)| {
        length(*first).is_some_and(|len| text.len() == len.div_ceil(4) * 5)
    })
}

/// Bytes on a line that starts with this character: `A` to `Z` are 1 to 26, `a` to `z` 27 to 52.
fn length(first: u8) -> Option<usize> {
    match first {
        b'A'..=b'Z' => Some(usize::from(first - b'A') + 1),
        b'a'..=b'z' => Some(usize::from(first - b'a') + 27),
        _ => None,
    }
}

/// Exactly `size` bytes, or nothing: a stream that holds more is stopped right there.
fn inflate(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut stream = Decompress::new(true);
    // One byte more than asked for, so that a longer stream is told from one that fits.
    let mut out = Vec::with_capacity(size + 1);
    loop {
        let (read, made) = (stream.total_in(), out.len());
        let rest = packed.get(usize::try_from(read).ok()?..)?;
        match stream.decompress_vec(rest, &mut out, FlushDecompress::Finish).ok()? {
            Status::StreamEnd => return (out.len() == size).then_some(out),
            _ if out.len() > size => return None,
            _ if stream.total_in() == read && out.len() == made => return None,
            _ => {}
        }
    }
}

/// Appends `content` as a `literal` block with the empty line that ends it.
pub fn encode_literal(content: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
    for line in deflate(content).chunks(52) {
        let len = line.len() as u8;
        out.push(if len <= 26 { b'A' + len - 1 } else { b'a' + len - 27 });
        base85::encode(line, out);
        out.push(b'\n');
    }
    out.push(b'\n');
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block(size: u64, lines: &[u8]) -> Block<'_> {
        Block { kind: BlockKind::Literal, size, lines, number: 7 }
    }

    fn armoured(content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_literal(content, &mut out);
        let body = out.iter().position(|b| *b == b'\n').unwrap() + 1;
        out[body..].to_vec()
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(content in prop::collection::vec(any::<u8>(), 0..3000)) {
            let lines = armoured(&content);
            let back = block(content.len() as u64, &lines).decode(b"", 1 << 20).unwrap();
            prop_assert_eq!(back, content);
        }

        #[test]
        fn noise_never_panics(
            size in 0u64..5000, lines: Vec<u8>, base: Vec<u8>, delta: bool
        ) {
            let kind = if delta { BlockKind::Delta } else { BlockKind::Literal };
            let _ = Block { kind, size, lines: &lines, number: 1 }.decode(&base, 4096);
        }
    }

    #[test]
    fn what_git_prints_is_read() {
        // git's own output for ten bytes 0 to 9.
        let block = block(10, b"UcmV+l0QLU>0RjUA1qKHQ2>`DEE&u=k\n");
        assert_eq!(block.decode(b"", 10).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_stream_longer_or_shorter_than_it_says_is_refused() {
        let lines = armoured(&[0; 100_000]);
        for size in [0, 1, 99_999, 100_001] {
            let error = block(size, &lines).decode(b"", 1 << 20).unwrap_err();
            assert!(error.is(&codes::PATCH_INVALID), "{size}: {error}");
        }
    }

    #[test]
    fn a_bomb_is_refused_by_its_size_before_it_is_inflated() {
        let lines = armoured(&vec![0; 1 << 20]);
        let error = block(1 << 20, &lines).decode(b"", 1 << 16).unwrap_err();
        assert!(error.is(&crate::error::codes::SIZE_LIMIT));
        let error = block(1 << 40, &lines).decode(b"", usize::MAX).unwrap_err();
        assert!(error.is(&codes::PATCH_INVALID), "more than deflate can hold: {error}");
    }
}
