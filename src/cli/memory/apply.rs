//! `aye memory apply`.

use std::collections::BTreeMap;

use super::{open, respond_decided};
use crate::changeset::marks::in_question;
use crate::check::marks;
use crate::cli::Context;
use crate::cli::apply::preview;
use crate::cli::identity::Asking;
use crate::cli::marks::notice;
use crate::cli::which::{One, require_named_revision};
use crate::decide;
use crate::error::{Exit, Result};
use crate::memory::service::locate::staging_id;
use crate::proposal::codes;
use crate::proposal::event::Effect;
use crate::proposal::rules::Verb;

/// Apply a staged proposal: its operations are planned again on the files as they are now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory apply --latest
  aye memory apply 20261122T093000 --yes

Exit status: 0 applied, 4 a person has to decide; else that of the reason in the answer, such as
5 where the files have changed since.")]
pub struct Args {
    /// Which.
    #[command(flatten)]
    pub which: One,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Runs the command.
///
/// # Errors
/// `staging_not_found`, `not_pending`, the refusals of a decision, and those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let proposal = service.find(args.which.named()?)?;
    let id = staging_id(&proposal).unwrap_or(proposal.id.as_str()).to_owned();
    let command = format!("aye memory apply {id}");
    if args.yes {
        require_named_revision(args.which.id.as_deref(), &proposal)?;
    }
    let marks = marks::of_each(&store, std::slice::from_ref(&proposal))?;
    let asking = Asking {
        verb: Verb::Apply,
        proposals: std::slice::from_ref(&proposal),
        yes: args.yes,
        question: &format!("Apply {id}{}?", in_question(marks.iter().map(Vec::as_slice))),
        command: &command,
    };
    decide::require_recorded(&store, &store.view()?, &proposal)?;
    if let Some(authority) = context.by_flag(&store, &asking)? {
        let response = decide::memory::apply(&service, &authority, &proposal, None)?;
        marks.iter().for_each(|marks| notice(context, marks));
        return respond_decided(context, "aye/memory-apply@1", response);
    }
    loop {
        // What cannot be planned is refused by what plans it again, with the contract's answer.
        let shown =
            preview::shown(&store, asking.proposals, (None, &BTreeMap::new()), Effect::Files)
                .unwrap_or_default();
        preview::present(context, &store, &shown, None)?;
        let Some(authority) = context.asked(&store, &asking)? else {
            context.note("nothing applied");
            return Ok(Exit::Negative);
        };
        // The answer may have come much later.
        let service = open(context, &store)?;
        match decide::memory::apply(&service, &authority, &proposal, shown.first()) {
            Err(error) if error.is(&codes::CHANGED_SINCE_SHOWN) => {
                context.look_again(&error);
            }
            answer => return respond_decided(context, "aye/memory-apply@1", answer?),
        }
    }
}
