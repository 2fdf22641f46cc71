//! Finding long runs without looking at every byte.

/// Places in `text` at which a run of at least `N` bytes may be: a run that long covers the byte
/// at `probe` of one of the blocks of `N` bytes. Those of whole blocks for which `may_be` is false
/// are left out; the last, in a block that is cut off, is always among them.
pub(super) fn probes<const N: usize>(
    text: &[u8],
    probe: usize,
    may_be: impl Fn(&[u8; N]) -> bool,
) -> impl Iterator<Item = usize> {
    let (blocks, rest) = text.as_chunks::<N>();
    let last = rest.get(probe).map(|_| text.len() - rest.len() + probe);
    let whole = blocks.iter().enumerate().filter(move |(_, block)| may_be(block));
    whole.map(move |(at, _)| at * N + probe).chain(last)
}
