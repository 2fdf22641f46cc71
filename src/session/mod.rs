//! Sessions: an agent's own work tree outside the checkout.
//!
//! The tree is a clone that shares the repository's objects, so all of git works in it. It lies in
//! the user's state directory, where no test runner or `git clean` of the checkout finds it. A
//! record in `.git/aye/sessions/` holds the tree's origin; a lock file is held while the run lives.
//!
//! **A tree belongs to the agent.** Once the agent has run in it, no command of aye runs git with
//! the tree's own git directory or configuration. Its files are read through the repository's
//! ([`read`]). A tree is a slot: a number below the repository's own directory. Stored data can name
//! another slot of that repository, and no other path.

pub mod beside;
pub mod follow;
pub mod head;
pub mod ignored_files;
mod included_files;
pub mod link;
pub mod read;
pub mod record;
mod rename_map;
pub mod session_store;
pub mod spool;
mod times;
pub mod tree;

pub use record::SessionRecord;
pub use session_store::SessionStore;

pub mod codes {
    crate::codes! {
        SESSION_NOT_FOUND = "session_not_found", NotFound, "there is no session of that name";
        SESSION_TREE_GONE = "session_tree_gone", NotFound, "the tree of the session was removed, and not by aye";
        SESSION_LIVE = "session_live", Busy, "the session's command still runs";
        SESSION_UNSUBMITTED = "session_unsubmitted", Refused, "the session's tree holds work that no proposal has";
        SESSION_ELSEWHERE = "session_elsewhere", Refused, "a session's proposal is revised in the clone of the session alone";
        SESSION_RECORD_INVALID = "session_record_invalid", Conflict, "the record of a session cannot be read";
        IN_SESSION = "in_session", Refused, "the tree of a session is edited in place; what it holds is proposed whole";
        NO_COMMIT = "no_commit", Refused, "the repository has no commit yet, so that nothing can be based on it";
        NO_STATE_DIRECTORY = "no_state_directory", Refused, "there is no place for the trees of sessions: neither XDG_STATE_HOME nor HOME names one, or it cannot be written";
    }
}
