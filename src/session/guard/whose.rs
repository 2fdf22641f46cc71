//! Whose a change is, by the files that commands name.

use std::path::Path;

use bstr::{BString, ByteSlice as _};

use super::super::named::names;
use super::Claim;

/// What is asked of each file that has changed.
pub(super) struct Whose<'a> {
    /// What the command may have.
    pub(super) claim: Claim<'a>,
    /// The top of the work tree, as commands write it.
    top: String,
}

impl<'a> Whose<'a> {
    /// By `claim`, in the work tree `top`.
    pub(super) fn new(claim: Claim<'a>, top: &Path) -> Self {
        Self { claim, top: top.to_string_lossy().into_owned() }
    }

    /// Whether the command names it.
    pub(super) fn is_named(&self, path: &BString) -> bool {
        names(self.claim.command, &path.to_str_lossy(), &self.top)
    }

    /// Whether it is looked at when another command has ended.
    pub(super) fn is_for_others(&self, path: &BString) -> bool {
        let Claim { others, is_late, .. } = self.claim;
        let names = |other: &String| names(other, &path.to_str_lossy(), &self.top);
        !self.is_named(path) && (is_late || others.iter().any(names))
    }

    /// Whether it is for other commands, or was decided meanwhile: it is nothing that got lost.
    pub(super) fn is_others(&self, path: &BString) -> bool {
        self.is_for_others(path) || self.claim.decided.contains_key(path)
    }
}
