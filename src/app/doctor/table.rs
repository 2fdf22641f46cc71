//! What a doctor may find, as one table: a code, what it means, what to do. `aye help codes` prints it.

/// A kind of problem.
pub struct Known {
    /// The code in reports.
    pub code: &'static str,
    /// What is wrong, in a sentence.
    pub meaning: &'static str,
    /// What to do next; where that has ids or paths in it, a problem has a hint of its own.
    pub remedy: &'static str,
}

/// What is rebuilt or set aside.
const REPAIR: &str = "aye doctor --repair";

/// What is wrong with what other clones have recorded.
const OWNER: &str = "`aye log ID` shows the events; say again what you said yourself, and ask the owner of the lane \
                     about the rest";

const TIPS: &str = "`git for-each-ref refs/aye` shows both tips; ask the owner of the lane which is right (of this \
                    clone's own lane, what it writes next begins a new one, which can be pushed; where it went \
                    back to a backup, `git update-ref` moves it forward)";

/// What to do about the problem or the notice called `code`.
pub fn remedy(code: &str) -> &'static str {
    KNOWN.iter().find(|known| known.code == code).map_or(REPAIR, |known| known.remedy)
}

/// Declares the table.
macro_rules! known {
    ($($code:literal, $meaning:literal, $remedy:expr;)*) => {
        /// Every kind, of problems and then of notices.
        pub static KNOWN: &[Known] =
            &[$(Known { code: $code, meaning: $meaning, remedy: $remedy }),*];
    };
}

known! {
    "lane_broken", "a lane of this clone cannot be read to its end",
        "restore the object from a backup or another clone; aye doctor --repair sets the lane aside, and begins a new one";
    "object_missing", "an object that an event names is damaged or missing",
        "fetch it from a clone that has it: git fetch --refetch REMOTE";
    "changeset_invalid", "the changes of an event cannot be read", REPAIR;
    "cache_tampered", "the cache does not hold what the lanes say", REPAIR;
    "projection_changed", "a file that shows a proposal was changed; nothing is read from it", REPAIR;
    "projection_missing", "a file that shows a proposal is missing", REPAIR;
    "projection_stale", "a file that shows a proposal is behind", REPAIR;
    "projection_unexpected", "a file that shows a proposal is of none", REPAIR;
    "projection_unreadable", "a file that shows a proposal cannot be read", REPAIR;
    "pending_ref_moved", "a ref of a pending proposal names another commit", REPAIR;
    "pending_ref_missing", "a ref of a pending proposal is missing", REPAIR;
    "pending_ref_unexpected", "a ref is of no pending proposal", REPAIR;
    "journal_invalid", "the journal of an interrupted apply cannot be read", REPAIR;
    "journal_foreign", "the journal of an interrupted apply is of another work tree", REPAIR;
    "left_over", "a process that was stopped has left files", REPAIR;
    "private_dir_unsafe", "a symlink or a file of the wrong kind is where aye keeps its own", "look at it, then remove it";
    "git_lock_stale", "a lock of git is older than a git process lasts",
        "if no git process is running, remove the file";
    "not_writable", "aye cannot write where it has to",
        "give it to the user who runs aye, or let that user write it";
    "private_lane_pushed", "a setting would push lanes to somebody they are not for",
        "git config --unset-all that key, and push branches and refs/aye/log/* by name";
    "invalid_policy", "the policy cannot be read, so the gate is closed", "correct the file";
    "memory_config_invalid", "the settings of memory cannot be read, so the gate is closed", "correct the file";
    "lane_unreadable", "a lane of another clone cannot be read to its end",
        "it comes from a remote, nothing of this clone is lost; where it is whole there, \
         `git fetch --refetch REMOTE` gets it again, else ask its owner to repair it";
    "lane_incomplete", "a lane is not in this partial clone to its end",
        "nothing is damaged: it is read as soon as the remote of this partial clone answers; if that does not \
         have it any more, ask the owner of the lane";
    "lane_rewound", "a remote no longer has what it had of a lane", TIPS;
    "lane_equivocates", "one lane has two histories", TIPS;
    "duplicate_id", "two first events have one proposal id; the later one is ignored",
        "`aye log ID` shows the events; ask the owner of the lane";
    "event_rejected", "an event contradicts the others of its proposal, or its publication, and is ignored", OWNER;
    "purged_content", "a proposal was purged by its owner, and what it said is still here",
        "`aye purge ID -m TEXT` removes what its owner's purge has superseded, and prints what is left and where";
    "lane_shallow", "a lane is not in this shallow clone from its beginning",
        "what is here counts; `git fetch --unshallow` fetches proposals and decisions before that";
    "lane_forked", "a lane goes on from another one, as in a copied or restored repository",
        "nothing is to be done: what both lanes say counts";
    "remote_password", "the URL of a remote in git's configuration holds a password or a token",
        "take it out (git remote set-url), and let a credential helper keep it (git help credentials)";
    "sandbox_missing", "the kernel offers no Landlock and seccomp, which confine what `aye shell` runs",
        "Linux 5.13 or later with Landlock; without it `aye shell` runs one reading program for each call";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::TroubleKind;

    #[test]
    fn every_code_is_there_once() {
        let mut codes: Vec<&str> = KNOWN.iter().map(|known| known.code).collect();
        for kind in TroubleKind::ALL {
            assert!(codes.contains(&kind.id()), "{}", kind.id());
        }
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
