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
pub mod client;
mod clone_facts;
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
pub mod words;

pub use record::SessionRecord;
pub use session_store::SessionStore;

pub mod codes {
    crate::codes! {
        SESSION_NOT_FOUND = "session_not_found", NotFound, "no session has that name";
        SESSION_TREE_GONE = "session_tree_gone", NotFound, "another program removed the session's tree";
        SESSION_LIVE = "session_live", Busy, "the session's command is still running";
        SESSION_UNSUBMITTED = "session_unsubmitted", Refused, "the session's tree has changes that no proposal has";
        SESSION_ELSEWHERE = "session_elsewhere", Refused, "only the clone of the session can revise its proposal";
        SESSION_RECORD_INVALID = "session_record_invalid", Conflict, "aye cannot read the record of a session";
        IN_SESSION = "in_session", Refused, "a session's tree is edited in place, so this command is refused there";
        NO_COMMIT = "no_commit", Refused, "the repository has no commit";
        NO_STATE_DIRECTORY = "no_state_directory", Refused, "no directory for session trees: XDG_STATE_HOME and HOME are unset or read-only";
    }
}
