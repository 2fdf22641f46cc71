//! The command `aye purge`.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use self::text::{asked_for, ids, text};
use super::Context;
use super::authorisation::AuthorityRequest;
use crate::app::purge;
use crate::error::{Error, Exit, Result};
use crate::memory::service::{forget_index, forget_staging};
use crate::proposal::codes::CHANGED_SINCE_SHOWN;
use crate::proposal::rules::Verb;
use crate::proposal::{ActorKind, Data, Proposal, ProposalId, StoredEvent};
use crate::repository::Repository;
use crate::repository::policy::PersonCount;
use crate::store::{PurgeReport, PurgeRequest, PurgedBlobs, Store, Subjects, View, push_refspec};
use crate::text::escape;
use crate::{apply, decide};

/// Remove a proposal and everything recorded about it, for good.
///
/// Use it for a key, a password or a customer's data. A tombstone replaces the thread and says who
/// purged it and why. aye removes its refs (fetched ones too), ledger entries, readable copies and
/// saved reviews. Git drops the objects with its next prune. aye names the sessions that contain
/// it: `aye session end NAME --discard` removes them.
///
/// Other clones keep their copy until someone runs the same command there; `aye doctor` reports it
/// (`purged_content`). aye does not rewrite commits of the project. Replace a key that you pushed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye purge m4k8 -m 'a key in it'
  aye purge 3b18e512 -m 'customer data' --yes    each proposal with this blob

With purge_persons = 2 in the policy, the first person's command records a request, and a second
person's command removes the proposal.")]
pub struct Args {
    /// The proposal, by any unique beginning of its id; or a blob, by the beginning of its object
    /// id.
    #[arg(value_name = "ID|BLOB")]
    pub what: String,
    /// Why; the reason stays on record.
    #[arg(short = 'm', long = "message", value_name = "TEXT")]
    pub reason: String,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Remove nothing; show the removal.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// # Errors
/// `proposal_not_found`, `ambiguous_id`, `invalid_argument`, `revised_meanwhile`,
/// `changed_since_shown`; the refusals of [`Context::authorise`].
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let reason = args.reason.trim();
    if reason.is_empty() {
        return Err(Error::new(&crate::error::codes::INVALID_ARGUMENT, "-m is empty")
            .hint("say why; it stays on record: -m 'a key in it'"));
    }
    let store = context.store()?;
    let view = store.view()?;
    let subjects = store.purge_subjects(&view, &args.what)?;
    let asking = missing_requests(context, store.repository(), &view, &subjects)?;
    let contents = store.purge_contents(&view, &subjects)?;
    let outlook = match asking {
        Some(_) => PurgeReport::default(),
        None => store.purge_outlook(&view, &subjects, &contents)?,
    };
    let around = OtherHolders::of(&store, &view, &subjects, &contents)?;
    let text = |purged: &PurgeReport, around: &OtherHolders, is_done: bool| -> Result<String> {
        match asking {
            Some(_) => Ok(asked_for(&subjects, reason)),
            None => Ok(text(&subjects, purged, around, &remotes(&store, purged), is_done)),
        }
    };
    if args.dry_run {
        context.print(text(&outlook, &around, false)?.as_bytes())?;
        return Ok(Exit::Done);
    }
    let known: Vec<Proposal> =
        subjects.targets.iter().filter_map(|target| view.proposal(&target.id).ok()).collect();
    drop(view);
    let question = match asking {
        Some(_) => {
            format!(
                "The policy wants two persons. Record that {} should be purged?",
                ids(&subjects)
            )
        }
        None => {
            let outlook = text(&outlook, &around, false)?;
            format!("{}This cannot be undone. Go on?", escape::block(&outlook))
        }
    };
    let command = format!("aye purge {} -m TEXT", args.what);
    let asked = AuthorityRequest {
        verb: Verb::Purge,
        proposals: &known,
        yes: args.yes,
        question: &question,
        command: &command,
    };
    let Some(authority) = context.authorise(&store, &asked)? else {
        context.note("nothing purged");
        return Ok(Exit::Negative);
    };
    // The state may have changed since the question.
    let view = store.view()?;
    if missing_requests(context, store.repository(), &view, &subjects)? != asking {
        let message = "whether another person has to ask as well is not as it was shown";
        return Err(Error::new(&CHANGED_SINCE_SHOWN, message)
            .hint(format!("nothing was purged; look again: {command} --dry-run")));
    }
    let around = OtherHolders::of(&store, &view, &subjects, &contents)?;
    drop(view);
    let purged = match &asking {
        Some(ids) => {
            let blob = subjects.blob.as_deref();
            decide::purge::ask(&store, &authority, context.now, ids, reason, blob)?;
            PurgeReport::default()
        }
        None => {
            store.repository().make_private()?;
            let journal = apply::lock(&store)?;
            let purging = PurgeRequest { subjects: &subjects, contents: &contents, reason };
            let purged = store.purge(&authority, context.now, &purging)?;
            forget(&store, &subjects)?;
            drop(journal);
            purged
        }
    };
    context.print(text(&purged, &around, true)?.as_bytes())?;
    Ok(Exit::Done)
}

struct OtherHolders {
    standing: Vec<purge::RemainingCopy>,
    sessions: Vec<String>,
    also_in: Vec<ProposalId>,
}

impl OtherHolders {
    fn of(store: &Store, view: &View, subjects: &Subjects, contents: &PurgedBlobs) -> Result<Self> {
        Ok(Self {
            standing: purge::standing(store, contents)?,
            sessions: store.sessions_with(contents)?,
            also_in: purge::naming_too(store, view, subjects, contents)?,
        })
    }
}

fn forget(store: &Store, subjects: &Subjects) -> Result<()> {
    for top in store.repository().work_trees() {
        let there = store.at(&top)?;
        for target in &subjects.targets {
            forget_staging(there.repository(), &target.id)?;
        }
        forget_index(there.repository())?;
    }
    Ok(())
}

/// Proposals that the caller can only ask to purge: the policy wants two persons, and nobody else
/// has asked. Earlier requests are not repeated.
fn missing_requests<'s>(
    context: &Context,
    repository: &Repository,
    view: &View,
    subjects: &'s Subjects,
) -> Result<Option<Vec<&'s ProposalId>>> {
    if repository.policy()?.purge_persons == PersonCount::One {
        return Ok(None);
    }
    let me = context.actor(repository).identity();
    // A purge in another clone counts as a request.
    let followed: Vec<ProposalId> = (view.store().purged_content(view)?.into_iter())
        .filter(|holder| !holder.is_own)
        .map(|holder| holder.id)
        .collect();
    let (mut lacks, mut new) = (false, Vec::new());
    for target in subjects.targets.iter().filter(|target| target.record.is_none()) {
        let asked = requesters(view, &target.id);
        if !followed.contains(&target.id) && !asked.iter().any(|identity| *identity != me) {
            lacks = true;
            if !asked.contains(&me) {
                new.push(&target.id);
            }
        }
    }
    Ok(lacks.then_some(new))
}

/// People who asked for the purge or carried it out; none if that cannot be read.
fn requesters(view: &View<'_>, id: &ProposalId) -> BTreeSet<String> {
    let thread = view.thread(id).ok();
    let events = thread.iter().flat_map(|thread| thread.history.events());
    let asks = |stamped: &&StoredEvent| matches!(&stamped.event.data, Data::Purge(it) if it.asked);
    let asked = events.filter(asks).map(|stamped| stamped.event.actor.clone());
    let purged = view.purges_elsewhere(id).unwrap_or_default();
    let all = asked.chain(purged.into_iter().map(|record| record.by));
    all.filter(|actor| actor.kind == ActorKind::Human).map(|actor| actor.identity()).collect()
}

/// Commands to push the tombstone and the deletions. Git only warns of a missing ref.
fn remotes(store: &Store, purged: &PurgeReport) -> BTreeMap<String, Vec<String>> {
    let mut gone: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (remote, name) in purged.removed.iter().flat_map(|name| store.at_remotes(name)) {
        gone.entry(remote).or_default().insert(name);
    }
    let send = store.clone_id().map(|clone| push_refspec(&clone));
    let enabled = store.enabled_remotes();
    let commands = |(remote, names): (String, BTreeSet<String>)| {
        let sent = send.iter().map(|refspec| match enabled.contains(&remote) {
            true => format!("aye sync {remote}"),
            false => format!("git push {remote} '{refspec}'"),
        });
        let gone: String = names.iter().map(|name| format!(" :{name}")).collect();
        let commands = sent.chain([format!("git push {remote}{gone}")]).collect();
        (remote, commands)
    };
    gone.into_iter().map(commands).collect()
}
