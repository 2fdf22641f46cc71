//! Digest of several proposals decided in one answer, as each statement names it (`group`). Pure.

use super::DecisionPlan;
use crate::proposal::Proposal;
use crate::sha256;

const FORMAT: &str = "aye-group@1";

/// Hex digest of applying `shown` in this order. One line each: first event, revision, and SHA-256
/// of the manifest, or `-` if the proposal does not fit. `takes_residue` approves other changes,
/// too.
pub fn of_apply<'s>(
    shown: impl IntoIterator<Item = &'s DecisionPlan>,
    takes_residue: bool,
) -> String {
    let line = |shown: &DecisionPlan| {
        let fits = shown.plan.refusal().is_none();
        let bytes = || {
            if takes_residue { shown.with_residue().to_bytes() } else { shown.manifest.to_bytes() }
        };
        let manifest = fits.then(|| sha256::hex(&bytes()));
        line(&shown.proposal, manifest.as_deref())
    };
    digest("apply", shown.into_iter().map(line))
}

/// Hex digest of rejecting `proposals`.
pub fn of_reject<'p>(proposals: impl IntoIterator<Item = &'p Proposal>) -> String {
    digest("reject", proposals.into_iter().map(|proposal| line(proposal, None)))
}

fn line(proposal: &Proposal, manifest: Option<&str>) -> String {
    let (first, revision) = (&proposal.first_event, &proposal.current().event);
    format!("{first} {revision} {}\n", manifest.unwrap_or("-"))
}

fn digest(verdict: &str, lines: impl Iterator<Item = String>) -> String {
    let text: String = std::iter::once(format!("{FORMAT} {verdict}\n")).chain(lines).collect();
    sha256::hex(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_verdict_count() {
        let lines = ["a b -\n", "c d -\n"].map(str::to_owned);
        let [first, second] = lines.clone();
        assert_ne!(
            digest("apply", lines.clone().into_iter()),
            digest("reject", lines.clone().into_iter())
        );
        assert_ne!(
            digest("apply", lines.into_iter()),
            digest("apply", [second, first].into_iter())
        );
    }
}
