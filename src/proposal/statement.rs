//! The decision statement: what exactly was decided, in constant size. Pure.
//!
//! Format `aye-decision@1`: canonical JSON (keys sorted by their UTF-8 bytes, no white space,
//! integers only, one final line feed) of at most [`MAX_BYTES`] bytes. It is hashed, and later
//! signed, as it is stored; a reader never writes it again.

use serde::{Deserialize, Serialize, Serializer};

use crate::changeset::marks;
use crate::error::{Error, Result, codes as error_codes};
use crate::proposal::event::{BlobRef, Data, Effect, Event, Evidence, open_words};
use crate::proposal::{Actor, ActorKind, ProposalId, canonical, codes};

/// Name and version of the format.
pub const FORMAT: &str = "aye-decision@1";

/// Largest statement, in bytes.
pub const MAX_BYTES: usize = 4096;

/// Longest reason that stands in a statement, in bytes; of a longer one its SHA-256 does.
const MAX_REASON: usize = 1024;

/// What was decided. The keys stand in canonical order, here and in all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Who decided.
    #[serde(serialize_with = "sorted")]
    pub actor: Actor,
    /// Digest of the revision's changes, hex.
    pub digest: String,
    /// What was to be done besides deciding; `null` where nothing was written.
    pub effect: Option<Effect>,
    /// What shows that the actor decided.
    pub evidence: Evidence,
    /// [`FORMAT`].
    pub format: String,
    /// The manifest blob; `null` for verdicts that write nothing.
    pub manifest: Option<BlobRef>,
    /// The blob of `.agent-memory/policy.toml` in the target commit, hex; `null` without one.
    pub policy: Option<String>,
    /// The whole id of the proposal's first event, hex.
    pub proposal: String,
    /// Why, up to 1,024 bytes.
    pub reason: Option<String>,
    /// SHA-256 of a longer reason, hex.
    pub reason_sha256: Option<String>,
    /// 128 random bits that name the repository, hex; `null` where its policy has none.
    pub repository: Option<String>,
    /// The event id of the revision, hex.
    pub revision: String,
    /// The tip of the own lane when it was shown, hex; `null` before the first event. The event's
    /// commit has it as an ancestor, with nothing about this proposal in between.
    pub seen: Option<String>,
    /// Where the change was to land.
    pub target: Target,
    /// When, RFC 3339 in UTC with milliseconds.
    pub time: String,
    /// How many changed lines were not on the screen before the answer.
    pub unshown_lines: u64,
    /// The verb.
    pub verdict: Verdict,
}

open_words! {
    /// What was decided.
    pub enum Verdict {
        /// It was applied.
        Apply = "apply",
        /// It was approved; nothing was written.
        Approve = "approve",
        /// A tool recorded what became of it.
        Mark = "mark",
        /// It was rejected.
        Reject = "reject",
        /// Its proposer took it back.
        Withdraw = "withdraw",
        /// It was sent back to its proposer.
        RequestChanges = "request_changes",
        /// A rejection was taken back.
        Reopen = "reopen",
        /// An apply was taken back.
        Undo = "undo",
    }
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
    /// Puts `reason` where it belongs by its length.
    pub fn set_reason(&mut self, reason: Option<&str>) {
        let (short, long) = placed(reason);
        (self.reason, self.reason_sha256) = (short.map(str::to_owned), long);
    }

    /// The bytes that are stored.
    ///
    /// # Errors
    /// `size_limit_exceeded` over [`MAX_BYTES`]: a name or an address is absurdly long.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = canonical::of(self)?;
        if bytes.len() > MAX_BYTES {
            return Err(Error::new(
                &error_codes::SIZE_LIMIT,
                format!("the decision statement has {} bytes, over {MAX_BYTES}", bytes.len()),
            )
            .hint("shorten user.name, user.email, or the name of the branch"));
        }
        Ok(bytes)
    }

    /// True where it is what `event` says: about the same proposal and revision, by the same actor
    /// and evidence, with the same verdict and reason, and with a manifest exactly where files were
    /// approved. Whether the digest is that of the revision is known with the proposal alone.
    pub fn is_of(&self, event: &Event) -> bool {
        let names_proposal = match &event.first {
            Some(first) => *first == self.proposal,
            None => Some(ProposalId::from_event(&self.proposal)) == event.proposal,
        };
        let reason = |text: &Option<String>| {
            let (short, long) = placed(text.as_deref());
            self.reason.as_deref() == short && self.reason_sha256 == long
        };
        let revision = |revision: &str| self.revision == revision;
        let of = |id: &str, digest: &str| revision(id) && self.digest == digest;
        let (verdict, fits) = match &event.data {
            Data::Apply(apply) => {
                let writes = apply.effect != Effect::MarkOnly;
                let same = self.effect == Some(apply.effect);
                let fits = same && self.manifest.is_some() == writes;
                (Verdict::Apply, fits && of(&apply.revision, &apply.digest))
            }
            Data::Approve(approve) => {
                let fits = self.manifest.is_some() && reason(&approve.reason);
                (Verdict::Approve, fits && of(&approve.revision, &approve.digest))
            }
            Data::Reject(reject) => {
                let verdict = if reject.withdrawn { Verdict::Withdraw } else { Verdict::Reject };
                (verdict, reason(&reject.reason) && of(&reject.revision, &reject.digest))
            }
            Data::Mark(mark) => {
                (Verdict::Mark, reason(&mark.reason) && of(&mark.revision, &mark.digest))
            }
            Data::RequestChanges(request) => {
                let fits = request.revision.as_deref().is_none_or(revision);
                (Verdict::RequestChanges, fits && reason(&request.reason))
            }
            Data::Reopen(reopen) => {
                (Verdict::Reopen, revision(&reopen.revision) && reason(&reopen.reason))
            }
            Data::Undo(_) => (Verdict::Undo, true),
            _ => return false,
        };
        let evidence = event.data.evidence();
        names_proposal
            && fits
            && self.verdict == verdict
            && self.actor == event.actor
            && evidence.is_some_and(|evidence| evidence == self.evidence)
    }

    /// Reads stored bytes.
    ///
    /// # Errors
    /// `statement_invalid` for anything but canonical bytes of this format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let invalid = |why: &str| {
            Error::new(&codes::STATEMENT_INVALID, format!("a statement cannot be read: {why}"))
                .hint("`aye check` names the decision")
        };
        if bytes.len() > MAX_BYTES {
            return Err(invalid("it is too large"));
        }
        // As a whole, and not text by text.
        let text = std::str::from_utf8(bytes).map_err(|error| invalid(&error.to_string()))?;
        let statement: Self =
            serde_json::from_str(text).map_err(|error| invalid(&error.to_string()))?;
        // A missing or a duplicate key, white space, another order and other spellings of a text or a number
        // all differ from what is written of it: there is one spelling of a statement.
        if !canonical::is_of_sorted(&statement, bytes) {
            return Err(invalid("it is not in its canonical form"));
        }
        if statement.format != FORMAT {
            return Err(invalid("its format is not known"));
        }
        Ok(statement)
    }
}

/// A reason that stands in a statement itself, or the SHA-256 of a longer one, in hex.
fn placed(reason: Option<&str>) -> (Option<&str>, Option<String>) {
    match reason {
        Some(text) if text.len() > MAX_REASON => (None, Some(crate::sha256::hex(text.as_bytes()))),
        text => (text, None),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Statement {
        Statement {
            actor: Actor { name: "Ada".into(), email: "a@x".into(), kind: ActorKind::Human },
            digest: "d".repeat(40),
            effect: Some(Effect::Files),
            evidence: Evidence::Terminal,
            format: FORMAT.into(),
            manifest: Some(BlobRef { id: "1".repeat(40), sha256: "2".repeat(64) }),
            policy: None,
            proposal: "3".repeat(40),
            reason: Some("because — é".into()),
            reason_sha256: None,
            repository: None,
            revision: "4".repeat(40),
            seen: None,
            target: Target { commit: None, name: Some("refs/heads/main".into()) },
            time: "2026-01-01T00:00:00.000Z".into(),
            unshown_lines: 7,
            verdict: Verdict::Apply,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let bytes = statement().to_bytes().unwrap();
        assert_eq!(Statement::from_bytes(&bytes).unwrap(), statement());
        assert!(bytes.len() < 1200, "{}", bytes.len());
    }

    #[test]
    fn other_spellings_of_the_same_value_are_refused() {
        let text = String::from_utf8(statement().to_bytes().unwrap()).unwrap();
        for (from, to) in [
            ("\n", ""),
            ("\"unshown_lines\":7", "\"unshown_lines\":7.0"),
            ("\"unshown_lines\":7", "\"unshown_lines\": 7"),
            ("\"unshown_lines\":7", "\"unshown_lines\":7e0"),
            ("\"unshown_lines\":7", "\"unshown_lines\":7,\"unshown_lines\":7"),
            ("\"email\":\"a@x\",\"kind\":\"human\"", "\"kind\":\"human\",\"email\":\"a@x\""),
            ("\"name\":\"Ada\"", "\"name\":\"Ada\",\"nick\":\"A\""),
            ("\"name\":\"Ada\"", "\"name\":\"\\u0041da\""),
            ("\"unshown_lines\":7", "\"unshown_lines\":7,\"zzz\":1"),
            ("\"evidence\":\"terminal\"", "\"evidence\":\"term\\u0069nal\""),
            ("aye-decision@1", "aye-decision@2"),
            ("\"policy\":null,", ""),
        ] {
            let other = text.replacen(from, to, 1);
            assert_ne!(other, text, "{from}");
            let error = Statement::from_bytes(other.as_bytes()).unwrap_err();
            assert!(error.is(&codes::STATEMENT_INVALID), "{to}");
        }
    }

    #[test]
    fn a_long_reason_is_bound_by_its_hash() {
        let mut statement = statement();
        statement.set_reason(Some(&"x".repeat(100_000)));
        assert!(statement.reason.is_none() && statement.reason_sha256.is_some());
        assert!(statement.to_bytes().unwrap().len() <= MAX_BYTES);
    }
}
