//! `aye propose --range A..B --stack`: a proposal for each commit.

use std::ffi::OsStr;

use schemars::JsonSchema;
use serde::Serialize;

use super::warn;
use crate::app::capture::{self, Source};
use crate::app::propose::{self, Details};
use crate::app::{Draft, Session};
use crate::changeset::codes::NO_CHANGE;
use crate::cli::{Context, Format};
use crate::error::{Error, Exit, Result};
use crate::text::escape;
use crate::tools::changes::ProposeResponse;

/// Answer of `aye propose --stack`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProposeStack {
    /// `aye/propose-stack@1`
    schema: &'static str,
    /// One for each commit, oldest first.
    proposals: Vec<ProposeResponse>,
}

/// All commits are read first: if one cannot be proposed, none is.
///
/// # Errors
/// `no_change`, and as [`capture::capture`].
pub(super) fn run(
    context: &mut Context,
    session: &Session<'_>,
    range: &OsStr,
    details: &Details,
) -> Result<Exit> {
    let mut drafts: Vec<Draft> = Vec::new();
    for id in capture::commits(session.store.repository(), range)? {
        let source = Source::Commit { rev: id.as_str().into(), reverse: false };
        match capture::capture(session, &source, &mut Vec::new()) {
            Ok(draft) => drafts.push(draft),
            Err(error) if error.is(&NO_CHANGE) => {
                context.note(&format!("note: commit {id:.12} changes nothing"));
            }
            Err(error) => return Err(error.after(format_args!("commit {id:.12}"))),
        }
    }
    if drafts.is_empty() {
        let message = format!("there is no change in {}", range.to_string_lossy());
        return Err(Error::new(&NO_CHANGE, message).hint("`git log A..B` lists its commits"));
    }
    let (mut proposals, mut warnings, mut lines) = (Vec::new(), Vec::new(), String::new());
    let mut others = Vec::new();
    for (at, draft) in drafts.into_iter().enumerate() {
        let details = Details { others: others.clone(), ..details.clone() };
        let recorded = propose::propose(&session.later(at), draft, details)?;
        others.push(recorded.proposal.id.clone());
        warnings.extend(recorded.warnings.iter().cloned());
        let title = recorded.proposal.title();
        let title =
            title.filter(|_| !context.quiet).map(|title| format!("  {}", escape::line(title)));
        lines += &format!("{}{}\n", recorded.proposal.id, title.unwrap_or_default());
        proposals.push(ProposeResponse::new(&recorded));
    }
    let answer = ProposeStack { schema: "aye/propose-stack@1", proposals };
    context.emit(Format::Text, &answer, || lines)?;
    warn(context, &warnings);
    Ok(Exit::Done)
}
