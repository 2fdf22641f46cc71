//! What was said about a proposal: remarks, and requests for changes with what became of them.

use chrono::{DateTime, Utc};

use super::{Actor, Proposal};
use crate::changeset::RepoPath;

/// Something that was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SayingKind {
    /// A remark.
    Comment,
    /// A request for changes that waits for its answer.
    Request,
    /// A request for changes that a revision has answered.
    Answered,
}

/// One saying. Its text is as it came: not safe for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying<'p> {
    /// What it is.
    pub kind: SayingKind,
    /// Who.
    pub by: &'p Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// What; a request may be without words of its own.
    pub body: Option<&'p str>,
    path: Option<&'p RepoPath>,
    line: Option<u32>,
    /// Number of the revision it was said about, where that is not the present one.
    earlier: Option<usize>,
}

impl Saying<'_> {
    /// `src/a.rs:12`, `src/a.rs`, or nothing where it is about the whole; with the revision where
    /// that is not the present one, since its lines may be elsewhere by now.
    pub fn place(&self) -> Option<String> {
        let path = self.path?.display();
        let mut place = match self.line {
            Some(line) => format!("{path}:{line}"),
            None => path.to_string(),
        };
        if let Some(earlier) = self.earlier {
            place += &format!(" of revision {earlier}");
        }
        Some(place)
    }
}

impl Proposal {
    /// Everything that was said, oldest first.
    pub fn conversation(&self) -> Vec<Saying<'_>> {
        let remarks = self.comments.iter().map(|remark| Saying {
            kind: SayingKind::Comment,
            by: &remark.by,
            at: remark.at,
            body: Some(&remark.comment.body),
            path: remark.comment.path.as_ref(),
            line: remark.comment.line,
            earlier: self.earlier_revision(remark.comment.revision.as_deref()),
        });
        let open = self.changes_requested.is_some();
        let requests = self.requests.iter().enumerate().map(|(n, request)| Saying {
            kind: match open && n + 1 == self.requests.len() {
                true => SayingKind::Request,
                false => SayingKind::Answered,
            },
            by: &request.by,
            at: request.at,
            body: request.reason.as_deref(),
            path: None,
            line: None,
            earlier: None,
        });
        let mut said: Vec<_> = remarks.chain(requests).collect();
        said.sort_by_key(|saying| saying.at);
        said
    }
}
