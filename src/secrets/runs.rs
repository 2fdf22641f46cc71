//! Runs of the characters that encodings and machine-made strings consist of: one walk over a text
//! for whoever looks into them.

use super::probe::probes;

/// The shortest run, in bytes.
pub(super) const SHORTEST: usize = 20;

/// Where in a block of [`SHORTEST`] bytes its probe is.
const PROBE: usize = SHORTEST / 2 - 1;

/// Whether a byte may be part of a run, as a table: this is the inner loop.
static PART: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] =
            b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'_' | b'-' | b'=' | b'%');
        byte += 1;
    }
    table
};

/// Calls `look(start, end)` for each run of `text`, in order.
///
/// A run covers the probe of a block, so most bytes are never looked at.
pub(super) fn each(text: &[u8], mut look: impl FnMut(usize, usize)) {
    let mut done = 0;
    for probe in probes(text, PROBE, may_be_long) {
        if probe < done || !is_part(text[probe]) {
            continue;
        }
        let before = &text[done..probe];
        let start = before.iter().rposition(|b| !is_part(*b)).map_or(done, |at| done + at + 1);
        let end =
            text[probe..].iter().position(|b| !is_part(*b)).map_or(text.len(), |at| probe + at);
        done = end;
        if end - start >= SHORTEST {
            look(start, end);
        }
    }
}

/// False where the run around the probe is surely too short, as far as some of its places tell: it
/// has to reach the block's end on one side. Without branches, which nothing could foretell.
fn may_be_long(block: &[u8; SHORTEST]) -> bool {
    const LEFT: [usize; 4] = [0, 2, 5, 8];
    const RIGHT: [usize; 4] = [10, 13, 16, 19];
    let all = |places: [usize; 4]| places.iter().fold(true, |all, at| all & is_part(block[*at]));
    is_part(block[PROBE]) & (all(LEFT) | all(RIGHT))
}

/// True for what runs consist of.
pub(super) fn is_part(byte: u8) -> bool {
    PART[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_found_at_any_offset() {
        for length in [SHORTEST - 1, SHORTEST, SHORTEST + 1, 33, 90] {
            for pad in 0..70 {
                let text = format!("{} {} x", "a b ".repeat(pad), "x".repeat(length));
                let mut found = Vec::new();
                each(text.as_bytes(), |start, end| found.push((start, end)));
                let start = 4 * pad + 1;
                let expected = (length >= SHORTEST).then_some((start, start + length));
                assert_eq!(found, Vec::from_iter(expected), "{length} at {start}");
            }
        }
    }
}
