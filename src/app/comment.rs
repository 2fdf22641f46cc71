//! Saying something about a proposal.

use schemars::JsonSchema;
use serde::Serialize;

use super::Session;
use crate::changeset::RepoPath;
use crate::decide;
use crate::decide::verdict::{self, Word};
use crate::error::{Error, Result, codes};
use crate::proposal::event::{Comment, Evidence};
use crate::proposal::rules::Verb;
use crate::proposal::{Note, Proposal};
use crate::store::Store;

/// Longest comment, in bytes.
pub const MOST: usize = 64 * 1024;

/// What is said.
#[derive(Clone, Debug)]
pub struct Remark {
    /// In words; may be empty where it asks for changes.
    pub body: String,
    /// The file it is about, if it is about one.
    pub path: Option<RepoPath>,
    /// The line of the proposed file, from 1.
    pub line: Option<u32>,
    /// It asks for a new revision. The text is the reason then, unless it is about one place.
    pub requests_changes: bool,
}

/// Answer of `aye comment`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Commented {
    /// `aye/comment@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The id.
    pub proposal_id: String,
    /// Whether changes are requested.
    pub changes_requested: bool,
}

/// Records `remark` on `proposal`, which is pending. `evidence` shows whose word it is.
///
/// # Errors
/// `invalid_argument` for an empty text, or for a place that the proposal does not have; `size_limit`,
/// `not_pending`, `human_approval_required` where an agent asks for changes.
pub fn comment(
    session: &Session<'_>,
    proposal: &Proposal,
    remark: Remark,
    evidence: &Evidence,
) -> Result<Commented> {
    let Session { store, caller, now } = session;
    let Remark { body, path, line, requests_changes } = remark;
    if body.trim().is_empty() && !requests_changes {
        return Err(Error::new(&codes::INVALID_ARGUMENT, "the comment is empty")
            .hint("say it with -m TEXT"));
    }
    if body.len() > MOST {
        return Err(Error::new(&codes::SIZE_LIMIT, format!("the comment is over {MOST} bytes"))
            .hint("say it shorter, or put the text in a file and name that"));
    }
    if let Some(path) = &path {
        require_place(store, proposal, path, line)?;
    }
    let text = body.trim();
    let revision = Some(proposal.current().event.clone());
    // With a request the text is its reason, unless it is about one place.
    let said = !text.is_empty() && (!requests_changes || path.is_some());
    let is_about_a_place = path.is_some();
    let comments: Vec<Comment> =
        said.then(|| Comment { body: text.to_owned(), path, line, revision }).into_iter().collect();
    if requests_changes {
        let proposals = std::slice::from_ref(proposal);
        let command = format!("aye comment {} --request-changes", proposal.id);
        let verb = Verb::RequestChanges;
        let authority = decide::authorise(store, caller, verb, proposals, evidence, &command)?;
        let reason = (!text.is_empty() && !is_about_a_place).then_some(text);
        let word = Word::RequestChanges;
        verdict::say(store, &authority, *now, proposals, &word, reason, &comments, None)?;
    } else {
        store.write(&caller.actor, *now, |writer| {
            let proposal = writer.view.proposal(&proposal.id)?;
            proposal.require_pending(writer.now())?;
            for comment in comments {
                writer.note(Some(&proposal.id), Note::Comment(comment))?;
            }
            Ok(())
        })?;
    }
    Ok(Commented {
        schema: "aye/comment@1",
        success: true,
        proposal_id: proposal.id.to_string(),
        changes_requested: requests_changes || proposal.changes_requested.is_some(),
    })
}

/// Refuses a place that the proposal does not have. A file that is deleted has its lines before.
fn require_place(
    store: &Store,
    proposal: &Proposal,
    path: &RepoPath,
    line: Option<u32>,
) -> Result<()> {
    let Some(change) = proposal.current().changes.iter().find(|change| change.path == *path) else {
        return Err(Error::new(
            &codes::INVALID_ARGUMENT,
            format!("{} does not change '{}'", proposal.id, path.display()),
        )
        .hint(format!("aye diff {} --name-only lists what it changes", proposal.id)));
    };
    let (Some(line), Some(entry)) = (line, change.after.as_ref().or(change.before.as_ref())) else {
        return Ok(());
    };
    let count = store.file(entry)?.line_count();
    if line as usize <= count {
        return Ok(());
    }
    Err(Error::new(
        &codes::INVALID_ARGUMENT,
        format!("'{}' has no line {line}, it has {count}", path.display()),
    )
    .hint("lines are counted in the proposed file, from 1"))
}
