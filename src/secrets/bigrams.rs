//! How usual one letter is after another in the words of source code and its documentation.

/// `BIGRAMS[a][b]`: cost of letter `b` after letter `a`, `-log2 p(b|a) * 1.5` as a hex digit.
///
/// Counted over the words (identifiers split at case changes and underscores) of about 55 MB of
/// published Rust sources and README files, each distinct word weighted by the root of its count.
#[rustfmt::skip]
const BIGRAMS: [&[u8; 26]; 26] = [
    b"8656ba8d7fa575e7f56499ba9d",
    b"487858ce5ad49b6af6696cfe9e",
    b"5a7959957f679a49d7758adeaf",
    b"588638ac4ce7aa6ac6697abcaf",
    b"7a65889dafc775a8a456b8a7bf",
    b"687763ae4fe6aa59f7687ecd9f",
    b"6a9a3a865fc78679c5697bcccc",
    b"4ba83adb4fb98a4bf7877daf9d",
    b"8866777eeec76358e865d8faf8",
    b"5a8a4a9e5e6b9b49ab584fbbcc",
    b"6987399a4dd89888c8479abfac",
    b"5b974acd4f95aa5afa878adf6f",
    b"47a93bbd5fb97a55ea697dedbf",
    b"6b65584b6d99b96aea5499debe",
    b"9957b89d9da66376f467687bdf",
    b"4b9a4aa86fb6ab56d4767cbdbf",
    b"98978aad9ef6a9b9876a1e9ece",
    b"5b883a9e5f997859d7668abd8f",
    b"7b7a4b964f999a77ca646bad8b",
    b"5b8a49c74fd89a69e5678cca7d",
    b"7779789e7fe564a6f555cceafd",
    b"4a9929bb4fe98a79d978cfbcdf",
    b"4a884ac64ed89559d569bdbace",
    b"696857b95fd98a84a984aab79f",
    b"787a699b6fc75574f847a98c89",
    b"5c991aba5fdaab6ceb9cafbe97",
];

/// Bits that letter `b` after letter `a` costs, both ASCII letters of any case.
pub(super) fn bits(a: u8, b: u8) -> f32 {
    let index = |c: u8| usize::from(c.to_ascii_lowercase() - b'a');
    let digit = BIGRAMS[index(a)][index(b)];
    let cost = if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
    f32::from(cost) / 1.5
}
