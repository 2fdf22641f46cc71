//! The world of a review: the store, the user's editor and pager.

mod carry_out;
mod edited;
mod header;
mod tried;
mod unwritten;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::rc::Rc;

use chrono::Utc;

use carry_out::written_as;
use header::{base, named, sayings};
use unwritten::Unwritten;

use super::plans::{self, Plans};
use super::{Args, staged_dir, staged_name};
use crate::app::listing::{Marks, marks_of};
use crate::beneath::Access;
use crate::changeset::{Changeset, FileChange, RepoPath, settle};
use crate::check::relations;
use crate::cli::{Context, marks, pager};
use crate::cli::{difftool, programs};
use crate::decide::verdict::Word;
use crate::decide::{self, Ahead, Visible};
use crate::error::{Error, Result};
use crate::patience;
use crate::prompt::Hold;
use crate::proposal::event::Subject;
use crate::proposal::relations::Lower;
use crate::proposal::rules::Verb;
use crate::proposal::statement::Target;
use crate::proposal::{Actor, Note, Proposal, ProposalId, Status};
use crate::render::overview::Group;
use crate::review::model::{DraftComment, Staged, Verdict};
use crate::review::terminal::{Content, Host, Loaded, Order, Outlook, Tried};
use crate::scan::gate;
use crate::store::{Filter, Store, Summary, View};

/// The command line's side of a session.
pub(super) struct CliHost<'c> {
    context: &'c mut Context,
    store: &'c Store,
    actor: Actor,
    split_rest: bool,
    index: bool,
    try_command: Option<String>,
    has_difftool: bool,
    diff_filter: Option<String>,
    /// What the last screen has shown, which is what is written.
    planned: Plans,
    /// Where the own lane was when the last screen was shown.
    seen: Option<decide::Seen>,
    /// What of that could not be written.
    unwritten: Unwritten,
    /// What was pending when the session began, with its place in it; `None` for what was sent back.
    numbers: BTreeMap<ProposalId, Option<usize>>,
    /// Who had said what about each proposal when it was last looked at.
    heard: BTreeMap<ProposalId, Vec<(String, String)>>,
    /// The marks of what is pending, as long as the lanes and HEAD have not moved.
    looked: Looked,
}

/// What was found out about all that is pending, and by which lanes and which HEAD.
pub(super) struct Looked {
    state: (Vec<String>, Option<Target>),
    marks: Rc<Marks>,
    /// They are all marks, and no list has shown them yet: files are compared again for the next one.
    is_fresh: bool,
    /// What they are of, in order, until it was shown.
    all: Vec<Summary>,
}

impl Looked {
    /// What a look of now has found of `all`, which are in order.
    pub(super) fn at_first(store: &Store, view: &View, marks: Marks, all: Vec<Summary>) -> Self {
        Self { all, is_fresh: true, ..Self::new(store, view, marks) }
    }

    fn new(store: &Store, view: &View, marks: Marks) -> Self {
        let state = state(store, view);
        Self { state, marks: Rc::new(marks), is_fresh: false, all: Vec::new() }
    }
}

fn state(store: &Store, view: &View) -> (Vec<String>, Option<Target>) {
    (view.state(), store.target())
}

impl<'c> CliHost<'c> {
    pub(super) fn new(
        context: &'c mut Context,
        store: &'c Store,
        actor: Actor,
        args: &Args,
        numbers: BTreeMap<ProposalId, Option<usize>>,
        looked: Looked,
    ) -> Self {
        let try_command = store.trusted_config("aye.tryCommand");
        let diff_filter = store.trusted_config("interactive.diffFilter");
        Self {
            context,
            store,
            actor,
            split_rest: args.split_rest,
            index: args.index,
            try_command,
            has_difftool: difftool::name(store, "").is_some(),
            diff_filter,
            planned: Plans::default(),
            seen: None,
            unwritten: Unwritten::default(),
            numbers,
            heard: BTreeMap::new(),
            looked,
        }
    }

    /// What is pending of the proposals of this session, in groups.
    fn groups(&mut self) -> Result<Vec<Group>> {
        let (view, now) = (self.store.view()?, self.now());
        let is_shown = !std::mem::take(&mut self.looked.is_fresh);
        let mut all = std::mem::take(&mut self.looked.all);
        if is_shown || self.looked.state != state(self.store, &view) {
            let mut summaries = view.proposals(&Filter::pending(), now)?;
            summaries.retain(|summary| self.numbers.contains_key(&summary.id));
            let marks = Marks::of(self.store, &view, now, &summaries)?;
            self.looked = Looked::new(self.store, &view, marks);
            all = self.looked.marks.in_order(summaries);
        }
        let marks = &self.looked.marks;
        Ok(marks::grouped(&all, marks, now, |id| self.numbers.get(id).copied().flatten()))
    }

    /// What `proposal` comes to once those are applied that it stands on, with these. `None` unless all of them can be taken in this session, and it fits then.
    fn on_lower(
        &self,
        view: &View,
        proposal: &Proposal,
        related: &Marks,
        not_taken: &BTreeSet<ProposalId>,
    ) -> Result<Option<(Vec<ProposalId>, Visible)>> {
        let takes = |lower: &Lower| {
            let is_here = matches!(self.numbers.get(&lower.id), Some(Some(_)));
            is_here && !lower.is_revised && !not_taken.contains(&lower.id)
        };
        let below = related.below(&proposal.id, takes);
        let needed = related.relations(&proposal.id).map_or_else(Vec::new, |it| it.needed(takes));
        if needed.is_empty() || below.is_too_high || below.lacks.is_some() {
            return Ok(None);
        }
        let Ok(mut ahead) = Ahead::new(self.store) else { return Ok(None) };
        for id in &below.taken {
            let shown = ahead.show(self.store, view, &view.proposal(id)?, None, None);
            if !shown.is_ok_and(|shown| shown.plan.refusal().is_none()) {
                return Ok(None);
            }
        }
        let visible = decide::visible_on(self.store, view, proposal, Some(&ahead))?;
        let on = needed.into_iter().map(|lower| lower.id.clone()).collect();
        Ok(visible.refusal.is_none().then_some((on, visible)))
    }

    /// What all that is pending has to do with each other.
    fn related(&mut self, view: &View) -> Result<Rc<Marks>> {
        if self.looked.state != state(self.store, view) {
            let related = relations::relations(self.store, view, self.now())?;
            let marks = Marks::of_relations(related);
            self.looked = Looked::new(self.store, view, marks);
        }
        Ok(Rc::clone(&self.looked.marks))
    }

    /// What an earlier session has kept about a proposal.
    fn kept(&self, id: &ProposalId) -> Option<Staged> {
        let bytes = staged_dir(self.store).ok()??.read(&staged_name(id)).ok()??;
        Staged::parse(&bytes, id.as_str())
    }

    /// The time now: a session lasts, so the command's own start is not it.
    fn now(&self) -> chrono::DateTime<Utc> {
        crate::cli::context::clock()
    }
}

impl Host for CliHost<'_> {
    fn load(&mut self, id: &ProposalId, not_taken: &BTreeSet<ProposalId>) -> Result<Loaded> {
        let view = self.store.view()?;
        let proposal = view.proposal(id)?;
        let status = proposal.status(self.now());
        if status != Status::Pending {
            return Ok(Loaded::Gone(status.as_str().to_owned()));
        }
        let current = proposal.current();
        let visible = match decide::visible(self.store, &view, &proposal) {
            Ok(visible) => visible,
            Err(error) => {
                return Ok(Loaded::Gone(format!("found unreadable ({})", error.message())));
            }
        };
        let related = self.related(&view)?;
        let is_unfit = visible.conflict.is_some() && proposal.subject == Subject::Code;
        let on = match is_unfit {
            true => self.on_lower(&view, &proposal, &related, not_taken)?,
            false => None,
        };
        let (on, visible) = on.unwrap_or((Vec::new(), visible));
        let mut base = base(self.store, &visible);
        if !on.is_empty() {
            let named: Vec<String> = on.iter().map(ProposalId::to_string).collect();
            base = format!("{base} on top of {}", named.join(" and "));
        }
        let changeset = match Changeset::new(visible.changes) {
            Ok(changeset) => changeset,
            Err(error) => {
                return Ok(Loaded::Gone(format!("found unreadable ({})", error.message())));
            }
        };
        let marks = marks_of(self.store, &view, self.now(), &proposal)?;
        let is_told = |path: &str, line| marks.iter().any(|mark| mark.is_at(path, line));
        let warnings = match proposal.subject {
            Subject::Code => gate::files(self.store, &changeset, is_told),
            Subject::Memory => Vec::new(),
        };
        let warnings = warnings.iter().map(gate::Warning::line).collect();
        let changes = changeset.into_changes();
        let opened = visible.conflict.filter(|_| proposal.subject == Subject::Code);
        let opened = opened.map(|plan| settle::open(&plan, &changes));
        let is_conflict = opened.is_some();
        let (changes, unfit) =
            opened.map_or((changes, Vec::new()), |open| (open.changes, open.unfit));
        let proposed = match visible.planned || is_conflict {
            true => Some(self.store.changeset(&current.changes)?.into_changes()),
            false => None,
        };
        // What is there already is planned too, and shown as it was proposed.
        let proposed = proposed.filter(|proposed| !same(proposed, &changes));
        let staged = self.kept(id);
        let seen = match &staged {
            Some(staged) if staged.revision != current.event => {
                self.changes(id, &staged.revision)?
            }
            _ => None,
        };
        let said = self.conversation(&proposal);
        self.heard.insert(id.clone(), sayings(&proposal));
        let with_sources = |changes| match proposal.subject {
            Subject::Code => self.store.with_sources(changes),
            Subject::Memory => changes,
        };
        let (changes, proposed) = (with_sources(changes), proposed.map(with_sources));
        let quiet = self.store.quiet(changes.iter().map(|change| &change.path));
        let mut header = self.header(&proposal, view.prefix(id)?, base, (marks, warnings), said);
        header.related = named(&view, related.relations(id))?;
        Ok(Loaded::Ready(Box::new(Content {
            revision: current.event.clone(),
            on,
            changes,
            proposed,
            unfit,
            sent_back: proposal.changes_requested.is_some(),
            header,
            staged,
            seen,
            memory: proposal.subject == Subject::Memory,
            quiet,
        })))
    }

    fn changed(&mut self, id: &ProposalId, revision: &str) -> Result<Option<String>> {
        let proposal = self.store.view()?.proposal(id)?;
        let status = proposal.status(self.now());
        Ok(match status {
            Status::Pending if proposal.current().event == revision => None,
            Status::Pending => Some("revised".to_owned()),
            status => Some(status.as_str().to_owned()),
        })
    }

    fn heard(&mut self, id: &ProposalId) -> Result<Vec<(String, String)>> {
        let proposal = self.store.view()?.proposal(id)?;
        let said = sayings(&proposal);
        let before = self.heard.insert(id.clone(), said.clone()).unwrap_or_default();
        // Not those at the end: what is fetched may be older than what was seen.
        Ok(said.into_iter().filter(|saying| !before.contains(saying)).collect())
    }

    fn changes(&mut self, id: &ProposalId, revision: &str) -> Result<Option<Vec<FileChange>>> {
        let proposal = self.store.view()?.proposal(id)?;
        let Some(revision) = proposal.revision(revision) else { return Ok(None) };
        Ok(self.store.changeset(&revision.changes).ok().map(Changeset::into_changes))
    }

    fn keep(&mut self, staged: &Staged, known: Option<&Staged>) -> Result<bool> {
        let id = ProposalId::parse(&staged.proposal)?;
        let text = serde_json::to_vec(staged).map_err(|error| Error::bug(error.to_string()))?;
        let directory = self.store.make_private()?.make_inside("review")?;
        let lock = directory.file("lock".into(), Access::Lock)?;
        patience::lock(&lock, || "another review keeps its decisions".to_owned())
            .map_err(|error| Error::io("lock what is kept of reviews", &error))?;
        let there = self.kept(&id);
        let is_known = there.as_ref() == known || there.as_ref() == Some(staged);
        if !is_known && there.as_ref().is_some_and(Staged::says_anything) {
            return Ok(false);
        }
        // What this session has not changed is not its own to write.
        if Some(staged) != known && Some(staged) != there.as_ref() {
            // Whole or not at all: another session may be reading it.
            directory.replace(&staged_name(&id), &text, false)?;
        }
        Ok(true)
    }

    fn has_kept(&self, id: &ProposalId) -> bool {
        self.kept(id).is_some_and(|staged| staged.says_anything())
    }

    fn forget(&mut self, id: &ProposalId) {
        if let Ok(Some(directory)) = staged_dir(self.store) {
            directory.remove(&staged_name(id));
        }
    }

    fn edit(&mut self, path: &RepoPath, text: &[u8]) -> Result<Option<Vec<u8>>> {
        let failed = |error: &std::io::Error| Error::io("edit the hunk", error);
        let name = path.file_name().to_string();
        let suffix = match name.rsplit_once('.') {
            Some((_, end)) if end.len() < 12 && end.chars().all(char::is_alphanumeric) => {
                format!(".{end}")
            }
            _ => ".txt".to_owned(),
        };
        let directory = edited::directory(self.store)?;
        let file = directory.path().join(format!("hunk{suffix}"));
        fs::write(&file, text).map_err(|error| failed(&error))?;
        let snapshot = self.store.repo().config_snapshot();
        let editor = programs::editor(self.context, Some(snapshot.plumbing()));
        let _hold = Hold::interrupts();
        let status = programs::shell(&editor, &[file.as_os_str()])
            .status()
            .map_err(|error| failed(&error))?;
        if !status.success() {
            return Ok(None);
        }
        // By name: many editors write a new file in place of the old.
        let edited = fs::read(&file).map_err(|error| failed(&error))?;
        // They may write other line endings than git stores.
        let stored = self.store.stored(path, &edited)?;
        Ok(Some(stored.unwrap_or(edited)))
    }

    fn page(&mut self, text: &str) -> Result<()> {
        let snapshot = self.store.repo().config_snapshot();
        pager::page(self.context, Some(snapshot.plumbing()), text)
    }

    fn marks_pastes(&self) -> bool {
        self.context.marks_pastes()
    }

    fn has_filter(&self) -> bool {
        self.diff_filter.is_some()
    }

    fn filter(&mut self, diff: &str) -> Result<String> {
        match &self.diff_filter {
            Some(filter) => programs::run_filter(&filter.into(), diff),
            None => Ok(diff.to_owned()),
        }
    }

    fn can_compare(&self) -> bool {
        self.has_difftool
    }

    fn compare(&mut self, id: &ProposalId) -> Result<Option<String>> {
        let proposal = self.store.view()?.proposal(id)?;
        let _hold = Hold::interrupts();
        let status = difftool::start(self.store, &proposal, "", self.now())?;
        Ok((status != 0).then(|| format!("the difftool ended with exit status {status}")))
    }

    fn can_try(&self) -> bool {
        self.try_command.is_some()
    }

    fn try_it(&mut self, id: &ProposalId, revision: &str) -> Result<Tried> {
        tried::run(&self.context.directory, id, revision)
    }

    fn comment(
        &mut self,
        id: &ProposalId,
        revision: &str,
        comments: &[DraftComment],
    ) -> Result<()> {
        if comments.is_empty() {
            return Ok(());
        }
        let _hold = Hold::interrupts();
        self.store.write(&self.actor, self.now(), |writer| {
            writer.view.proposal(id)?.require_pending(writer.now())?;
            for comment in written_as(comments, revision) {
                writer.note(Some(id), Note::Comment(comment))?;
            }
            Ok(())
        })
    }

    fn plan(&mut self, orders: &[Order]) -> Result<Vec<Option<Result<Outlook>>>> {
        (self.planned, self.unwritten) = (Plans::default(), Unwritten::default());
        self.seen = Some(decide::Seen::now(self.store, &self.store.view()?)?);
        let now = self.now();
        self.planned.make(self.store, orders, now)
    }

    fn overview(&mut self) -> Vec<Group> {
        self.groups().unwrap_or_default()
    }

    fn group(&mut self, orders: &[&Order]) -> Result<String> {
        let rejects = orders.iter().all(|order| matches!(order.verdict, Verdict::Reject { .. }));
        if !rejects {
            // Foreign changes are approved one proposal at a time.
            return Ok(decide::group::of_apply(self.planned.of(orders), false));
        }
        let view = self.store.view()?;
        let now = self.now();
        let proposals: Result<Vec<Proposal>> =
            orders.iter().map(|order| plans::looked_at(&view, order, now)).collect();
        Ok(decide::group::of_reject(&proposals?))
    }

    fn carry_out(&mut self, order: &Order) -> Result<String> {
        // From here to the end Ctrl-C would only leave work for recovery.
        let _hold = Hold::interrupts();
        match &order.verdict {
            Verdict::Apply | Verdict::Part(_) => {
                let paths = self.planned.paths(&order.id);
                let done = self.apply(order);
                done.map_err(|error| {
                    let error =
                        self.unwritten.explain(self.store, self.seen.as_ref(), &paths, error);
                    self.unwritten.note(&order.id, paths);
                    error
                })
            }
            Verdict::Reject { reason } => {
                self.say(order, Verb::Reject, &Word::Reject, Some(reason))?;
                Ok("rejected".to_owned())
            }
            Verdict::RequestChanges { reason } => {
                let reason = Some(reason.as_str()).filter(|reason| !reason.is_empty());
                self.say(order, Verb::RequestChanges, &Word::RequestChanges, reason)?;
                Ok("sent back with a request for changes".to_owned())
            }
            _ => Ok("stays pending".to_owned()),
        }
    }
}

/// True where both lead from the same contents to the same contents.
fn same(one: &[FileChange], other: &[FileChange]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            (&one.path, &one.before, &one.after) == (&other.path, &other.before, &other.after)
        })
}
