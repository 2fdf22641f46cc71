//! Git's delta: copy a piece of the base, or insert new bytes.
//!
//! The format is that of pack files (`gitformat-pack`, "Deltified representation"): two sizes as
//! little-endian base-128 numbers, then instructions.

/// What [`apply`] refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The base is not of the size that the delta was made for.
    Base {
        /// Size the delta names, in bytes.
        expected: u64,
    },
    /// The result would be larger than the limit.
    Limit {
        /// Size the delta names, in bytes.
        size: u64,
    },
    /// The instructions are cut short, copy from outside the base, or add up to another size.
    Malformed,
}

/// Builds the content that `delta` makes of `base`, at most `limit` bytes.
///
/// # Errors
/// See [`Broken`]. Nothing larger than `limit` is ever allocated.
pub fn apply(base: &[u8], delta: &[u8], limit: usize) -> Result<Vec<u8>, Broken> {
    let mut input = delta;
    let expected = size(&mut input).ok_or(Broken::Malformed)?;
    if expected != base.len() as u64 {
        return Err(Broken::Base { expected });
    }
    let result = size(&mut input).ok_or(Broken::Malformed)?;
    if result > limit as u64 {
        return Err(Broken::Limit { size: result });
    }
    // Bounded by `limit`, so it fits.
    let result = result as usize;
    let mut out = Vec::new();
    while let Some(op) = take(&mut input, 1) {
        let op = op[0];
        let piece = if op & 0x80 != 0 {
            let offset = number(&mut input, op & 0x0f, 4).ok_or(Broken::Malformed)?;
            let len = match number(&mut input, (op >> 4) & 0x07, 3).ok_or(Broken::Malformed)? {
                0 => 0x10000,
                len => len,
            };
            base.get(offset..).and_then(|rest| rest.get(..len))
        } else if op != 0 {
            take(&mut input, usize::from(op))
        } else {
            None
        };
        let piece = piece.ok_or(Broken::Malformed)?;
        if out.len() + piece.len() > result {
            return Err(Broken::Malformed);
        }
        out.extend_from_slice(piece);
    }
    if out.len() == result { Ok(out) } else { Err(Broken::Malformed) }
}

fn take<'a>(input: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (piece, rest) = input.split_at_checked(len)?;
    *input = rest;
    Some(piece)
}

/// A base-128 number, least significant group first.
fn size(input: &mut &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for shift in (0..).step_by(7) {
        let byte = take(input, 1)?[0];
        let bits = u64::from(byte & 0x7f);
        if shift >= 63 && bits > 1 || shift > 63 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

/// A number of which only the bytes flagged in `present` are written.
fn number(input: &mut &[u8], present: u8, bytes: u32) -> Option<usize> {
    let mut value: usize = 0;
    for at in 0..bytes {
        if present & (1 << at) != 0 {
            value |= usize::from(take(input, 1)?[0]) << (8 * at);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_inserts() {
        // base 6, result 8: copy 3 from 3, insert "-!", copy 3 from 0
        let delta = [6, 8, 0x91, 3, 3, 2, b'-', b'!', 0x90, 3];
        assert_eq!(apply(b"abcdef", &delta, 100).unwrap(), b"def-!abc");
    }

    #[test]
    fn broken_deltas_are_named() {
        assert_eq!(apply(b"abc", &[4, 1, 1, b'x'], 9), Err(Broken::Base { expected: 4 }));
        assert_eq!(apply(b"", &[0, 0x80, 0x80, 4], 9), Err(Broken::Limit { size: 65536 }));
        for delta in [
            &[3, 4, 0x91, 1, 3][..], // copies past the end
            &[3, 4, 0x90],           // cut short
            &[3, 1, 0],              // reserved instruction
            &[3, 9, 1, b'x'],        // result too short
            &[3, 0, 1, b'x'],        // result too long
            &[3],                    // no result size
            &[0x80; 12],             // endless size
        ] {
            assert_eq!(apply(b"abc", delta, 99), Err(Broken::Malformed), "{delta:?}");
        }
    }
}
