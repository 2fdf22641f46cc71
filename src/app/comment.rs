//! Comments on a proposal, and their resolution.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Session, is_own};
use crate::changeset::{Changeset, RepoPath};
use crate::decide;
use crate::decide::verdict::{self, PlainVerdict, VerdictDetails};
use crate::error::{Error, Result, codes};
use crate::proposal::event::{Comment, CommentKind, Evidence};
use crate::proposal::rules::Verb;
use crate::proposal::{ActorKind, Note, Proposal, codes as proposal_codes, state};
use crate::scan::gate::{self, ScanWarning};
use crate::store::Store;

/// Bytes of a comment or a suggested text.
pub const MOST: usize = 64 * 1024;

#[derive(Clone, Debug, Default)]
pub struct CommentRequest {
    /// May be empty in a request or suggestion.
    pub body: String,
    pub path: Option<RepoPath>,
    /// First and last line of the proposed file, from 1.
    pub lines: Option<(u32, u32)>,
    pub is_question: bool,
    /// Replaces the lines; empty deletes them.
    pub replacement: Option<String>,
    /// Event id (prefix) of the comment to resolve; the body is the note.
    pub resolves: Option<String>,
    /// The body is the request's reason, unless it is about one place.
    pub requests_changes: bool,
}

/// Answer of `aye comment`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommentOutcome {
    /// `aye/comment@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The id.
    pub proposal_id: String,
    /// Event id of the comment; absent for a request of changes and for a note that resolves a
    /// comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment_id: Option<String>,
    /// Event id of the comment that was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<String>,
    /// True if changes are requested.
    pub changes_requested: bool,
    /// Text in an agent's comment that nobody should read there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ScanWarning>,
}

/// `evidence` shows who speaks.
///
/// # Errors
/// `invalid_argument` for an empty text, contradictory fields, or a place outside the proposal.
/// `secret_detected` for an agent's text if `aye.scan` is `block`. `human_approval_required` for an
/// agent that requests changes. `comment_not_found`, `size_limit`, `not_pending`.
pub fn comment(
    session: &Session<'_>,
    proposal: &Proposal,
    saying: CommentRequest,
    evidence: &Evidence,
) -> Result<CommentOutcome> {
    let Session { store, caller, now } = session;
    let CommentRequest { requests_changes, .. } = saying;
    let text = saying.body.trim().to_owned();
    let saying = CommentRequest { path: about(proposal, &saying)?, ..saying };
    let is_about_a_place = saying.path.is_some();
    let resolved = match &saying.resolves {
        Some(id) => Some(to_resolve(session, proposal, id, &saying)?),
        None => None,
    };
    let said = recorded(store, proposal, saying, resolved.clone())?;
    let texts = [("comment", Some(&*text)), ("suggestion", said.replacement.as_deref())];
    let warnings = match caller.actor.kind {
        ActorKind::Agent => gate::line_warnings(store.repository(), &Changeset::default(), &texts)?,
        ActorKind::Human | ActorKind::Ci => Vec::new(),
    };
    // A request keeps the text as its reason, unless it is about one place.
    let is_said = if requests_changes {
        is_about_a_place && (!text.is_empty() || said.replacement.is_some())
    } else {
        true
    };
    let comments: Vec<Comment> = is_said.then_some(said).into_iter().collect();
    let mut comment_id = None;
    if requests_changes {
        let proposals = std::slice::from_ref(proposal);
        let command = format!("aye comment {} --request-changes", proposal.id);
        let verb = Verb::RequestChanges;
        let authority = decide::authorise(store, caller, verb, proposals, evidence, &command)?;
        let reason = (!text.is_empty() && !is_about_a_place).then_some(text.as_str());
        let word = PlainVerdict::RequestChanges;
        let besides = VerdictDetails { reason, comments: &comments, ..VerdictDetails::default() };
        verdict::record_verdicts(store, &authority, *now, proposals, word, &besides)?;
    } else {
        comment_id = store.write(&caller.actor, *now, |writer| {
            let proposal = writer.view.proposal(&proposal.id)?;
            proposal.require_pending(writer.now())?;
            let mut id = None;
            for comment in comments {
                id = Some(writer.note(Some(&proposal.id), Note::Comment(comment))?.id);
            }
            Ok(id)
        })?;
    }
    Ok(CommentOutcome {
        schema: "aye/comment@1",
        success: true,
        proposal_id: proposal.id.to_string(),
        comment_id: comment_id.filter(|_| resolved.is_none()),
        resolved,
        changes_requested: requests_changes || proposal.changes_requested.is_some(),
        warnings,
    })
}

/// A proposal with one file needs no path for lines.
fn about(proposal: &Proposal, saying: &CommentRequest) -> Result<Option<RepoPath>> {
    if saying.path.is_some() || saying.lines.is_none() {
        return Ok(saying.path.clone());
    }
    match &proposal.current().changes[..] {
        [only] => Ok(Some(only.path.clone())),
        changes => {
            let message =
                format!("which of the {} files the lines are of is not said", changes.len());
            Err(Error::new(&codes::INVALID_ARGUMENT, message)
                .hint("name it with path (--path PATH)"))
        }
    }
}

/// `resolves` is a full event id.
fn recorded(
    store: &Store,
    proposal: &Proposal,
    saying: CommentRequest,
    resolves: Option<String>,
) -> Result<Comment> {
    let CommentRequest { body, path, lines, is_question, replacement, requests_changes, .. } =
        saying;
    let refuse = |message: &str, hint: &str| {
        Err(Error::new(&codes::INVALID_ARGUMENT, message.to_owned()).hint(hint.to_owned()))
    };
    if body.trim().is_empty() && replacement.is_none() && !requests_changes {
        return match resolves {
            Some(_) => refuse("the note is empty", "describe the resolution with -m TEXT"),
            None => refuse("the comment is empty", "say it with -m TEXT"),
        };
    }
    if body.len() > MOST || replacement.as_ref().is_some_and(|text| text.len() > MOST) {
        return Err(Error::new(&codes::SIZE_LIMIT, format!("the comment is over {MOST} bytes"))
            .hint("say it shorter, or put the text in a file and name that"));
    }
    if replacement.is_some() && (lines.is_none() || is_question) {
        return refuse(
            "a suggestion is about lines of a file, and no question",
            "name them with --path PATH --line N or --line N-M",
        );
    }
    if let Some(path) = &path {
        require_place(store, proposal, path, lines)?;
    }
    let kind = match (&replacement, is_question) {
        (Some(_), _) => CommentKind::Suggestion,
        (None, true) => CommentKind::Question,
        (None, false) => CommentKind::Plain,
    };
    Ok(Comment {
        body: body.trim().to_owned(),
        path,
        line: lines.map(|(first, _)| first),
        end_line: lines.and_then(|(first, last)| (first < last).then_some(last)),
        revision: Some(proposal.current().event.clone()),
        kind,
        replacement,
        resolves,
    })
}

/// Event id of comment `id`, if the caller may resolve it.
fn to_resolve(
    session: &Session<'_>,
    proposal: &Proposal,
    id: &str,
    saying: &CommentRequest,
) -> Result<String> {
    let Session { store, caller, .. } = session;
    let remark = &proposal.comments[find(proposal, id)?];
    let is_more = saying.path.is_some()
        || saying.is_question
        || saying.replacement.is_some()
        || saying.requests_changes;
    if is_more {
        let message = "a note that resolves a comment is not about a place, and asks for nothing";
        return Err(Error::new(&codes::INVALID_ARGUMENT, message)
            .hint("give -m TEXT beside --resolve, and nothing else"));
    }
    let may = caller.actor.kind == ActorKind::Human
        || remark.by == caller.actor
        || is_own(store, proposal, &caller.actor);
    if may {
        return Ok(remark.event.clone());
    }
    let message = format!("{} is another's proposal, and the comment another's too", proposal.id);
    Err(Error::new(&proposal_codes::HUMAN_APPROVAL_REQUIRED, message)
        .with("proposal_id", proposal.id.as_str())
        .hint("its proposer, its author or a person resolves it"))
}

/// Index of the comment whose event id starts with `id`.
///
/// # Errors
/// `comment_not_found`, `ambiguous_id`.
pub fn find(proposal: &Proposal, id: &str) -> Result<usize> {
    let id = id.trim().to_ascii_lowercase();
    let is_meant =
        |(_, remark): &(usize, &state::Remark)| !id.is_empty() && remark.event.starts_with(&id);
    let mut found = proposal.comments.iter().enumerate().filter(is_meant);
    let Some((at, _)) = found.next() else {
        let message = format!("{} has no comment '{id}'", proposal.id);
        return Err(Error::new(&proposal_codes::COMMENT_NOT_FOUND, message)
            .with("proposal_id", proposal.id.as_str())
            .hint(format!("aye show {} --comments prints the id of each", proposal.id)));
    };
    match found.next() {
        None => Ok(at),
        Some(_) => {
            let message = format!("several comments of {} begin with '{id}'", proposal.id);
            Err(Error::new(&proposal_codes::AMBIGUOUS_ID, message)
                .with("proposal_id", proposal.id.as_str())
                .hint("give more of the comment's id"))
        }
    }
}

/// Refuses a place outside the proposal. For a deleted file the old lines count.
fn require_place(
    store: &Store,
    proposal: &Proposal,
    path: &RepoPath,
    lines: Option<(u32, u32)>,
) -> Result<()> {
    let Some(change) = proposal.current().changes.iter().find(|change| change.path == *path) else {
        return Err(Error::new(
            &codes::INVALID_ARGUMENT,
            format!("{} does not change '{}'", proposal.id, path.display()),
        )
        .hint(format!("aye diff {} --name-only lists its files", proposal.id)));
    };
    let entry = change.after.as_ref().or(change.before.as_ref());
    let (Some((first, last)), Some(entry)) = (lines, entry) else {
        return Ok(());
    };
    let count = store.file(entry)?.line_count();
    let message = match (first, last) {
        (first, last) if first < 1 || last < first => format!("'{first}-{last}' is not a range"),
        (_, last) if last as usize > count => {
            format!("'{}' has no line {last}, it has {count}", path.display())
        }
        _ => return Ok(()),
    };
    Err(Error::new(&codes::INVALID_ARGUMENT, message)
        .hint("lines are counted in the proposed file, from 1"))
}
