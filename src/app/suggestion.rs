//! Accepts suggestions: a comment's lines go into the next revision.

use std::collections::BTreeMap;
use std::ops::Range;

use super::comment::{MOST, find};
use super::{Draft, Session};
use crate::app::quotes;
use crate::changeset::{RepoPath, anchor};
use crate::error::{Error, Result, codes};
use crate::proposal::event::{Comment, InputForm, Subject};
use crate::proposal::{Proposal, codes as proposal_codes};

const NOTE: &str = "taken as it was suggested";

#[derive(Clone, Debug)]
pub struct Taken {
    pub draft: Draft,
    /// Resolve the suggestions.
    pub notes: Vec<Comment>,
}

/// Replaces the lines of suggestions `ids` (event ids or prefixes), following moved lines.
///
/// # Errors
/// `comment_not_found`, `ambiguous_id`; `comment_outdated` if the lines are gone;
/// `invalid_argument` for a comment without a suggestion and for overlapping suggestions;
/// `no_change` if nothing is left.
pub fn take(
    session: &Session<'_>,
    proposal: &Proposal,
    ids: &[String],
    form: InputForm,
) -> Result<Taken> {
    let store = session.store;
    if proposal.subject != Subject::Code {
        let id = &proposal.id;
        return Err(invalid(format!("{id} is about memory")).hint(format!(
            "withdraw it (aye reject {id}) and make another request with that text: aye memory stage"
        )));
    }
    let places = quotes::places(store, proposal);
    let mut by_path: BTreeMap<RepoPath, Vec<(Range<usize>, String)>> = BTreeMap::new();
    let mut notes = Vec::new();
    for id in ids {
        let at = find(proposal, id)?;
        let remark = &proposal.comments[at];
        let (Some(path), Some(text)) = (&remark.comment.path, &remark.comment.replacement) else {
            return Err(invalid(format!("comment {id} suggests no lines"))
                .hint(format!("answer it: aye comment {} --resolve {id} -m TEXT", proposal.id)));
        };
        if text.len() > MOST {
            return Err(Error::new(
                &codes::SIZE_LIMIT,
                format!("the suggestion is over {MOST} bytes"),
            )
            .hint("make the edit yourself"));
        }
        let place = places.get(at);
        let Some((first, last)) = place.and_then(|place| place.lines) else {
            let message =
                format!("the lines that comment {id} is about are not in {}", proposal.id);
            return Err(Error::new(&proposal_codes::COMMENT_OUTDATED, message)
                .with("comment_id", remark.event.as_str())
                .hint(format!("aye show {} --comments prints the former lines", proposal.id)));
        };
        if notes.iter().any(|note: &Comment| note.resolves.as_ref() == Some(&remark.event)) {
            continue;
        }
        let lines = first as usize - 1..last as usize;
        let path = place.and_then(|place| place.path.as_ref()).unwrap_or(path);
        by_path.entry(path.clone()).or_default().push((lines, text.clone()));
        notes.push(Comment {
            body: NOTE.to_owned(),
            resolves: Some(remark.event.clone()),
            ..Comment::default()
        });
    }
    let mut changes = store.changeset(proposal.current())?.into_changes();
    for (path, mut taken) in by_path {
        // Bottom up, so line numbers stay valid.
        taken.sort_by_key(|(lines, _)| std::cmp::Reverse(lines.start));
        if taken.windows(2).any(|pair| pair[1].0.end > pair[0].0.start) {
            let path = path.display();
            return Err(invalid(format!(
                "two of the suggestions are about the same lines of {path}"
            ))
            .hint("take one of them"));
        }
        let change = changes.iter_mut().find(|change| change.path == path);
        let Some((change, after)) =
            change.and_then(|change| change.after.clone().map(|after| (change, after)))
        else {
            return Err(invalid(format!("{} deletes {}", proposal.id, path.display()))
                .hint("a suggestion for a file that is deleted cannot be taken"));
        };
        let mut bytes = after.bytes;
        for (lines, text) in taken {
            bytes = anchor::replace(&bytes, lines, &text);
        }
        // A suggestion may have line endings other than git stores.
        bytes = store.repository().stored(&path, &bytes)?.unwrap_or(bytes);
        change.after = Some(crate::changeset::File { bytes, ..after });
        // Snippets lead to the former text.
        change.snippets.clear();
    }
    Ok(Taken { draft: Draft::amended(store, proposal, changes, form)?, notes })
}

fn invalid(message: String) -> Error {
    Error::new(&codes::INVALID_ARGUMENT, message)
}
