//! Where and why a lane cannot be read.

use gix::ObjectId;

use super::super::audience::default_remotes;
use super::super::codes;
use super::super::refs::{self, LaneRef};
use crate::error::Error;

/// Where a lane cannot be read.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The ref.
    pub name: String,
    /// The first commit that cannot be read, hex.
    pub commit: String,
    /// What is wrong.
    pub why: String,
    /// It is only not in this partial clone.
    pub is_absent: bool,
}

impl Broken {
    /// As an error.
    pub(in crate::store) fn error(&self) -> Error {
        Error::new(
            &codes::LANE_BROKEN,
            format!("{} cannot be read at commit {}: {}", self.name, self.commit, self.why),
        )
        .with("ref", self.name.clone())
        .with("commit", self.commit.clone())
        .hint(self.hint())
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        if self.is_absent {
            crate::repository::TRY_AGAIN
        } else {
            "`git fsck` shows what is damaged; `aye doctor --repair` sets the lane aside"
        }
    }
}

/// Why a commit of a lane cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Bad {
    /// In words.
    pub(in crate::store) why: String,
    /// The object that is not there, if that is the reason: it may come later.
    pub(in crate::store) missing: Option<ObjectId>,
}

impl From<String> for Bad {
    fn from(why: String) -> Self {
        Self { why, missing: None }
    }
}

impl From<&str> for Bad {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

/// An object that could not be loaded; one that is there and damaged will not come later.
pub(super) fn gone(repo: &gix::Repository, id: ObjectId, error: &dyn std::fmt::Display) -> Bad {
    match repo.find_header(id) {
        Ok(_) => text(error),
        Err(_) => Bad { why: absent(repo, id), missing: Some(id) },
    }
}

/// That an object is missing, and how it can come in a clone that does not have all.
pub(super) fn absent(repo: &gix::Repository, id: ObjectId) -> String {
    if crate::repository::promisor(repo).is_some() {
        format!(
            "{id} is not in this partial clone, and its remote did not give it; with the network, \
             `git cat-file -e {id}` fetches it"
        )
    } else {
        format!("{id} is missing")
    }
}

/// The error for a lane whose first commits are needed and not here.
pub(super) fn shallow(repo: &gix::Repository, lane: &LaneRef) -> Error {
    let fetch = unshallow(&lane.name, &rest_of(repo, &lane.name));
    Error::new(&codes::LANE_SHALLOW, format!("the first commits of {} are not here", lane.name))
        .with("ref", lane.name.clone())
        .hint(format!("this is a shallow clone; fetch the rest: {fetch}"))
}

/// The remote that has the rest of the shallow lane with the ref `name`: the one it was fetched from, or
/// else the default one. Empty where neither is known.
pub(in crate::store) fn rest_of(repo: &gix::Repository, name: &str) -> String {
    if let Some(remote) = refs::remote_of(name) {
        return remote.to_owned();
    }
    let lane = refs::lane_of(name);
    let fetched = refs::lanes(repo).unwrap_or_default();
    let mut fetched = fetched.iter().filter(|other| other.lane() == lane);
    let fetched = fetched.find_map(|other| refs::remote_of(&other.name));
    let kept = || Some(name.strip_prefix(refs::KEPT)?.rsplit_once('/')?.0.to_owned());
    let default = || default_remotes(repo)?.into_iter().next();
    fetched.map(str::to_owned).or_else(kept).or_else(default).unwrap_or_default()
}

/// The command that fetches the rest of the shallow lane with the ref `name`, which `remote` has.
pub(in crate::store) fn unshallow(name: &str, remote: &str) -> String {
    let remote = if remote.is_empty() { "REMOTE" } else { remote };
    if refs::is_local(name) {
        format!("git fetch --unshallow {remote} {name}")
    } else {
        // What is kept is on no remote.
        format!("git fetch --unshallow {remote} '+refs/aye/log/*:{}{remote}/*'", refs::REMOTES)
    }
}

pub(super) fn text(error: &dyn std::fmt::Display) -> Bad {
    error.to_string().into()
}

pub(super) fn over(what: &str, limit: u64) -> Bad {
    format!("{what} more than {limit} bytes").into()
}

pub(super) fn other_lane(lane: &str) -> Bad {
    let lane: String = lane.chars().take(64).collect();
    format!("an event claims to be of lane '{lane}'").into()
}
