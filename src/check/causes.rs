//! One finding for what many commits have from one cause.

use std::collections::BTreeMap;

use crate::report::{Finding, Level};

/// Ends in a proposal's name: which one it is makes no other cause.
pub(super) const UNKNOWN: &str = "names a proposal that is not known here: ";

/// A hint that names the first of the commits in the place of `COMMIT`.
pub(super) const PROPOSE: &str = "aye propose --commit COMMIT, then aye apply ID --mark-only";

/// Most commits and proposals that a finding names.
const MOST_NAMED: usize = 3;

struct Cause {
    finding: Finding,
    /// The message behind `commit 1234567`.
    predicate: String,
    commits: Vec<String>,
    proposals: Vec<String>,
}

/// Merges findings whose messages differ by `commit 1234567` alone. Each comes with the short id
/// of its commit.
pub(super) fn merge(found: Vec<(String, Finding)>) -> Vec<Finding> {
    let mut causes: Vec<Cause> = Vec::new();
    let mut known: BTreeMap<(Level, String, Option<String>), usize> = BTreeMap::new();
    for (commit, finding) in found {
        let rest = finding.message.strip_prefix(&format!("commit {commit} "));
        let is_about_commit = rest.is_some();
        let rest = rest.unwrap_or(&finding.message);
        let name = rest.strip_prefix(UNKNOWN).map(str::to_owned);
        let predicate = if name.is_some() { UNKNOWN.to_owned() } else { rest.to_owned() };
        let key = (finding.level, predicate.clone(), finding.hint.clone());
        let at = *known.entry(key).or_insert(causes.len());
        if at == causes.len() {
            let (commits, proposals) = (Vec::new(), Vec::new());
            causes.push(Cause { finding, predicate, commits, proposals });
        }
        let cause = &mut causes[at];
        cause.commits.extend(Some(commit).filter(|_| is_about_commit));
        cause.proposals.extend(name.filter(|name| !cause.proposals.contains(name)));
    }
    causes.into_iter().map(Cause::finding).collect()
}

impl Cause {
    fn finding(mut self) -> Finding {
        self.commits.dedup();
        if let [_, _, ..] = self.commits[..] {
            let (count, commits) = (self.commits.len(), named(&self.commits));
            let (predicate, proposals) = (self.predicate, named(&self.proposals));
            self.finding.message =
                format!("each of {count} commits ({commits}) {predicate}{proposals}");
        }
        if self.finding.hint.as_deref() == Some(PROPOSE)
            && let Some(commit) = self.commits.first()
        {
            self.finding.hint = Some(PROPOSE.replace("COMMIT", commit));
        }
        self.finding
    }
}

/// `a, b, c and 17 more`.
pub(super) fn named(all: &[String]) -> String {
    let first = all[..all.len().min(MOST_NAMED)].join(", ");
    match all.len().saturating_sub(MOST_NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(message: String) -> Finding {
        Finding::new("rule", Level::Error, message).hint("do it")
    }

    fn merged(found: Vec<(String, Finding)>) -> Vec<String> {
        merge(found).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn one_cause_is_one_finding() {
        let unknown =
            |n: usize| (format!("c{n}"), finding(format!("commit c{n} {UNKNOWN}prop_{}", n % 5)));
        assert_eq!(
            merged((0..20).map(unknown).collect()),
            ["each of 20 commits (c0, c1, c2 and 17 more) names a proposal that is not known \
              here: prop_0, prop_1, prop_2 and 2 more"]
        );
        assert_eq!(merged(vec![unknown(1)]), [format!("commit c1 {UNKNOWN}prop_1")]);
    }

    #[test]
    fn other_hints_levels_and_predicates_are_other_causes() {
        let of = |commit: &str, predicate: &str| {
            (commit.to_owned(), finding(format!("commit {commit} {predicate}")))
        };
        let note =
            ("b".to_owned(), Finding::new("rule", Level::Note, "commit b lies").hint("do it"));
        let other = ("c".to_owned(), finding("commit c lies".to_owned()).hint("do more"));
        let all = vec![of("a", "lies"), of("b", "errs"), note, other, of("d", "lies")];
        assert_eq!(
            merged(all),
            ["each of 2 commits (a, d) lies", "commit b errs", "commit b lies", "commit c lies"]
        );
        // About no commit, and said of two.
        let same = |commit: &str| (commit.to_owned(), finding("an object is missing".to_owned()));
        assert_eq!(merged(vec![same("a"), same("b")]), ["an object is missing"]);
    }
}
