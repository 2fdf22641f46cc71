//! The decision statement: exactly what was decided, in constant size. Pure.
//!
//! Format `aye-decision@2` (`docs/spec/decisions.md`): one line of canonical JSON in the deciding
//! commit's header `aye-statement`. Its SHA-256 names the decision; readers never rewrite it. Ids
//! and hashes are hex.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::event::{self, BlobRef, Effect, Evidence, Verdict, is_id, is_sha256};
use super::{Actor, canonical, codes};
use crate::changeset::marks;
use crate::error::{Error, Result, codes as error_codes};

pub const FORMAT: &str = "aye-decision@2";

/// In bytes.
pub const MAX_BYTES: usize = 4096;

/// Bytes of escaped text that fit. A longer reason is replaced by its SHA-256.
const MAX_REASON: usize = 1024;
const MAX_NAME: usize = 256;
const MAX_REF: usize = 512;
const MAX_KEY: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub actor: Actor,
    /// `null` if nothing was written.
    pub effect: Option<Effect>,
    /// `ends_sha256` of the statements that it ends.
    pub ends: Option<String>,
    pub evidence: Evidence,
    pub format: String,
    /// SHA-256 over all decisions of one answer; `null` for a single one.
    pub group: Option<String>,
    /// Fingerprint of the signing key.
    pub key: Option<String>,
    /// Changed lines that are written.
    pub lines: Option<u64>,
    pub manifest: Option<BlobRef>,
    /// `.agent-memory/policy.toml` in the target commit.
    pub policy: Option<BlobRef>,
    /// Its first event.
    pub proposal: Option<EventRef>,
    /// Approved instead of a proposal; not used yet.
    pub range: Option<Range>,
    pub reason: Option<String>,
    /// Set for a long reason; the event has the text.
    pub reason_sha256: Option<String>,
    /// From the policy.
    pub repository: Option<String>,
    pub revision: Option<EventRef>,
    /// `seen_sha256` of the commit's parents.
    pub seen: String,
    /// Number of `lines` that were on the screen; `null` if not shown.
    pub shown: Option<u64>,
    pub target: Target,
    #[serde(with = "event::times")]
    pub time: DateTime<Utc>,
    pub verdict: Verdict,
}

/// An event by its commit, and by the hash of its line, which names all content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventRef {
    pub id: String,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Exclusive.
    pub from: String,
    pub to: String,
}

/// HEAD, as it was: where a change that was shown was to land, and where a proposal was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its commit, hex; `null` before the first one.
    pub commit: Option<String>,
    /// The branch, such as `refs/heads/main`; `null` where HEAD is detached.
    #[serde(rename = "ref")]
    pub name: Option<String>,
}

impl Target {
    /// Short name of this branch, if HEAD is on another one, `head`.
    pub fn elsewhere(&self, head: Option<&str>) -> Option<&str> {
        marks::foreign_branch(self.name.as_deref(), head)
    }
}

impl Statement {
    pub fn new(verdict: Verdict, actor: Actor, evidence: Evidence, time: DateTime<Utc>) -> Self {
        Self {
            actor,
            effect: None,
            ends: None,
            evidence,
            format: FORMAT.to_owned(),
            group: None,
            key: None,
            lines: None,
            manifest: None,
            policy: None,
            proposal: None,
            range: None,
            reason: None,
            reason_sha256: None,
            repository: None,
            revision: None,
            seen: seen_sha256(&[]),
            shown: None,
            target: Target::default(),
            time,
            verdict,
        }
    }

    /// Returns a long reason, for the event.
    pub fn set_reason(&mut self, reason: Option<&str>) -> Option<String> {
        let is_long = reason.is_some_and(|text| escaped(text) > MAX_REASON);
        let long = reason.filter(|_| is_long).map(str::to_owned);
        self.reason = reason.filter(|_| !is_long).map(str::to_owned);
        self.reason_sha256 = long.as_ref().map(|text| crate::sha256::hex(text.as_bytes()));
        long
    }

    /// No line feed at the end.
    ///
    /// # Errors
    /// `size_limit_exceeded` for an overlong name, address or branch; `internal_error` for a
    /// statement that readers would refuse.
    pub fn to_line(&self) -> Result<Vec<u8>> {
        if !self.is_short() {
            let why = "the name, the address or the branch is too long for a decision";
            return Err(Error::new(&error_codes::SIZE_LIMIT, why)
                .hint("shorten user.name, user.email, or the name of the branch"));
        }
        let value = serde_json::to_value(self).map_err(|error| Error::bug(error.to_string()))?;
        let line = canonical::to_line(&value);
        match self.has_forms() && line.len() <= MAX_BYTES {
            true => Ok(line),
            false => Err(Error::bug("a statement that nobody could read")),
        }
    }

    /// # Errors
    /// `statement_invalid` for anything but canonical bytes of this format.
    pub fn from_line(line: &[u8]) -> Result<Self> {
        Self::read(line).map_err(|why| {
            Error::new(&codes::STATEMENT_INVALID, format!("a statement cannot be read: {why}"))
                .hint("`aye check` names the decision")
        })
    }

    fn read(line: &[u8]) -> Result<Self, String> {
        if line.len() > MAX_BYTES {
            return Err("it is too long".into());
        }
        let value = canonical::parse(line)?;
        let statement: Self =
            serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        // A missing key is read as null, and would be written.
        match serde_json::to_value(&statement) {
            Ok(again) if again == value && statement.has_forms() && statement.is_short() => {
                Ok(statement)
            }
            _ => Err("a key is missing, or a value has another form".into()),
        }
    }

    fn is_short(&self) -> bool {
        let fits = |text: &Option<String>, most| text.as_deref().is_none_or(|t| escaped(t) <= most);
        let Actor { name, email, .. } = &self.actor;
        [name, email].into_iter().all(|text| escaped(text) <= MAX_NAME)
            && fits(&self.target.name, MAX_REF)
            && fits(&self.key, MAX_KEY)
            && fits(&self.reason, MAX_REASON)
    }

    fn has_forms(&self) -> bool {
        let lists = [&self.ends, &self.group, &self.reason_sha256].into_iter().flatten();
        let blobs = [&self.manifest, &self.policy].into_iter().flatten();
        let events = [&self.proposal, &self.revision].into_iter().flatten();
        let ids = self.range.iter().flat_map(|range| [&range.from, &range.to]);
        self.format == FORMAT
            && !matches!(self.evidence, Evidence::Other(_))
            && lists.chain([&self.seen]).all(|hash| is_sha256(hash))
            && (self.reason.is_none() || self.reason_sha256.is_none())
            && blobs.into_iter().all(|blob| is_id(&blob.id) && is_sha256(&blob.sha256))
            && events.clone().all(|event| is_id(&event.id) && is_sha256(&event.sha256))
            && events.count() == if self.range.is_none() { 2 } else { 0 }
            && ids.chain(&self.target.commit).all(|id| is_id(id))
            && self.repository.iter().all(|name| name.len() == 32 && event::is_hex(name))
    }
}

/// SHA-256 over the sorted `parents`, each followed by a line feed.
pub fn seen_sha256(parents: &[String]) -> String {
    crate::sha256::hex(&lines(parents))
}

pub fn ends_sha256(statements: &[String]) -> String {
    crate::sha256::hex(&ends_bytes(statements))
}

/// Sorted hashes, each once and followed by a line feed.
pub fn ends_bytes(statements: &[String]) -> Vec<u8> {
    lines(statements)
}

/// `None` for bytes that `ends_bytes` does not write.
pub fn parse_ends(bytes: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let ends: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_list = !ends.is_empty() && ends.iter().all(|hash| is_sha256(hash));
    (is_list && ends_bytes(&ends) == bytes).then_some(ends)
}

fn lines(texts: &[String]) -> Vec<u8> {
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.iter().flat_map(|text| text.bytes().chain([b'\n'])).collect()
}

/// In bytes, between the quotes of JSON.
fn escaped(text: &str) -> usize {
    serde_json::to_string(text).map_or(usize::MAX, |json| json.len() - 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ActorKind;
    use super::*;

    fn statement() -> Statement {
        let actor = Actor { name: "Ada".into(), email: "a@x".into(), kind: ActorKind::Human };
        let event = || Some(EventRef { id: "3".repeat(40), sha256: "4".repeat(64) });
        let time = "2026-01-01T00:00:00.000Z".parse().unwrap();
        Statement {
            effect: Some(Effect::Files),
            lines: Some(7),
            manifest: Some(BlobRef { id: "1".repeat(40), sha256: "2".repeat(64) }),
            proposal: event(),
            revision: event(),
            reason: Some("because — é".into()),
            target: Target { commit: None, name: Some("refs/heads/main".into()) },
            ..Statement::new(Verdict::Apply, actor, Evidence::Terminal, time)
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let line = statement().to_line().unwrap();
        assert_eq!(Statement::from_line(&line).unwrap(), statement());
        assert!(line.len() < 1300, "{}", line.len());
    }

    #[test]
    fn other_spellings_of_the_same_value_are_refused() {
        let text = String::from_utf8(statement().to_line().unwrap()).unwrap();
        let hash = format!("\"{}\"", "2".repeat(64));
        for (from, to) in [
            ("}", "}\n"),
            ("\"lines\":7", "\"lines\":7.0"),
            ("\"lines\":7", "\"lines\": 7"),
            ("\"lines\":7", "\"lines\":7e0"),
            ("\"lines\":7", "\"lines\":-7"),
            ("\"lines\":7", "\"lines\":9007199254740992"),
            ("\"lines\":7", "\"lines\":7,\"lines\":7"),
            ("\"email\":\"a@x\",\"kind\":\"human\"", "\"kind\":\"human\",\"email\":\"a@x\""),
            ("\"name\":\"Ada\"", "\"name\":\"Ada\",\"nick\":\"A\""),
            ("\"name\":\"Ada\"", "\"name\":\"\\u0041da\""),
            ("\"verdict\"", "\"unshown_lines\":1,\"verdict\""),
            ("\"terminal\"", "\"term\\u0069nal\""),
            ("\"terminal\"", "\"seal\""),
            ("\"apply\"", "\"mark\""),
            ("\"files\"", "\"all\""),
            ("aye-decision@2", "aye-decision@1"),
            ("\"policy\":null,", ""),
            (".000Z", "Z"),
            (".000Z", ".0000Z"),
            ("\"group\":null", "\"group\":\"\""),
            ("\"range\":null", "\"range\":{\"from\":null,\"to\":null}"),
            ("\"reason_sha256\":null", &format!("\"reason_sha256\":{hash}")),
            (&hash, &hash[1..]),
            (&hash, &hash.replace('2', "G")),
            ("\"repository\":null", "\"repository\":\"x\""),
        ] {
            let other = if from == "}" { format!("{text}\n") } else { text.replacen(from, to, 1) };
            assert_ne!(other, text, "{from}");
            let error = Statement::from_line(other.as_bytes()).unwrap_err();
            assert!(error.is(&codes::STATEMENT_INVALID), "{to}");
        }
    }

    #[test]
    fn texts_are_as_long_as_fits() {
        let mut long = statement();
        // Six bytes each, in JSON.
        let text = |most: usize| "\u{1}".repeat(most / 6);
        long.actor.name = text(MAX_NAME);
        long.actor.email = text(MAX_NAME);
        long.target.name = Some(text(MAX_REF));
        long.key = Some(text(MAX_KEY));
        assert_eq!(long.set_reason(Some(&text(MAX_REASON))), None);
        for sha256 in [&mut long.ends, &mut long.group] {
            *sha256 = Some("5".repeat(64));
        }
        let wide = || Some(EventRef { id: "3".repeat(64), sha256: "4".repeat(64) });
        let blob = || Some(BlobRef { id: "3".repeat(64), sha256: "4".repeat(64) });
        (long.proposal, long.revision) = (wide(), wide());
        (long.manifest, long.policy) = (blob(), blob());
        long.target.commit = Some("6".repeat(64));
        long.repository = Some("7".repeat(32));
        let line = long.to_line().unwrap();
        assert_eq!(Statement::from_line(&line).unwrap(), long);
        let reason = format!("{}x", text(MAX_REASON + 6));
        assert_eq!(long.set_reason(Some(&reason)), Some(reason));
        assert!(long.reason.is_none() && long.reason_sha256.is_some());
        long.actor.email += "12345";
        assert!(long.to_line().unwrap_err().is(&error_codes::SIZE_LIMIT));
    }

    #[test]
    fn lists_of_ends_have_one_form() {
        let hashes = ["b".repeat(64), "a".repeat(64), "b".repeat(64)];
        let bytes = ends_bytes(&hashes);
        assert_eq!(bytes.len(), 130);
        let ends = parse_ends(&bytes).unwrap();
        assert_eq!(ends_sha256(&hashes), ends_sha256(&ends));
        let (a, b) = bytes.split_at(65);
        for other in [&bytes[..129], &[b, a].concat(), &[a, a].concat(), b"", b"\n", b"a\n"] {
            assert_eq!(parse_ends(other), None);
        }
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(at in any::<prop::sample::Index>(), bytes in proptest::collection::vec(any::<u8>(), 0..4)) {
            let mut line = statement().to_line().unwrap();
            let at = at.index(line.len());
            line.splice(at..(at + 1).min(line.len()), bytes);
            if let Ok(read) = Statement::from_line(&line) {
                prop_assert_eq!(read.to_line().unwrap(), line);
            }
        }
    }
}
