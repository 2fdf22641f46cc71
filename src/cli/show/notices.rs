//! What deserves a second look in a proposal, in words: beside a question, a diff, a decision.

use crate::changeset::instructions::Instructions;
use crate::changeset::sensitive;
use crate::cli::Context;
use crate::error::Error;
use crate::proposal::Proposal;
use crate::proposal::event::Subject;
use crate::render::style::{Palette, Role};
use crate::scan::gate::Warning;
use crate::store::Store;
use crate::text::escape;

/// The paths of a code proposal that deserve a second look, with the reason. Memory's own
/// operations are checked and shown as such.
pub fn noticed<C: sensitive::Touched>(
    instructions: &Instructions,
    proposal: &Proposal,
    changes: &[C],
) -> Vec<String> {
    if proposal.subject != Subject::Code {
        return Vec::new();
    }
    let found = sensitive::of(changes, instructions);
    found.into_iter().map(|(path, why)| format!("{} {why}", path.display())).collect()
}

/// The same as notes beside what is printed.
pub fn notice<C: sensitive::Touched>(
    context: &Context,
    store: &Store,
    proposal: &Proposal,
    changes: &[C],
) {
    // Reading them costs a look at the whole index.
    if proposal.subject != Subject::Code {
        return;
    }
    for line in notice_lines(&noticed(&store.instructions(), proposal, changes)) {
        context.note(&line);
    }
}

/// The same of all that `proposals` change, where they are decided without a question.
pub fn notice_all<'p>(
    context: &Context,
    store: &Store,
    proposals: impl IntoIterator<Item = &'p Proposal>,
) {
    let mut of_code =
        proposals.into_iter().filter(|proposal| proposal.subject == Subject::Code).peekable();
    if of_code.peek().is_none() {
        return;
    }
    let instructions = store.instructions();
    for proposal in of_code {
        for line in notice_lines(&noticed(&instructions, proposal, &proposal.current().changes)) {
            context.note(&line);
        }
    }
}

/// Says of a file that is not there only because the sparse checkout excludes it, by `refusal`, what to do.
pub fn notice_sparse(context: &Context, store: &Store, refusal: &Error) {
    if let (Some(path), Some(hint)) = (store.left_out(refusal), store.sparse_hint(refusal)) {
        context.note(&format!("note: {}: {}", escape::line(&path), escape::line(&hint)));
    }
}

/// The lines of `notices`.
fn notice_lines(notices: &[String]) -> Vec<String> {
    let shown = notices.iter().take(SHOWN).map(|notice| format!("! {}", escape::line(notice)));
    let more = notices.len().saturating_sub(SHOWN);
    shown.chain((more > 0).then(|| format!("! and {more} more"))).collect()
}

/// A hostile proposal may hold thousands; the count says so.
const SHOWN: usize = 20;

/// Sensitive paths; then secrets, personal data and text that misleads, in what the proposal adds.
pub(super) fn warned(notices: &[String], warnings: &[Warning], palette: &Palette) -> String {
    if notices.is_empty() && warnings.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n");
    for line in notice_lines(notices) {
        out += &format!("{}\n", palette.paint(Role::Warn, line));
    }
    for warning in warnings.iter().take(SHOWN) {
        let line = format!("warning: {}", escape::line(&warning.line()));
        out += &format!("{}\n", palette.paint(Role::Warn, line));
    }
    if warnings.len() > SHOWN {
        out += &format!("warning: and {} more\n", warnings.len() - SHOWN);
    }
    out
}
