//! Doctor's codes with meanings and remedies, printed by `aye help codes`.

pub struct ProblemKind {
    pub code: &'static str,
    pub meaning: &'static str,
    /// Problems with ids or paths have their own hint.
    pub remedy: &'static str,
}

pub(super) const REPAIR: &str = "aye doctor --repair";

pub fn remedy(code: &str) -> &'static str {
    KNOWN.iter().find(|known| known.code == code).map_or(REPAIR, |known| known.remedy)
}

macro_rules! known {
    ($($code:literal, $meaning:literal, $remedy:expr;)*) => {
        /// Problems, then notices.
        pub static KNOWN: &[ProblemKind] =
            &[$(ProblemKind { code: $code, meaning: $meaning, remedy: $remedy }),*];
    };
}

known! {
    "thread_damaged", "a ref of a thread has a commit that cannot be read, or is no event; its other refs count",
        "restore the object from a backup or another clone, or fetch it: git fetch --refetch REMOTE";
    "thread_incomplete", "a thread is not here from its beginning, as in a shallow or partial clone; nothing is decided on it",
        "git fetch --unshallow REMOTE 'refs/aye/by/*:refs/aye/remotes/REMOTE/*'";
    "thread_too_long", "a ref of a thread has more events than are read of one",
        "propose again with --instead-of";
    "too_many_refs", "more refs of one thread were fetched than are read",
        "`git for-each-ref refs/aye/remotes` shows who wrote them";
    "published_elsewhere", "a thread that is private here was fetched, and decides nothing",
        "find out who published it; `aye revise ID --public` accepts it";
    "event_skipped", "an event of a thread decides nothing: its statement does not fit, or its kind is not known",
        "`aye show ID` names it; nothing is to be done";
    "clone_copied", "another clone writes below this one's directory of a remote, as a copy of the repository does",
        "aye doctor --repair gives this clone a new name, and the next push goes below that";
    "object_missing", "an object that an event names is damaged or missing",
        "fetch it from a clone that has it: git fetch --refetch REMOTE";
    "changeset_invalid", "the changes of an event cannot be read", REPAIR;
    "projection_changed", "a file that shows a proposal was changed; nothing is read from it", REPAIR;
    "projection_missing", "a file that shows a proposal is missing", REPAIR;
    "projection_stale", "a file that shows a proposal is behind", REPAIR;
    "projection_unexpected", "a file that shows a proposal is of none", REPAIR;
    "projection_unreadable", "a file that shows a proposal cannot be read", REPAIR;
    "pending_ref_moved", "a ref of a pending proposal names another commit", REPAIR;
    "pending_ref_missing", "a ref of a pending proposal is missing", REPAIR;
    "pending_ref_unexpected", "a ref is of no pending proposal", REPAIR;
    "stamp_forged", "a file says that nothing is pending, and something is", REPAIR;
    "journal_invalid", "the journal of an interrupted apply cannot be read", REPAIR;
    "journal_foreign", "the journal of an interrupted apply is of another work tree", REPAIR;
    "left_over", "a process that was stopped has left files", REPAIR;
    "private_dir_unsafe", "a symlink or a file of the wrong kind is where aye keeps its own", "look at it, then remove it";
    "git_lock_stale", "a lock of git is older than a git process lasts",
        "if no git process is running, remove the file";
    "not_writable", "aye cannot write where it has to",
        "give it to the user who runs aye, or let that user write it";
    "private_pushed", "a setting would push private threads",
        "git config --unset-all that key, and push branches and refs/aye/p/* by name";
    "invalid_policy", "the policy cannot be read, so the gate is closed", "correct the file";
    "memory_config_invalid", "the settings of memory cannot be read, so the gate is closed", "correct the file";
    "purged_content", "a proposal was purged here or by another clone, and what it said is still here",
        "`aye purge ID -m TEXT` removes it, and prints what is left and where";
    "remote_password", "the URL of a remote in git's configuration holds a password or a token",
        "take it out (git remote set-url), and let a credential helper keep it (git help credentials)";
    "sandbox_missing", "the kernel offers no Landlock and seccomp, which confine what `aye shell` runs",
        "Linux 5.13 or later with Landlock; without it `aye shell` runs one reading program for each call";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_there_once() {
        let mut codes: Vec<&str> = KNOWN.iter().map(|known| known.code).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
