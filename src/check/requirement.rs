//! Whose changes need a proposal: by flag for all files, by the policy for some.

use globset::GlobSet;

use crate::changeset::{RepoPath, globs};
use crate::repository::Policy;

/// Ordered up to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    #[default]
    Nobody,
    /// Agents, as far as a commit shows them: see [`super::range`].
    Agents,
    All,
}

#[derive(Debug)]
pub struct Requirements {
    pub everywhere: Requirement,
    agents: GlobSet,
    all: GlobSet,
}

impl Requirements {
    /// The stricter of `everywhere` and `policy`, path by path.
    pub fn new(everywhere: Requirement, policy: &Policy) -> Self {
        // The policy was read, so its globs are valid.
        let set = |texts: &[String]| globs::set(texts).unwrap_or_default();
        let wanted = &policy.require_proposal;
        Self { everywhere, agents: set(&wanted.agents), all: set(&wanted.all) }
    }

    pub fn of(&self, path: &RepoPath) -> Requirement {
        let path = &path.to_path();
        let by_policy = if self.all.is_match(path) {
            Requirement::All
        } else if self.agents.is_match(path) {
            Requirement::Agents
        } else {
            Requirement::Nobody
        };
        self.everywhere.max(by_policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::policy::RequireProposal;

    #[test]
    fn the_stricter_of_flag_and_policy_holds() {
        let require_proposal =
            RequireProposal { agents: vec!["src/**".into()], all: vec!["src/auth/**".into()] };
        let policy = Policy { require_proposal, ..Policy::default() };
        let of = |flag: Requirement, path: &str| {
            Requirements::new(flag, &policy).of(&RepoPath::new(path).unwrap())
        };
        assert_eq!(of(Requirement::Nobody, "README"), Requirement::Nobody);
        assert_eq!(of(Requirement::Nobody, "src/a.rs"), Requirement::Agents);
        assert_eq!(of(Requirement::Agents, "src/auth/a.rs"), Requirement::All);
        assert_eq!(of(Requirement::Agents, "README"), Requirement::Agents);
        assert_eq!(of(Requirement::All, "src/a.rs"), Requirement::All);
    }
}
