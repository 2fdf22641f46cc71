//! Tells secrets from placeholders and documented examples.

use std::borrow::Cow;

pub(super) fn entropy(value: &[u8]) -> f32 {
    let mut counts = [0u32; 256];
    for &byte in value {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len() as f32;
    counts.iter().filter(|&&n| n > 0).map(|&n| n as f32 / total).map(|p| -p * p.log2()).sum()
}

/// Documented examples and encrypted values.
pub(super) fn is_documented(value: &[u8]) -> bool {
    /// From RFC 6749, RFC 6750 and OpenID Connect.
    const KNOWN: [&[u8]; 7] = [
        b"2YotnFZFEjr1zCsicMWpAA",
        b"tGzv3JOkF0XG5Qx2TlKWIA",
        b"SlAV32hkKG",
        b"mF_9.B5f-4.1JqM",
        b"czZCaGRSa3F0MzpnWDFmQmF0M2JW",
        b"h480djs93hd8",
        b"45ghiukldjahdnhzdauz",
    ];
    const HEADS: [&[u8]; 5] =
        [b"ENC[AES256_GCM", b"$ANSIBLE_VAULT", b"SCRAM-SHA-", b"pk_live_", b"pk_test_"];
    find(value, b"EXAMPLE").is_some()
        || KNOWN.contains(&value)
        || HEADS.iter().any(|head| value.starts_with(head))
}

/// Templates, variables, `xxxx`, `<your-key>`, `changeme`, and strings of filler words.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    is_template(value) || is_filler(value) || has_placeholder_word(value)
}

/// A template, variable or mask.
pub(super) fn is_template(value: &[u8]) -> bool {
    const TEMPLATES: [&[u8]; 14] = [
        b"${", b"{{", b"$(", b"<%", b"#{", b"%(", b"}}", b"***", b"...", b"$[", b"@{",
        b"\xe2\x80\xa6", b"\xe2\x80\xa2", b"env.",
    ];
    if TEMPLATES.iter().any(|t| find(value, t).is_some()) || value.starts_with(b"@env:") {
        return true;
    }
    let inner = |open: u8, close: u8| value.first() == Some(&open) && value.last() == Some(&close);
    if inner(b'<', b'>')
        || inner(b'{', b'}')
        || inner(b'[', b']')
        || inner(b'%', b'%')
        || inner(b'_', b'_')
    {
        return true;
    }
    let name =
        |v: &[u8]| !v.is_empty() && v.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
    matches!(value.first(), Some(b'$' | b'%' | b'&')) && name(&value[1..])
}

/// A run of one filler character: `xxxxxxxx`, `********`, `00000000`.
pub(super) fn is_filler(value: &[u8]) -> bool {
    let fill = |b: &u8| matches!(b, b'x' | b'X' | b'*' | b'.' | b'0' | b'-' | b'_' | b'#' | b'?');
    let mut longest = 0;
    let mut run = 0;
    let mut last = 0u8;
    for byte in value {
        run = if *byte == last { run + 1 } else { 1 };
        last = *byte;
        if fill(byte) {
            longest = longest.max(run);
        }
    }
    longest >= 5 && longest * 2 >= value.len() || longest >= 8 || value.iter().all(fill)
}

/// A value with one of these words is a placeholder.
const PLACEHOLDER_WORDS: [&str; 24] = [
    "example", "placeholder", "changeme", "change_me", "change-me", "your_", "your-", "yourpass",
    "yourtoken", "yoursecret", "yourapi", "yourkey", "dummy", "redacted", "replace", "insert",
    "fixme", "todo", "notreal", "not-a-", "not_a_", "sample", "censored", "_here",
];

/// A value of only these words, digits and symbols is a placeholder.
const FILLER: [&str; 52] = [
    "password", "passphrase", "passwd", "passwort", "secret", "token", "credentials", "credential",
    "admin", "root", "user", "username", "guest", "test", "tests", "testing", "demo", "default",
    "public", "private", "none", "null", "true", "false", "undefined", "string", "value",
    "invalid", "valid", "wrong", "correct", "fake", "mock", "foobar", "foo", "bar", "baz",
    "apikey", "api", "key", "pass", "pwd", "auth", "login", "access", "client", "input", "field",
    "my", "the", "new", "old",
];

fn has_placeholder_word(value: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(value).to_ascii_lowercase();
    if PLACEHOLDER_WORDS.iter().any(|word| lower.contains(word)) {
        return true;
    }
    let mut rest = lower;
    for word in FILLER {
        if rest.len() < word.len() {
            continue;
        }
        rest = rest.replace(word, "");
    }
    rest.bytes().filter(u8::is_ascii_alphabetic).count() < 3
        && rest.bytes().filter(u8::is_ascii_digit).count() < 6
        // Long symbol strings may be passwords; a short remainder after filler is not.
        && rest.len() < value.len().max(8)
}

/// Decodes `%3D` and the like.
pub(super) fn percent_decoded(value: &[u8]) -> Cow<'_, [u8]> {
    let digit = |at: usize| value.get(at).and_then(|b| char::from(*b).to_digit(16));
    let mut out = Vec::new();
    let mut at = 0;
    let mut copied = 0;
    while let Some(found) = value[at..].iter().position(|b| *b == b'%').map(|p| at + p) {
        at = found + 1;
        if let (Some(high), Some(low)) = (digit(found + 1), digit(found + 2)) {
            out.extend_from_slice(&value[copied..found]);
            out.push((high * 16 + low) as u8);
            at = found + 3;
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(value);
    }
    out.extend_from_slice(&value[copied..]);
    Cow::Owned(out)
}

pub(super) fn find(value: &[u8], needle: &[u8]) -> Option<usize> {
    // Values are short: setting up a substring search costs more than it saves.
    let (first, rest) = needle.split_first()?;
    let mut at = 0;
    loop {
        at += bstr::ByteSlice::find_byte(&value[at..], *first)?;
        if value[at + 1..].starts_with(rest) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_are_known() {
        for stand_in in [
            "changeme", "${DB_PASSWORD}", "<password>", "xxxxxxxxxx", "password123", "{{ token }}",
            "your-api-key", "test1234", "$PASSWORD", "%PASSWORD%", "AKIAXXXXXXXXXXXXXXXX",
        ] {
            assert!(is_placeholder(stand_in.as_bytes()), "{stand_in}");
        }
        for real in ["hunter2", "s3cr3t!pw", "Tr0ub4dor&3", "SuperSecret123!"] {
            assert!(!is_placeholder(real.as_bytes()), "{real}");
        }
    }
}
