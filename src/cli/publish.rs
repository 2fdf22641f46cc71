//! `aye publish`: let others see a private proposal.

use super::Context;
use super::identity::Asking;
use super::which::One;
use crate::app::outgoing::{Outgoing, OutgoingFile, outgoing};
use crate::decide;
use crate::error::{Exit, Result};
use crate::proposal::rules::Verb;
use crate::scan::gate::Warning;
use crate::store::Audience;
use crate::text::escape;

/// Publish a private proposal: the next push takes it along.
///
/// It keeps its id. Its first and its present content and everything that is said about it from now
/// on are for the default remote, or for the one that --to names; the revisions between, and what was
/// said before, stay private. Its files go out as a whole, whatever it changes of them: each is named
/// before the question, and so is what looks like a secret in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye publish m4k8
  aye publish m4k8 --yes
  aye publish m4k8 --to upstream

The lanes for another remote than the default one are pushed by:
  git push upstream 'refs/aye/for/upstream/*:refs/aye/log/*'")]
pub struct Args {
    /// The proposal.
    #[command(flatten)]
    pub which: One,
    /// The remote that it is for; `default` is the one that aye.remote names, or else origin.
    #[arg(long, value_name = "REMOTE")]
    pub to: Option<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
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

/// Runs the command.
///
/// # Errors
/// `proposal_not_found`, `not_private`, `not_pending`, `remote_not_found`, `private_path`, the
/// refusals of [`Context::authorise`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let view = store.view()?;
    let proposal = args.which.find(context, &view)?;
    let seen = decide::Seen::now(&store, &view)?;
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
        proposals: std::slice::from_ref(&proposal),
        yes: args.yes,
        question: &format!("Publish {} to {whom}?", proposal.id),
        command: &format!("aye publish {}", proposal.id),
    };
    let by_flag = context.by_flag(&store, &asking)?;
    let sent = match is_private {
        true => outgoing(&store, &proposal)?,
        // Which is refused.
        false => Outgoing::default(),
    };
    lines(&sent).iter().for_each(|line| context.note(line));
    let authority = match by_flag {
        Some(authority) => Some(authority),
        None => context.asked(&store, &asking)?,
    };
    let Some(authority) = authority else {
        context.note("nothing published");
        return Ok(Exit::Negative);
    };
    decide::publish(&store, &authority, context.now, (&proposal, &seen), &to)?;
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
