//! Random strings that no keyword announces, in quotes or after an operator.
//!
//! Only base64 and base62 with both letter cases and digits: hexadecimal without a keyword is a
//! digest, an object id or a test vector far more often than a secret.

use super::finding::{Category, Span, rank};
use super::{runs, value};

/// The shortest string looked at, in bytes.
const SHORTEST: usize = 32;
/// Longer strings are embedded data, not credentials.
const LONGEST: usize = 180;

/// Adds the random strings of the run `start..end` of `text` to `spans`.
pub(super) fn run(text: &[u8], start: usize, end: usize, spans: &mut Vec<Span>) {
    let mut from = start;
    for piece in text[start..end].split(|byte| *byte == b'%') {
        let to = from + piece.len();
        if piece.len() >= SHORTEST
            && let Some((start, end)) = examine(text, from, to)
        {
            spans.push(Span {
                kind: "high_entropy",
                title: "Random string that looks like a credential",
                category: Category::Secret,
                start,
                end,
                guessable: false,
                rank: rank::ENTROPY,
            });
        }
        from = to + 1;
    }
}

/// The random string within the run `start..end`, if it is one.
fn examine(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let run = &text[start..end];
    let body = run.trim_end_with(b'=');
    // `NAME=value`: only the value counts.
    let from = body.iter().rposition(|b| *b == b'=').map_or(0, |p| p + 1);
    let token = &body[from..];
    if !(SHORTEST..=LONGEST).contains(&token.len()) {
        return None;
    }
    let shape = value::Shape::of(token);
    if shape.lower == 0 || shape.upper == 0 || shape.digit == 0 {
        return None;
    }
    let random = value::surprise(token) >= 5.1
        && value::entropy(token) >= 4.0
        && !value::is_sequential(token);
    // Mangled C++ and Rust symbols.
    let symbol = [&b"_Z"[..], b"__Z", b"_R"].iter().any(|head| token.starts_with(head));
    // Public keys as DER: RSA, P-256, secp256k1, Ed25519.
    const PUBLIC_KEYS: [&[u8]; 5] = [
        b"MIIBIjANBgkqh", b"MIGfMA0GCSqGSIb3", b"MFkwEwYHKoZIzj0", b"MFYwEAYHKoZIzj0",
        b"MCowBQYDK2Vw",
    ];
    let public = PUBLIC_KEYS.iter().any(|head| token.starts_with(head));
    // Small pictures in base64: PNG, GIF, JPEG, WebP.
    const PICTURES: [&[u8]; 5] =
        [b"iVBORw0KGgo", b"R0lGODlh", b"R0lGODdh", b"/9j/4AAQSkZJRg", b"UklGR"];
    let picture = PICTURES.iter().any(|head| token.starts_with(head));
    if !random
        || symbol
        || public
        || picture
        // What is in it was looked at.
        || super::decoded::is_text(token)
        || value::is_digest(token)
        || value::is_path(token)
        || value::is_filler(token)
    {
        return None;
    }
    let start = start + from;
    let end = start + token.len();
    (!known_context(text, start, end)).then_some((start, end))
}

trait TrimEnd {
    fn trim_end_with(&self, byte: u8) -> &[u8];
}

impl TrimEnd for [u8] {
    fn trim_end_with(&self, byte: u8) -> &[u8] {
        let keep = self.iter().rposition(|b| *b != byte).map_or(0, |p| p + 1);
        &self[..keep]
    }
}

/// What the text before a random string says when the string is no secret.
const INNOCENT: [&str; 52] = [
    "scram-sha", "integrity", "checksum", "sha1", "sha2", "sha3", "sha5", "digest", "hash",
    "resolved", "ssh-", "nonce", "etag", "base64,", "fingerprint", "certificate", "public",
    "pubkey", "commit", "revision", "mappings", "data:", "h1:", "narhash", "signature",
    "-----begin", "cdn", "http", "md5", "blob", "ecdsa-", "challenge", "font", "svg", "image",
    "verification", "ciphervalue", "nexttoken", "next-token", "starting-token", "next_token",
    "modulus", "site_key", "sitekey", "csrf", "xsrf", "authenticity", "enc[aes", ",iv:", ",tag:",
    "-> x25519", "did:",
];

fn known_context(text: &[u8], start: usize, end: usize) -> bool {
    // File names, domains, crypt strings and the segments of a token another rule knows: `main.Xy….js`.
    if start > 0 && matches!(text[start - 1], b'.' | b'@' | b'%' | b'$' | b'\\')
        || matches!(text.get(end), Some(b'.'))
        // The id of a mail: `<CA+EOSB…@mail.example>`.
        || start > 0 && text[start - 1] == b'<' && is_domain(&text[end..])
    {
        return true;
    }
    let floor = start.saturating_sub(120);
    let before = &text[floor..start];
    let line = before.iter().rposition(|b| *b == b'\n').map_or(before, |p| &before[p + 1..]);
    let line = line.to_ascii_lowercase();
    if INNOCENT.iter().any(|word| value::find(&line, word.as_bytes()).is_some()) {
        return true;
    }
    // Public parts of a JSON web key.
    let key = line.strip_suffix(b"\"").unwrap_or(&line).trim_ascii_end();
    let name = key.strip_suffix(b":").unwrap_or(key).trim_ascii_end();
    // `UploadId="…"`, `"request_id": "…"`: a name of something.
    let word = name.trim_ascii_end().strip_suffix(b"=").unwrap_or(name).trim_ascii_end();
    if word.strip_suffix(b"\"").unwrap_or(word).ends_with(b"id") {
        return true;
    }
    if [&b"\"x\""[..], b"\"y\"", b"\"n\"", b"\"kid\"", b"\"x5t\""].iter().any(|n| name.ends_with(n))
    {
        return true;
    }
    // The body and the end of an age file's header.
    let is_age = line == b"--- " || {
        let above = text[..start - line.len()].trim_ascii_end();
        let above = above.iter().rposition(|b| *b == b'\n').map_or(above, |at| &above[at + 1..]);
        line.is_empty() && above.starts_with(b"-> ")
    };
    if is_age || is_content_id(&text[start..end]) {
        return true;
    }
    // Lines of PEM, MIME and other wrapped data: nothing on the line but the string.
    let bare = |b: &u8| {
        matches!(
            b,
            b' ' | b'\t'
                | b'"'
                | b'\''
                | b'`'
                | b','
                | b'+'
                | b'='
                | b'\\'
                | b'n'
                | b';'
                | b'\r'
                | b'|'
        )
    };
    let rest = &text[end..(end + 12).min(text.len())];
    // Also where the wrapped data are a string in another format.
    let rest = rest.iter().position(|b| matches!(b, b'\n' | b'\\')).map_or(rest, |p| &rest[..p]);
    let alone = line.iter().all(bare) && rest.iter().all(bare);
    // In comments, as the signature of a script has it, with other such lines.
    let in_comment = |b: &u8| bare(b) || *b == b'#';
    if line.contains(&b'#') && line.iter().all(in_comment) && rest.iter().all(in_comment) {
        return continues(text, start - line.len()) || goes_on(text, end);
    }
    // The last line of an element's text.
    let closes = line.iter().all(bare) && text[end..].trim_ascii_start().starts_with(b"</");
    closes && continues(text, start - line.len())
        || alone && (end - start >= 60 || continues(text, start - line.len()))
}

/// True for the content id of IPFS: a SHA-256 in base58.
fn is_content_id(token: &[u8]) -> bool {
    token.len() == 46
        && token.starts_with(b"Qm")
        && token
            .iter()
            .all(|b| b.is_ascii_alphanumeric() && !matches!(b, b'0' | b'O' | b'I' | b'l'))
}

/// Whether `rest` begins with the domain of an address, up to its bracket.
fn is_domain(rest: &[u8]) -> bool {
    let Some(rest) = rest.strip_prefix(b"@") else { return false };
    let end = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-')));
    end.is_some_and(|end| rest[end] == b'>' && rest[..end].contains(&b'.'))
}

/// True when the line before the one at `start` is a line of wrapped data.
fn continues(text: &[u8], start: usize) -> bool {
    let Some(end) = start.checked_sub(1) else { return false };
    let floor = end.saturating_sub(200);
    let before = &text[floor..end];
    is_wrapped(before.iter().rposition(|b| *b == b'\n').map_or(before, |p| &before[p + 1..]))
}

/// True when the line behind the one that goes on at `end` is a line of wrapped data.
fn goes_on(text: &[u8], end: usize) -> bool {
    let window = &text[end..(end + 240).min(text.len())];
    let mut lines = window.split(|b| *b == b'\n');
    lines.nth(1).is_some_and(is_wrapped)
}

/// True for a line that is hardly more than one long run.
fn is_wrapped(line: &[u8]) -> bool {
    let run = line.split(|b| !runs::is_part(*b)).map(<[u8]>::len).max().unwrap_or(0);
    run >= 40 && run + 8 >= line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        let mut spans = Vec::new();
        runs::each(text.as_bytes(), |start, end| run(text.as_bytes(), start, end, &mut spans));
        spans.len()
    }

    const RANDOM: &str = "aB3xQ9zL4mPnR7tY2vK8wE5jH1uF6oI0sD2yG4cX";

    #[test]
    fn random_strings_are_found_at_any_offset() {
        for pad in 0..70 {
            assert_eq!(count(&format!("{} \"{RANDOM}\"\n", " ".repeat(pad))), 1, "{pad}");
        }
        assert_eq!(count(&format!("X={RANDOM}")), 1);
        assert_eq!(count(RANDOM), 1);
    }

    #[test]
    fn digests_and_names_are_not() {
        for text in [
            format!("\"integrity\": \"sha512-{RANDOM}{RANDOM}==\""),
            format!("golang.org/x/text v0.3.0 h1:{RANDOM}ab="),
            "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b".into(),
            "123e4567-e89b-12d3-a456-426614174000-123e4567".into(),
            "src/components/forms/inputs/TextFieldWithLabel2/index".into(),
            "NL80211_RATE_INFO_EHT_RU_ALLOC_2x996P484_And_more".into(),
            format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{RANDOM} me@host"),
            format!("{RANDOM}{RANDOM}\n"),
            format!("{RANDOM}{RANDOM}\n{RANDOM}=\n"),
            "FUNC:_ZNKSbIwSt11char_traitsIwESaIwEE4findEPKwmm@@GLIBCXX".into(),
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".into(),
        ] {
            assert_eq!(count(&text), 0, "{text}");
        }
    }
}
