//! Assignments near a keyword: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`,
//! `Authorization: Bearer …`, `<password>…</password>`, in whatever language.
//!
//! Not a pattern but a small reader: from the keyword outwards to the name it is part of, over
//! the operator, to the value; then [`super::value`] says whether the value is a secret.

use bstr::ByteSlice as _;

use super::finding::{Category, Span, rank};
use super::value;

/// What sort of value a keyword promises, from the most to the least telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A person may have chosen it: short, made of words and digits.
    Password,
    /// A machine made it: random, hexadecimal counts.
    Secret,
    /// A word that mostly means something else (`key`, `auth`): only clearly random values.
    Weak,
}

/// Keywords in lower case, any letter case in the text.
pub(super) const KEYWORDS: &[(&str, Class)] = &[
    ("password", Class::Password),
    ("passwd", Class::Password),
    ("passphrase", Class::Password),
    ("passwort", Class::Password),
    ("contraseña", Class::Password),
    ("пароль", Class::Password),
    ("密码", Class::Password),
    ("pwd", Class::Password),
    ("_pass", Class::Password),
    ("secret", Class::Secret),
    ("token", Class::Secret),
    ("credential", Class::Secret),
    ("api_key", Class::Secret),
    ("api-key", Class::Secret),
    ("apikey", Class::Secret),
    ("access_key", Class::Secret),
    ("access-key", Class::Secret),
    ("accesskey", Class::Secret),
    ("auth_key", Class::Secret),
    ("authkey", Class::Secret),
    ("accountkey", Class::Secret),
    ("account_key", Class::Secret),
    ("private_key", Class::Secret),
    ("private-key", Class::Secret),
    ("privatekey", Class::Secret),
    ("encryption_key", Class::Secret),
    ("encryptionkey", Class::Secret),
    ("signing_key", Class::Secret),
    ("signingkey", Class::Secret),
    ("master_key", Class::Secret),
    ("masterkey", Class::Secret),
    ("service_key", Class::Secret),
    ("signing-key", Class::Secret),
    ("encryption-key", Class::Secret),
    ("account-key", Class::Secret),
    ("api.key", Class::Secret),
    ("access.key", Class::Secret),
    ("private.key", Class::Secret),
    ("signing.key", Class::Secret),
    ("encryption.key", Class::Secret),
    ("authorization", Class::Secret),
    ("bearer ", Class::Secret),
    ("_key", Class::Weak),
    ("_auth", Class::Weak),
];

/// Ends of a name after the keyword that do not change what the value is.
const PLAIN_SUFFIXES: [&str; 26] = [
    "", "s", "_key", "key", "_token", "token", "_value", "value", "_base64", "_b64", "_hex",
    "_secret", "_password", "_prod", "_production", "_dev", "_staging", "_live", "_test",
    "_string", "_1", "_2", "1", "2", "word", "_v2",
];

/// Parts of a name that make its value public.
const PUBLIC_PARTS: [&str; 32] = [
    "nexttoken", "next_token", "next-token", "pagetoken", "page_token", "changetoken",
    "change_token", "change-token", "continuation", "csrf", "xsrf", "authenticity", "publishable",
    "client_id", "clientid", "public", "pubkey", "hash", "digest", "checksum", "foreign_key",
    "primary_key", "sort_key", "cache_key", "partition_key", "integrity", "fingerprint",
    "site_key", "sitekey", "sha256", "sha1", "index_key",
];

mod ways;

const LONGEST_NAME: usize = 64;
const LONGEST_VALUE: usize = 512;

/// The secret assigned to the keyword at `start..end` of `text`, if there is one.
pub(super) fn read(text: &[u8], start: usize, end: usize, class: Class) -> Option<Span> {
    let bearer = text[start..end].ends_with(b" ");
    // Cheapest first: most keywords in code are followed by no operator at all.
    if !bearer && !text[end..(end + LONGEST_NAME + 8).min(text.len())].iter().any(is_operator) {
        return None;
    }
    let name = Name::around(text, start, end);
    // `Bearer abc…`: the value follows, there is no operator.
    let at = if bearer {
        end
    } else {
        operator(text, name.end, &name, class).or_else(|| ways::after_name(text, &name))?
    };
    let value = Value::at(text, at)
        .and_then(|value| ways::whole_line(text, &name, &value).or(Some(value)))
        .filter(|value| value.plausible(text))
        .or_else(|| ways::fallback(text, at))?;
    let mut class = class;
    if !bearer && !name.is_telling(text, end, &mut class) {
        return None;
    }
    // Badges carry a token that everybody may read.
    if value::find(&text[name.start.saturating_sub(16)..name.start], b"badge.svg?").is_some() {
        return None;
    }
    let bytes = &text[value.start..value.end];
    if value::is_uuid(bytes) {
        let is_key = !value::is_filler(bytes) && uuid_is_key(text, &name);
        return is_key.then(|| span(class, &value, false));
    }
    // `github_token:0123456789`: a fingerprint from our own allow-list.
    if std::str::from_utf8(&text[name.start..value.end]).is_ok_and(super::allow::is_fingerprint) {
        return None;
    }
    let env_style = name.env_style && value.start > 0 && text[value.start - 1] == b'='
        || name.env_style && value.quoted;
    if !judge(bytes, class, value.quoted, env_style) {
        return None;
    }
    Some(span(class, &value, class == Class::Password || bytes.len() < 16))
}

fn span(class: Class, value: &Value, guessable: bool) -> Span {
    Span {
        kind: "assigned_secret",
        title: match class {
            Class::Password => "Password in plain text",
            _ => "Secret assigned in plain text",
        },
        category: Category::Secret,
        start: value.start,
        end: value.end,
        guessable,
        rank: rank::ASSIGNED,
    }
}

/// Services whose keys have the form of a UUID. Elsewhere one is a name more often than a secret.
const UUID_KEYS: [&str; 12] = [
    "snyk", "hubspot", "hapikey", "postmark", "kucoin", "squarespace", "heroku", "codecov",
    "messagebird", "sendbird", "octopus", "npm",
];

/// True where the name speaks of a service with such keys, or is a header on a command line.
fn uuid_is_key(text: &[u8], name: &Name) -> bool {
    let spelled = text[name.start..name.end].to_ascii_lowercase();
    let before = &text[name.start.saturating_sub(12)..name.start];
    UUID_KEYS.iter().any(|service| value::find(&spelled, service.as_bytes()).is_some())
        || value::find(before, b"-H ").is_some()
        || value::find(before, b"--header ").is_some()
}

/// What may stand between a name and its value.
fn is_operator(byte: &u8) -> bool {
    matches!(byte, b'=' | b':' | b',' | b'>' | b'!' | b' ' | b'<' | b'\t')
}

/// The identifier a keyword stands in.
struct Name {
    start: usize,
    end: usize,
    /// Closed by a quote: `"api_key"`.
    quoted: bool,
    /// Preceded by `--`.
    option: bool,
    /// `UPPER_CASE`.
    env_style: bool,
}

impl Name {
    fn around(text: &[u8], start: usize, end: usize) -> Self {
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
        let floor = start.saturating_sub(LONGEST_NAME);
        let mut first =
            text[floor..start].iter().rposition(|b| !part(b)).map_or(floor, |p| floor + p + 1);
        // `\n` within a string is no part of the name behind it.
        if first > 0 && text[first - 1] == b'\\' && matches!(text[first], b'n' | b'r' | b't') {
            first = (first + 1).min(start);
        }
        let ceiling = (end + LONGEST_NAME).min(text.len());
        let tail = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let last = text[end..ceiling].iter().position(|b| !tail(b)).map_or(ceiling, |p| end + p);
        let name = &text[first..last];
        Self {
            start: first,
            end: last,
            quoted: matches!(text.get(last), Some(b'"' | b'\'' | b'`')),
            option: name.starts_with(b"--"),
            env_style: name.iter().any(u8::is_ascii_uppercase)
                && !name.iter().any(u8::is_ascii_lowercase),
        }
    }

    /// Whether the name as a whole promises a secret; may lower `class`.
    fn is_telling(&self, text: &[u8], keyword_end: usize, class: &mut Class) -> bool {
        // `"AWS::IAM::AccessKey": "…"`: a type.
        if self.quoted && text[..self.start].ends_with(b"::") {
            return false;
        }
        let mut name = text[self.start..self.end].to_ascii_lowercase();
        // `checksum/secret`: an annotation.
        if self.start > 0 && text[self.start - 1] == b'/' {
            let head = &text[self.start.saturating_sub(16)..self.start];
            name.extend_from_slice(&head.to_ascii_lowercase());
        }
        if PUBLIC_PARTS.iter().any(|part| value::find(&name, part.as_bytes()).is_some()) {
            return false;
        }
        let suffix = &text[keyword_end..self.end].to_ascii_lowercase();
        if *class == Class::Weak {
            return suffix.is_empty();
        }
        let plain = PLAIN_SUFFIXES.iter().any(|s| s.as_bytes() == &suffix[..]);
        if !plain {
            // `token_endpoint`, `secretName`, `password_field`: rarely a secret, never a weak one.
            const NEVER: [&str; 16] = [
                "id", "name", "url", "uri", "file", "path", "type", "len", "length", "count",
                "ttl", "field", "policy", "header", "pattern", "regex",
            ];
            if suffix.len() > 24 || NEVER.iter().any(|n| suffix.ends_with(n.as_bytes())) {
                return false;
            }
            *class = Class::Weak;
        }
        true
    }
}

/// Skips the operator after a name; `None` when no value follows.
fn operator(text: &[u8], mut at: usize, name: &Name, class: Class) -> Option<usize> {
    // A closing quote, escaped or not, and closing brackets: `["password"]`.
    while matches!(text.get(at), Some(b'\\' | b'"' | b'\'' | b'`' | b']' | b')'))
        && at < name.end + 4
    {
        at += 1;
    }
    let spaces = skip_spaces(text, at);
    let (next, spaced) = (text.get(spaces)?, spaces > at);
    let after = match next {
        b'?' | b'.' | b'+' | b'|' | b'&' if ways::compound(&text[spaces..]).is_some() => {
            spaces + ways::compound(&text[spaces..])?
        }
        b'=' | b':' => {
            let mut end = spaces + 1;
            while end < spaces + 4 && matches!(text.get(end), Some(b'=' | b'>' | b':' | b'~')) {
                end += 1;
            }
            // `password: String = "…"`, `password: &'static str = "…"`
            annotated(text, end).unwrap_or(end)
        }
        b'!' if text.get(spaces + 1) == Some(&b'=') => spaces + 2,
        // `setenv("PASSWORD", "…")`, but not `f("password"), "…"`.
        b',' if name.quoted && at == name.end + 1 && is_argument(text, spaces + 1) => spaces + 1,
        // Elixir: `config :shop, :password, "…"`.
        b',' if name.start > 0 && text[name.start - 1] == b':' => spaces + 1,
        // SQL: `CREATE ROLE app PASSWORD '…'`.
        b'\''
            if class == Class::Password
                && spaced
                && !name.quoted
                && name.env_style
                && !text[..name.start].ends_with(b"$") =>
        {
            spaces
        }
        // The text of an element may be on a line of its own.
        b'>' if !spaced => {
            let rest = &text[spaces + 1..(spaces + 80).min(text.len())];
            let is_element = name.start > 0 && text[name.start - 1] == b'<';
            let blank = if is_element && matches!(rest.first(), Some(b'\n' | b'\r')) {
                rest.len() - rest.trim_ascii_start().len()
            } else {
                0
            };
            spaces + 1 + blank
        }
        // `<add key="password" value="…"/>`
        b'v' if name.quoted && spaced && text[spaces..].starts_with(b"value=") => spaces,
        // `password "…"` in Groovy, `:password "…"` in Clojure, `#define PASSWORD "…"` in C.
        b'"' | b'\'' if class == Class::Password && spaced && ways::is_statement(text, name) => {
            spaces
        }
        _ if name.option && spaced => spaces,
        b'i' if class == Class::Password && spaced && text[spaces..].starts_with(b"is ") => {
            spaces + 3
        }
        _ => return None,
    };
    let start = skip_spaces(text, after);
    Some(if name.quoted { ways::behind_value(text, start) } else { start })
}

/// Whether what begins at `at` may be the value of the argument before it: neither another one by name, such as
/// `timeout=0.01`, nor the next one of a list of words (`'TEXT', 'PASSWORD', 'CHECKBOX'`).
fn is_argument(text: &[u8], at: usize) -> bool {
    let rest = &text[skip_spaces(text, at)..];
    let head =
        rest.iter().take(LONGEST_NAME).take_while(|b| b.is_ascii_alphanumeric() || **b == b'_');
    let head = head.count();
    if let [b'=', value @ ..] = rest[head..].trim_start()
        && head > 0
        && !matches!(value.first(), Some(b'=' | b'>'))
    {
        return value
            .trim_start()
            .first()
            .is_some_and(|b| !b.is_ascii_digit() && !b.is_ascii_uppercase());
    }
    let Some((quote @ (b'"' | b'\'' | b'`'), string)) = rest.split_first() else { return true };
    let string = &string[..string.find_byte(*quote).unwrap_or(0)];
    let is_shouted = string.iter().all(|b| b.is_ascii_uppercase() || *b == b'_');
    !is_shouted || !value::is_wordy(string)
}

/// After `name:`, the position past a type and its `=`, if that is what stands there.
fn annotated(text: &[u8], at: usize) -> Option<usize> {
    let start = skip_spaces(text, at);
    let line = &text[start..(start + 40).min(text.len())];
    let stop = line.iter().position(|b| matches!(b, b'=' | b'\n' | b'"' | b',' | b';'))?;
    let is_type = line[..stop].iter().all(|b| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'&' | b'\'' | b' ' | b'_' | b'<' | b'>' | b'[' | b']' | b'?' | b'|')
    });
    let word = line[..stop].iter().filter(|b| b.is_ascii_alphabetic()).count() >= 3;
    (line[stop] == b'=' && is_type && word && line[..stop].ends_with(b" "))
        .then_some(start + stop + 1)
}

fn skip_spaces(text: &[u8], at: usize) -> usize {
    let window = &text[at.min(text.len())..(at + 16).min(text.len())];
    at + window.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(window.len())
}

/// The value after the operator.
struct Value {
    start: usize,
    end: usize,
    quoted: bool,
    /// All that follows the `=` on a line of a `.env` file: no code, whatever signs it has.
    whole: bool,
}

impl Value {
    fn at(text: &[u8], mut at: usize) -> Option<Self> {
        // String prefixes and wrappers: b"…", f"…", L"…", @"…", String::from("…").
        if matches!(text.get(at), Some(b'b' | b'r' | b'f' | b'u' | b'L' | b'@' | b'&'))
            && matches!(text.get(at + 1), Some(b'"' | b'\''))
        {
            at += 1;
        }
        let escaped =
            text.get(at) == Some(&b'\\') && matches!(text.get(at + 1), Some(b'"' | b'\''));
        let open = at + usize::from(escaped);
        let ceiling = (open + LONGEST_VALUE + 16).min(text.len());
        let quote = *text.get(open)?;
        let (mut start, end, quoted) = if matches!(quote, b'"' | b'\'' | b'`') {
            let body = &text[open + 1..ceiling];
            let close = body.iter().position(|b| *b == quote || *b == b'\n')?;
            if body[close] == b'\n' {
                return None;
            }
            let end =
                open + 1 + close - usize::from(escaped && close > 0 && body[close - 1] == b'\\');
            (open + 1, end, true)
        } else {
            let stop = |b: &u8| {
                b.is_ascii_whitespace()
                    || matches!(b, b',' | b';' | b')' | b']' | b'"' | b'\'' | b'`' | b'<' | b'|')
            };
            let body = &text[at..ceiling];
            let close = body.iter().position(stop).unwrap_or(body.len());
            // An escape ends a value that is written within a string.
            let escape = |pair: &[u8]| {
                pair[0] == b'\\' && matches!(pair[1], b'n' | b'r' | b't' | b'"' | b'\'' | b'\\')
            };
            let within = &body[..(close + 1).min(body.len())];
            let close = within.windows(2).position(escape).unwrap_or(close);
            (at, at + close, false)
        };
        // `Buffer.from("…", "hex")`, `String::from("…")`
        if !quoted && let Some(inner) = ways::wrapped(&text[at..ceiling]) {
            return Self::at(text, at + inner);
        }
        // `Authorization: Bearer …`
        for scheme in [&b"bearer "[..], b"basic ", b"token ", b"api-token ", b"apikey "] {
            let head = text.get(start..start + scheme.len());
            if head.is_some_and(|h| h.eq_ignore_ascii_case(scheme)) {
                start += scheme.len();
                if !quoted {
                    return Self::at(text, start);
                }
            }
        }
        let value = &text[start.min(end)..end];
        let trimmed = value.trim_ascii();
        // Query strings and connection strings: `password=…&user=…`.
        let cut = if quoted {
            trimmed.len()
        } else {
            trimmed.iter().position(|b| *b == b'&').unwrap_or(trimmed.len())
        };
        if trimmed.is_empty() {
            return None;
        }
        let start = start + (trimmed.as_ptr() as usize - value.as_ptr() as usize);
        Some(Self { start, end: start + cut, quoted, whole: false })
    }

    /// False for code: calls, member paths, variables, types.
    fn plausible(&self, text: &[u8]) -> bool {
        let value = &text[self.start..self.end];
        if value.len() > LONGEST_VALUE
            || value.len() < 6
            || value.iter().any(u8::is_ascii_whitespace)
        {
            return false;
        }
        if self.quoted || self.whole {
            return true;
        }
        let code = |b: &u8| matches!(b, b'(' | b'[' | b'{' | b'$' | b'\\');
        if value.iter().any(code)
            || value.starts_with(b"*")
            || value::find(value, b"**").is_some()
            || value::find(value, b"::").is_some()
            || value::find(value, b"->").is_some()
        {
            return false;
        }
        // `self.token`, `config.password`, `ed25519.PrivateKey`: identifiers joined by dots.
        let identifier = |part: &[u8]| {
            part.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
                && part.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
                && (part.len() <= 8 || value::surprise(part) < 5.0)
        };
        let dotted = value.contains(&b'.') && value.split(|b| *b == b'.').all(identifier);
        !dotted
    }
}

fn judge(bytes: &[u8], class: Class, quoted: bool, env_style: bool) -> bool {
    let decoded = value::percent_decoded(bytes);
    let bytes = &decoded[..];
    if value::is_template(bytes)
        || value::is_uuid(bytes)
        || value::is_digest(bytes)
        || value::is_path(bytes)
    {
        return false;
    }
    // A constant that names something, a number as code writes it, a resource by name.
    let is_constant = bytes.contains(&b'_')
        && bytes.iter().all(|b| b.is_ascii_uppercase() || *b == b'_')
        && class == Class::Password;
    if is_constant || bytes.starts_with(b"arn:") {
        return false;
    }
    if bytes.starts_with(b"0x") && bytes.len() <= 18 {
        return false;
    }
    let shape = value::Shape::of(bytes);
    if shape.letters() == 0 && shape.symbol == 0 || !bytes.is_ascii() && class != Class::Password {
        return false;
    }
    let random = bytes.len() >= 16 && value::is_random(bytes) && !value::is_filler(bytes);
    let hex = bytes.len() >= 24 && value::is_random_hex(bytes);
    match class {
        Class::Weak => random && bytes.len() >= 20 && shape.letters() > 0 && shape.digit > 0,
        _ if random || hex => true,
        _ if value::is_placeholder(bytes) || value::is_sequential(bytes) => false,
        Class::Secret => {
            let mixed = shape.letters() >= 3 && shape.digit >= 2;
            // Short hexadecimal is an abbreviated object id, a colour, a code point.
            let long = bytes.len() >= if shape.is_hex() { 16 } else { 10 };
            long && mixed && !value::is_name(bytes) && value::entropy(bytes) >= 2.8
        }
        Class::Password => is_password(bytes, &shape, quoted, env_style),
    }
}

/// What a person would take for a password: letters with digits or symbols, not a name.
fn is_password(bytes: &[u8], shape: &value::Shape, quoted: bool, env_style: bool) -> bool {
    let joint = |b: &u8| matches!(b, b'-' | b'_' | b'.' | b'/' | b':' | b'|');
    let joined = bytes.iter().any(joint);
    let strong_symbols = bytes
        .iter()
        .filter(|b| {
            matches!(b, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'?' | b'~')
        })
        .count();
    let mixed = shape.letters() >= 2 && (shape.digit > 0 || strong_symbols > 0);
    // `granite-norway-8267`: words and a number, as generators of passphrases make them.
    let number = bytes.rsplit(|b| *b == b'-').next().unwrap_or_default();
    let words = bytes[..bytes.len() - number.len()].split(|b| *b == b'-');
    let is_passphrase = (3..=6).contains(&number.len())
        && number.iter().all(u8::is_ascii_digit)
        && words.filter(|word| word.len() >= 4 && word.iter().all(u8::is_ascii_alphabetic)).count()
            >= 2;
    if is_passphrase {
        return true;
    }
    if mixed && !(joined && value::is_name(bytes)) && (quoted || env_style || shape.digit > 0) {
        return true;
    }
    // `.env` and the like: the whole value is the password, words or not.
    env_style && bytes.len() >= 8 && shape.letters() >= 6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether any keyword of the line leads to a secret.
    fn found(line: &str) -> bool {
        let lower = line.to_lowercase();
        KEYWORDS.iter().any(|(keyword, class)| {
            lower
                .match_indices(keyword)
                .any(|(at, _)| read(line.as_bytes(), at, at + keyword.len(), *class).is_some())
        })
    }

    #[test]
    fn assignments_of_many_languages_are_read() {
        for line in [
            "DB_PASSWORD=hunter2x",
            "export PGPASSWORD='Tr0ub4dor&3'",
            "password: \"s3cr3t!pw\"",
            "const password: &str = \"Sup3rS3cret\";",
            "  \"db_password\": \"kX9vLq2mZp\",",
            "<password>Winter2024!</password>",
            "mysql --password Winter2024! -u root",
            "config[\"password\"] = 'p4ssw0rd-9x!'",
            "setenv(\"DB_PASSWORD\", \"Winter2024!\", 1)",
            "api_key = \"k3j9x0q2v7b1n5m8z4w6\"",
            "API-KEY: 9f86d081884c7d659a2feaa0c55ad015",
            "Authorization: Bearer aB3xQ9zL4mPnR7tY2vK8wE5jH1uF6oI0",
            "token=aB3xQ9zL4mPnR7tY2vK8",
            "{\\\"token\\\": \\\"aB3xQ9zL4mPnR7tY2vK8\\\"}",
            "The staging password is Winter2024!",
            "Server=db;User Id=sa;Password=Winter2024!;",
            "if password == \"Winter2024!\" {",
            "SECRET_KEY = 'django-k3j9x0q2v7b1n5m8z4w6'",
            "STRIPE_KEY=k3j9x0q2v7b1n5m8z4w6yt",
            "DB_PASSWORD=correct-horse-battery",
        ] {
            assert!(found(line), "{line}");
        }
    }

    #[test]
    fn code_that_handles_secrets_is_not_one() {
        for line in [
            "let password = read_password()?;",
            "password: String,",
            "token = self.next_token()",
            "password = os.environ[\"DB_PASSWORD\"]",
            "PASSWORD=${DB_PASSWORD}",
            "password=$PASSWORD",
            "api_key: process.env.API_KEY,",
            "token_endpoint = \"https://example.com/oauth2/token\"",
            "\"password\": \"password\"",
            "password: <your-password>",
            "secret_name: my-secret-name-2",
            "const PASSWORD_FIELD = \"password_input\";",
            "max_tokens = 4096",
            "token: Token::Ident(name)",
            "secretKeyRef: { name: db-credentials, key: password }",
            "api_key=YOUR_API_KEY",
            "password = \"changeme\"",
            "public_key = \"k3j9x0q2v7b1n5m8z4w6\"",
            "passwordHash: \"$2b$12$abcdefg\"",
            "token: 123e4567-e89b-12d3-a456-426614174000",
            "pwd=/home/user1/project",
            "primary_key=True",
            "private_key: ed25519.Ed25519PrivateKey,",
            "token_secret=secret%3Dpassword&token=lock",
            "password_confirmation: \"doesn't match\"",
            "credentials: \"same-origin\"",
            "token = \"TOKEN_2\"",
            "csrf_token: tokens.get(1)",
            "private_key: keys/id_rsa2.pem",
            "password.length >= 8",
        ] {
            assert!(!found(line), "{line}");
        }
    }
}
