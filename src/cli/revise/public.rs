//! `--public`: let others see a private proposal.

use crate::app::outgoing::{Outgoing, OutgoingFile, outgoing};
use crate::cli::Context;
use crate::cli::asking::Asking;
use crate::decide;
use crate::error::{Exit, Result};
use crate::proposal::Proposal;
use crate::proposal::rules::Verb;
use crate::scan::gate::Warning;
use crate::store::{Audience, Store};
use crate::text::escape;

/// How a private proposal is published.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Publishing")]
pub struct PublicArgs {
    /// Let others see it, though it is, or would be, private.
    ///
    /// The next push includes it. What goes out is shown before the question. The id stays; revisions and comments
    /// from before stay private.
    #[arg(long)]
    pub public: bool,
    /// The remote that it is for (default: aye.remote, or else origin).
    #[arg(long, value_name = "REMOTE", requires = "public")]
    pub to: Option<String>,
    /// Publish without being asked.
    #[arg(long, short = 'y', requires = "public")]
    pub yes: bool,
}

/// What goes out, in lines.
fn lines(sent: &Outgoing) -> Vec<String> {
    let file = |file: &OutgoingFile| {
        let ignored = if file.is_ignored { "git ignores it, and " } else { "" };
        let name = escape::name(&file.path.display().to_string());
        format!("{name}: {ignored}all of it will be in the log")
    };
    let warning = |it: &Warning| format!("warning: {}", escape::line(&it.line()));
    sent.files.iter().map(file).chain(sent.warnings.iter().map(warning)).collect()
}

/// Publishes `proposal`.
///
/// # Errors
/// `not_private`, `not_pending`, `remote_not_found`, `private_path`, the refusals of [`Context::authorise`].
pub fn publish(
    context: &mut Context,
    store: &Store,
    proposal: &Proposal,
    args: &PublicArgs,
) -> Result<Exit> {
    let view = store.view()?;
    let seen = decide::Seen::now(store, &view)?;
    let is_private = view.audience(&proposal.id)? == Audience::Private;
    drop(view);
    let to = match args.to.as_deref() {
        None | Some("default") => Audience::Default,
        Some(remote) => store.audience_of_remote(remote)?,
    };
    let whom = match &to {
        Audience::Remote(remote) => format!("the remote '{remote}'"),
        _ => "the default remote".to_owned(),
    };
    let asking = Asking {
        verb: Verb::Publish,
        proposals: std::slice::from_ref(proposal),
        yes: args.yes,
        question: &format!("Publish {} to {whom}?", proposal.id),
        command: &format!("aye revise {} --public", proposal.id),
    };
    let by_flag = context.by_flag(store, &asking)?;
    let sent = if is_private {
        outgoing(store, proposal)?
    } else {
        // Which is refused.
        Outgoing::default()
    };
    lines(&sent).iter().for_each(|line| context.note(line));
    let Some(authority) = context.asked(store, &asking, by_flag)? else {
        return context.declined("nothing published");
    };
    decide::publish(store, &authority, context.now, proposal, &seen, &to)?;
    context.print(format!("{}  published for {whom}\n", proposal.id).as_bytes())?;
    let command = match &to {
        Audience::Remote(remote) => {
            format!("git push {remote} 'refs/aye/for/{remote}/*:refs/aye/log/*'")
        }
        _ => "git push REMOTE 'refs/aye/log/*'".to_owned(),
    };
    context.note(&format!("send it: {command}"));
    Ok(Exit::Done)
}
