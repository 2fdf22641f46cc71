//! What was said about a proposal: remarks, and requests for changes with what became of them.

use chrono::{DateTime, Utc};

use super::event::CommentKind;
use super::state::{Remark, Resolved};
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

/// The lines of a comment, held against the present revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The lines as they were when it was made, with their ends; none where that content is not here.
    pub quote: Option<String>,
    /// What the present revision calls the file, where that is another name.
    pub path: Option<RepoPath>,
    /// Where they are in the present revision: first and last, from 1.
    pub lines: Option<(u32, u32)>,
    /// The present revision no longer has them, or does not change the file.
    pub is_outdated: bool,
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
    /// The event id and more, of a remark.
    pub remark: Option<&'p Remark>,
    /// Where its lines are, as far as that was looked up.
    pub place: Option<&'p Place>,
    /// Number of the revision it was said about, where that is not the present one.
    pub earlier: Option<usize>,
}

impl<'p> Saying<'p> {
    /// `src/a.rs:12-14`, `src/a.rs`, or nothing where it is about the whole; lines of the present
    /// revision where they are known to be there, and else with the revision that has them.
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

    /// The present revision no longer has what it is about.
    pub fn is_outdated(&self) -> bool {
        self.place.is_some_and(|place| place.is_outdated)
    }

    /// `suggestion`, `question`, or another word for what it wants; `None` for a plain remark.
    pub fn wants(&self) -> Option<&'p str> {
        let kind = &self.remark?.comment.kind;
        (*kind != CommentKind::Plain).then(|| kind.as_str())
    }

    /// What was done about it.
    pub fn resolved(&self) -> Option<&'p Resolved> {
        self.remark?.resolved.as_ref()
    }
}

/// `src/a.rs:12-14`, `src/a.rs:12` or `src/a.rs`: a path and its lines, first and last.
pub fn place(path: &RepoPath, lines: Option<(u32, u32)>) -> String {
    let path = path.display();
    match lines {
        None => path.to_string(),
        Some((first, last)) if first == last => format!("{path}:{first}"),
        Some((first, last)) => format!("{path}:{first}-{last}"),
    }
}

impl Proposal {
    /// Everything that was said, oldest first. `places` has where the lines of each comment are, in the
    /// order of the comments; nothing where nobody has looked.
    pub fn conversation<'p>(&'p self, places: &'p [Place]) -> Vec<Saying<'p>> {
        let remarks = self.comments.iter().enumerate().map(|(at, remark)| Saying {
            kind: SayingKind::Comment,
            by: &remark.by,
            at: remark.at,
            body: Some(&remark.comment.body),
            remark: Some(remark),
            place: places.get(at),
            earlier: self.earlier_revision(remark.comment.revision.as_deref()),
        });
        let requests = self.requests.iter().map(|request| Saying {
            kind: if request.is_open { SayingKind::Request } else { SayingKind::Answered },
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

    /// How many characters of an event id name one comment of this proposal.
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

/// Characters of a comment's id that are shown at least.
const SHORTEST_COMMENT: usize = 7;
