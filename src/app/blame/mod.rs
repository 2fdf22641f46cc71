//! Where each line of a file is from: the proposal that wrote it and who decided on that, or the commit.
//!
//! What applied proposals have written comes first, held to what `git blame` says: a line is a proposal's
//! if that proposal added it, and the line is not committed; or the commit that git names for it names the
//! proposal; or the commit names none and is not older than the decision. So a squash, a rebase and a
//! rename change nothing.

mod git;

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use gix::ObjectId;
use serde::Serialize;

use crate::changeset::hunks::{Diff, Text};
use crate::changeset::{File, RepoPath, Snapshot as _, codes};
use crate::check::commits;
use crate::error::{Error, Result};
use crate::proposal::event::{Written, timestamp};
use crate::proposal::state::Decision;
use crate::proposal::steps::of_events;
use crate::proposal::{Actor, ActorKind, AgentRun, Data, Entry, Proposal, State};
use crate::store::{Filter, Store, View};

/// Most applied proposals, the newest, that are asked about one name of the file.
const MOST: usize = 2_000;

/// By how much the clock of whoever commits may be behind that of whoever decides.
const SLACK: TimeDelta = TimeDelta::hours(1);

/// What a line is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An applied proposal.
    Proposal,
    /// A patch that was written without a proposal.
    Patch,
    /// A commit, by hand as far as is known here.
    Commit,
    /// Nothing that is on record.
    #[default]
    Uncommitted,
}

/// Where lines are from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// What they are from.
    pub kind: Kind,
    /// The proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    /// The direct patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_id: Option<String>,
    /// Object id of the event that brought the revision that was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Who wrote them: of a proposal whoever made the first revision that has them; of a commit its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether that is a person, an agent or a build machine; absent for a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_kind: Option<ActorKind>,
    /// The session that the agent's harness names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model that the agent's harness names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who decided; where only the commit's trailers say so, its reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// What shows that they decided: `terminal`, `flag`, `tool`, `hook`; `trailer` where only the commit
    /// says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// When it was decided, or committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The commit that has them, by git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The first line of the description, or of the commit message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Lines that follow each other and are from the same origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The first of them, from 1.
    pub line: usize,
    /// How many.
    pub count: usize,
    /// Where they are from.
    pub origin: Origin,
}

/// A file, and where its lines are from.
#[derive(Clone, Debug)]
pub struct Blame {
    /// What is in it.
    pub content: Vec<u8>,
    /// Its lines, in order.
    pub ranges: Vec<Range>,
}

/// Where each line of the file at `path`, as it is in the work tree, is from.
///
/// # Errors
/// `file_not_found`, `binary_content`, and those of the store and the work tree.
pub fn blame(store: &Store, now: DateTime<Utc>, path: &RepoPath) -> Result<Blame> {
    let file = store.worktree()?.file(path)?.ok_or_else(|| {
        Error::new(&codes::FILE_NOT_FOUND, format!("there is no file '{}'", path.display()))
            .with("path", path.display().to_string())
            .hint("name a file of the work tree; `git log -- FILE` finds one that is gone")
    })?;
    if file.is_binary() {
        let message = format!("'{}' is binary: it has no lines", path.display());
        return Err(Error::new(&codes::NOT_TEXT, message)
            .with("path", path.display().to_string())
            .hint("`aye log` and `git log -- FILE` print who changed it"));
    }
    let text = Text::new(file.bytes.as_slice());
    let view = store.view()?;
    let known = Versions { store, view: &view, now };
    let git = known.by_git(path, &file.bytes)?;
    let mut named = HashMap::new();
    for id in git.commits.keys() {
        named.extend(commits::read(store, *id).ok().map(|commit| (*id, commit)));
    }
    let mut lines = Lines { git, named, origins: vec![None; text.len()] };
    let known = known.of(path, &lines.git, lines.named.values())?;
    for version in &known {
        lines.claim(version, &file.bytes);
    }
    let mut ranges: Vec<Range> = Vec::new();
    for at in 0..text.len() {
        let origin = lines.origin(&view, at);
        match ranges.last_mut() {
            Some(last) if last.origin == origin => last.count += 1,
            _ => ranges.push(Range { line: at + 1, count: 1, origin }),
        }
    }
    Ok(Blame { content: file.bytes, ranges })
}

/// What one decision, or one direct patch, made of the file.
struct Version {
    /// As far as it is the same for all lines.
    origin: Origin,
    at: DateTime<Utc>,
    before: Vec<u8>,
    after: Vec<u8>,
    /// The revisions up to the one that was applied: who wrote each, and what it makes of the file.
    authors: Vec<(Actor, Option<AgentRun>, Vec<u8>)>,
}

struct Lines {
    git: git::Lines,
    /// The commits of the lines, with the proposals that they name.
    named: HashMap<ObjectId, commits::Commit>,
    origins: Vec<Option<Origin>>,
}

impl Lines {
    /// Gives `version` the lines that it has added and that nothing newer has claimed.
    fn claim(&mut self, version: &Version, now: &[u8]) {
        let added = Diff::new(version.before.as_slice(), version.after.as_slice());
        let since = Diff::new(version.after.as_slice(), now);
        let is_added = |line: &usize| added.edits().iter().any(|edit| edit.after.contains(line));
        for (then, at) in kept(&since).filter(|(then, _)| is_added(then)) {
            if self.origins[at].is_none() && self.may_be(version, at) {
                let author = version.author(added.after().line(then));
                let commit = self.git.lines[at].as_ref().map(|(id, _)| id.to_string());
                self.origins[at] = Some(Origin { commit, ..author });
            }
        }
    }

    /// Whether what git says of line `at` leaves room for its being from `version`.
    fn may_be(&self, version: &Version, at: usize) -> bool {
        let Some((id, _)) = &self.git.lines[at] else { return true };
        let named = self.named.get(id).map_or(&[][..], |commit| &commit.proposal_ids);
        match named.is_empty() {
            false => version.origin.proposal_id.as_ref().is_some_and(|id| named.contains(id)),
            true => self.git.commits.get(id).is_some_and(|c| c.at + SLACK >= version.at),
        }
    }

    /// Where line `at` is from.
    fn origin(&mut self, view: &View, at: usize) -> Origin {
        if let Some(origin) = self.origins[at].take() {
            return origin;
        }
        let Some((id, _)) = &self.git.lines[at] else { return Origin::default() };
        let commit = self.git.commits.get(id).cloned().unwrap_or_default();
        let by_hand = Origin {
            kind: Kind::Commit,
            by: Some(commit.author),
            at: Some(timestamp(commit.at)),
            commit: Some(id.to_string()),
            summary: Some(commit.summary),
            ..Origin::default()
        };
        let Some(named) = self.named.get(id) else { return by_hand };
        let [name] = named.proposal_ids.as_slice() else { return by_hand };
        if view.find(name).is_ok() {
            // It is here, and has not added the line.
            return by_hand;
        }
        let all = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
        Origin {
            kind: Kind::Proposal,
            proposal_id: Some(name.clone()),
            by: all(&named.proposers).or(by_hand.by),
            decided_by: all(&named.reviewers),
            evidence: Some("trailer".to_owned()),
            ..by_hand
        }
    }
}

/// The lines that both contents of `diff` have, as numbers from 0 in the first and in the second.
fn kept<'d>(diff: &'d Diff<'_>) -> impl Iterator<Item = (usize, usize)> + 'd {
    let ends = [(diff.before().len(), diff.after().len())];
    let starts = diff.edits().iter().map(|edit| (edit.before.start, edit.after.start));
    let from = diff.edits().iter().map(|edit| (edit.before.end, edit.after.end));
    std::iter::once((0, 0)).chain(from).zip(starts.chain(ends)).flat_map(
        |((before, after), (end, _))| (before..end).map(move |line| (line, after + line - before)),
    )
}

impl Version {
    /// The origin of `line`, which it added.
    fn author(&self, line: &[u8]) -> Origin {
        let mut found = self.authors.iter().filter(|(_, _, content)| {
            let added = Diff::new(self.before.as_slice(), content.as_slice());
            let mut edits = added.edits().iter().flat_map(|edit| edit.after.clone());
            edits.any(|at| added.after().line(at) == line)
        });
        let Some((actor, run, _)) = found.next().or(self.authors.last()) else {
            return self.origin.clone();
        };
        Origin {
            by: Some(actor.name.clone()),
            by_kind: Some(actor.kind),
            session: run.as_ref().and_then(|run| run.session.clone()),
            model: run.as_ref().and_then(|run| run.model.clone()),
            ..self.origin.clone()
        }
    }
}

/// Most moves that one file is followed through.
const MOST_MOVES: usize = 16;

/// Reads what was decided about a file.
struct Versions<'s> {
    store: &'s Store,
    view: &'s View,
    now: DateTime<Utc>,
}

impl Versions<'_> {
    /// What has been written to the file that is at `path` now, under each of its names, newest first.
    fn of<'c>(
        &self,
        path: &RepoPath,
        git: &git::Lines,
        commits: impl Iterator<Item = &'c commits::Commit>,
    ) -> Result<Vec<Version>> {
        let mut names = vec![path.clone()];
        names.extend(git.lines.iter().flatten().filter_map(|(_, name)| name.clone()));
        names.sort_unstable();
        names.dedup();
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(name) = names.get(at).cloned() {
            at += 1;
            for id in self.view.ids_of(&Filter::applied_to(&name, MOST), self.now)? {
                let proposal = self.view.proposal(&id)?;
                let Some(decision) = proposal.decision() else { continue };
                let origin = origin_of(&proposal, decision, &name);
                names.extend(origin.clone().filter(|origin| !names.contains(origin)));
                found.extend(self.decided(&proposal, decision, &name, origin.as_ref()));
            }
            found.extend(self.patched(&name)?);
        }
        // A squash may hold a rename that git does not see: what it names is looked at whatever it changed.
        for name in commits.flat_map(|commit| &commit.proposal_ids) {
            let Ok(proposal) = self.view.find(name) else { continue };
            let Some(decision) = proposal.decision().filter(|_| is_applied(&proposal)) else {
                continue;
            };
            let steps = of_events(&proposal, decision);
            for step in steps.iter().filter(|step| !names.contains(&step.path)) {
                let origin = origin_of(&proposal, decision, &step.path);
                found.extend(self.decided(&proposal, decision, &step.path, origin.as_ref()));
            }
        }
        found.sort_by_key(|version| std::cmp::Reverse(version.at));
        Ok(found)
    }

    /// What git says of the lines of the file at `path`, which holds `now`. It is asked about what is committed, in a
    /// merge on either side: of a file of the work tree it would run the filters that the configuration names.
    fn by_git(&self, path: &RepoPath, now: &[u8]) -> Result<git::Lines> {
        let repo = self.store.repo();
        let merged = std::fs::read_to_string(repo.git_dir().join("MERGE_HEAD")).unwrap_or_default();
        let merged = merged.lines().filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok());
        let head = repo.head_id().ok().map(gix::Id::detach);
        let committed = |name: &RepoPath| {
            let sides = head.into_iter().chain(merged.clone());
            let file = |side| self.store.files_of(side).ok()?.file(name).ok()?;
            sides.filter_map(|side| Some((side, file(side)?))).collect::<Vec<_>>()
        };
        let (mut name, mut sides) = (path.clone(), committed(path));
        // It may have been moved here and not be committed yet: by hand, or by a proposal.
        if sides.is_empty() {
            let source = match self.staged_from(path)? {
                None => self.source_in_head(path)?,
                staged => staged,
            };
            name = source.unwrap_or(name);
            sides = committed(&name);
        }
        let mut found = git::Lines::default();
        found.lines.resize(Text::new(now).len(), None);
        for (side, file) in sides {
            let git = self.store.git()?.args(["blame", "--porcelain", "--no-textconv"]);
            let git = git.args([side.to_string().as_str(), "--"]).arg(name.to_path()).run();
            found.carry(
                git::parse(&git.unwrap_or_default()),
                kept(&Diff::new(file.bytes.as_slice(), now)),
            );
        }
        Ok(found)
    }

    /// What HEAD calls the file that the index has at `path`, and HEAD elsewhere.
    fn staged_from(&self, path: &RepoPath) -> Result<Option<RepoPath>> {
        let renames = ["diff-index", "--cached", "-M", "--diff-filter=R", "--name-status", "-z"];
        let printed = self.store.git()?.args(renames).arg("HEAD").answer()?.stdout;
        // A status, the old name and the new one.
        let fields: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
        let found = fields.chunks_exact(3).find(|fields| fields[2] == path.as_bstr());
        Ok(found.and_then(|fields| RepoPath::from_tree(fields[1]).ok()))
    }

    /// What HEAD calls the file that applied proposals have moved, or copied, to `path`.
    fn source_in_head(&self, path: &RepoPath) -> Result<Option<RepoPath>> {
        let mut name = path.clone();
        for _ in 0..MOST_MOVES {
            let mut origin = None;
            for id in self.view.ids_of(&Filter::applied_to(&name, MOST), self.now)? {
                let proposal = self.view.proposal(&id)?;
                let decision = proposal.decision();
                origin = decision.and_then(|decision| origin_of(&proposal, decision, &name));
                if origin.is_some() {
                    break;
                }
            }
            match origin {
                Some(found) if self.store.id_in_head(&found).is_some() => return Ok(Some(found)),
                Some(found) => name = found,
                None => break,
            }
        }
        Ok(None)
    }

    /// What `decision` made of the file `name`, which was moved or copied from `origin`; `None` where its
    /// content is not here.
    fn decided(
        &self,
        proposal: &Proposal,
        decision: &Decision,
        name: &RepoPath,
        origin: Option<&RepoPath>,
    ) -> Option<Version> {
        let steps = of_events(proposal, decision);
        let step = |path: &RepoPath| steps.iter().find(|step| step.path == *path);
        let own = step(name)?;
        let after = self.bytes(own.after.as_ref()?)?;
        let source = own.before.clone().or_else(|| step(origin?)?.before.clone());
        let before = match &source {
            Some(entry) => self.bytes(entry)?,
            None => Vec::new(),
        };
        let applied = proposal.revisions.iter().position(|r| r.event == decision.revision)?;
        let authors = proposal.revisions[..=applied].iter().filter_map(|revision| {
            let change = revision.changes.iter().find(|change| change.path == *name)?;
            let content = self.bytes(change.after.as_ref()?)?;
            Some((revision.actor.clone(), revision.agent.clone(), content))
        });
        let description = proposal.description.as_deref().and_then(|text| text.lines().next());
        let fixed = Origin {
            kind: Kind::Proposal,
            proposal_id: Some(proposal.id.to_string()),
            revision: Some(decision.revision.clone()),
            by: Some(proposal.proposed_by.clone()),
            by_kind: Some(proposal.actor.kind),
            decided_by: Some(decision.by.name.clone()),
            evidence: Some(decision.evidence.as_str().to_owned()),
            at: Some(timestamp(decision.at)),
            summary: description.map(str::to_owned),
            ..Origin::default()
        };
        let authors = authors.collect();
        Some(Version { origin: fixed, at: decision.at, before, after, authors })
    }

    /// What direct patches that stand made of the file `name`, where that content is here.
    fn patched(&self, name: &RepoPath) -> Result<Vec<Version>> {
        let events = self.view.patches()?;
        let undone: Vec<&str> = events
            .iter()
            .filter_map(|entry| match &entry.stamped.event.data {
                Data::Undo(undo) => undo.patch.as_deref(),
                _ => None,
            })
            .collect();
        let mut found = Vec::new();
        for entry in &events {
            let (id, event) = (&entry.stamped.id, &entry.stamped.event);
            let Data::Patch(patch) = &event.data else { continue };
            let written = patch.written.iter().find(|written| written.path == *name);
            let Some(Written { before, after: Some(after), .. }) = written else { continue };
            let before = before.as_ref().map_or(Some(Vec::new()), |entry| self.bytes(entry));
            let (Some(before), Some(after)) = (before, self.bytes(after)) else { continue };
            if undone.contains(&id.as_str()) {
                continue;
            }
            let origin = Origin {
                kind: Kind::Patch,
                patch_id: Some(crate::decide::patch::id(id)),
                evidence: Some(patch.evidence.as_str().to_owned()),
                at: Some(timestamp(event.time)),
                ..Origin::default()
            };
            let authors = vec![(event.actor.clone(), event.agent.clone(), after.clone())];
            found.push(Version { origin, at: event.time, before, after, authors });
        }
        Ok(found)
    }

    fn bytes(&self, entry: &Entry) -> Option<Vec<u8>> {
        let file: File = self.store.file(entry).ok()?;
        (!file.is_binary()).then_some(file.bytes)
    }
}

fn is_applied(proposal: &Proposal) -> bool {
    matches!(proposal.state, State::Applied(_))
}

/// What the revision that was applied says `name` was moved or copied from.
fn origin_of(proposal: &Proposal, decision: &Decision, name: &RepoPath) -> Option<RepoPath> {
    let changes = &proposal.revision(&decision.revision)?.changes;
    let change = changes.iter().find(|change| change.path == *name && change.before.is_none())?;
    change.origin.clone()
}
