//! The `comment` tool.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Arguments;
use super::arguments::{missing, whole_number};
use crate::app::Session;
use crate::app::comment::{self, CommentRequest};
use crate::error::{Error, Result, codes};
use crate::proposal::event::Evidence;

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The proposal.
    proposal_id: String,
    /// The text; with `resolves` the note on what was done. May be absent with `replacement`.
    body: Option<String>,
    /// The file that the comment is about, as a path from the top of the repository. It is optional
    /// with `line` if the proposal has one file.
    path: Option<String>,
    /// The line of the proposed file, from 1; the first of several lines.
    #[serde(default, deserialize_with = "whole_number")]
    line: Option<usize>,
    /// The last line that the comment is about.
    #[serde(default, deserialize_with = "whole_number")]
    end_line: Option<usize>,
    /// The comment is a question, and wants an answer.
    question: Option<bool>,
    /// Suggest this text in place of the lines; empty to delete them.
    replacement: Option<String>,
    /// Id of a comment on the proposal, as `show` has it, that this one resolves.
    resolves: Option<String>,
}

pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments)?.answer(|known| {
        let body = match known.body {
            None if known.replacement.is_none() => return Err(missing("body")),
            body => body.unwrap_or_default(),
        };
        let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
        let (first, last) = (known.line.map(number), known.end_line.map(number));
        if first.is_none() && last.is_some() {
            return Err(Error::new(&codes::INVALID_ARGUMENT, "'end_line' without 'line'")
                .hint("give both: the first line that it is about, and the last"));
        }
        let saying = CommentRequest {
            body,
            path: known
                .path
                .map(|path| session.store.repository().parse_tool_path(path.as_bytes()))
                .transpose()?,
            lines: first.map(|first| (first, last.unwrap_or(first))),
            is_question: known.question.unwrap_or_default(),
            replacement: known.replacement,
            resolves: known.resolves,
            requests_changes: false,
        };
        let proposal = session.store.view()?.find(&known.proposal_id)?;
        comment::comment(session, &proposal, saying, &Evidence::Tool)
    })
}
