//! aye's own settings in git configuration (`aye.*`).

use bstr::{BString, ByteSlice as _};
use chrono::Duration;
use gix::config::Source;
use globset::GlobSet;

use super::codes;
use crate::changeset::{RepoPath, globs};
use crate::error::{Error, Result};
use crate::proposal::trailers::Trailers;

#[derive(Clone, Debug)]
pub struct Settings {
    /// `aye.maxFileSize`: bytes, with git's suffixes `k`, `m`, `g`.
    pub max_file_size: u64,
    /// `aye.expiresIn`, such as `7d`: how long a proposal waits.
    pub expires_in: Duration,
    /// False for `core.fsync=none`.
    pub durable: bool,
    /// `aye.gate`: an agent's immediate patch becomes a proposal.
    pub gate: bool,
    pub scan: ScanMode,
    /// `aye.assistedBy`: commits name their agents.
    pub assisted_by: bool,
    /// `aye.trailers`: `all`, `id` or `none`; of several levels, the fewest.
    pub trailers: Trailers,
    /// `aye.requireSynced`: true refuses, false permits a push without the decisions of its commits;
    /// otherwise it is noted.
    pub require_synced: Option<bool>,
    /// `aye.session.link`: ignored directories copied into sessions.
    pub session_link: Vec<String>,
    /// `aye.private`: globs of files whose proposals stay private.
    private: GlobSet,
}

/// Reaction to a secret in a code proposal (`aye.scan`), ordered up to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanMode {
    Off,
    #[default]
    Warn,
    Block,
}

impl Settings {
    pub(super) fn read(config: &gix::config::Snapshot<'_>) -> Result<Self> {
        // A key without a value is set.
        let text = |key: &str| {
            let value = config.plumbing().string_implicit(key);
            value.map(|value| value.map(|value| value.to_string()).unwrap_or_default())
        };
        let max_file_size = match text("aye.maxFileSize") {
            None => crate::worktree::DEFAULT_SIZE_LIMIT,
            Some(value) => match config.integer("aye.maxFileSize") {
                Some(bytes) if bytes > 0 => bytes as u64,
                _ => return Err(invalid("aye.maxFileSize", &value, "a size such as 10m")),
            },
        };
        let expires_in = match text("aye.expiresIn") {
            None => crate::proposal::DEFAULT_LIFETIME,
            Some(value) => parse_duration(&value).ok_or_else(|| {
                let wanted = "a time such as 7d or 12h, of at most ten years";
                invalid("aye.expiresIn", &value, wanted)
            })?,
        };
        let assisted_by = match config.plumbing().string_implicit("aye.assistedBy") {
            None => false,
            Some(value) => flag("aye.assistedBy", value.map(|value| value.to_string()).as_deref())?,
        };
        let levels = |key| levels(config.plumbing(), key).into_iter();
        let mut gate = false;
        for value in levels("aye.gate") {
            gate |= flag("aye.gate", value.as_deref())?;
        }
        let mut trailers = Trailers::default();
        for value in levels("aye.trailers") {
            trailers = trailers.max(match value.as_deref() {
                Some("all") => Trailers::All,
                Some("id") => Trailers::Id,
                Some("none") => Trailers::None,
                other => {
                    let value = other.unwrap_or_default();
                    return Err(invalid("aye.trailers", value, "all, id or none"));
                }
            });
        }
        let mut require_synced = None;
        for value in levels("aye.requireSynced") {
            require_synced = require_synced.max(Some(flag("aye.requireSynced", value.as_deref())?));
        }
        let mut scan = None;
        for value in levels("aye.scan") {
            scan = scan.max(Some(scan_mode(&value.unwrap_or_default())?));
        }
        let scan = scan.unwrap_or_default();
        let durable = text("core.fsync").is_none_or(|value| value.trim() != "none");
        let globs = config.plumbing().strings("aye.private").unwrap_or_default();
        let private = private(&globs)?;
        let session_link = config.plumbing().strings("aye.session.link").unwrap_or_default();
        let session_link =
            session_link.iter().map(|name| name.to_str_lossy().into_owned()).collect();
        Ok(Self {
            max_file_size,
            expires_in,
            durable,
            gate,
            scan,
            assisted_by,
            trailers,
            require_synced,
            session_link,
            private,
        })
    }

    pub fn is_private<'p>(&self, mut paths: impl Iterator<Item = &'p RepoPath>) -> bool {
        !self.private.is_empty()
            && paths.any(|path| self.private.is_match(path.as_bstr().to_path_lossy()))
    }
}

/// As git: a key without a value is true, an empty value false.
fn flag(key: &str, value: Option<&str>) -> Result<bool> {
    let Some(text) = value else { return Ok(true) };
    let read = gix::config::Boolean::try_from(BString::from(text));
    read.map(|value| value.0).map_err(|_| invalid(key, text, "true or false"))
}

fn scan_mode(text: &str) -> Result<ScanMode> {
    match text {
        "warn" => Ok(ScanMode::Warn),
        "off" | "false" => Ok(ScanMode::Off),
        "block" => Ok(ScanMode::Block),
        value => Err(invalid("aye.scan", value, "off, warn or block")),
    }
}

/// Levels of git configuration: machine, person, repository, work tree, command.
const LEVELS: [&[Source]; 5] = [
    &[Source::GitInstallation, Source::System],
    &[Source::Git, Source::User],
    &[Source::Local],
    &[Source::Worktree],
    &[Source::Env, Source::Cli, Source::Api, Source::EnvOverride],
];

/// The value of `key` at each level (`None`: without a value), for settings of which the strictest
/// counts. An agent can write the repository's level, which must not loosen a person's setting.
pub(super) fn levels(config: &gix::config::File, key: &str) -> Vec<Option<String>> {
    let at = |sources: &&[Source]| {
        let value = config.string_implicit_filter(key, |meta| sources.contains(&meta.source));
        value.map(|value| value.map(|value| value.to_string()))
    };
    LEVELS.iter().filter_map(at).collect()
}

fn private<T: AsRef<[u8]>>(globs: &[T]) -> Result<GlobSet> {
    let texts: Vec<_> = globs.iter().map(|glob| glob.as_ref().to_str_lossy()).collect();
    globs::set(&texts)
        .map_err(|wrong| invalid("aye.private", &wrong, "a glob such as secrets/** or *.key"))
}

/// The value of `key`, except from the repository's own configuration (`.git/config`,
/// `config.worktree`, includes): an agent may have written it to have a program run. Empty means
/// unset.
pub fn trusted(config: &gix::config::File, key: &str) -> Option<String> {
    let value = config.string_filter(key, is_trusted)?.to_str_lossy().trim().to_owned();
    (!value.is_empty()).then_some(value)
}

/// Trusted values, and those of the repository's own configuration.
pub fn by_source(config: &gix::config::File, key: &str) -> (Vec<String>, Vec<String>) {
    let (mut own, mut added) = (Vec::new(), Vec::new());
    for section in config.sections_by_name("aye").into_iter().flatten() {
        let values = if is_trusted(section.meta()) { &mut own } else { &mut added };
        if section.header().subsection_name().is_none() {
            values.extend(section.values(key).iter().map(ToString::to_string));
        }
    }
    (own, added)
}

/// See `trusted`.
pub(super) fn is_trusted(meta: &gix::config::file::Metadata) -> bool {
    !matches!(meta.source, Source::Local | Source::Worktree)
}

fn invalid(key: &str, value: &str, wanted: &str) -> Error {
    Error::new(&codes::INVALID_CONFIG, format!("{key} is '{value}', not {wanted}"))
        .hint(format!("set it with `git config {key} …`"))
}

/// Hint for an invalid duration.
pub const DURATION: &str = "give a number and one of s, m, h, d, w, such as 7d; at most ten years";

/// From one second to ten years.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.len() - text.chars().last()?.len_utf8());
    let number: i64 = number.trim().parse().ok()?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    let total = number.checked_mul(seconds)?;
    (1..=10 * 366 * 86_400).contains(&total).then(|| Duration::seconds(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_files_are_those_that_a_glob_names() {
        let matches = |globs: &[&str], path: &str| {
            private(globs).unwrap().is_match(std::path::Path::new(path))
        };
        let all = ["*.key", "/top", "secrets/", "deep/ly/*.md", "a b"];
        for yes in [
            "x.key", "in/side/x.KEY", "top", "top/x", "secrets/x/y", "in/secrets/x",
            "deep/ly/n.md", "a b/c",
        ] {
            assert!(matches(&all, yes), "{yes}");
        }
        for no in ["x.keys", "in/top", "deep/ly/er/n.md", "in/deep/ly/n.md", "secrets.md"] {
            assert!(!matches(&all, no), "{no}");
        }
        for bad in ["", " ", "/", "[", "a{"] {
            assert!(private(&[bad]).is_err(), "{bad:?}");
        }
        assert!(private::<&str>(&[]).unwrap().is_empty());
    }

    #[test]
    fn durations_are_a_number_and_a_unit() {
        assert_eq!(parse_duration("7d"), Some(Duration::days(7)));
        assert_eq!(parse_duration("90s"), Some(Duration::seconds(90)));
        for bad in ["", "d", "7", "-1d", "0s", "99999999999999d", "7 days", "1y", "é"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
