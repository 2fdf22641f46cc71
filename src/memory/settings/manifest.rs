//! Reads `meta/manifest.yaml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_yaml::Value;

use super::{
    Approval, DEFAULT_MANIFEST, MANIFEST_JSON, decode, default, invalid, merge, parse_yaml,
};
use crate::error::{Error, Result};
use crate::memory::codes;
use crate::words::words;

/// Relative to the store.
pub const PATH: &str = "meta/manifest.yaml";

/// A century.
const MOST_DAYS: i64 = 36_525;

/// Seconds: ten years.
const MOST_TTL: u64 = 10 * 366 * 86_400;

/// Seconds: an hour.
const MOST_WAIT: u64 = 3600;

/// The default's line that names the project.
pub const NAME_LINE: &str = "    name: \"\"\n";

/// Newest `store_format_version` that this program reads and writes.
pub const FORMAT_VERSION: u64 = 1;

/// Settings of a store.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of the layout that wrote the store.
    pub version: String,
    /// Format of the store; above [`FORMAT_VERSION`] it is refused.
    pub store_format_version: u64,
    /// The project.
    pub project: Project,
    /// Sizes, in characters.
    pub budgets: Budgets,
    /// Approval of changes.
    pub updates: Updates,
    /// Lifetime of staged proposals.
    pub staging: Staging,
    /// Scanners and trust.
    pub security: Security,
    /// Git integration.
    pub git: Git,
    /// Archiving.
    pub archive: Archive,
    /// Locks.
    pub concurrency: Concurrency,
    /// Working notes.
    pub local_state: LocalState,
    /// Session logs.
    pub sessions: Sessions,
    /// Evaluation of retrieval.
    #[serde(default)]
    pub eval: Eval,
    /// Other stores, which agent-memory reads; kept, and reported by `lint` and `status`.
    #[serde(default)]
    pub stores: Vec<serde_json::Value>,
}

/// Evaluation of retrieval.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Eval {
    /// A corpus for evaluation; kept and reported by `lint`, since aye brings its own.
    pub benchmark_corpus_url: Option<String>,
}

/// The project.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Project {
    /// Name, for titles.
    pub name: String,
    /// Root of the project relative to the repository; only `.` is supported.
    pub root: String,
}

/// Sizes, in characters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Budgets {
    /// The pack that an agent reads at start.
    pub bootstrap_chars: usize,
    /// A pack for a query.
    pub fetch_context_chars: usize,
    /// Largest memory file that may be written.
    pub max_file_chars: usize,
}

/// Approval of changes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Updates {
    /// By slot; a manifest that was read has all.
    pub approval: BTreeMap<Slot, Approval>,
}

words! {
    /// Changes that one setting admits.
    pub enum Slot {
        Decisions = "decisions",
        Conventions = "conventions",
        Modules = "modules",
        PitfallsReplace = "pitfalls_replace",
        PitfallsAppend = "pitfalls_append",
        Archive = "archive",
        Current = "current",
        CurrentShared = "current_shared",
        Sessions = "sessions",
        Index = "index",
    }
}

/// Lifetime of staged proposals.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Staging {
    /// Seconds until it expires.
    pub ttl_seconds: u64,
}

/// Scanners and trust.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Security {
    /// Scan for secrets.
    pub secret_scan: bool,
    /// Scan for social security and card numbers, as agent-memory does; kept, and reported by
    /// `lint` and `status`.
    #[serde(default)]
    pub pii_scan: bool,
    /// Scan for e-mail addresses too; as `pii_scan`.
    #[serde(default)]
    pub pii_scan_email: bool,
    /// Refuse durable updates that rest on external sources alone.
    pub reject_untrusted_durable_updates: bool,
    /// Limits on allowed regions.
    pub allowlist_limits: AllowlistLimits,
}

/// Limits on allowed regions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct AllowlistLimits {
    /// Bytes in all regions of a file.
    pub max_bytes_per_file: usize,
    /// Regions in a file.
    pub max_regions_per_file: usize,
    /// Bytes in one region.
    pub max_bytes_per_region: usize,
}

/// Git integration.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Git {
    /// Keep working notes in git.
    pub track_local: bool,
    /// Keep session logs in git.
    pub track_sessions: bool,
    /// Add changed files to the index.
    pub auto_stage_changes: bool,
    /// Commit changed files.
    pub auto_commit: bool,
    /// Beginning of such commits' messages.
    pub commit_message_prefix: String,
    /// The merge driver of agent-memory; kept, and reported by `lint` and `status`.
    #[serde(default)]
    pub merge_driver_installed: bool,
}

/// Archiving.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Archive {
    /// True if sections may be archived.
    pub enabled: bool,
    /// Days after which an untouched section is reported as stale; 0 turns that off.
    pub stale_threshold_days: i64,
}

/// Locks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Concurrency {
    /// Longest wait for another writer, in seconds.
    pub wait_timeout_seconds: u64,
    /// Seconds after which a lock without a holder must be free. Locks here end with their process,
    /// so any value holds.
    pub lock_ttl_seconds: Option<u64>,
}

/// Working notes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct LocalState {
    /// One notes file per branch; otherwise only the shared one.
    pub per_branch: bool,
    /// True if the shared notes are read and may be written.
    pub shared_file_enabled: bool,
    /// Days after which notes of a deleted branch are reported.
    pub cleanup_orphans_warning_days: i64,
}

/// Session logs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Sessions {
    /// One log per day and branch; otherwise one per day.
    pub per_branch: bool,
}

impl Manifest {
    /// # Errors
    /// `memory_config_invalid`; `unsupported_store_format` if the store is newer.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        // Most stores have the default with another name.
        let manifest = match name_in_default(bytes) {
            Some(name) => {
                let mut manifest: Self = decode(PATH, default(PATH, MANIFEST_JSON)?)?;
                manifest.project.name = name;
                manifest
            }
            None => {
                let over = parse_yaml(PATH, bytes)?;
                let mut value = default(PATH, MANIFEST_JSON)?;
                merge(&mut value, over);
                decode(PATH, value)?
            }
        };
        manifest.validate()?;
        Ok(manifest)
    }

    fn validate(&self) -> Result<()> {
        if self.store_format_version > FORMAT_VERSION {
            return Err(Error::new(
                &codes::UNSUPPORTED_FORMAT,
                format!(
                    "{PATH}: store_format_version {} is newer than {FORMAT_VERSION}",
                    self.store_format_version
                ),
            )
            .hint("install a newer aye to read this store"));
        }
        let Self { budgets, staging, archive, local_state, concurrency, .. } = self;
        let budgets =
            [budgets.bootstrap_chars, budgets.fetch_context_chars, budgets.max_file_chars];
        let days = [archive.stale_threshold_days, local_state.cleanup_orphans_warning_days];
        let is_age = |days: &i64| (0..=MOST_DAYS).contains(days);
        let checks = [
            (self.store_format_version == 1, "store_format_version has to be 1"),
            (matches!(self.project.root.as_str(), "." | ""), "project.root has to be '.'"),
            (!budgets.contains(&0), "budgets have to be positive"),
            (
                (1..=MOST_TTL).contains(&staging.ttl_seconds),
                "staging.ttl_seconds has to be between 1 and ten years",
            ),
            (days.iter().all(is_age), "a number of days has to be between 0 and a century"),
            (
                concurrency.wait_timeout_seconds <= MOST_WAIT,
                "concurrency.wait_timeout_seconds has to be at most an hour",
            ),
            (
                concurrency.lock_ttl_seconds != Some(0),
                "concurrency.lock_ttl_seconds has to be positive",
            ),
            (is_version(&self.version), "version has to be a version such as 0.4.1"),
            (
                self.updates.approval.get(&Slot::Index) == Some(&Approval::ServerOnly),
                "updates.approval.index can only be server_only: index.md is generated",
            ),
            (
                !self.git.commit_message_prefix.contains(['\n', '\r', '\0']),
                "git.commit_message_prefix has to be one line",
            ),
        ];
        match checks.iter().find(|(holds, _)| !holds) {
            Some((_, why)) => Err(invalid(PATH, why)),
            None => Ok(()),
        }
    }
}

/// The project's name if only its line differs from the default.
fn name_in_default(bytes: &[u8]) -> Option<String> {
    let (before, after) = DEFAULT_MANIFEST.split_once(NAME_LINE)?;
    let line = bytes.strip_prefix(before.as_bytes())?.strip_suffix(after.as_bytes())?;
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?.strip_prefix("    ")?;
    let one_line = line.starts_with("name:")
        && !crate::text::yaml::is_too_deep(line.as_bytes())
        && !line.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
    let value: Value = one_line.then(|| serde_yaml::from_str(line).ok())??;
    value.get("name")?.as_str().map(str::to_owned)
}

/// Numbers with points: `0.4.1`.
pub(super) fn is_version(text: &str) -> bool {
    text.len() <= 40
        && text.split('.').all(|part| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-+".contains(c))
        })
        && text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_format() {
        let manifest = Manifest::read(b"").unwrap();
        assert_eq!(manifest.staging.ttl_seconds, 604_800);
        assert_eq!(manifest.budgets.max_file_chars, 20_000);
        assert_eq!(manifest.updates.approval[&Slot::PitfallsAppend], Approval::Apply);
        assert!(manifest.security.secret_scan);
    }

    #[test]
    fn what_is_given_goes_over_the_defaults_false_included() {
        let manifest =
            Manifest::read(b"security:\n  secret_scan: false\nbudgets: {max_file_chars: 9}\n")
                .unwrap();
        assert!(!manifest.security.secret_scan);
        assert_eq!(manifest.budgets.max_file_chars, 9);
        assert_eq!(manifest.budgets.bootstrap_chars, 12_000);
    }

    #[test]
    fn a_default_with_a_name_reads_as_any_other_file() {
        let slow = |text: &str| {
            let mut value = serde_yaml::from_str(DEFAULT_MANIFEST).expect("the default");
            merge(&mut value, parse_yaml(PATH, text.as_bytes()).ok()?);
            decode::<Manifest>(PATH, value).ok().map(|manifest| format!("{manifest:?}"))
        };
        let lines = [
            "name: shop", "name: 'a: b' # c", "name: yes", "name: null", "name:", "name: 7",
            "name: |", "name: [a]", "name: a: b", "name: *x", "name: &x y", "name: --- a",
            "name: %a", "name: a\u{85}b", "name: \"a", "name: !!str 7", "nane: x",
            "name: x\n    name: y", "name: x\n    root: ..", "",
        ];
        for line in lines {
            for gap in ["    ", "", "  ", "\t", "     "] {
                let text = DEFAULT_MANIFEST.replace(NAME_LINE, &format!("{gap}{line}\n"));
                let fast = name_in_default(text.as_bytes()).map(|_| {
                    format!("{:?}", Manifest::read(text.as_bytes()).expect("the default"))
                });
                assert!(
                    fast.is_none() || fast == slow(&text),
                    "{text}\n{fast:?}\n{:?}",
                    slow(&text)
                );
            }
        }
        assert!(name_in_default(DEFAULT_MANIFEST.as_bytes()).is_some());
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        let error = Manifest::read(b"security:\n  secret_scna: false\n").unwrap_err();
        assert!(error.is(&codes::CONFIG_INVALID));
        assert!(error.message().contains("security.secret_scna"), "{error}");
        assert_eq!(error.hint_text(), Some("did you mean 'security.secret_scan'?"));
        assert!(Manifest::read(b"zzz: 1\n").unwrap_err().hint_text().unwrap().contains("project"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "store_format_version: 2",
            "staging: {ttl_seconds: 0}",
            "staging: {ttl_seconds: -1}",
            "security: {secret_scan: maybe}",
            "updates: {approval: {index: apply}}",
            "updates: {approval: {modules: yes}}",
            "project: {root: ../x}",
            "security: 3",
            "- list",
            "a: [",
            "version: latest",
            "concurrency: {lock_ttl_seconds: 0}",
            "concurrency: {wait_timeout_seconds: 99999999999}",
            "local_state: {cleanup_orphans_warning_days: -1}",
            "archive: {stale_threshold_days: 99999999}",
            "eval: {benchmark_corpus_url: [x]}",
            "git: {commit_message_prefix: \"a\\nb\"}",
            "budgets: {bootstrap_chars: 0}",
        ] {
            assert!(Manifest::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
