//! Credentials in what git prints: in URLs, in headers that it sends, in its configuration.
//!
//! Git needs its configuration, so the kernel cannot keep it from being read; what git prints goes
//! through here instead.

use std::borrow::Cow;
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

/// The same of URLs where nothing but URLs stands around them: userinfo may have quotes (RFC 3986, 3.2.1),
/// and what follows a `?` is no code.
static URLS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"(?i-u)(https?://)[^\s/?\#]+@",
        r"(?i-u)([a-z][a-z0-9+.-]*://)[^\s/?\#]*:[^\s/?\#]*@",
        r"(?i-u)([?&;][a-z0-9_.-]*(?:token|passw(?:or)?d|secret|key|sig(?:nature)?)=)[^&;\s\#]+",
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// Variables of git's configuration whose values are credentials, and the value.
static VARIABLES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "extraheader|[a-z0-9-]*(?:token|password|passwd|secret|apikey)|smtppass|pass";
    Regex::new(&format!(r"(?is-u)((?:^|\.)(?:{names})(?:[= \n]|$)).*")).ok()
});

/// Helpers that are a command text, which may print a password, and the text.
static HELPERS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?is-u)((?:^|\s)credential\.(?:.*\.)?helper[= \n])!.*").ok());

/// The name of a variable of either kind whose value may be a command text.
static HELPER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i-u)^credential\.(?:.*\.)?helper$").ok());

/// A line that begins a variable, and is not the next line of the value before.
static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let from = r"(?:[a-z]+\t)?(?:(?:file|blob|command line|standard input):[^\t]*\t)?";
    Regex::new(&format!(r"(?-u)^(?:{from}[a-z0-9-]+\.(?:.*\.)?[a-z0-9-]+[= ]|GIT_[A-Z_]+=)")).ok()
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
    /// They are values of a variable that may hold a command text.
    helpers: bool,
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
        let is = |names: &Option<Regex>, arg: &str| {
            names.as_ref().is_some_and(|names| names.is_match(arg.as_bytes()))
        };
        let named = |arg: &String| is(&VARIABLES, arg);
        let helper = |arg: &String| is(&HELPER, arg);
        let shows_names = ["-l", "--list", "--get-regexp", "--show-names", "--name-only"]
            .iter()
            .any(|flag| has(flag));
        let is_typed = args.iter().any(|arg| {
            matches!(&**arg, "--int" | "--bool" | "--bool-or-int" | "--expiry-date")
                || arg.starts_with("--type")
        });
        let single = args.iter().any(|arg| named(arg) || helper(arg));
        if configuration && is_typed && (shows_names || single) {
            let why = "git names the values that are of another type, credentials too";
            return Err(Refusal::new(why, "leave the type out").by("git config"));
        }
        Ok(Self {
            end,
            urls: configuration || matches!(verb.split(' ').next(), Some("var" | "remote")),
            variables: (configuration && !has("--name-only")) || verb == "var",
            values: configuration && !shows_names && args.iter().any(named),
            helpers: configuration && !shows_names && args.iter().any(helper),
        })
    }

    /// What ends an entry of the output: a newline, or NUL.
    pub(super) fn end(self) -> u8 {
        self.end
    }

    /// `entry`, which has no end, without credentials. `goes_on` is kept from one entry to the
    /// next: the value of a variable may have several lines.
    pub(super) fn entry(self, entry: &[u8], goes_on: &mut bool) -> Vec<u8> {
        let begins = || VARIABLE.as_ref().is_some_and(|variable| variable.is_match(entry));
        if *goes_on && !self.helpers {
            *goes_on = self.end == b'\n' && !begins();
        }
        *goes_on |= self.helpers && entry.contains(&b'!');
        if self.values || *goes_on {
            return STARS.to_vec();
        }
        if entry.contains(&b'\x1b')
            && let Some(colours) = &*COLOURS
        {
            // It keeps its colours if there is nothing to replace in it.
            let plain = colours.replace_all(entry, &b""[..]);
            let shown = self.plain_entry(&plain, goes_on);
            return if *shown == *plain { entry.to_vec() } else { shown };
        }
        self.plain_entry(entry, goes_on)
    }

    fn plain_entry(self, entry: &[u8], goes_on: &mut bool) -> Vec<u8> {
        let mut entry = entry.to_vec();
        let urls = URLS.iter().filter(|_| self.urls);
        for pattern in CREDENTIALS.iter().chain(urls) {
            entry =
                pattern.replace_all(&entry, Stars(pattern.as_str().ends_with('@'))).into_owned();
        }
        let variables = [&*VARIABLES, &*HELPERS];
        let holds = self.variables && entry.contains(&b'.');
        for pattern in variables.into_iter().flatten().filter(|_| holds) {
            if let Cow::Owned(shown) = pattern.replace(&entry, Stars(false)) {
                *goes_on = true;
                return shown;
            }
        }
        entry
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
        let mut goes_on = false;
        let lines = entry.split(char::from(redaction.end));
        let shown: Vec<Vec<u8>> =
            lines.map(|line| redaction.entry(line.as_bytes(), &mut goes_on)).collect();
        String::from_utf8(shown.join(&redaction.end)).expect("text")
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
            ("credential.helper=!f() { echo password=x; }; f", "credential.helper=***"),
            (
                "credential.https://h.x/.helper !f\n  x\n}; f",
                "credential.https://h.x/.helper ***\n***\n***",
            ),
            ("credential.helper=store\nalias.x=!f", "credential.helper=store\nalias.x=!f"),
            (
                "http.extraheader=X: 1\nTOKEN: y\ncore.bare=false",
                "http.extraheader=***\n***\ncore.bare=false",
            ),
            (
                "local\tfile:.git/config\thttp.extraheader=X: 1\nX: a.b=x\nlocal\tfile:.git/config\ta.b=c",
                "local\tfile:.git/config\thttp.extraheader=***\n***\nlocal\tfile:.git/config\ta.b=c",
            ),
            (
                "remote.o.url=https://h/x?a=b&private_token=t#x",
                "remote.o.url=https://h/x?a=b&private_token=***#x",
            ),
        ] {
            assert_eq!(redacted("config", &["config", "-l"], entry), shown);
        }
        let nul = ["config", "-l", "-z"];
        assert_eq!(redacted("config", &nul, "http.extraheader\na\nb"), "http.extraheader\n***");
        for args in [["config", "--get", "http.extraHeader"], ["config", "get", "github.token"]] {
            assert_eq!(redacted("config", &args, "abc"), "***");
        }
        assert_eq!(redacted("config", &["config", "--get", "user.name"], "abc"), "abc");
        let helper = ["config", "--get-all", "credential.helper"];
        assert_eq!(redacted("config", &helper, "store\n!f() {\nx\n}; f"), "store\n***\n***\n***");
        let names = ["config", "-l", "--name-only"];
        assert_eq!(redacted("config", &names, "a.token\na.b"), "a.token\na.b");
        let quoted = "url=https://u:pa'S\"<@h/x";
        assert_eq!(redacted("config", &["config", "-l"], quoted), "url=https://***@h/x");
        assert_eq!(redacted("remote", &["remote", "-v"], "o\thttp://u:'@h/x"), "o\thttp://***@h/x");
        for words in [
            "config --get-regexp --type=int my",
            "config --type int --get my.token",
            "config --type=bool credential.helper",
        ] {
            let args: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert!(Redaction::of("config", &args).is_err(), "{words}");
        }
        let words = ["config", "--type=bool", "--get", "core.bare"];
        assert_eq!(redacted("config", &words, "true"), "true");
        let names = ["config".to_owned(), "get".to_owned(), "--regexp".to_owned()];
        assert!(Redaction::of("config get", &names).is_err());
    }
}
