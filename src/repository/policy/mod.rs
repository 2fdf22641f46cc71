//! `.agent-memory/policy.toml`: the owners' rules for a repository.
//!
//! The committed file holds, so that a change cannot loosen the gate that it must pass; the work
//! tree's file can only tighten it. On an unborn branch the stricter of work tree and index holds.

mod keys;

use bstr::ByteSlice as _;
use gix::ObjectId;

pub use keys::{Confirmation, Evidence, MayMark, PersonCount, Policy, RequireProposal, template};

use super::head::HeadState;
use super::{Repository, codes};
use crate::changeset::{RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::proposal::event::BlobRef;
use crate::proposal::rules::Permits;
use crate::worktree::Worktree;

/// Relative to the top.
pub const PATH: &str = ".agent-memory/policy.toml";

/// The reason why direct writes are gated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `aye.gate` in git configuration.
    Setting,
    Policy,
    /// No person made the change, and it concerns project memory.
    Memory,
    /// No person made the change, and it concerns a file that instructs agents.
    Instructions,
    /// An agent made the change, and hooks refuse edits of the checkout.
    Hooks,
}

impl Gate {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Setting => "aye.gate",
            Self::Policy => PATH,
            Self::Memory => ".agent-memory/ is changed without a person at a terminal",
            Self::Instructions => "files that instruct agents are changed without a person",
            Self::Hooks => "hooks of `aye agents` refuse edits of the checkout by agents",
        }
    }
}

impl Repository {
    /// The gate for direct writes: the strictest of configuration, HEAD, index and work tree.
    ///
    /// # Errors
    /// `invalid_config`; `invalid_policy` for an unreadable policy: then nothing passes.
    pub fn gate(&self) -> Result<Option<Gate>> {
        if self.settings()?.gate || self.gate_in_unread_include()? {
            return Ok(Some(Gate::Setting));
        }
        // The next commit has the staged policy, so the work tree's cannot override it.
        let mut is_shut = self.policy()?.gate;
        is_shut |= self.policy_in_index()?.is_some_and(|policy| policy.gate);
        Ok(is_shut.then_some(Gate::Policy))
    }

    /// Git also follows `[Include]` and `[includeif]`, gix only the manual's spelling. For another
    /// spelling git is asked.
    fn gate_in_unread_include(&self) -> Result<bool> {
        let config = self.repo.config_snapshot();
        let unread = config.plumbing().sections().any(|section| {
            let name = section.header().name();
            [&b"include"[..], b"includeIf"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known) && name != *known)
        });
        if !unread {
            return Ok(false);
        }
        let answer =
            self.git()?.args(["config", "--type=bool", "--get-all", "aye.gate"]).answer()?;
        match answer.status {
            0 => Ok(answer.stdout.lines().any(|value| value == b"true")),
            1 => Ok(false),
            _ => Err(Error::new(
                &codes::INVALID_CONFIG,
                format!("git cannot read aye.gate: {}", answer.stderr.trim().as_bstr()),
            )
            .hint("set it with `git config aye.gate true` or `false`")),
        }
    }

    /// The policy in force: the strictest of HEAD and the work tree; on an unborn branch, of index
    /// and work tree.
    ///
    /// # Errors
    /// `invalid_policy` if one is unreadable or has an unknown key.
    pub fn policy(&self) -> Result<Policy> {
        Ok(self.policy_and_head()?.0)
    }

    pub(crate) fn policy_and_head(&self) -> Result<(Policy, HeadState)> {
        let head = self.checkout().map_err(|error| invalid("HEAD", &error))?;
        if let Some(policy) = self.pin.policy() {
            return Ok((policy, head));
        }
        let agreed = if head.is_unborn {
            self.policy_in_index()?
        } else {
            // HEAD without a policy means the defaults; the work tree cannot loosen them.
            Some(self.policy_in_head(head.commit)?.unwrap_or_default())
        };
        let policy = match (agreed, self.policy_in_work_tree()?) {
            (Some(agreed), Some(mine)) => agreed.tightened_by(mine),
            (agreed, mine) => agreed.or(mine).unwrap_or_default(),
        };
        self.pin.keep(&policy);
        Ok((policy, head))
    }

    pub fn permits(&self) -> Result<Permits> {
        let policy = self.policy()?;
        Ok(Permits {
            agents_may_mark: policy.agents_may_mark == MayMark::Own,
            ci_may_apply: policy.ci_may_apply,
            memory_by_flag: policy.evidence.memory == Confirmation::Flag,
            sensitive_by_flag: policy.evidence.sensitive == Confirmation::Flag,
        })
    }

    fn policy_in_head(&self, commit: Option<ObjectId>) -> Result<Option<Policy>> {
        let invalid = |why: &dyn std::fmt::Display| invalid("HEAD", why);
        let tree = match commit {
            Some(commit) => self.repo.find_commit(commit).and_then(|commit| commit.tree()),
            None => self.repo.head_tree(),
        };
        let tree = tree.map_err(|error| invalid(&error))?;
        let (directory, _) = PATH.split_once('/').unwrap_or((PATH, ""));
        match tree.find_entry(directory) {
            None => return Ok(None),
            Some(entry) if !entry.mode().is_tree() => {
                return Err(invalid(&format_args!("{directory} is not a directory")));
            }
            Some(_) => {}
        }
        let entry = tree.lookup_entry_by_path(PATH).map_err(|error| invalid(&error))?;
        let Some(entry) = entry else { return Ok(None) };
        if !entry.mode().is_blob() {
            return Err(invalid(&"it is a symlink or a directory, and aye reads a file alone"));
        }
        let id = entry.object_id().to_string();
        let blob = self.blob(&id).map_err(|error| invalid(&error.message()))?;
        Ok(Some(Policy {
            blob: Some(BlobRef { id, sha256: crate::sha256::hex(&blob) }),
            ..read("HEAD", &blob)?
        }))
    }

    fn policy_in_work_tree(&self) -> Result<Option<Policy>> {
        const PLACE: &str = "the work tree";
        let Some(top) = self.work_dir() else { return Ok(None) };
        // Raw bytes: git's conversions must not change the policy.
        let tree = Worktree::open(&top)?.with_size_limit(self.settings()?.max_file_size);
        let found = tree.file(&RepoPath::new(PATH)?);
        let file = match found {
            // A symlink counts as no file; an agent could also delete the file.
            Err(error) if error.is(&crate::beneath::codes::SYMLINK) => None,
            found => found.map_err(|error| invalid(PLACE, &error.message()))?,
        };
        file.map(|file| read(PLACE, &file.bytes)).transpose()
    }

    fn policy_in_index(&self) -> Result<Option<Policy>> {
        const PLACE: &str = "the index";
        let index = self.repo.index_or_empty().map_err(|error| invalid(PLACE, &error))?;
        let Some(entry) = index.entry_by_path(PATH.into()) else { return Ok(None) };
        let blob = self.blob(&entry.id.to_string());
        let blob = blob.map_err(|error| invalid(PLACE, &error.message()))?;
        read(PLACE, &blob).map(Some)
    }
}

pub fn is_valid(bytes: &[u8]) -> bool {
    read("", bytes).is_ok()
}

fn read(place: &str, bytes: &[u8]) -> Result<Policy> {
    let text = std::str::from_utf8(bytes).map_err(|error| invalid(place, &error))?;
    Policy::parse(text).map_err(|wrong| {
        let error = invalid_for(place, &wrong.why, wrong.example.as_deref().unwrap_or(EXAMPLE));
        match wrong.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    })
}

const EXAMPLE: &str = "gate = true";

fn invalid(place: &str, why: &dyn std::fmt::Display) -> Error {
    invalid_for(place, why, EXAMPLE)
}

fn invalid_for(place: &str, why: &dyn std::fmt::Display, example: &str) -> Error {
    let remedy = match place {
        "HEAD" => "commit a corrected one; for example",
        _ => "correct it; for example",
    };
    Error::new(&codes::INVALID_POLICY, format!("{PATH} in {place} cannot be read: {why}"))
        .with("path", PATH)
        .hint(format!("{remedy}: {example}"))
}
