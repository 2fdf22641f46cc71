//! Words of events: enums, most of which keep a word that they do not have.

use crate::words::words;

words! {
    /// What was decided.
    pub enum Verdict {
        /// It was applied.
        Apply = "apply",
        /// It was approved; nothing was written.
        Approve = "approve",
        /// It was rejected.
        Reject = "reject",
        /// It was sent back to its proposer.
        RequestChanges = "request_changes",
        /// Its proposer took it back.
        Withdraw = "withdraw",
        /// A decision was taken back.
        Undo = "undo",
        /// It has seven days more.
        Extend = "extend",
    }
}

words! {
    /// What was to be done beyond deciding.
    pub enum Effect {
        /// Nothing: the caller changes the files.
        MarkOnly = "mark_only",
        /// The work tree was written.
        Files = "files",
        /// The work tree and the index were written.
        Index = "index",
        /// It was written and committed.
        Commit = "commit",
    }
}

words! {
    /// What a mark says.
    pub enum Marked {
        /// The tool's caller says that it carries the change out.
        Applied = "applied",
        /// The tool's caller says that it drops the change.
        Rejected = "rejected",
    }
}

/// Declares an enum of the words that this version writes. A word that a newer version has written is
/// `Other`, and is written again as it was read.
macro_rules! open_words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A word that a newer version wrote; it counts as none of the above.
            Other(String),
        }

        impl $name {
            /// The word used in events, statements and output.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::Other(text),
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                match word {
                    $name::Other(text) => text,
                    known => known.as_str().to_owned(),
                }
            }
        }
    };
}

open_words! {
    /// What shows that the actor decided.
    pub enum Evidence {
        /// A person answered at a terminal.
        Terminal = "terminal",
        /// `--yes`, without a question.
        Flag = "flag",
        /// A call of a tool contract.
        Tool = "tool",
        /// A git hook.
        Hook = "hook",
    }
}

open_words! {
    /// The form in which the changes of a proposal came.
    #[derive(Default)]
    pub enum InputForm {
        /// Old and new text.
        #[default]
        Snippet = "snippet",
        /// A unified diff or an envelope.
        Patch = "patch",
        /// Uncommitted changes of the work tree.
        Worktree = "worktree",
        /// A commit or a range; or what a commit hook made of files.
        Commit = "commit",
        /// A call of a tool contract.
        Tool = "tool",
        /// The work tree of an agent's session.
        Session = "session",
        /// Part of another proposal.
        Split = "split",
        /// A request about the project's memory.
        Memory = "memory",
    }
}

open_words! {
    /// What a comment wants.
    #[derive(Default)]
    pub enum CommentKind {
        /// Nothing: a remark.
        #[default]
        Plain = "comment",
        /// Other lines, which it holds.
        Suggestion = "suggestion",
        /// An answer.
        Question = "question",
    }
}

impl CommentKind {
    /// True for a plain remark.
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

open_words! {
    /// Why a proposal has a revision.
    pub enum RevisionReason {
        /// It came with the proposal.
        First = "first",
        /// The proposer's new content.
        Answer = "answer",
        /// A reviewer took some of the hunks.
        Partial = "partial",
        /// A reviewer edited it.
        Edited = "edited",
        /// The same change to newer files.
        Rebase = "rebase",
    }
}

open_words! {
    /// What an apply, or an undo, came to for one file.
    pub enum FileOutcome {
        /// The file was what the change starts from.
        Clean = "clean",
        /// The file was already what the change leads to.
        Already = "already",
        /// The file had changed elsewhere; both were merged.
        Merged = "merged",
        /// The reviewer changed what was proposed.
        Edited = "edited",
        /// It was generated from the other files.
        Derived = "derived",
        /// A commit hook made of it something else than was approved.
        Hooked = "hook",
    }
}

impl InputForm {
    /// True where they were read from files or commits, so that nobody has typed them for this: whatever else
    /// stands there comes along.
    pub fn is_read_from_files(&self) -> bool {
        matches!(self, Self::Worktree | Self::Commit | Self::Session)
    }
}

impl FileOutcome {
    /// True where what was written is what the proposal has, so that it is in no other object.
    pub fn is_of_proposal(&self) -> bool {
        matches!(self, Self::Clean | Self::Already)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_as_they_are() {
        for text in ["terminal", "flag", "tool", "hook", "seal", ""] {
            let json = serde_json::to_string(text).unwrap();
            let word: Evidence = serde_json::from_str(&json).unwrap();
            assert_eq!(matches!(word, Evidence::Other(_)), ["seal", ""].contains(&text));
            assert_eq!((word.as_str(), serde_json::to_string(&word).unwrap()), (text, json));
        }
    }
}
