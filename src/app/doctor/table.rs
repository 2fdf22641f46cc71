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
    "thread_damaged", "a ref of a thread has an unreadable commit; aye ignores this ref",
        "restore the object from a backup or another clone, or fetch it: git fetch --refetch REMOTE; \
         after a rewrite of all refs, `git update-ref refs/aye/p/ID refs/aye/remotes/REMOTE/CLONE/ID` \
         takes the fetched copy";
    "thread_incomplete", "this clone lacks the beginning of a thread, as in a shallow clone",
        "git fetch --unshallow REMOTE 'refs/aye/by/*:refs/aye/remotes/REMOTE/*'";
    "thread_too_long", "a ref of a thread has more events than aye reads",
        "propose again with --instead-of";
    "too_many_refs", "a thread has more fetched refs than aye reads",
        "`git for-each-ref refs/aye/remotes` shows who wrote them";
    "published_elsewhere", "a remote has a thread that is private here; aye ignores it",
        "find out who published it; `aye revise ID --public` accepts it";
    "event_skipped", "aye ignores an event: its statement does not fit, or its kind is unknown",
        "`aye show ID` names it; no action is needed";
    "clone_copied", "a copy of this clone writes to the same directory of a remote",
        "aye sync, or aye doctor --repair, gives this clone a new name";
    "object_missing", "an object of an event is damaged or missing",
        "fetch it from a clone that has it: git fetch --refetch REMOTE";
    "changeset_invalid", "the changes of an event are malformed", REPAIR;
    "projection_changed", "the readable copy of a proposal was changed; aye never reads it", REPAIR;
    "projection_missing", "the readable copy of a proposal is missing", REPAIR;
    "projection_stale", "the readable copy of a proposal is outdated", REPAIR;
    "projection_unexpected", "a readable copy belongs to no proposal", REPAIR;
    "projection_unreadable", "the readable copy of a proposal is unreadable", REPAIR;
    "pending_ref_moved", "a ref of a pending proposal names another commit", REPAIR;
    "pending_ref_missing", "a ref of a pending proposal is missing", REPAIR;
    "pending_ref_unexpected", "a pending ref belongs to no pending proposal", REPAIR;
    "stamp_forged", "a cache says that nothing is pending, but a proposal is", REPAIR;
    "journal_invalid", "the journal of an interrupted write cannot be read", REPAIR;
    "journal_foreign", "the journal of an interrupted write belongs to another work tree", REPAIR;
    "left_over", "a stopped process left temporary files", REPAIR;
    "private_dir_unsafe", "a symlink or a file of the wrong kind is in aye's own directory", "look at it, then remove it";
    "git_lock_stale", "a lock file of git is older than a git process lasts",
        "if no git process is running, remove the file";
    "not_writable", "aye cannot write to its directory",
        "change the owner to the user who runs aye, or grant write permission";
    "private_pushed", "a setting would push private threads",
        "git config --unset-all that key; `aye sync` sends what is shared";
    "invalid_policy", "the policy is invalid, so the gate is closed", "correct the file";
    "memory_config_invalid", "the settings of memory are invalid, so the gate is closed", "correct the file";
    "purged_content", "this clone still has content of a purged proposal",
        "`aye purge ID -m TEXT` removes it and names the remaining copies";
    "remote_password", "the URL of a remote in git's configuration holds a password or a token",
        "remove it (git remote set-url) and use a credential helper (git help credentials)";
    "sandbox_missing", "the kernel offers no Landlock and seccomp for `aye shell`",
        "use Linux 5.13 or later with Landlock; otherwise `aye shell` runs one program per call";
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
