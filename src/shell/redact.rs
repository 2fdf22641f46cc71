//! Credentials in what git prints: in URLs, in headers that it sends, in its configuration.
//!
//! Git needs its configuration, so the kernel cannot keep it from being read; what git prints goes
//! through here instead.

use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, Replacer};

use super::{Refusal, Result};

/// What stands for a credential.
const STARS: &[u8] = b"***";

/// Credentials, each with what stands before it and stays. Over HTTP a name alone may be a token;
/// elsewhere (`ssh://git@…`) it is not.
static CREDENTIALS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r#"(?i-u)(https?://)[^\s/?\#"'<>]+@"#,
        r#"(?i-u)([a-z][a-z0-9+.-]*://)[^\s/?\#"'<>]*:[^\s/?\#"'<>]*@"#,
        r#"(?i-u)(authorization:[ \t]*(?:[a-z]+[ \t]+)?)[a-z0-9._~+/=-]{8,}"#,
        // Git's words about a submodule's `packed-refs`, which may be a symlink to anything.
        r"(?-u)(un(?:expected|terminated) line in .*?: ).+",
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// The same of URLs where nothing but URLs stands around them: userinfo may have quotes (RFC 3986, 3.2.1).
static URLS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns =
        [r"(?i-u)(https?://)[^\s/?\#]+@", r"(?i-u)([a-z][a-z0-9+.-]*://)[^\s/?\#]*:[^\s/?\#]*@"];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// Variables of git's configuration whose values are credentials, and the value.
static VARIABLES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "extraheader|[a-z0-9-]*(?:token|password|passwd|secret|apikey)|smtppass|pass";
    Regex::new(&format!(r"(?is-u)((?:^|\.)(?:{names})(?:[= \n]|$)).*")).ok()
});

/// What a terminal makes a colour of: it may stand in the middle of a credential (`git grep --color`).
static COLOURS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u)\x1b\[[0-9;]*[mK]").ok());

/// What of the output of one git command is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// What ends an entry of the output.
    end: u8,
    /// The entries are variables of the configuration with their values.
    variables: bool,
    /// They are values of a variable that holds a credential.
    values: bool,
    /// They have URLs and no text around them.
    urls: bool,
}

impl Redaction {
    /// What is to be replaced in the output of `git VERB`, whose arguments are `args`.
    ///
    /// # Errors
    /// A refusal where values of the configuration would be printed without their names.
    pub(super) fn of(verb: &str, args: &[String]) -> Result<Self> {
        let has = |flag: &str| args.iter().any(|arg| arg == flag);
        let end = if has("-z") || has("--null") { 0 } else { b'\n' };
        let configuration = verb.split(' ').next() == Some("config");
        if verb == "config get" && has("--regexp") && !has("--show-names") {
            return Err(Refusal::new(
                "without their names it cannot be seen which values are credentials",
                "add --show-names",
            )
            .by("git config"));
        }
        let named =
            |arg: &String| VARIABLES.as_ref().is_some_and(|names| names.is_match(arg.as_bytes()));
        let shows_names = ["-l", "--list", "--get-regexp", "--show-names", "--name-only"]
            .iter()
            .any(|flag| has(flag));
        let is_typed = args.iter().any(|arg| {
            matches!(&**arg, "--int" | "--bool" | "--bool-or-int" | "--expiry-date")
                || arg.starts_with("--type")
        });
        if configuration && is_typed && (shows_names || args.iter().any(named)) {
            let why = "git names the values that are of another type, credentials too";
            return Err(Refusal::new(why, "leave the type out").by("git config"));
        }
        Ok(Self {
            end,
            urls: configuration || matches!(verb.split(' ').next(), Some("var" | "remote")),
            variables: configuration || verb == "var",
            values: configuration && !shows_names && args.iter().any(named),
        })
    }

    /// What ends an entry of the output: a newline, or NUL.
    pub(super) fn end(self) -> u8 {
        self.end
    }

    /// `entry`, which has no end, without credentials.
    pub(super) fn entry(self, entry: &[u8]) -> Vec<u8> {
        if self.values {
            return STARS.to_vec();
        }
        if entry.contains(&b'\x1b')
            && let Some(colours) = &*COLOURS
        {
            // It keeps its colours if there is nothing to replace in it.
            let plain = colours.replace_all(entry, &b""[..]);
            let shown = self.plain_entry(&plain);
            return if *shown == *plain { entry.to_vec() } else { shown };
        }
        self.plain_entry(entry)
    }

    fn plain_entry(self, entry: &[u8]) -> Vec<u8> {
        let mut entry = entry.to_vec();
        let urls = URLS.iter().filter(|_| self.urls);
        for pattern in CREDENTIALS.iter().chain(urls) {
            entry =
                pattern.replace_all(&entry, Stars(pattern.as_str().ends_with('@'))).into_owned();
        }
        match &*VARIABLES {
            Some(pattern) if self.variables && entry.contains(&b'.') => {
                pattern.replace(&entry, Stars(false)).into_owned()
            }
            _ => entry,
        }
    }
}

/// Keeps what stands before a credential; and the `@` after it.
struct Stars(bool);

impl Replacer for Stars {
    fn replace_append(&mut self, found: &Captures<'_>, to: &mut Vec<u8>) {
        to.extend_from_slice(found.get(1).map_or(b"", |before| before.as_bytes()));
        to.extend_from_slice(STARS);
        if self.0 {
            to.push(b'@');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(verb: &str, args: &[&str], entry: &str) -> String {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let redaction = Redaction::of(verb, &args).expect("it is allowed");
        String::from_utf8(redaction.entry(entry.as_bytes())).expect("text")
    }

    #[test]
    fn credentials_are_replaced_and_nothing_else() {
        for (entry, shown) in [
            ("origin\thttps://me:tok@host/x.git (fetch)", "origin\thttps://***@host/x.git (fetch)"),
            ("https://tok@host:8080/x", "https://***@host:8080/x"),
            ("a https://u:p@ss@h b http://t@h", "a https://***@h b http://***@h"),
            ("ssh://me:pw@host/x", "ssh://***@host/x"),
            ("ssh://git@host/x git@host:x", "ssh://git@host/x git@host:x"),
            ("https://host/a@b", "https://host/a@b"),
            ("see https://host, or me@host", "see https://host, or me@host"),
            ("+ Authorization: Bearer abcdefgh12", "+ Authorization: Bearer ***"),
            ("AUTHORIZATION: basic QWxhZGRpbjpv", "AUTHORIZATION: basic ***"),
            ("authorization: `Bearer ${t}`", "authorization: `Bearer ${t}`"),
            ("Authorization: \x1b[1;31mBearer\x1b[m abcdefgh12", "Authorization: Bearer ***"),
            ("https://u:\x1b[31mp\x1b[m@h", "https://***@h"),
            ("\x1b[33mcommit\x1b[m x", "\x1b[33mcommit\x1b[m x"),
            ("fatal: unexpected line in .git/x: A=b: c", "fatal: unexpected line in .git/x: ***"),
        ] {
            assert_eq!(redacted("log", &[], entry), shown);
        }
        for (entry, shown) in [
            ("http.extraheader=X-Key: abc", "http.extraheader=***"),
            ("http.https://h/.extraheader X-Key: abc", "http.https://h/.extraheader ***"),
            ("local\tgithub.token=abc", "local\tgithub.token=***"),
            ("sendemail.smtppass=a b", "sendemail.smtppass=***"),
            ("user.name=token", "user.name=token"),
            ("core.bare=false", "core.bare=false"),
        ] {
            assert_eq!(redacted("config", &["config", "-l"], entry), shown);
        }
        let nul = ["config", "-l", "-z"];
        assert_eq!(redacted("config", &nul, "http.extraheader\na\nb"), "http.extraheader\n***");
        for args in [["config", "--get", "http.extraHeader"], ["config", "get", "github.token"]] {
            assert_eq!(redacted("config", &args, "abc"), "***");
        }
        assert_eq!(redacted("config", &["config", "--get", "user.name"], "abc"), "abc");
        let quoted = "url=https://u:pa'S\"<@h/x";
        assert_eq!(redacted("config", &["config", "-l"], quoted), "url=https://***@h/x");
        assert_eq!(redacted("remote", &["remote", "-v"], "o\thttp://u:'@h/x"), "o\thttp://***@h/x");
        for words in ["config --get-regexp --type=int my", "config --type int --get my.token"] {
            let args: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert!(Redaction::of("config", &args).is_err(), "{words}");
        }
        let words = ["config", "--type=bool", "--get", "core.bare"];
        assert_eq!(redacted("config", &words, "true"), "true");
        let names = ["config".to_owned(), "get".to_owned(), "--regexp".to_owned()];
        assert!(Redaction::of("config get", &names).is_err());
    }
}
