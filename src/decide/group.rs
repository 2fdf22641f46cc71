//! Several proposals decided in one answer: what was shown of them, bound to one digest.
//!
//! `--dry-run` prints the digest and `--yes=DIGEST` decides on exactly that; what was decided names it
//! in each event (`data.group`). Pure.

use super::Shown;
use crate::error::{Error, Result};
use crate::proposal::{Proposal, codes};
use crate::sha256;

/// Name and version of what is hashed.
const FORMAT: &str = "aye-group@1";

/// Fewest digits of a digest that name it.
const FEWEST: usize = 4;

/// The digest, in hex, of applying `shown` in this order: a line for each with the first event of the
/// proposal, the revision, and the SHA-256 of the manifest of what it writes (`-` where it does not fit), with
/// foreign changes approved too if it `takes_residue`.
pub fn of_apply<'s>(shown: impl IntoIterator<Item = &'s Shown>, takes_residue: bool) -> String {
    let line = |shown: &Shown| {
        let fits = shown.plan.refusal().is_none();
        let bytes = || match takes_residue {
            true => shown.with_residue().to_bytes(),
            false => shown.manifest.to_bytes(),
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

/// Refuses where `named`, the beginning of the digest of what was shown, is not `now`'s.
///
/// # Errors
/// `changed_since_shown`; `revision_required` for too few digits.
pub fn require_same(named: &str, now: &str) -> Result<()> {
    let is_digest = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if named.len() < FEWEST || !is_digest(named) {
        return Err(Error::new(
            &codes::REVISION_REQUIRED,
            format!("'{named}' is not a digest, or fewer than {FEWEST} digits of one"),
        )
        .hint("--dry-run prints the digest of what would be decided"));
    }
    if now.starts_with(named) {
        return Ok(());
    }
    Err(Error::new(
        &codes::CHANGED_SINCE_SHOWN,
        "these are not the proposals that were shown, or not at the same revisions, or they would \
         write something else by now",
    )
    .with("group", now.to_owned())
    .hint("nothing was decided; look again with --dry-run"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_named_by_its_beginning() {
        let digest = digest("apply", std::iter::once("a b -\n".to_owned()));
        assert!(require_same(&digest[..4], &digest).is_ok());
        let other = if digest.starts_with('0') { "1111" } else { "0000" };
        assert!(require_same(other, &digest).unwrap_err().is(&codes::CHANGED_SINCE_SHOWN));
        for named in ["", &digest[..3], "wxyz"] {
            assert!(require_same(named, &digest).unwrap_err().is(&codes::REVISION_REQUIRED));
        }
    }

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
