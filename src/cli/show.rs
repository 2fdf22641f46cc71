//! `aye show`: everything about a proposal.

use super::diff::DiffArgs;
use super::memory::notes::notes;
use super::which::One;
use super::{Context, Format, diff, pager};
use crate::changeset::instructions::Instructions;
use crate::changeset::{Changeset, RepoPath, sensitive};
use crate::check::relations;
use crate::error::{Error, Exit, Result};
use crate::proposal::conversation::{Place, SayingKind};
use crate::proposal::document::Document;
use crate::proposal::event::Subject;
use crate::proposal::relations::Lower;
use crate::proposal::{ActorKind, ChangeRecord, Proposal, Status};
use crate::render::age;
use crate::render::style::{Palette, Role};
use crate::scan::gate::{self, Warning};
use crate::store::{Audience, Store};
use crate::text::escape;

/// Show a proposal: who, why, its state, its comments, its diff.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye show m4k8
  aye show m4k8 --comments
  aye show --latest
  aye show m4k8 --json")]
pub struct Args {
    /// The proposal.
    #[command(flatten)]
    pub which: One,
    /// Only what was said about it, without the diff.
    #[arg(long)]
    pub comments: bool,
    /// How the diff is shown.
    #[command(flatten)]
    pub diff: DiffArgs,
}

/// Runs the command.
///
/// # Errors
/// `proposal_not_found` and its kin; `object_missing` or `proposal_archived`, when what can be shown
/// is; those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let view = store.view()?;
    let proposal = args.which.find(context, &view)?;
    let audience = view.audience(&proposal.id)?;
    // Who fetches from elsewhere alone has not heard of it.
    let heard = match proposal.decision() {
        Some(_) => {
            Some(view.audience_of_decision(&proposal.id)?).filter(|heard| *heard != audience)
        }
        None => None,
    };
    let status = proposal.status(context.now);
    let stands_on = match status {
        Status::Pending => relations::of(&store, &view, context.now, &proposal)?.stands_on,
        _ => Vec::new(),
    };
    let made_on = relations::made_on(&store, &view, context.now, &proposal)?;
    drop(view);
    if context.format_or(Format::Text) != Format::Text {
        let mut document = Document::new(&proposal, status, &store.places(&proposal));
        document.stands_on = stands_on.iter().map(|lower| lower.id.to_string()).collect();
        document.audience = Some(audience.as_str().to_owned());
        document.decision_audience = heard.map(|heard| heard.as_str().to_owned());
        let changes = &proposal.current().changes;
        if changes.iter().any(|change| change.origin.is_some())
            && let Ok(changeset) = store.changeset(changes)
        {
            document.compare(&store.with_named_sources(changeset.into_changes()));
        }
        context.emit(Format::Text, &document, String::new)?;
        return Ok(Exit::Done);
    }
    let snapshot = store.repo().config_snapshot();
    let palette = pager::palette(context, Some(snapshot.plumbing()));
    let readable = Readable::load(&store, &proposal.current().changes)?;
    let below = (stands_on.as_slice(), made_on.as_deref());
    let mut text = header(&proposal, status, &audience, below, &palette, context.now);
    if let Some(heard) = heard {
        let of = match &heard {
            Audience::Default => "for the default remote".to_owned(),
            Audience::Private => "for nobody else".to_owned(),
            Audience::Remote(remote) => format!("of the remote {}", escape::name(remote)),
        };
        let note = format!(
            "! decided in a lane {of} alone: whoever has only the others has it undecided (aye undo reverts it)"
        );
        text += &format!("{}\n", palette.paint(Role::Warn, note));
    }
    if status == Status::Pending {
        let instructions = store.instructions();
        let mut warnings = gate::review(&store, &readable.changeset, &instructions)?;
        if proposal.subject == Subject::Code {
            gate::add_files(&store, &readable.changeset, &mut warnings);
        }
        text += &warned(
            &noticed(&instructions, &proposal, readable.changeset.changes()),
            &warnings,
            &palette,
        );
    }
    text += &said(&proposal, &store.places(&proposal), &palette, context.now);
    let mut text = text.into_bytes();
    if !args.comments {
        text.push(b'\n');
        text.extend(readable.lost(&palette).into_bytes());
        let planned = match status == Status::Pending && readable.missing.is_empty() {
            true => diff::planned(&store, &proposal)?,
            false => None,
        };
        if planned.is_some() {
            text.extend(diff::PLANNED.bytes());
        }
        let changeset = planned.as_ref().unwrap_or(&readable.changeset);
        text.extend(diff::bytes(context, &store, &proposal, changeset, &args.diff));
    }
    pager::page(context, Some(snapshot.plumbing()), &text)?;
    match readable.missing.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(Exit::Done),
    }
}

/// Who proposes and why, before a question about it.
pub(super) fn who_and_why(proposal: &Proposal, now: chrono::DateTime<chrono::Utc>) -> String {
    let mut out = format!(
        "  by {}, {}\n",
        escape::name(&proposal.proposed_by),
        age::ago(proposal.created_at, now)
    );
    for line in proposal.description.iter().flat_map(|text| text.lines()).take(MOST_REASONS) {
        out += &format!("  {}\n", escape::line(line));
    }
    out
}

/// Lines of a description that stand before a question.
const MOST_REASONS: usize = 10;

/// What stands above the diff.
pub fn header(
    proposal: &Proposal,
    status: Status,
    audience: &Audience,
    (stands_on, made_on): (&[Lower], Option<&str>),
    palette: &Palette,
    now: chrono::DateTime<chrono::Utc>,
) -> String {
    let role = match status {
        Status::Pending => Role::Plain,
        Status::Applied => Role::Good,
        Status::Rejected => Role::Bad,
        Status::Expired => Role::Dim,
    };
    let needs = proposal.needs.as_ref();
    let needs = needs.map(|version| format!("  (needs aye >= {version} to be decided)"));
    let mut out = format!(
        "{} {}  {}{}{}\n",
        palette.paint(Role::Title, "proposal"),
        palette.paint(Role::Id, proposal.id.as_str()),
        palette.paint(role, status.as_str()),
        if proposal.contested { "  (contested: decided differently in another clone)" } else { "" },
        palette.paint(Role::Warn, needs.unwrap_or_default()),
    );
    let mut field = |name: &str, value: String| {
        out += &format!("{} {value}\n", palette.paint(Role::Dim, format!("{name:<10}")));
    };
    let by = escape::name(&proposal.proposed_by);
    let actor = escape::name(&proposal.actor.to_string());
    let kind = proposal.actor.kind.as_str();
    field("by", format!("{by}  (recorded by {actor}, {kind})"));
    if let Some(run) = &proposal.current().agent {
        let said = [("session", &run.session), ("model", &run.model)];
        let said = said.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let said: Vec<String> =
            said.map(|(name, value)| format!("{name} {}", escape::line(value))).collect();
        field("agent", said.join(", "));
    }
    match audience {
        Audience::Default => {}
        Audience::Private => {
            field("for", "nobody else (private); aye publish lets others see it".into())
        }
        Audience::Remote(remote) => field("for", format!("the remote {}", escape::name(remote))),
    }
    field("created", age::ago(proposal.created_at, now));
    match status {
        Status::Pending => field("expires", age::until(proposal.expires_at, now)),
        Status::Expired => field("expired", age::ago(proposal.expires_at, now)),
        _ => {}
    }
    if let Some(domain) = &proposal.domain {
        field("domain", escape::line(domain).into_owned());
    }
    if let Some(other) = &proposal.instead_of {
        field("instead of", other.to_string());
    }
    if let Some(task) = &proposal.related_task_id {
        field("task", escape::line(task).into_owned());
    }
    for (at, revision) in proposal.revisions.iter().enumerate().skip(1) {
        let (by, kind) = (escape::name(&revision.actor.to_string()), revision.actor.kind.as_str());
        let ago = age::ago(revision.at, now);
        let session = match revision.actor.name == proposal.actor.name {
            true => "",
            false => ", not the proposer",
        };
        let reason = escape::line(revision.reason.as_str()).into_owned();
        let undecided = match proposal.undecided.contains(&revision.event) {
            true => ": not decided, made at the same time",
            false => "",
        };
        let number = at + 1;
        field(
            "revision",
            format!("{number} ({reason}) by {by}, {kind}{session}, {ago}{undecided}"),
        );
    }
    if let Some(lower) = relations::named(stands_on) {
        field("stands on", lower);
    }
    if let Some(lower) = made_on {
        field("made on", lower.to_owned());
    }
    if status == Status::Pending {
        // A lower one that was revised since is not what this one was made on.
        let lower = match stands_on {
            [] => "",
            _ if stands_on.iter().any(|lower| lower.is_revised) => " --alone",
            _ => " --with-lower",
        };
        field("decide", format!("aye apply {}{lower}", proposal.at_revision()));
    }
    if let Some(mark) = proposal.mark() {
        let by = escape::name(&mark.by.to_string());
        let word = mark.verdict.as_str();
        field(
            "marked",
            format!("{word} by a tool ({by}), not approved, {}", age::ago(mark.at, now)),
        );
    }
    for approval in &proposal.approvals {
        let by = escape::name(&approval.by.to_string());
        let evidence = escape::line(approval.evidence.as_str()).into_owned();
        let counts = proposal.approvals_in_force().any(|found| found == approval);
        let earlier = proposal.earlier_revision(Some(&approval.revision));
        let which = match (counts, earlier) {
            (true, _) => ", nothing written".to_owned(),
            (false, Some(number)) => format!(", revision {number}: no longer counts"),
            (false, None) => ", no longer counts".to_owned(),
        };
        let ago = age::ago(approval.at, now);
        field("approved", format!("{ago} by {by} ({evidence}){which}"));
        if let Some(reason) = &approval.reason {
            field("reason", escape::line(reason).into_owned());
        }
    }
    if let Some(decision) = proposal.decision() {
        let by = escape::name(&decision.by.to_string());
        let word = proposal.state.word();
        let evidence = escape::line(decision.evidence.as_str()).into_owned();
        let who = match decision.is_by_a_person() || decision.withdrawn {
            true => String::new(),
            false => format!(", {}, not a person's approval", decision.by.kind.as_str()),
        };
        field(word, format!("{} by {by} ({evidence}{who})", age::ago(decision.at, now)));
        if let Some(reason) = &decision.reason {
            field("reason", escape::line(reason).into_owned());
        }
        if let Some(commit) = &decision.commit {
            field("commit", commit.clone());
        }
    }
    for state in &proposal.beside {
        let Some(decision) = state.decision() else { continue };
        let (by, ago) = (escape::name(&decision.by.to_string()), age::ago(decision.at, now));
        let how = if proposal.is_like(state, &proposal.state) { "alike" } else { "differently" };
        field(state.word(), format!("{ago} by {by}, {how}"));
        if let Some(reason) = &decision.reason {
            field("reason", escape::line(reason).into_owned());
        }
    }
    if proposal.contested {
        field("settle", proposal.settle());
    }
    for commit in &proposal.commits {
        field("commit", escape::line(commit).into_owned());
    }
    for result in &proposal.checks {
        let code = result.check.exit_code.map_or("a signal".into(), |code| format!("exit {code}"));
        let command = escape::line(&result.check.command.join(" ")).into_owned();
        let earlier = proposal.earlier_revision(Some(&result.check.revision));
        let on = earlier.map(|number| format!(", on revision {number}")).unwrap_or_default();
        let name = escape::name(&result.runner().name);
        let by = match (&result.check.imported, result.kind()) {
            (Some(imported), _) => {
                let importer = escape::name(&result.by.titled());
                format!(" by {} {name}, imported by {importer}", imported.by.kind.as_str())
            }
            (None, ActorKind::Agent) => format!(" by agent {name}"),
            (None, ActorKind::Human | ActorKind::Ci) => String::new(),
        };
        field("check", format!("{command}: {code}{by}, {}{on}", age::ago(result.ran_at(), now)));
    }
    for (name, text) in notes(proposal) {
        // The rationale is the description, which follows.
        if proposal.description.as_deref() != Some(text.as_str()) {
            field(name, escape::line(&text).into_owned());
        }
    }
    if let Some(description) = &proposal.description {
        out.push('\n');
        for line in escape::block(description).lines() {
            out += &format!("    {line}\n");
        }
    }
    out
}

/// The paths of a code proposal that deserve a second look, with the reason. Memory's own
/// operations are checked and shown as such.
pub(super) fn noticed<C: sensitive::Touched>(
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
pub(super) fn notice<C: sensitive::Touched>(
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
pub(super) fn notice_all<'p>(
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

/// The lines of `notices`.
/// Says of a file that is not there only because the sparse checkout excludes it, by `refusal`, what to do.
pub(super) fn notice_sparse(context: &Context, store: &Store, refusal: &Error) {
    if let (Some(path), Some(hint)) = (store.left_out(refusal), store.sparse_hint(refusal)) {
        context.note(&format!("note: {}: {}", escape::line(&path), escape::line(&hint)));
    }
}

fn notice_lines(notices: &[String]) -> Vec<String> {
    let shown = notices.iter().take(SHOWN).map(|notice| format!("! {}", escape::line(notice)));
    let more = notices.len().saturating_sub(SHOWN);
    shown.chain((more > 0).then(|| format!("! and {more} more"))).collect()
}

/// A hostile proposal may hold thousands; the count says so.
const SHOWN: usize = 20;

/// Sensitive paths; then secrets, personal data and text that misleads, in what the proposal adds.
fn warned(notices: &[String], warnings: &[Warning], palette: &Palette) -> String {
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

/// The conversation: comments and requests for changes, oldest first.
fn said(
    proposal: &Proposal,
    places: &[Place],
    palette: &Palette,
    now: chrono::DateTime<chrono::Utc>,
) -> String {
    let prefix = proposal.comment_prefix();
    let mut out = String::new();
    for saying in proposal.conversation(places) {
        let who = palette.paint(Role::Title, escape::name(&saying.by.titled()));
        let place = saying.place().map(|place| format!(" on {}", escape::name(&place)));
        let what = match saying.kind {
            SayingKind::Comment => String::new(),
            SayingKind::Request => match saying.earlier {
                Some(number) => format!(" requests changes of revision {number}"),
                None => " requests changes".to_owned(),
            },
            SayingKind::Answered => " requested changes (answered, or taken back)".to_owned(),
        };
        let mut title =
            format!("\n{who} {}{}{what}", age::ago(saying.at, now), place.unwrap_or_default());
        if let Some(remark) = saying.remark {
            let wants = saying.wants().map(|wants| format!("  {}", escape::name(wants)));
            let id = &remark.event[..prefix.min(remark.event.len())];
            title += &format!("{}  {}", wants.unwrap_or_default(), palette.paint(Role::Id, id));
        }
        out += &format!("{title}\n");
        let quote = saying.place.and_then(|place| place.quote.as_deref());
        let replacement = saying.remark.and_then(|remark| remark.comment.replacement.as_deref());
        let (role, sign) = match replacement {
            Some(_) => (Role::Old, "- "),
            None => (Role::Dim, "> "),
        };
        push_lines(&mut out, palette, role, sign, quote);
        push_lines(&mut out, palette, Role::New, "+ ", replacement);
        for line in escape::block(saying.body.unwrap_or("see the comments")).lines() {
            out += &format!("    {line}\n");
        }
        if let Some(resolved) = saying.resolved() {
            let (by, ago) = (escape::name(&resolved.by.titled()), age::ago(resolved.at, now));
            let note = escape::line(&resolved.note);
            let line = format!("resolved by {by} {ago}: {note}");
            out += &format!("    {}\n", palette.paint(Role::Good, line));
        }
    }
    out
}

/// Lines of a file beside what was said about them, at most [`MOST_QUOTED`].
fn push_lines(out: &mut String, palette: &Palette, role: Role, sign: &str, text: Option<&str>) {
    let lines: Vec<&str> = text.iter().flat_map(|text| text.lines()).collect();
    for line in lines.iter().take(MOST_QUOTED) {
        let line = palette.paint(role, format!("{sign}{}", escape::line(line)));
        *out += &format!("    {line}\n");
    }
    if lines.len() > MOST_QUOTED {
        *out += &format!("    {sign}… {} more lines\n", lines.len() - MOST_QUOTED);
    }
}

/// Lines of a file that stand beside what was said about them.
const MOST_QUOTED: usize = 40;

/// What the proposal changes, as far as it can be read; and why the rest cannot.
struct Readable {
    changeset: Changeset,
    missing: Vec<(RepoPath, Error)>,
}

impl Readable {
    fn load(store: &Store, records: &[ChangeRecord]) -> Result<Self> {
        if let Ok(changeset) = store.changeset(records) {
            return Ok(Self { changeset, missing: Vec::new() });
        }
        let (mut changes, mut missing) = (Vec::new(), Vec::new());
        for record in records {
            match store.changeset(std::slice::from_ref(record)) {
                Ok(one) => changes.extend(one.into_changes()),
                Err(error) => missing.push((record.path.clone(), error)),
            }
        }
        let changeset = match changes.is_empty() {
            true => Changeset::default(),
            false => Changeset::new(changes)?,
        };
        Ok(Self { changeset, missing })
    }

    /// One line for each file that cannot be shown.
    fn lost(&self, palette: &Palette) -> String {
        let mut out = String::new();
        for (path, error) in &self.missing {
            let path = path.display().to_string();
            let line = format!("cannot be shown: {path}: {}", error.message());
            out += &format!("{}\n", palette.paint(Role::Bad, escape::line(&line)));
        }
        out
    }
}
