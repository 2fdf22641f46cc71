//! Is this string a secret? Random strings told from words, identifiers, digests, paths and
//! placeholders.

use std::borrow::Cow;

use super::bigrams;

/// What the characters of a string are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub lower: usize,
    pub upper: usize,
    pub digit: usize,
    /// Anything else.
    pub symbol: usize,
    /// Letters beyond `f`: with none of these and no symbols it may be hexadecimal.
    pub beyond_hex: usize,
}

impl Shape {
    pub fn of(value: &[u8]) -> Self {
        let mut shape = Self::default();
        for &byte in value {
            match byte {
                b'a'..=b'z' => shape.lower += 1,
                b'A'..=b'Z' => shape.upper += 1,
                b'0'..=b'9' => shape.digit += 1,
                _ => shape.symbol += 1,
            }
            if matches!(byte, b'g'..=b'z' | b'G'..=b'Z') {
                shape.beyond_hex += 1;
            }
        }
        shape
    }

    pub fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// Hexadecimal of one letter case, with both letters and digits.
    pub fn is_hex(&self) -> bool {
        self.symbol == 0
            && self.beyond_hex == 0
            && self.digit > 0
            && self.letters() > 0
            && (self.lower == 0 || self.upper == 0)
    }
}

/// Shannon entropy in bits per byte.
pub(super) fn entropy(value: &[u8]) -> f32 {
    let mut counts = [0u32; 256];
    for &byte in value {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len() as f32;
    counts.iter().filter(|&&n| n > 0).map(|&n| n as f32 / total).map(|p| -p * p.log2()).sum()
}

/// Mean bits per step from character to character, by how source code is written: letters cost
/// what English-like bigrams say, a change between letters and digits or of case costs more.
///
/// Identifiers and words lie near 4, random base62 near 6.2 (below 5.3 once in a hundred at 20
/// characters, below 5.5 at 32), random hexadecimal near 5.2.
pub(super) fn surprise(value: &[u8]) -> f32 {
    if value.len() < 2 {
        return 0.0;
    }
    let total: f32 = value.windows(2).map(|pair| step(pair[0], pair[1])).sum();
    total / (value.len() - 1) as f32
}

fn step(a: u8, b: u8) -> f32 {
    const CAMEL: f32 = 6.0;
    const DIGITS: f32 = 3.3;
    const SEPARATOR: f32 = 3.0;
    const LETTER_DIGIT: f32 = 7.0;
    if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() {
        if a.is_ascii_lowercase() && b.is_ascii_uppercase() { CAMEL } else { bigrams::bits(a, b) }
    } else if a.is_ascii_digit() && b.is_ascii_digit() {
        DIGITS
    } else if !a.is_ascii_alphanumeric() || !b.is_ascii_alphanumeric() {
        SEPARATOR
    } else {
        LETTER_DIGIT
    }
}

/// True for runs such as `abcdef`, `012345`, `aaaa`: most steps lead to the same or the next
/// character.
pub(super) fn is_sequential(value: &[u8]) -> bool {
    let steps = value
        .windows(2)
        .filter(|w| w[0] == w[1] || w[0].wrapping_add(1) == w[1] || w[1].wrapping_add(1) == w[0])
        .count();
    steps * 5 >= value.len() * 2
}

/// True for a random-looking string of a machine-made alphabet (base64, base62, base32, lower-case
/// letters with digits). Hexadecimal has its own question, [`is_random_hex`].
pub(super) fn is_random(value: &[u8]) -> bool {
    let shape = Shape::of(value);
    let mixed = shape.digit > 0 && shape.letters() > 0 || shape.lower > 2 && shape.upper > 2;
    mixed && surprise(value) >= 5.0 && entropy(value) >= 3.0 && !is_sequential(value)
}

/// True for hexadecimal that is not a counter, a repeated byte or a word.
pub(super) fn is_random_hex(value: &[u8]) -> bool {
    Shape::of(value).is_hex() && entropy(value) >= 2.8 && !is_sequential(value)
}

/// True for what documentation gives as an example, and for what is encrypted already: the form
/// says so at its beginning or end.
pub(super) fn is_documented(value: &[u8]) -> bool {
    /// Of RFC 6749, RFC 6750 and OpenID Connect.
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
        || is_sealed(value)
}

/// True for a value of a SealedSecret: its first bytes are the length of a 4096-bit key, and the
/// key makes it longer than any credential.
fn is_sealed(value: &[u8]) -> bool {
    let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    value.len() >= 500 && value.starts_with(b"Ag") && value.iter().all(is_base64)
}

/// True for `8-4-4-4-12` hexadecimal.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// True for what says itself that it is a digest: `sha256-…`, `sha512:…`, `md5:…`, `h1:…`,
/// bcrypt, argon2 and crypt strings.
pub(super) fn is_digest(value: &[u8]) -> bool {
    const HEADS: [&[u8]; 18] = [
        b"sha1-", b"sha256-", b"sha384-", b"sha512-", b"sha1:", b"sha256:", b"sha384:", b"sha512:",
        b"md5:", b"md5-", b"h1:", b"blake2b", b"blake3", b"$2a$", b"$2b$", b"$2y$", b"$argon2",
        b"pbkdf2",
    ];
    let start = value.get(..8).unwrap_or(value).to_ascii_lowercase();
    HEADS.iter().any(|head| start.starts_with(&head[..head.len().min(8)]))
}

/// True for URLs, absolute and relative paths, and slash-separated words.
pub(super) fn is_path(value: &[u8]) -> bool {
    if find(value, b"://").is_some() || value.starts_with(b"./") || value.starts_with(b"../") {
        return true;
    }
    if value.starts_with(b"~/") || value.get(1..3) == Some(b":\\") || value.starts_with(b"@/") {
        return true;
    }
    let slash = |b: &u8| *b == b'/' || *b == b'\\';
    // Random base64 has a slash in every 64th place, and no words to speak of between them.
    value.iter().any(slash)
        && surprise(value) < 5.0
        && value.split(slash).filter(|part| part.len() > 2).any(is_wordy)
}

/// True for what people write: letters that follow one another as in words, with few digits.
pub(super) fn is_wordy(part: &[u8]) -> bool {
    let shape = Shape::of(part);
    shape.letters() > 0 && shape.letters() >= 2 * shape.digit && surprise(part) < 4.6
}

/// True for names: words joined by `-`, `_`, `.`, `:` or camel case, with numbers and short codes
/// as parts of their own.
pub(super) fn is_name(value: &[u8]) -> bool {
    let joint = |b: &u8| matches!(b, b'-' | b'_' | b'.' | b':' | b'/' | b'|');
    let parts: Vec<&[u8]> = value.split(joint).filter(|p| !p.is_empty()).collect();
    let is_word = |part: &[u8]| {
        let shape = Shape::of(part);
        let plain = surprise(part) < 4.6 || part.len() <= 3;
        shape.symbol == 0 && shape.letters() > 0 && shape.digit <= 3 && plain
    };
    let words = parts.iter().filter(|part| part.len() >= 3 && is_word(part)).count();
    let is_code = |part: &[u8]| {
        let shape = Shape::of(part);
        shape.symbol == 0
            && (shape.letters() == 0 && part.len() <= 4 || words >= 2 && part.len() <= 8)
    };
    parts.iter().all(|part| is_word(part) || is_code(part))
        && (parts.len() > 1 || Shape::of(value).digit == 0)
}

/// True for stand-ins: templates and variables, `xxxx`, `<your-key>`, `changeme`, and strings
/// that are nothing but the usual filler words.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    is_template(value) || is_filler(value) || has_telling_word(value)
}

/// True where a template, a variable or a mask stands for the value.
pub(super) fn is_template(value: &[u8]) -> bool {
    const TEMPLATES: [&[u8]; 14] = [
        b"${", b"{{", b"$(", b"<%", b"#{", b"%(", b"}}", b"***", b"...", b"$[", b"@{",
        b"\xe2\x80\xa6", b"\xe2\x80\xa2", b"env.",
    ];
    if TEMPLATES.iter().any(|t| find(value, t).is_some()) || is_variable(value) {
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
    matches!(value.first(), Some(b'$' | b'%' | b'&')) && name(&value[1..]) && is_name(&value[1..])
}

/// True for `@env:NAME`.
fn is_variable(value: &[u8]) -> bool {
    let name = value.strip_prefix(b"@env:");
    name.is_some_and(|name| {
        name.iter().all(|b| b.is_ascii_uppercase() || b"_0123456789".contains(b))
    })
}

/// True for a run of one filler character, such as `xxxxxxxx`, `********`, `00000000`.
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

/// Words that make a value a stand-in wherever they occur in it.
const TELLING: [&str; 24] = [
    "example", "placeholder", "changeme", "change_me", "change-me", "your_", "your-", "yourpass",
    "yourtoken", "yoursecret", "yourapi", "yourkey", "dummy", "redacted", "replace", "insert",
    "fixme", "todo", "notreal", "not-a-", "not_a_", "sample", "censored", "_here",
];

/// Words that say nothing: a value of only these, digits and symbols is a stand-in.
const FILLER: [&str; 52] = [
    "password", "passphrase", "passwd", "passwort", "secret", "token", "credentials", "credential",
    "admin", "root", "user", "username", "guest", "test", "tests", "testing", "demo", "default",
    "public", "private", "none", "null", "true", "false", "undefined", "string", "value",
    "invalid", "valid", "wrong", "correct", "fake", "mock", "foobar", "foo", "bar", "baz",
    "apikey", "api", "key", "pass", "pwd", "auth", "login", "access", "client", "input", "field",
    "my", "the", "new", "old",
];

fn has_telling_word(value: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(value).to_ascii_lowercase();
    if TELLING.iter().any(|word| lower.contains(word)) {
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

/// `value` with `%3D` and the like decoded, as in URLs.
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

/// Position of `needle` in `value`.
pub(super) fn find(value: &[u8], needle: &[u8]) -> Option<usize> {
    // Values are short: setting up a substring search costs several times what it saves.
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
    fn words_and_random_strings_lie_apart() {
        for word in
            ["convertUtf8ToBase64String", "NL80211_RATE_INFO_EHT_RU_ALLOC", "com/cd/E36784_01/html"]
        {
            assert!(!is_random(word.as_bytes()), "{word}");
        }
        for random in [
            "aB3xQ9zL4mPnR7tY2vK8wE5jH1uF6oI0",
            "k3j9x0q2v7b1n5m8z4w6",
            "7Gd/q+X2fZpYw0LrNc81sVhKtMe5",
        ] {
            assert!(is_random(random.as_bytes()), "{random}");
        }
        assert!(!is_random(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"));
    }

    #[test]
    fn digests_uuids_and_paths_are_known() {
        assert!(is_uuid(b"123e4567-e89b-12d3-a456-426614174000"));
        assert!(is_digest(b"sha512-abc") && is_digest(b"$2b$12$abc") && !is_digest(b"shadow"));
        assert!(is_path(b"src/components/Button2") && is_path(b"/usr/lib/x86_64-linux-gnu"));
        assert!(!is_path(b"7Gd/q+X2fZpYw0LrNc81sVhKtMe5"));
    }

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
