//! Masks credentials in output.
//!
//! A courtesy, not a boundary: git must read its configuration, so `base64 .git/config` shows its
//! contents.

use std::borrow::Cow;

use bstr::ByteSlice as _;
use regex::bytes::Regex;

/// A lower-case literal in every match, and the pattern: prefix, credential, suffix. Over HTTP a
/// user name alone may be a token; elsewhere (`ssh://git@…`) it is not.
const ANYWHERE: &[(&str, &str)] = &[
    ("://", r#"(?i-u)(https?://)[^\s/?\#"<>]+(@)"#),
    ("://", r#"(?i-u)([a-z][a-z0-9+.-]*://)[^\s/?\#"<>]*:[^\s/?\#"<>]*(@)"#),
    ("authorization:", r"(?i-u)(authorization:[ \t]*(?:[a-z]+[ \t]+)?)[a-z0-9._~+/=-]{8,}()"),
    ("extraheader", r"(?i-u)(extraheader[ \t]*[=\t ][ \t]*)[^\r\n]+()"),
    ("_authtoken", r"(?i-u)(_authtoken[ \t]*[=\t ][ \t]*)[^\r\n]+()"),
];
/// The same for git's variables.
const VARIABLES: &[(&str, &str)] = &[
    (
        "",
        r"(?im-u)^((?:[^=\n]*\t)?[a-z0-9-]+\.(?:[^=\n]*\.)?(?:extraheader|[a-z0-9-]*(?:token|password|passwd|secret|apikey)|smtppass|pass)[= ])[^\r\n]+()",
    ),
    ("?", r"(?i-u)([?&;][a-z0-9_.-]*(?:token|password|secret|key)=)[^&;\s\#]+()"),
];

pub(super) fn mask(output: Vec<u8>, is_configuration: bool) -> Vec<u8> {
    let lower = output.to_ascii_lowercase();
    let mut shown = Cow::Owned(output);
    let variables = if is_configuration { VARIABLES } else { &[] };
    // Compiling a pattern takes longer than most commands.
    let present = ANYWHERE.iter().chain(variables).filter(|(part, _)| lower.contains_str(part));
    for pattern in present.filter_map(|(_, pattern)| Regex::new(pattern).ok()) {
        if let Cow::Owned(replaced) = pattern.replace_all(&shown, &b"${1}***${2}"[..]) {
            shown = Cow::Owned(replaced);
        }
    }
    shown.into_owned()
}

pub(super) fn is_secret(variable: &str) -> bool {
    let shown = mask(format!("{variable}=x").into_bytes(), true);
    shown.ends_with(b"***")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_replaced_and_nothing_else() {
        for (line, shown) in [
            ("origin\thttps://me:tok@host/x.git (fetch)", "origin\thttps://***@host/x.git (fetch)"),
            ("https://tok@host:8080/x", "https://***@host:8080/x"),
            ("a https://u:p@ss@h b http://t@h", "a https://***@h b http://***@h"),
            ("ssh://me:pw@host/x", "ssh://***@host/x"),
            ("ssh://git@host/x git@host:x", "ssh://git@host/x git@host:x"),
            ("https://host/a@b, or me@host", "https://host/a@b, or me@host"),
            ("+ Authorization: Bearer abcdefgh12", "+ Authorization: Bearer ***"),
            ("authorization: `Bearer ${t}`", "authorization: `Bearer ${t}`"),
            ("\textraHeader = X-Key: abc", "\textraHeader = ***"),
            ("//registry/:_authToken=abc", "//registry/:_authToken=***"),
            ("let token = next();", "let token = next();"),
            ("http.https://h/.extraheader X-Key: abc", "http.https://h/.extraheader ***"),
            (
                "local\tgithub.token=abc\nuser.name=token",
                "local\tgithub.token=***\nuser.name=token",
            ),
            ("sendemail.smtppass=a b", "sendemail.smtppass=***"),
            (
                "remote.o.url=https://h/x?a=b&private_token=t#x",
                "remote.o.url=https://h/x?a=b&private_token=***#x",
            ),
        ] {
            assert_eq!(String::from_utf8_lossy(&mask(line.into(), true)), shown);
        }
        let plain = "github.token=abc";
        assert_eq!(mask(plain.into(), false), plain.as_bytes(), "a file of such lines");
        assert!(is_secret("http.https://h.x/.extraHeader") && is_secret("github.token"));
        assert!(!is_secret("core.bare") && !is_secret("token"));
    }
}
