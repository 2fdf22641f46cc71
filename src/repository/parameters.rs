//! Configuration of git's command line (`git -c aye.gate=true aye …`), passed in
//! `GIT_CONFIG_PARAMETERS`. gix reads `GIT_CONFIG_COUNT`, but not this variable.

use gix::config::{File, Source, file};

use super::codes;
use crate::error::{Error, Result};

pub(super) const VARIABLE: &str = "GIT_CONFIG_PARAMETERS";

/// A key without a value means true.
type Pair = (Vec<u8>, Option<Vec<u8>>);

/// Appends the variable's configuration to `repo`, where it wins, as in git.
///
/// # Errors
/// `invalid_config` as in git: the unreadable part may be what closes a gate.
pub(super) fn add(repo: &mut gix::Repository, text: &[u8]) -> Result<()> {
    let bogus = |what: &dyn std::fmt::Display| {
        Error::new(&codes::INVALID_CONFIG, format!("{VARIABLE} cannot be read: {what}"))
            .hint("git sets it for `git -c KEY=VALUE …`; take it out of the environment")
    };
    let pairs = parse(text).ok_or_else(|| bogus(&"bogus format"))?;
    let mut config = File::new(file::Metadata::from(Source::Cli));
    for (key, value) in &pairs {
        let shown = String::from_utf8_lossy(key);
        let key = gix::config::KeyRef::parse_unvalidated(key.as_slice().into())
            .ok_or_else(|| bogus(&format_args!("'{shown}' is not a key")))?;
        config
            .section_mut_or_create_new(key.section_name, key.subsection_name)
            .and_then(|mut section| {
                section.push(key.value_name, value.as_deref().map(Into::into)).map(|_| ())
            })
            .map_err(|error| bogus(&format_args!("'{shown}': {error}")))?;
    }
    let git_dir = repo.git_dir().to_owned();
    let branch = repo.head_name().ok().flatten();
    let home = gix::path::env::home_dir();
    let mut includes = file::includes::Options::follow_without_conditional(home.as_deref());
    includes.conditional.git_dir = Some(&git_dir);
    includes.conditional.branch_name = branch.as_ref().map(AsRef::as_ref);
    config
        .resolve_includes(file::init::Options { includes, ..Default::default() })
        .map_err(|error| bogus(&error))?;
    let mut snapshot = repo.config_snapshot_mut();
    snapshot.append(config).map_err(|error| bogus(&error))?;
    snapshot.commit().map(|_| ()).map_err(|error| bogus(&error))
}

/// Reads both forms of git (`parse_config_env_list` in its `config.c`): `'key=value'` and
/// `'key'='value'`.
fn parse(mut text: &[u8]) -> Option<Vec<Pair>> {
    let mut pairs = Vec::new();
    while !text.is_empty() {
        let (key, rest) = dequote(text)?;
        let (pair, rest): (Pair, &[u8]) = match rest {
            [b'=', after @ ..] if after.first() == Some(&b'\'') => {
                let (value, rest) = dequote(after)?;
                ((key, Some(value)), rest)
            }
            [b'=', after @ ..] => ((key, None), after),
            rest => {
                let mut halves = key.splitn(2, |byte| *byte == b'=');
                let key = halves.next()?.trim_ascii().to_vec();
                ((key, halves.next().map(<[u8]>::to_vec)), rest)
            }
        };
        if rest.first().is_some_and(|byte| !byte.is_ascii_whitespace()) {
            return None;
        }
        pairs.push(pair);
        text = rest.trim_ascii_start();
    }
    Some(pairs)
}

/// Splits off one single-quoted word. Only `\'` and `\!` may occur between quotes
/// (`sq_dequote_step` in git's `quote.c`).
fn dequote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"'")?;
    let mut word = Vec::new();
    loop {
        let end = rest.iter().position(|byte| *byte == b'\'')?;
        word.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest {
            [b'\\', escaped @ (b'\'' | b'!'), b'\'', after @ ..] => {
                word.push(*escaped);
                rest = after;
            }
            _ => return Some((word, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Option<Vec<(String, Option<String>)>> {
        let text_of = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let found = parse(text.as_bytes())?;
        Some(found.into_iter().map(|(key, value)| (text_of(key), value.map(text_of))).collect())
    }

    fn pair(key: &str, value: Option<&str>) -> (String, Option<String>) {
        (key.to_owned(), value.map(str::to_owned))
    }

    #[test]
    fn both_of_gits_forms_are_read() {
        let wanted = vec![pair("a.b", Some("c d"))];
        assert_eq!(pairs("'a.b'='c d'"), Some(wanted.clone()));
        assert_eq!(pairs("'a.b=c d' "), Some(wanted));
        assert_eq!(pairs("'a.b'= 'c.d'"), Some(vec![pair("a.b", None), pair("c.d", None)]));
        assert_eq!(pairs("'a.x=y.b'='1=2'"), Some(vec![pair("a.x=y.b", Some("1=2"))]));
        assert_eq!(pairs(r"'a.b'='it'\''s'\!''"), Some(vec![pair("a.b", Some("it's!"))]));
        assert_eq!(pairs("'a.b='"), Some(vec![pair("a.b", Some(""))]));
        assert_eq!(pairs(""), Some(Vec::new()));
    }

    #[test]
    fn what_git_calls_bogus_is_not_read_in_part() {
        for bad in
            ["a.b=c", "'a.b'='c", "'a.b", "'a.b'=c", "'a.b'x", "'a.b'='c'x", "'a.b' c", " 'a.b'"]
        {
            assert_eq!(pairs(bad), None, "{bad}");
        }
    }
}
