//! Restriction of a check to some proposals.

use bstr::BString;

use crate::changeset::RepoPath;
use crate::proposal::Proposal;
use crate::proposal::event::Subject;

/// All proposals by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub kind: Option<Subject>,
    /// Relative to the top, no final slash; an empty path is the top, an empty list covers all.
    pub paths: Vec<BString>,
}

impl Scope {
    pub fn is_everything(&self) -> bool {
        self.kind.is_none() && self.paths.is_empty()
    }

    pub fn covers(&self, path: &RepoPath) -> bool {
        let path = path.as_bstr();
        self.paths.is_empty()
            || self.paths.iter().any(|directory| match path.strip_prefix(directory.as_slice()) {
                Some(rest) => directory.is_empty() || rest.is_empty() || rest.starts_with(b"/"),
                None => false,
            })
    }

    /// True if the current revision changes a covered file.
    pub fn takes(&self, proposal: &Proposal) -> bool {
        self.kind.is_none_or(|kind| proposal.subject == kind)
            && (self.paths.is_empty()
                || proposal.current().changes.iter().any(|change| self.covers(&change.path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_covers_what_is_below_it_and_no_namesake() {
        let covers = |directory: &str, path: &str| {
            let scope = Scope { paths: vec![directory.into()], ..Scope::default() };
            scope.covers(&RepoPath::new(path).unwrap())
        };
        assert!(covers("src", "src/a.rs"));
        assert!(covers("src/a.rs", "src/a.rs"));
        assert!(covers("", "src/a.rs"));
        assert!(!covers("src", "srcs/a.rs"));
        assert!(!covers("src/a", "src/a.rs"));
        assert!(Scope::default().covers(&RepoPath::new("a").unwrap()));
    }
}
