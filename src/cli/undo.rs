//! `aye undo`: take a decision back.

use super::apply::answer::{Answer, FileItem, Item, text};
use super::apply::preview;
use super::branch::BranchArgs;
use super::identity::Asking;
use super::{Context, Format};
use crate::changeset::FileChange;
use crate::changeset::plan::{Planned, Resolution};
use crate::decide::verdict::{self, Word};
use crate::decide::{self, Seen, Undone};
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::codes::NOT_APPLIED;
use crate::proposal::document::file_path;
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::proposal::statement::Target;
use crate::proposal::{Authority, Proposal, State, Status};
use crate::render::age;
use crate::store::{Store, View};
use crate::text::escape;

/// Undo a decision: the proposal is pending again, and the files that it wrote are restored.
///
/// Without an id, at a terminal: the last decision of this clone that stands, or all those that were made
/// in one go with it (each within five seconds of the next), as at the end of a review; they are shown
/// first. A rejected or withdrawn proposal is pending again, and one that was sent back is in the queue again.
///
/// What was applied on another branch than the one that is checked out is a question at a terminal, and --yes takes
/// it with --any-branch alone. Of an applied proposal, later changes elsewhere in the same files stay. Where the same lines have changed since,
/// nothing is written and the exit status is 5. A commit stays: commit what was put back.
///
/// One whose time has run out meanwhile gets another term, of `aye.expiresIn` (7 days).
///
/// A patch that was written without a proposal is undone by its patch_… id, as long as the files
/// hold exactly what it wrote.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye undo                     the last decision or the last review, at a terminal
  aye undo m4k8
  aye undo m4k8 --dry-run
  aye undo m4k8 --rejection    contested: the apply stands
  aye undo patch_0vqq4zhh0g    a patch that was written directly; aye log shows its id")]
pub struct Args {
    /// The proposal, or a direct patch (`patch_…`, see `aye log`); any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Do not write anything; only show what would be done.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
    /// Of a contested proposal the rejections alone: its apply stands.
    #[arg(long, requires = "id")]
    pub rejection: bool,
    /// Where it was applied.
    #[command(flatten)]
    pub branch: BranchArgs,
}

/// Runs the command.
///
/// # Errors
/// `usage` without an id and a terminal, `proposal_not_found`, `not_applied`, `not_rejected`, `conflict`, the refusals of
/// [`Context::authorise`], and those of [`decide::undo()`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let view = store.view()?;
    let seen = Seen::now(&store, &view)?;
    let proposal = match args.id.as_deref() {
        Some(id) if decide::patch::is_id(id) => return undo_patch(context, &store, id, &args),
        Some(id) => view.find(id)?,
        None => {
            let found = last(context, &store, &view)?;
            match <[Proposal; 1]>::try_from(found) {
                Ok([one]) => one,
                Err(several) => return undo_several(context, &store, (&several, &seen), &args),
            }
        }
    };
    drop(view);
    if args.rejection || is_no(&proposal) {
        return reopen(context, &store, (&proposal, &seen), &args);
    }
    let plan = decide::undo::preview(&store, &proposal)?;
    if args.dry_run {
        return dry_run(context, &store, &proposal, &plan);
    }
    if let Some(refusal) = plan.refusal() {
        return Err(decide::undo::conflict(&store, refusal, &proposal));
    }
    let asking = Asking {
        verb: Verb::Undo,
        proposals: std::slice::from_ref(&proposal),
        yes: args.yes,
        question: &question(&proposal, &args),
        command: &format!("aye undo {}", proposal.id),
    };
    let Some((authority, shown)) = agreed(context, &store, &asking, &plan, args.branch)? else {
        context.note("nothing undone");
        return Ok(Exit::Negative);
    };
    let undone = decide::undo(&store, &authority, context.now, &proposal, &seen, shown)?;
    note(context, &undone);
    // One that HEAD does not lead to is out of the way already.
    let commit = undone.commit.as_ref().filter(|commit| {
        (undone.files.is_empty() || undone.puts_back()) && leads_to(&store, commit)
    });
    if let Some(commit) = commit {
        let commit = escape::line(commit).into_owned();
        let how = match undone.files.is_empty() {
            true => format!("`git revert {commit}` undoes it"),
            false => "commit what was put back".to_owned(),
        };
        context.note(&format!("hint: commit {commit} stays; {how}"));
    }
    let again = again(context, &store, &proposal)?;
    let mut answer = answer(&proposal, &undone.files, undone.commit, false, true);
    is_now(&mut answer, again);
    let heading = format!("undone, {}", again.words());
    context.emit(Format::Text, &answer, || text(&answer, &heading))?;
    Ok(Exit::Done)
}

/// What was done with a proposal on a branch, in words.
const APPLIED: &str = "applied on";

/// Where the apply of `proposal` was to land, where this clone made it and it wrote files.
fn applied_on(store: &Store, proposal: &Proposal) -> Result<Option<Target>> {
    match proposal.decision().filter(|decision| !decision.written.is_empty()) {
        Some(decision) => decide::target(store, &store.view()?, proposal, decision),
        None => Ok(None),
    }
}

/// Puts what the proposal is now into `answer`.
fn is_now(answer: &mut Answer, again: Again) {
    for item in &mut answer.proposals {
        item.status = again.status;
    }
}

/// The authority to take a decision back, and what of `plan` was shown for it: all of it at a terminal, nothing by
/// flag. `None` after a no.
///
/// # Errors
/// As [`Context::authorise`] and [`preview::changes`]; `other_branch`.
fn agreed<'p>(
    context: &mut Context,
    store: &Store,
    asking: &Asking<'_>,
    plan: &'p Resolution,
    branch: BranchArgs,
) -> Result<Option<(Authority, Option<&'p Resolution>)>> {
    let applied = asking.proposals.first().map(|proposal| applied_on(store, proposal));
    let target = applied.transpose()?.flatten();
    if let Some(authority) = context.by_flag(store, asking)? {
        let command = format!("{} --yes", asking.command);
        branch.require_here(store, APPLIED, target.as_slice(), &command)?;
        return Ok(Some((authority, None)));
    }
    let changes: Vec<FileChange> = plan.writes().map(|file| file.change(None)).collect();
    preview::changes(context, store, &changes)?;
    let mut question = asking.question.to_owned();
    if let Some(there) = target.as_ref().and_then(|it| it.elsewhere(store.head_ref().as_deref())) {
        let (there, here) = (escape::name(there), escape::name(&store.branch()));
        question =
            format!("{}, {APPLIED} {there}, on {here}?", asking.question.trim_end_matches('?'));
    }
    let asking = Asking { question: &question, ..*asking };
    Ok(context.asked(store, &asking)?.map(|authority| (authority, Some(plan))))
}

/// Whether HEAD is `commit` or comes after it.
fn leads_to(store: &Store, commit: &str) -> bool {
    let answer = store
        .git()
        .and_then(|git| git.args(["merge-base", "--is-ancestor", commit, "HEAD"]).answer());
    answer.is_ok_and(|answer| answer.ok())
}

/// Where the change still is.
fn note(context: &Context, undone: &Undone) {
    for note in &undone.notes {
        context.note(&format!("note: {}", escape::line(note)));
    }
}

/// Whether what was said of it last was a no: a rejection, a withdrawal, a request for changes.
fn is_no(proposal: &Proposal) -> bool {
    match proposal.state {
        State::Rejected(_) => true,
        State::Pending => proposal.changes_requested.is_some(),
        State::Applied(_) => false,
    }
}

/// The last decisions of this clone that stand and were made in one go; only where a person is shown
/// which they are.
fn last(context: &Context, store: &Store, view: &View) -> Result<Vec<Proposal>> {
    if !context.interactive() {
        return Err(Error::new(&codes::USAGE, "an id is needed where nobody can be asked")
            .hint("name what to undo: aye undo ID; `aye log` shows what was decided"));
    }
    let found = decide::undo::last(store, view)?;
    if found.is_empty() {
        let message = "no decision of this clone stands that could be undone";
        return Err(Error::new(&NOT_APPLIED, message).hint("`aye log` shows what was decided"));
    }
    Ok(found)
}

/// So many of those that would be taken back stand above the question; the others are counted.
const LISTED: usize = 50;

/// Takes back what was decided in one go, the newest first, or the newest alone, as the person says.
fn undo_several(
    context: &mut Context,
    store: &Store,
    (found, seen): (&[Proposal], &Seen),
    args: &Args,
) -> Result<Exit> {
    // A list that has scrolled away tells nobody what the question is about.
    let listed = if args.dry_run { found.len() } else { found.len().min(LISTED) };
    let head = store.head_ref();
    for proposal in &found[..listed] {
        let target = applied_on(store, proposal)?;
        let there = target.as_ref().and_then(|target| target.elsewhere(head.as_deref()));
        let there = there.map(|branch| format!(", {APPLIED} {}", escape::name(branch)));
        context.note(&format!("  {}{}", said(proposal), there.unwrap_or_default()));
    }
    if let more @ 1.. = found.len() - listed {
        context.note(&format!("  and {more} more; `aye undo --dry-run` lists them all"));
    }
    if args.dry_run {
        context.note("these were decided in one go; nothing undone");
        return Ok(Exit::Done);
    }
    let question =
        format!("Undo all {} of them (a), only the first of these (l), or none (n)?", found.len());
    let chosen = match context.choose(&question, &["a", "l", "n"]).as_deref() {
        Some("a") => found,
        Some("l") => &found[..1],
        _ => {
            context.note("nothing undone");
            return Ok(Exit::Negative);
        }
    };
    let mut done: Option<Answer> = None;
    let mut failed = None;
    for proposal in chosen {
        match undo_one(context, store, proposal, seen) {
            Ok(one) => match &mut done {
                Some(all) => all.proposals.extend(one.proposals),
                None => done = Some(one),
            },
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if let Some(done) = done {
        context.emit(Format::Text, &done, || text(&done, "undone, pending again"))?;
        if failed.is_some() {
            let (done, all) = (done.proposals.len(), chosen.len());
            context.note(&format!("note: {done} of {all} were undone"));
        }
    }
    failed.map_or(Ok(Exit::Done), Err)
}

/// Takes what was said of `proposal` last back, which a person at the terminal has agreed to.
fn undo_one(context: &Context, store: &Store, proposal: &Proposal, seen: &Seen) -> Result<Answer> {
    let proposals = std::slice::from_ref(proposal);
    let (verb, command) = (Verb::Undo, format!("aye undo {}", proposal.id));
    let asking = Asking { verb, proposals, yes: false, question: "", command: &command };
    let authority = context.grant(store, &asking, &Evidence::Terminal)?;
    if is_no(proposal) {
        let (now, word) = (context.now, &Word::Reopen);
        verdict::say(store, &authority, now, proposals, word, None, &[], Some(seen))?;
        let mut answer = answer(proposal, &[], None, false, true);
        is_now(&mut answer, again(context, store, proposal)?);
        return Ok(answer);
    }
    let undone = decide::undo(store, &authority, context.now, proposal, seen, None)?;
    note(context, &undone);
    let mut answer = answer(proposal, &undone.files, undone.commit, false, true);
    is_now(&mut answer, again(context, store, proposal)?);
    Ok(answer)
}

/// What is asked, and what exactly it is where no id was given.
fn question(proposal: &Proposal, args: &Args) -> String {
    match args.id {
        Some(_) => format!("Undo {}?", proposal.id),
        None => format!("Undo {}?", said(proposal)),
    }
}

/// The proposal, and what was said of it last.
fn said(proposal: &Proposal) -> String {
    let (what, by) = match (&proposal.state, &proposal.changes_requested) {
        (State::Applied(decision), _) => ("applied", Some(&decision.by)),
        (State::Rejected(decision), _) if decision.withdrawn => ("withdrawn", Some(&decision.by)),
        (State::Rejected(decision), _) => ("rejected", Some(&decision.by)),
        (State::Pending, request) => ("sent back", request.as_ref().map(|request| &request.by)),
    };
    let about = proposal.description.as_deref().and_then(|text| text.lines().next());
    let about = about.map(|text| format!(", \u{201c}{}\u{201d}", escape::line(text)));
    let by = by.map(|by| format!(" by {}", escape::name(&by.name)));
    format!(
        "{} ({}{}), {what}{}",
        proposal.id,
        escape::name(&file_path(proposal.current())),
        about.unwrap_or_default(),
        by.unwrap_or_default(),
    )
}

/// Makes a rejected proposal pending again.
fn reopen(
    context: &mut Context,
    store: &Store,
    (proposal, seen): (&Proposal, &Seen),
    args: &Args,
) -> Result<Exit> {
    verdict::require_rejected(proposal)?;
    let proposals = std::slice::from_ref(proposal);
    let mut answer = answer(proposal, &[], None, args.dry_run, true);
    if args.dry_run {
        let status = proposal.status(context.now);
        is_now(&mut answer, Again { status, is_contested: false });
        context.emit(Format::Text, &answer, || text(&answer, "would be pending again"))?;
        return Ok(Exit::Done);
    }
    let flag = if args.rejection { " --rejection" } else { "" };
    let asking = Asking {
        verb: Verb::Undo,
        proposals,
        yes: args.yes,
        question: &question(proposal, args),
        command: &format!("aye undo {}{flag}", proposal.id),
    };
    let Some(authority) = context.authorise(store, &asking)? else {
        context.note("nothing undone");
        return Ok(Exit::Negative);
    };
    let (now, word) = (context.now, &Word::Reopen);
    verdict::say(store, &authority, now, proposals, word, None, &[], Some(seen))?;
    let again = again(context, store, proposal)?;
    is_now(&mut answer, again);
    context.emit(Format::Text, &answer, || text(&answer, again.words()))?;
    if !again.is_contested {
        return Ok(Exit::Done);
    }
    // What is said for one remote does not name what is known of another one, so it cannot take that back.
    context.note(&format!(
        "note: {} is contested still: the rejection is known here from another remote than the proposal, and is taken \
         back in a clone of that",
        proposal.id
    ));
    Ok(Exit::Negative)
}

/// What a proposal is once a decision on it was taken back.
#[derive(Clone, Copy, Debug)]
struct Again {
    status: Status,
    /// Decisions that differ stand still.
    is_contested: bool,
}

impl Again {
    /// End of a line that begins with the id.
    fn words(self) -> &'static str {
        match self.status {
            Status::Expired => "expired",
            Status::Pending => "pending again",
            Status::Applied => "still applied",
            Status::Rejected => "still rejected",
        }
    }
}

/// What `before`, on which a decision was just taken back, is now. Where its time had run out, a note
/// says so, and what became of it.
///
/// # Errors
/// If the store cannot be read.
fn again(context: &Context, store: &Store, before: &Proposal) -> Result<Again> {
    let (id, now) = (&before.id, context.now);
    if before.expires_at > now && before.beside.is_empty() {
        return Ok(Again { status: Status::Pending, is_contested: false });
    }
    let proposal = store.view()?.proposal(id)?;
    let status = proposal.status(now);
    match status {
        Status::Applied | Status::Rejected => context.note(&format!(
            "note: {id} was {} in another clone, and that stands",
            escape::line(&proposal.decided())
        )),
        _ if before.expires_at > now => {}
        Status::Expired => context.note(&format!(
            "note: the time of {id} has run out, and only a person who undoes a decision gives it more; \
             propose it again, or bring its text back: aye diff {id} --patch | git apply"
        )),
        _ => {
            let until = age::until(proposal.expires_at, now);
            context.note(&format!("note: the time of {id} had run out; it expires {until} now"));
        }
    }
    Ok(Again { status, is_contested: proposal.contested })
}

/// Takes a patch back that was written without a proposal.
fn undo_patch(context: &mut Context, store: &Store, id: &str, args: &Args) -> Result<Exit> {
    let (stamped, patch) = decide::patch::find(store, &store.view()?, id)?;
    let id = decide::patch::id(&stamped.id);
    let answer = |files: &[Planned], dry_run, success| Answer {
        schema: "aye/undo@1",
        success,
        dry_run,
        proposals: vec![Item {
            proposal_id: id.clone(),
            file_path: patch
                .written
                .first()
                .map_or(String::new(), |f| f.path.display().to_string()),
            status: if dry_run { Status::Applied } else { Status::Pending },
            effect: None,
            commit: None,
            files: files.iter().map(FileItem::new).collect(),
            marks: Vec::new(),
            rest: None,
            amended: None,
            collides_with: None,
        }],
    };
    if args.dry_run {
        let plan = decide::undo::preview_patch(store, &patch)?;
        let fits = plan.refusal().is_none();
        let answer = answer(&plan.files, true, fits);
        let heading = if fits { "would be undone" } else { "cannot be undone as it is" };
        context.emit(Format::Text, &answer, || text(&answer, heading))?;
        return Ok(if fits { Exit::Done } else { Exit::Conflict });
    }
    let asking = Asking {
        verb: Verb::Undo,
        proposals: &[],
        yes: args.yes,
        question: &format!("Undo {id}?"),
        command: &format!("aye undo {id}"),
    };
    let Some(authority) = context.authorise(store, &asking)? else {
        context.note("nothing undone");
        return Ok(Exit::Negative);
    };
    let files = decide::undo::undo_patch(store, &authority, context.now, &stamped, &patch)?;
    let answer = answer(&files, false, true);
    context.emit(Format::Text, &answer, || text(&answer, "undone"))?;
    Ok(Exit::Done)
}

fn dry_run(
    context: &mut Context,
    store: &Store,
    proposal: &Proposal,
    plan: &Resolution,
) -> Result<Exit> {
    let fits = plan.refusal().is_none();
    if let Some(why) = decide::undo::elsewhere(store, proposal, &plan.files) {
        context.note(&format!("note: nothing would be put back: {}", escape::line(&why)));
    }
    if let Some(refusal) = plan.refusal() {
        let refusal = decide::undo::conflict(store, refusal, proposal);
        context.note(&format!("hint: {}", refusal.hint_text().unwrap_or_default()));
    }
    let answer = answer(proposal, &plan.files, None, true, fits);
    let heading = if fits { "would be undone" } else { "cannot be undone as it is" };
    context.emit(Format::Text, &answer, || text(&answer, heading))?;
    Ok(if fits { Exit::Done } else { Exit::Conflict })
}

fn answer(
    proposal: &Proposal,
    files: &[Planned],
    commit: Option<String>,
    dry_run: bool,
    success: bool,
) -> Answer {
    Answer {
        schema: "aye/undo@1",
        success,
        dry_run,
        proposals: vec![Item {
            proposal_id: proposal.id.to_string(),
            file_path: file_path(proposal.current()),
            status: if dry_run { Status::Applied } else { Status::Pending },
            effect: None,
            commit,
            files: files.iter().map(FileItem::new).collect(),
            marks: Vec::new(),
            rest: None,
            amended: None,
            collides_with: None,
        }],
    }
}
