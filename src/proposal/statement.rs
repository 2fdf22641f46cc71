//! The decision statement: what exactly was decided, in constant size. Pure.
//!
//! Format `aye-decision@2`: one line of canonical JSON, of at most [`MAX_BYTES`] bytes, in the header `aye-statement`
//! of the deciding commit. Its SHA-256 names the decision; a reader never writes it again.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize, Serializer};

use super::event::{self, BlobRef, Effect, Evidence, Verdict, is_id, is_sha256};
use super::{Actor, ActorKind, canonical, codes};
use crate::changeset::marks;
use crate::error::{Error, Result, codes as error_codes};

/// Name and version of the format.
pub const FORMAT: &str = "aye-decision@2";

/// Longest statement, in bytes.
pub const MAX_BYTES: usize = 4096;

/// Longest texts of a statement, in bytes as they are escaped: with them a line fits. Of a longer reason its
/// SHA-256 stands there.
const MAX_REASON: usize = 1024;
const MAX_NAME: usize = 256;
const MAX_REF: usize = 512;
const MAX_KEY: usize = 128;

/// Largest count that other readers of JSON keep exactly.
const MAX_COUNT: u64 = (1 << 53) - 1;

/// What was decided. The keys stand in canonical order, here and in all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Who decided.
    #[serde(serialize_with = "sorted")]
    pub actor: Actor,
    /// What was to be done besides deciding; `null` where nothing was written.
    pub effect: Option<Effect>,
    /// [`ends_sha256`] of the statements that it takes back; `null` where it takes none back.
    pub ends: Option<String>,
    /// What shows that the actor decided.
    pub evidence: Evidence,
    /// [`FORMAT`].
    pub format: String,
    /// SHA-256 over what was decided in one answer, hex; `null` where that is this alone.
    pub group: Option<String>,
    /// Fingerprint of the key that signs it; `null` without one.
    pub key: Option<String>,
    /// How many changed lines what is written has; `null` where nothing is.
    pub lines: Option<u64>,
    /// What is written.
    pub manifest: Option<BlobRef>,
    /// `.agent-memory/policy.toml` in the target commit; `null` without one.
    pub policy: Option<BlobRef>,
    /// The proposal's first event.
    pub proposal: Option<EventRef>,
    /// The range of commits that was approved instead of a proposal; nothing makes one yet.
    pub range: Option<Range>,
    /// Why, where that is short.
    pub reason: Option<String>,
    /// SHA-256 of a longer reason, hex; the event has the text.
    pub reason_sha256: Option<String>,
    /// The name of the repository in its policy, hex; `null` without one.
    pub repository: Option<String>,
    /// The event of the revision that was decided on.
    pub revision: Option<EventRef>,
    /// [`seen_sha256`] of the parents of the commit that carries it.
    pub seen: String,
    /// How many of the lines had been on the screen; `null` where nothing was shown.
    pub shown: Option<u64>,
    /// The branch that it was decided on.
    pub target: Target,
    /// When.
    #[serde(with = "event::times")]
    pub time: DateTime<Utc>,
    /// The verb.
    pub verdict: Verdict,
}

/// An event by its commit, and by the SHA-256 of its line, which names every side of every change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventRef {
    /// Id of the commit, hex.
    pub id: String,
    /// SHA-256 of the line, hex.
    pub sha256: String,
}

/// A range of commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The commit before the first.
    pub from: String,
    /// The last one.
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
    /// The short name of its branch, if it has one, and HEAD is on the branch `head`, which is another.
    pub fn elsewhere(&self, head: Option<&str>) -> Option<&str> {
        marks::elsewhere(self.name.as_deref(), head)
    }
}

impl Statement {
    /// That `actor` decides so, at that time, and nothing else: the rest is filled in.
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

    /// Puts `reason` where it belongs by its length; what it returns is for the event
    /// ([`Said::reason`](super::event::Said::reason)).
    pub fn set_reason(&mut self, reason: Option<&str>) -> Option<String> {
        let is_long = reason.is_some_and(|text| escaped(text) > MAX_REASON);
        let long = reason.filter(|_| is_long).map(str::to_owned);
        self.reason = reason.filter(|_| !is_long).map(str::to_owned);
        self.reason_sha256 = long.as_ref().map(|text| crate::sha256::hex(text.as_bytes()));
        long
    }

    /// The line that is stored, without a line feed.
    ///
    /// # Errors
    /// `size_limit_exceeded` for a name, an address or a branch that is absurdly long; `internal_error` for what
    /// nobody could read.
    pub fn to_line(&self) -> Result<Vec<u8>> {
        let line = serde_json::to_vec(self).map_err(|error| Error::bug(error.to_string()))?;
        if !self.is_short() || line.len() > MAX_BYTES {
            let why = "the name, the address or the branch is too long for a decision";
            return Err(Error::new(&error_codes::SIZE_LIMIT, why)
                .hint("shorten user.name, user.email, or the name of the branch"));
        }
        match self.misses() {
            Some(what) => Err(Error::bug(format!("a statement whose {what}"))),
            None => Ok(line),
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// `statement_invalid` for anything but canonical bytes of this format.
    pub fn from_line(line: &[u8]) -> Result<Self> {
        let invalid = |why: &str| {
            Error::new(&codes::STATEMENT_INVALID, format!("a statement cannot be read: {why}"))
                .hint("`aye check` names the decision")
        };
        if line.len() > MAX_BYTES {
            return Err(invalid("it is too long"));
        }
        // As a whole, and not text by text.
        let text = std::str::from_utf8(line).map_err(|error| invalid(&error.to_string()))?;
        let statement: Self =
            serde_json::from_str(text).map_err(|error| invalid(&error.to_string()))?;
        // A missing or a repeated key, white space, another order and other spellings of a text or a number all
        // differ from what is written of it: there is one spelling of a statement.
        if !canonical::is_of_sorted(&statement, line) {
            return Err(invalid("it is not in its canonical form"));
        }
        match statement.misses() {
            Some(what) => Err(invalid(&format!("its {what}"))),
            None if statement.is_short() => Ok(statement),
            None => Err(invalid("a text is too long")),
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

    /// Which value has not its form.
    fn misses(&self) -> Option<&'static str> {
        let is_sha = |text: &Option<String>| text.as_deref().is_none_or(is_sha256);
        let is_blob = |blob: &Option<BlobRef>| {
            blob.as_ref().is_none_or(|blob| is_id(&blob.id) && is_sha256(&blob.sha256))
        };
        let is_event = |event: &Option<EventRef>| {
            event.as_ref().is_none_or(|event| is_id(&event.id) && is_sha256(&event.sha256))
        };
        let is_repository = |text: &String| text.len() == 32 && event::is_hex(text);
        let is_range = |range: &Range| is_id(&range.from) && is_id(&range.to);
        let is_about_one = self.proposal.is_some() == self.range.is_none();
        let forms = [
            (self.format == FORMAT, "format is not known"),
            (!matches!(self.evidence, Evidence::Other(_)), "evidence is not known"),
            (is_sha(&self.ends) && is_sha(&self.group), "lists are not named by SHA-256"),
            (is_sha256(&self.seen) && is_sha(&self.reason_sha256), "texts are not named by SHA-256"),
            (self.reason.is_none() || self.reason_sha256.is_none(), "reason stands there twice"),
            (is_blob(&self.manifest) && is_blob(&self.policy), "blobs are not named by id and SHA-256"),
            (is_event(&self.proposal) && is_event(&self.revision), "events are not named by id and SHA-256"),
            (self.proposal.is_some() == self.revision.is_some() && is_about_one, "subject is not one"),
            (self.range.as_ref().is_none_or(is_range), "range has no ids"),
            (self.target.commit.as_deref().is_none_or(is_id), "target is no id"),
            (self.repository.as_ref().is_none_or(is_repository), "repository is not 32 digits"),
            ([self.lines, self.shown].into_iter().flatten().all(|count| count <= MAX_COUNT), "counts are too large"),
        ];
        forms.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
    }
}

/// SHA-256 over the sorted `parents` (hex) of a commit, each followed by a line feed.
pub fn seen_sha256(parents: &[String]) -> String {
    crate::sha256::hex(&lines(parents))
}

/// SHA-256 of [`ends_bytes`].
pub fn ends_sha256(statements: &[String]) -> String {
    crate::sha256::hex(&ends_bytes(statements))
}

/// The blob `ends`: the hashes of statements, sorted, each once and followed by a line feed.
pub fn ends_bytes(statements: &[String]) -> Vec<u8> {
    lines(statements)
}

/// Reads what [`ends_bytes`] writes; `None` for anything else.
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

/// How many bytes `text` has between the quotes of JSON.
fn escaped(text: &str) -> usize {
    serde_json::to_string(text).map_or(usize::MAX, |json| json.len() - 2)
}

/// An actor with its keys in canonical order.
fn sorted<S: Serializer>(actor: &Actor, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Sorted<'a> {
        email: &'a str,
        kind: ActorKind,
        name: &'a str,
    }
    let Actor { name, email, kind } = actor;
    Sorted { email, kind: *kind, name }.serialize(serializer)
}
