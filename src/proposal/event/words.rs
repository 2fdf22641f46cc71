//! Words of events. Most enums keep a word of a newer version.

use crate::words::words;

words! {
    pub enum Verdict {
        Apply = "apply",
        /// Writes nothing.
        Approve = "approve",
        Reject = "reject",
        RequestChanges = "request_changes",
        Withdraw = "withdraw",
        Undo = "undo",
        /// Seven more days.
        Extend = "extend",
    }
}

words! {
    /// The effect beyond the decision.
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
    /// The claim of a mark.
    pub enum Marked {
        /// The tool's caller says that it carries the change out.
        Applied = "applied",
        /// The tool's caller says that it drops the change.
        Rejected = "rejected",
    }
}

/// Declares an enum of this version's words. Any other word becomes `Other` and is written back
/// unchanged.
macro_rules! open_words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// A newer version's word; it counts as none of the others.
            Other(String),
        }

        impl $name {
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
    pub enum Evidence {
        /// A person answered there.
        Terminal = "terminal",
        /// `--yes`, without a question.
        Flag = "flag",
        Tool = "tool",
        Hook = "hook",
    }
}

open_words! {
    #[derive(Default)]
    pub enum InputForm {
        #[default]
        Snippet = "snippet",
        /// Unified diff or envelope.
        Patch = "patch",
        Worktree = "worktree",
        /// A commit, a range, or a commit hook's changes.
        Commit = "commit",
        Tool = "tool",
        Session = "session",
        Split = "split",
        Memory = "memory",
    }
}

open_words! {
    #[derive(Default)]
    pub enum CommentKind {
        #[default]
        Plain = "comment",
        Suggestion = "suggestion",
        Question = "question",
    }
}

impl CommentKind {
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

open_words! {
    pub enum RevisionReason {
        First = "first",
        Answer = "answer",
        /// Some of the hunks.
        Partial = "partial",
        /// By a reviewer.
        Edited = "edited",
        /// The same change on newer files.
        Rebase = "rebase",
    }
}

open_words! {
    pub enum FileOutcome {
        /// The file was what the change starts from.
        Clean = "clean",
        /// The file had the result.
        Already = "already",
        /// The file had changed otherwise; both were merged.
        Merged = "merged",
        Edited = "edited",
        Derived = "derived",
        Hooked = "hook",
    }
}

impl InputForm {
    /// Nobody typed such content for the proposal, so it may hold unrelated text.
    pub fn is_read_from_files(&self) -> bool {
        matches!(self, Self::Worktree | Self::Commit | Self::Session)
    }
}

impl FileOutcome {
    /// True if the proposal's own objects hold the result.
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
