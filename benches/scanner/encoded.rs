//! Files full of base64: what the decoder has most to do with. Speed alone is measured on them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::corpus::{Random, capital};

/// Pictures in JSON, wrapped lines, and settings and sentences in Kubernetes' fashion.
pub fn all() -> Vec<Vec<u8>> {
    let mut random = Random::new(64);
    (0..40).map(|file| text(&mut random, file % 4).into_bytes()).collect()
}

fn text(r: &mut Random, form: usize) -> String {
    match form {
        // One long run of bytes that are no text.
        0 => format!("{{\"{}\": \"{}\"}}\n", r.word(), r.base64(60_000)),
        // Lines of PEM or MIME.
        1 => (0..600).map(|_| format!("{}\n", r.base64(76))).collect(),
        // Many short values that are readable.
        2 => (0..400)
            .map(|_| {
                let sentence =
                    format!("{} the {} and the {}", capital(r.word()), r.name(3), r.word());
                format!("  {}: {}\n", r.name(2), STANDARD.encode(sentence))
            })
            .collect(),
        // Long readable values, one encoding in the other.
        _ => (0..4)
            .map(|_| {
                let inner: String =
                    (0..200).map(|_| format!("{}={}\n", r.name(2), r.word())).collect();
                let inner = STANDARD.encode(inner);
                format!("  {}: {}\n", r.word(), STANDARD.encode(format!("data: {inner}\n")))
            })
            .collect(),
    }
}
