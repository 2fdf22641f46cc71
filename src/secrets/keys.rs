//! Private keys and passwords in connection strings, which need context beyond a pattern.

use super::finding::{Span, rank};
use super::value;

pub(super) const PRIVATE_KEY: &str = "private key";
pub(super) const SCHEME: &str = "://";

/// Bytes; a longer block is reported up to here.
const LONGEST_KEY: usize = 16 * 1024;

/// The private key block with the words `private key` at `start`.
///
/// Base64 or a closing line must follow: code that handles keys has a bare `-----BEGIN … PRIVATE
/// KEY-----`.
pub(super) fn private_key(text: &[u8], start: usize) -> Option<Span> {
    let floor = start.saturating_sub(48);
    let head = &text[floor..start];
    let begin = floor + bstr::ByteSlice::rfind(head, b"-----BEGIN ")?;
    let label = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b' ';
    if !text[begin + 11..start].iter().all(label) {
        return None;
    }
    let rest = &text[start + PRIVATE_KEY.len()..];
    let tail = rest.strip_prefix(b" BLOCK").unwrap_or(rest).strip_prefix(b"-----")?;
    let body_start = text.len() - tail.len();
    let body = &tail[..tail.len().min(LONGEST_KEY)];
    let line_break =
        [&b"\n"[..], b"\r\n", b"\\n", b"\\r\\n", b" "].iter().any(|b| body.starts_with(b));
    if !line_break {
        return None;
    }
    let near = &body[..body.len().min(400)];
    let close = value::find(body, b"-----END ");
    let has_body = longest_base64_run(&near[..close.unwrap_or(near.len()).min(near.len())]) >= 20;
    let closed_below = body.starts_with(b"\n") || body.starts_with(b"\r\n");
    let end = match close {
        Some(at) if has_body || closed_below && at < 400 => {
            let after = &body[at + 9..];
            let dashes = value::find(&after[..after.len().min(60)], b"-----").map_or(0, |p| p + 5);
            body_start + at + 9 + dashes
        }
        None if has_body => body_start + longest_key_text(body),
        _ => return None,
    };
    Some(Span {
        kind: "private_key_block",
        title: "Private key",
        start: begin,
        end,
        guessable: false,
        rank: rank::PRIVATE_KEY,
    })
}

fn longest_base64_run(text: &[u8]) -> usize {
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    text.split(|b| !part(b)).map(<[u8]>::len).max().unwrap_or(0)
}

/// Without an end marker the block ends at the first empty line.
fn longest_key_text(body: &[u8]) -> usize {
    value::find(body, b"\n\n").unwrap_or(body.len())
}

/// The password in `scheme://user:password@host`; `start` is at `://`.
pub(super) fn connection(text: &[u8], start: usize) -> Option<Span> {
    let scheme = text[..start].last().is_some_and(u8::is_ascii_alphanumeric);
    let user_start = start + SCHEME.len();
    let window = &text[user_start..text.len().min(user_start + 300)];
    let outside = |b: &u8| {
        b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'|')
    };
    let window = &window[..window.iter().position(outside).unwrap_or(window.len())];
    let path = |b: &u8| matches!(b, b'/' | b'?' | b'#');
    let first = window.iter().position(|b| *b == b'@')?;
    let colon = window[..first].iter().position(|b| *b == b':')?;
    match window[..first].iter().position(path) {
        Some(slash) if slash < colon => return None,
        // `http://host:8080/icon@2x`: a port.
        Some(slash) if window[colon + 1..slash].iter().all(u8::is_ascii_digit) => return None,
        _ => {}
    }
    // A password may hold an `@`; the last one before the path ends it.
    let authority = window[first..].iter().position(path).map_or(window.len(), |p| first + p);
    let at = window[..authority].iter().rposition(|b| *b == b'@')?;
    let password = &window[colon + 1..at];
    let host = window
        .get(at + 1)
        .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'[' | b'$' | b'{' | b'%'));
    let decoded = value::percent_decoded(password);
    let host_name = &window[at + 1..authority];
    let documented = [&b"example.com"[..], b"example.org", b"example.net"]
        .iter()
        .any(|name| host_name.starts_with(name))
        && !decoded.iter().any(u8::is_ascii_digit);
    let filler = value::is_placeholder(&decoded)
        || documented
        || password.len() < 3
        || is_common_example(password, &window[..colon]);
    if !scheme || !host || filler {
        return None;
    }
    Some(Span {
        kind: "connection_string_password",
        title: "Password in a connection string",
        start: user_start + colon + 1,
        end: user_start + at,
        guessable: true,
        rank: rank::CONNECTION,
    })
}

/// `postgres://postgres:postgres@…` and other common examples.
fn is_common_example(password: &[u8], user: &[u8]) -> bool {
    const KNOWN: [&[u8]; 11] = [
        b"postgres", b"mysql", b"redis", b"mongo", b"rabbitmq", b"password", b"pass", b"secret",
        b"anonymous", b"anoncvs", b"pw",
    ];
    password == user || KNOWN.iter().any(|k| password.eq_ignore_ascii_case(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Option<(usize, usize)> {
        let at = text.to_lowercase().find(PRIVATE_KEY)?;
        private_key(text.as_bytes(), at).map(|s| (s.start, s.end))
    }

    #[test]
    fn key_blocks_are_found_whole() {
        let (begin, end) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
        let body = "MIIEpAIBAAKCAQEA7bq0".repeat(3);
        let block = format!("x\n{begin}\n{body}\n{end}\ny");
        assert_eq!(key(&block), Some((2, block.len() - 2)));
        assert!(key(&format!("\"{begin}\\n{body}\\n{end}\\n\"")).is_some());
        assert!(key(&format!("{begin}\n...cut...\n{end}\n")).is_some());
        assert!(key(&format!("{begin}\n{body}\n")).is_some());
    }

    #[test]
    fn code_about_keys_is_not_a_key() {
        let begin = "-----BEGIN PRIVATE KEY-----";
        assert_eq!(
            key(&format!(
                "const A: &str = \"{begin}\";\nconst B: &str = \"-----END PRIVATE KEY-----\";"
            )),
            None
        );
        assert_eq!(key(&format!("if line == '{begin}':\n    start()")), None);
        assert_eq!(key("the PRIVATE KEY is kept elsewhere"), None);
    }

    #[test]
    fn connection_strings_give_up_their_password() {
        let password = |text: &str| {
            let at = text.find(SCHEME)?;
            connection(text.as_bytes(), at).map(|s| text[s.start..s.end].to_string())
        };
        assert_eq!(password("postgres://app:Winter24@db:5432/x").as_deref(), Some("Winter24"));
        assert_eq!(password("redis://:kX9vLq2mZp@cache:6379").as_deref(), Some("kX9vLq2mZp"));
        assert_eq!(password("amqp://u:a@b1c@host/v").as_deref(), Some("a@b1c"));
        for none in [
            "https://example.com:8080/a@2x.png",
            "postgres://user:password@localhost/db",
            "http://host/a:b@c",
            "postgres://app:${PW}@db",
            "https://user@host/",
            "redis://localhost:6379",
            "http://[::1]:80/",
            "postgres://postgres:postgres@db/app",
            "https://host:443?x=a@b",
            "x://a:b",
            "x://a@b:c",
            "x://:@",
            "x://a:#@?/",
            "x://?:a@b",
        ] {
            assert_eq!(password(none), None, "{none}");
        }
    }
}
