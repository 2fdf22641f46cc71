//! Comments on a proposal, and requests for changes with their answers.

use chrono::{DateTime, Utc};

use super::event::CommentKind;
use super::state::{CommentResolution, Remark};
use super::{Actor, Proposal};
use crate::changeset::RepoPath;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContributionKind {
    Comment,
    /// A request for changes without an answer yet.
    Request,
    /// A request for changes that a revision has answered.
    Answered,
}

/// The lines of a comment, located in the current revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommentLocation {
    /// The lines as commented on, with line ends; `None` if that content is not in this clone.
    pub quote: Option<String>,
    /// The file's name in the current revision, if it differs.
    pub path: Option<RepoPath>,
    /// First and last line in the current revision, from 1.
    pub lines: Option<(u32, u32)>,
    /// True if the current revision lacks the lines or does not change the file.
    pub is_outdated: bool,
}

/// A comment or request. Its text is raw: not safe for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contribution<'p> {
    pub kind: ContributionKind,
    pub by: &'p Actor,
    pub at: DateTime<Utc>,
    /// `None` for a request without text.
    pub body: Option<&'p str>,
    /// `None` for a request.
    pub remark: Option<&'p Remark>,
    /// `None` if the lines were not looked up.
    pub place: Option<&'p CommentLocation>,
    /// Number of the revision that it is about; `None` if that is the current one.
    pub earlier: Option<usize>,
}

impl<'p> Contribution<'p> {
    /// `src/a.rs:12-14` or `src/a.rs`; `None` if it is about the whole proposal. Lines of the
    /// current revision if known, otherwise those of its own revision, which is then named.
    pub fn place(&self) -> Option<String> {
        let comment = &self.remark?.comment;
        let moved = self.place.and_then(|place| place.path.as_ref());
        let path = moved.or(comment.path.as_ref())?;
        let now = self.place.and_then(|place| place.lines);
        let mut place = place(path, now.or(comment.lines()));
        let is_outdated = self.is_outdated();
        if let Some(earlier) = self.earlier.filter(|_| now.is_none()) {
            place += &format!(" of revision {earlier}");
        }
        if is_outdated {
            place += ", outdated";
        }
        Some(place)
    }

    pub fn is_outdated(&self) -> bool {
        self.place.is_some_and(|place| place.is_outdated)
    }

    /// `suggestion`, `question` or another kind; `None` for a plain remark.
    pub fn wants(&self) -> Option<&'p str> {
        let kind = &self.remark?.comment.kind;
        (*kind != CommentKind::Plain).then(|| kind.as_str())
    }

    pub fn resolved(&self) -> Option<&'p CommentResolution> {
        self.remark?.resolved.as_ref()
    }
}

/// `src/a.rs:12-14`, `src/a.rs:12` or `src/a.rs`; first and last line.
pub fn place(path: &RepoPath, lines: Option<(u32, u32)>) -> String {
    let path = path.display();
    match lines {
        None => path.to_string(),
        Some((first, last)) if first == last => format!("{path}:{first}"),
        Some((first, last)) => format!("{path}:{first}-{last}"),
    }
}

impl Proposal {
    /// All contributions, oldest first. `places` locates the comments, in their order; empty if
    /// nobody looked.
    pub fn conversation<'p>(&'p self, places: &'p [CommentLocation]) -> Vec<Contribution<'p>> {
        let remarks = self.comments.iter().enumerate().map(|(at, remark)| Contribution {
            kind: ContributionKind::Comment,
            by: &remark.by,
            at: remark.at,
            body: Some(&remark.comment.body),
            remark: Some(remark),
            place: places.get(at),
            earlier: self.earlier_revision(remark.comment.revision.as_deref()),
        });
        let requests = self.requests.iter().map(|request| Contribution {
            kind: if request.is_open {
                ContributionKind::Request
            } else {
                ContributionKind::Answered
            },
            by: &request.by,
            at: request.at,
            body: request.reason.as_deref(),
            remark: None,
            place: None,
            earlier: self.earlier_revision(request.revision.as_deref()),
        });
        let mut said: Vec<_> = remarks.chain(requests).collect();
        said.sort_by_key(|saying| saying.at);
        said
    }

    /// Number of characters of an event id that identify one comment of this proposal.
    pub fn comment_prefix(&self) -> usize {
        let mut ids: Vec<&str> = self.comments.iter().map(|remark| remark.event.as_str()).collect();
        ids.sort_unstable();
        let shared = |pair: &[&str]| {
            pair[0].bytes().zip(pair[1].bytes()).take_while(|(one, other)| one == other).count()
        };
        let most = ids.windows(2).map(shared).max().unwrap_or_default();
        SHORTEST_COMMENT.max(most + 1)
    }
}

/// Fewest characters of a comment's id that are shown.
const SHORTEST_COMMENT: usize = 7;
