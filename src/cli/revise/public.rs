//! `--public`: let others see a private proposal.

use crate::app::outgoing::{Outgoing, OutgoingFile, outgoing};
use crate::cli::Context;
use crate::cli::authorisation::AuthorityRequest;
use crate::decide;
use crate::error::{Exit, Result};
use crate::proposal::Proposal;
use crate::proposal::rules::Verb;
use crate::scan::gate::ScanWarning;
use crate::store::{Space, Store};
use crate::text::escape;

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Publishing")]
pub struct PublicArgs {
    /// Let others see it, though it is, or would be, private.
    ///
    /// The next sync sends it. The outgoing content is shown before the question. The id stays;
    /// revisions and comments from before stay private.
    #[arg(long)]
    pub public: bool,
    /// Publish without being asked.
    #[arg(long, short = 'y', requires = "public")]
    pub yes: bool,
}

fn lines(sent: &Outgoing) -> Vec<String> {
    let file = |file: &OutgoingFile| {
        let ignored = if file.is_ignored { "git ignores it, and " } else { "" };
        let name = escape::name(&file.path.display().to_string());
        format!("{name}: {ignored}all of it will be in the log")
    };
    let warning = |it: &ScanWarning| format!("warning: {}", escape::line(&it.line()));
    sent.files.iter().map(file).chain(sent.warnings.iter().map(warning)).collect()
}

/// # Errors
/// `not_private`, `not_pending`, `private_path`, and the refusals of [`Context::authorise`].
pub fn publish(
    context: &mut Context,
    store: &Store,
    proposal: &Proposal,
    args: &PublicArgs,
) -> Result<Exit> {
    let view = store.view()?;
    let seen = decide::ViewedState::now(&view, [&proposal.id])?;
    let is_private = view.space(&proposal.id)? == Space::Private;
    drop(view);
    let asking = AuthorityRequest {
        verb: Verb::Publish,
        proposals: std::slice::from_ref(proposal),
        yes: args.yes,
        question: &format!("Publish {}?", proposal.id),
        command: &format!("aye revise {} --public", proposal.id),
    };
    let by_flag = context.authorise_by_flag(store, &asking)?;
    let sent = if is_private {
        outgoing(store, proposal)?
    } else {
        // The publication is refused below.
        Outgoing::default()
    };
    lines(&sent).iter().for_each(|line| context.note(line));
    let Some(authority) = context.authorise_by_question(store, &asking, by_flag)? else {
        return context.declined("nothing published");
    };
    decide::publish(store, &authority, context.now, proposal, &seen)?;
    context.print(format!("{}  published\n", proposal.id).as_bytes())?;
    if !store.enabled_remotes().is_empty() {
        context.note("send it: aye sync");
    }
    Ok(Exit::Done)
}
