//! Several proposals decided in one answer: a digest of what was shown of them, which each event names
//! (`data.group`). Pure.

use super::Shown;
use crate::proposal::Proposal;
use crate::sha256;

/// Name and version of what is hashed.
const FORMAT: &str = "aye-group@1";

/// The digest, in hex, of applying `shown` in this order: a line for each with the first event of the
/// proposal, the revision, and the SHA-256 of the manifest of what it writes (`-` where it does not fit), with
/// foreign changes approved too if it `takes_residue`.
pub fn of_apply<'s>(shown: impl IntoIterator<Item = &'s Shown>, takes_residue: bool) -> String {
    let line = |shown: &Shown| {
        let fits = shown.plan.refusal().is_none();
        let bytes = || {
            if takes_residue { shown.with_residue().to_bytes() } else { shown.manifest.to_bytes() }
        };
        let manifest = fits.then(|| sha256::hex(&bytes()));
        line(&shown.proposal, manifest.as_deref())
    };
    digest("apply", shown.into_iter().map(line))
}

/// The digest, in hex, of rejecting `proposals`.
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
