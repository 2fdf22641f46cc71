//! `comment`: something said about a proposal.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Arguments;
use super::arguments::{answered, required, whole};
use crate::app::Session;
use crate::app::comment::{self, Remark};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::event::Evidence;

/// Its name.
pub const NAME: &str = "comment";

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The proposal.
    #[schemars(required)]
    proposal_id: Option<String>,
    /// What to say.
    #[schemars(required)]
    body: Option<String>,
    /// The file it is about, as a path from the top of the repository.
    path: Option<String>,
    /// The line of the proposed file, from 1.
    #[serde(default, deserialize_with = "whole")]
    line: Option<usize>,
}

/// Comments on a proposal.
///
/// # Errors
/// `proposal_not_found` and its kin, `not_pending`; those of [`comment::comment`].
pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    let Arguments { known, ignored } =
        Arguments::<Parameters>::read(arguments, "{\"proposal_id\": …, \"body\": …}")?;
    let id = required("proposal_id", known.proposal_id, &ignored)?;
    let remark = Remark {
        body: required("body", known.body, &ignored)?,
        path: known.path.map(RepoPath::new).transpose()?,
        line: known.line.map(|line| u32::try_from(line).unwrap_or(u32::MAX)),
        requests_changes: false,
    };
    let proposal = session.store.view()?.find(&id)?;
    answered(&comment::comment(session, &proposal, remark, &Evidence::Tool)?, ignored)
}
