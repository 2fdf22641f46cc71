//! Unreadable policy and memory settings, which close the gate.

use super::{Concern, FailOn};
use crate::memory::service::settings_problems;
use crate::report::Finding;
use crate::repository::Repository;

pub fn findings(repository: &Repository, fail_on: &FailOn) -> Vec<Finding> {
    let policy = repository.policy().err();
    let mut found = Vec::new();
    for error in policy.into_iter().chain(settings_problems(repository)) {
        let mut finding = fail_on.finding(Concern::PolicyInvalid, error.message());
        if let Some(hint) = error.hint_text() {
            finding = finding.hint(hint);
        }
        found.push(finding);
    }
    found
}
