//! Commits held to the proposals they touch or name.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use chrono::{DateTime, Utc};
use gix::ObjectId;

use super::approved::{Cover, counts, first_difference, is_covered};
use super::commits::{self, ByGit, Change, Commit};
use super::touched::Pending;
use super::{Concern, FailOn, Scope, contested, instructions, merged, moved};
use crate::changeset::RepoPath;
use crate::changeset::instructions::{InstructionKind, Instructions};
use crate::changeset::sensitive::{self, MemoryFile};
use crate::error::{Error, Result};
use crate::proposal::state::Decision;
use crate::proposal::steps::Step;
use crate::proposal::{Actor, ChangeRecord, Entry, Proposal, Status, codes, trailers};
use crate::report::{Finding, Level};
use crate::repository::Repository;
use crate::store::{Space, Store, View, codes as store_codes, fetch_refspec};

/// Commits, and what they are held to.
pub struct Range<'a> {
    /// What was decided.
    pub store: &'a Store,
    /// As [`Range::store`] has it.
    pub view: &'a View<'a>,
    /// The pending proposals that a commit may touch.
    pub pending: &'a Pending<'a>,
    /// Which proposals count.
    pub scope: &'a Scope,
    /// When.
    pub now: DateTime<Utc>,
    /// What fails.
    pub fail_on: &'a FailOn,
    /// A commit that names no proposal is a finding, too.
    pub require_proposal: bool,
}

impl Range<'_> {
    /// Findings over the commits `ids`, oldest first ([`commits::list`]): those that touch files with pending proposals,
    /// and those that claim a proposal of the scope and do not hold exactly what a person approved. The last one of a
    /// shallow clone is not judged, for nobody can tell what it changes: see [`cut`].
    ///
    /// # Errors
    /// `invalid_range` for a commit that cannot be read; if the store cannot be.
    pub fn findings(&self, ids: &[ObjectId]) -> Result<Vec<Finding>> {
        let Self { store, view, pending, fail_on, .. } = *self;
        let repository = store.repository();
        let mut found = Vec::new();
        let may_touch = pending.may_touch()?;
        let instructions = store.instructions();
        let tip = ids.last().copied();
        let last = repository.repo().shallow_commits().ok().flatten();
        let is_cut = |id: &&ObjectId| last.as_ref().is_some_and(|last| last.contains(id));
        for id in ids.iter().filter(|id| !is_cut(id)).copied() {
            let before = found.len();
            let commit = commits::read(repository, id)?;
            let (changes, claimed) = (commits::changes(repository, &commit)?, Vec::new());
            let by_git = OnceCell::new();
            let mut claims = Claims { range: self, commit: &commit, changes, tip, claimed, by_git };
            for name in &commit.proposal_ids {
                for proposal in claims.candidates(name).unwrap_or_default() {
                    claims.claimed.extend(claims.covers(&proposal).unwrap_or_default());
                }
            }
            let (mut known, mut claimed, mut held) = (Vec::new(), Vec::new(), Vec::new());
            // Files of proposals with which something else is wrong already.
            let mut told: Vec<RepoPath> = Vec::new();
            for name in &commit.proposal_ids {
                let (finding, proposal) = claims.claim(name)?;
                let is_told = finding.as_ref().is_some_and(|finding| finding.level == Level::Error);
                let is_it = |proposal: &&Proposal| {
                    finding.is_none() || !is_told && claims.taken_back(proposal).is_some()
                };
                held.extend(
                    proposal.as_ref().filter(is_it).map(|proposal| proposal.id.to_string()),
                );
                claimed.extend(finding);
                if let Some(proposal) = proposal.as_ref().filter(|_| is_told) {
                    let changes = proposal.current().changes.iter();
                    told.extend(changes.map(|change| change.path.clone()));
                }
                if let Some(proposal) = &proposal {
                    claimed.extend(claims.private(proposal)?);
                    claimed.extend(claims.claimed_otherwise(proposal)?);
                }
                known.extend(proposal);
            }
            if may_touch {
                let own = claims.changes.iter().filter(|(_, change)| change.is_own);
                let who = format!("commit {}", commit.short());
                let touched =
                    pending.findings(own.map(|(path, _)| path.as_slice()), &who, fail_on)?;
                for finding in touched {
                    let id = finding.proposal_id.as_ref();
                    // What was approved and is pending still is held by this very commit.
                    let is_held = id.is_some_and(|id| held.contains(id));
                    let of = id.and_then(|id| view.find(id).ok());
                    if !is_held && !of.is_some_and(|of| claims.is_where_it_starts(&of)) {
                        found.push(finding);
                    }
                }
            }
            found.append(&mut claimed);
            found.extend(signed(repository, &commit, fail_on)?);
            found.extend(claims.instructions(&instructions)?);
            if known.is_empty() {
                let is_due = self.require_proposal && commit.proposal_ids.is_empty();
                if is_due && !commit.is_empty() && !claims.is_merge_as_git_makes_it()? {
                    let message = format!("commit {} names no proposal", commit.short());
                    found.push(fail_on.finding(Concern::NoProposal, message).hint("aye propose"));
                }
            } else {
                found.extend(claims.extra_files(&known, &told)?);
                known.retain(|proposal| claims.taken_back(proposal).is_none());
                found.extend(claims.reviewer(&known));
            }
            show_beside(&mut found[before..], &claims.changes);
        }
        Ok(found)
    }
}

/// Says of the findings about a commit that makes `changes` at which file they can be shown: the first.
fn show_beside(found: &mut [Finding], changes: &BTreeMap<BString, Change>) {
    let own = changes.iter().find(|(_, change)| change.is_own).or(changes.iter().next());
    if let Some((path, _)) = own {
        found.iter_mut().for_each(|finding| finding.beside = Some(path.clone()));
    }
}

/// A finding where the commits `ids` go on behind the last commit of a shallow clone: what is there was not looked
/// at, nor can be told what that last one changes.
pub fn cut(repository: &Repository, ids: &[ObjectId], fail_on: &FailOn) -> Option<Finding> {
    let last = repository.repo().shallow_commits().ok().flatten()?;
    let cut = ids.iter().find(|id| last.contains(id));
    cut.map(|id| {
        let id = id.to_hex_with_len(7);
        let concern = Concern::RangeShallow;
        let message =
            format!("commit {id} has no parents in this shallow clone: the range is not whole");
        fail_on.finding(concern, message).hint(concern.rule().help)
    })
}

/// Agents that a commit names as an author, or as one who answers for it: a notice, unless the repository
/// has them named otherwise (`aye.assistedBy`).
fn signed(repository: &Repository, commit: &Commit, fail_on: &FailOn) -> Result<Vec<Finding>> {
    let is_wanted = repository.settings()?.assisted_by;
    let finding = |(key, agent): &(&str, &str)| {
        let concern = Concern::AgentSigned;
        let message = format!("commit {} has {key} for the agent '{agent}'", commit.short());
        let finding = if is_wanted {
            fail_on.finding(concern, message)
        } else {
            Finding::new(concern.id(), Level::Note, message)
        };
        finding.hint("only people sign; name it with Assisted-by: AGENT:MODEL")
    };
    Ok(commit.signed.iter().map(finding).collect())
}

/// What one commit claims.
struct Claims<'a> {
    range: &'a Range<'a>,
    commit: &'a Commit,
    /// The files that it holds otherwise than one of its parents.
    changes: BTreeMap<BString, Change>,
    /// The commit that the range ends with.
    tip: Option<ObjectId>,
    /// What was approved of the proposals that it names.
    claimed: Vec<Cover>,
    /// What git makes of its parents, where it is a merge.
    by_git: OnceCell<Option<ByGit>>,
}

impl Claims<'_> {
    /// The proposals that `name` may be: several where one was made to have the short id of another.
    fn candidates(&self, name: &str) -> Result<Vec<Proposal>> {
        let error = match self.range.view.find(name) {
            Err(error) if error.is(&codes::AMBIGUOUS_ID) => error,
            found => return found.map(|proposal| vec![proposal]),
        };
        let named = error.details().iter().find(|(key, _)| *key == "candidates");
        let ids = named.and_then(|(_, ids)| ids.as_array()).into_iter().flatten();
        let found = ids.filter_map(|id| self.range.view.find(id.as_str()?).ok());
        let found: Vec<Proposal> =
            found.filter(|proposal| proposal.id.as_str().starts_with(name)).collect();
        if found.is_empty() { Err(error) } else { Ok(found) }
    }

    /// What is wrong with the claim to hold the proposal `name`, and the proposal, if it is known
    /// and within the scope: of several the first with which nothing is.
    fn claim(&self, name: &str) -> Result<(Option<Finding>, Option<Proposal>)> {
        let candidates = match self.candidates(name) {
            Ok(candidates) => candidates,
            Err(error) if error.code().exit != crate::error::Exit::Bug => {
                return Ok((Some(self.unreadable(name, &error)), None));
            }
            Err(error) => return Err(error),
        };
        let mut claims = Vec::new();
        for proposal in candidates {
            claims.push(self.claim_of(proposal)?);
        }
        let sound = claims.iter().position(|(finding, _)| finding.is_none());
        Ok(claims.swap_remove(sound.unwrap_or_default()))
    }

    /// That the proposal `name` cannot be read, as `error` says.
    fn unreadable(&self, name: &str, error: &Error) -> Finding {
        let (short, why) = (self.commit.short(), error.message());
        let fetch = format!("git fetch REMOTE '{}'", fetch_refspec("REMOTE"));
        let (concern, message, hint) = if error.is(&codes::AMBIGUOUS_ID) {
            let message =
                format!("commit {short} names '{name}', which several proposals begin with");
            (Concern::UnknownProposal, message, "write more of the id into the trailer".to_owned())
        } else if error.is(&codes::PROPOSAL_PURGED) {
            let message =
                format!("commit {short} names a proposal of which nothing is left: {why}");
            let hint = "nothing of it is left to hold the commit against: begin the range behind it, or push it with --no-verify";
            (Concern::UnknownProposal, message, hint.to_owned())
        } else if error.is(&codes::PROPOSAL_NOT_FOUND) || error.is(&codes::INVALID_ID) {
            let message =
                format!("commit {short} names the proposal '{name}', which is not known here");
            let hint = format!(
                "fetch the threads of other clones ({fetch}; a private one is in its writer's clone alone), or correct the trailer"
            );
            (Concern::UnknownProposal, message, hint)
        } else {
            let is_incomplete = error.is(&store_codes::THREAD_INCOMPLETE);
            let concern =
                if is_incomplete { Concern::ThreadIncomplete } else { Concern::ThreadDamaged };
            let hint = error.hint_text().unwrap_or(&fetch).to_owned();
            (concern, format!("commit {short} names {name}: {why}"), hint)
        };
        self.range.fail_on.finding(concern, message).hint(hint)
    }

    fn claim_of(&self, proposal: Proposal) -> Result<(Option<Finding>, Option<Proposal>)> {
        if !self.range.scope.takes(&proposal) {
            return Ok((None, None));
        }
        let decided = self.decided(&proposal)?;
        // What was undone since is held to what was approved then.
        let finding = match decided.as_ref().map(|finding| finding.level) {
            None | Some(Level::Note) => self.content(&proposal)?.or(decided),
            Some(_) => decided,
        };
        Ok((finding, Some(proposal)))
    }

    /// A notice that nobody else can know the proposal that is claimed.
    fn private(&self, proposal: &Proposal) -> Result<Option<Finding>> {
        if self.range.view.space(&proposal.id)? != Space::Private {
            return Ok(None);
        }
        let (short, id) = (self.commit.short(), proposal.id.as_str());
        let message = format!(
            "commit {short} names {id}, which is private: to everybody else it is an unknown proposal"
        );
        let finding = Finding::new(Concern::UnknownProposal.id(), Level::Note, message);
        let hint = "before others check the commit: git commit --amend, and take its trailers out";
        Ok(Some(finding.hint(hint).proposal(id)))
    }

    fn contested(&self, proposal: &Proposal) -> String {
        let (short, id) = (self.commit.short(), &proposal.id);
        let decided = proposal.decided();
        format!("commit {short} names {id}, which two clones decided differently: {decided}")
    }

    /// That decisions on the proposal differ, where that is somebody's claim alone.
    fn claimed_otherwise(&self, proposal: &Proposal) -> Result<Option<Finding>> {
        if !proposal.contested || contested::is_binding(self.range.store, proposal)? {
            return Ok(None);
        }
        let finding = self.range.fail_on.finding(Concern::Contested, self.contested(proposal));
        Ok(Some(finding.hint(proposal.settle()).proposal(proposal.id.as_str()).by_others()))
    }

    /// What is wrong with the decision on the proposal that is claimed.
    fn decided(&self, proposal: &Proposal) -> Result<Option<Finding>> {
        let (short, id) = (self.commit.short(), proposal.id.as_str());
        let status = proposal.status(self.range.now);
        let review = format!("aye review {id}");
        let is_contested = contested::is_binding(self.range.store, proposal)?;
        let approved = !is_contested && proposal.approvals_in_force().next().is_some();
        let (concern, message, hint) = if approved {
            return Ok(None);
        } else if let Some(mark) = proposal.mark() {
            let (word, by) = (mark.verdict.as_str(), &mark.by.name);
            let message = format!(
                "commit {short} names {id}, which '{by}' marked {word} and nobody approved"
            );
            (Concern::MarkedWithoutApproval, message, review)
        } else if let Some(decision) = self.taken_back(proposal) {
            let by = &decision.by.name;
            let message = format!("commit {short} names {id}, which '{by}' has undone");
            if !self.is_at_the_tip(decision) {
                let why = format!("{message}; so do later commits");
                let finding = Finding::new(Concern::NotApplied.id(), Level::Note, why);
                return Ok(Some(finding.proposal(id)));
            }
            (Concern::NotApplied, message, format!("git revert {short} takes it out; {review}"))
        } else if status != Status::Applied {
            let message = format!("commit {short} names {id}, which is {}", status.as_str());
            let hint = match status {
                Status::Pending => review,
                _ => format!("aye show {id}; take the trailer out of the commit"),
            };
            (Concern::NotApplied, message, hint)
        } else if is_contested {
            (Concern::Contested, self.contested(proposal), proposal.settle())
        } else if !counts(self.range.view, proposal)? {
            let by = proposal.decision().map(|decision| decision.by.name.clone());
            let by = by.unwrap_or_default();
            let message = format!("commit {short} names {id}, which '{by}' applied, not a person");
            (Concern::MarkedWithoutApproval, message, format!("aye undo {id}, then {review}"))
        } else {
            return Ok(None);
        };
        Ok(Some(self.range.fail_on.finding(concern, message).hint(hint).proposal(id)))
    }

    /// The last decision of a person that applied the pending `proposal`, if it was taken back.
    fn taken_back<'p>(&self, proposal: &'p Proposal) -> Option<&'p Decision> {
        let is_pending = proposal.status(self.range.now) == Status::Pending;
        proposal.undone.last().filter(|decision| is_pending && decision.is_by_a_person())
    }

    /// Whether the commit takes the files of `proposal` to what that starts from, as whoever commits what `aye undo`
    /// has put back does.
    fn is_where_it_starts(&self, proposal: &Proposal) -> bool {
        let files = proposal.current().changes.iter();
        let mut touched = files.filter_map(|file| {
            let change = self.changes.get(file.path.as_bstr()).filter(|change| change.is_own)?;
            Some((file, &change.entry))
        });
        let takes_back = |file: &ChangeRecord, now: &Option<Entry>| {
            let (path, before, after) =
                (file.path.clone(), file.before.clone(), file.after.clone());
            let had =
                commits::entry_at(self.range.store.repository(), self.commit.parent_tree, &path);
            let back = Step { path: path.clone(), before: after.clone(), after: before.clone() };
            let made = Step { path, before, after };
            commits::has(self.range.store, &made, had)
                && commits::has(self.range.store, &back, now.clone())
        };
        // With other lines of the file, too, as after a rebase.
        touched.all(|(file, now)| file.before == *now || takes_back(file, now))
    }

    /// Whether the range ends with something that `decision` has written, whatever else its files hold there.
    fn is_at_the_tip(&self, decision: &Decision) -> bool {
        let tip = self.tip.and_then(|id| commits::read(self.range.store.repository(), id).ok());
        let tree = tip.map(|commit| commit.tree);
        let mut written = decision.written.iter().filter(|file| file.before != file.after);
        written.any(|file| {
            let found = commits::entry_at(self.range.store.repository(), tree, &file.path);
            commits::has(self.range.store, &Step::from(file), found)
        })
    }

    /// What was approved of `proposal`, for this commit: also by a decision that was undone since, which the range ends
    /// without.
    fn covers(&self, proposal: &Proposal) -> Result<Vec<Cover>> {
        let undone = self.taken_back(proposal).filter(|decision| !self.is_at_the_tip(decision));
        moved::covers(self.range.view, self.commit, proposal, undone)
    }

    /// Whether the commit holds what was approved, and came to it by approved steps only: as the
    /// decision has it, or one of the approvals that wrote nothing.
    fn content(&self, proposal: &Proposal) -> Result<Option<Finding>> {
        let mut first = None;
        let covers = self.claimed.iter().filter(|cover| cover.proposal == proposal.id);
        for cover in covers.clone() {
            match self.difference(proposal, cover)? {
                None => return Ok(None),
                found => first = first.or(found),
            }
        }
        if covers.count() == 0
            && let Err(error) = self.covers(proposal)
        {
            let finding =
                self.range.fail_on.finding(Concern::ContentDiffers, error.message().to_owned());
            first = Some(finding.hint("aye doctor").proposal(proposal.id.as_str()));
        }
        Ok(first)
    }

    /// Where the commit differs from what `cover` approves.
    fn difference(&self, proposal: &Proposal, cover: &Cover) -> Result<Option<Finding>> {
        let (short, id) = (self.commit.short(), proposal.id.as_str());
        let differs = |path: &RepoPath, message: String| {
            self.range
                .fail_on
                .finding(Concern::ContentDiffers, message)
                .hint(format!(
                    "git diff {short}^ {short} and aye diff {id} show both; propose what differs"
                ))
                .path(path.as_bstr())
                .proposal(id)
        };
        let mut approved = cover.files();
        // What was undone since need not be there, as in a squash of both; what is changed of it has to be its own.
        let is_undone = self.taken_back(proposal).is_some();
        approved.retain(|(path, _)| self.range.scope.covers(path) && !is_undone);
        let commit = self.commit;
        let lookup = |path: &RepoPath| {
            commits::entry_at(self.range.store.repository(), Some(commit.tree), path)
        };
        for file in &approved {
            let file = std::slice::from_ref(file);
            let found = first_difference(self.range.view, cover, file, lookup)?;
            let Some((path, _)) = found else { continue };
            if self.is_merged(cover, path)? {
                continue;
            }
            let message =
                format!("commit {short} does not hold {} as {id} was approved", path.display());
            return Ok(Some(differs(path, message)));
        }
        if commit.parent_tree.is_none() && !commit.merged.is_empty() {
            return Ok(None);
        }
        for step in cover.steps.iter().filter(|step| self.range.scope.covers(&step.path)) {
            let path = &step.path;
            let unchanged =
                commits::entry_at(self.range.store.repository(), commit.parent_tree, path)
                    == lookup(path);
            if !unchanged
                && !is_covered(self.range.view, commit, path, &self.claimed)?
                && !self.is_merged(cover, path)?
            {
                let message = format!(
                    "commit {short} changes {} from other content than {id} was approved for",
                    path.display()
                );
                return Ok(Some(differs(path, message)));
            }
        }
        Ok(None)
    }

    /// As [`merged::is_merged`]; where the commit is itself a merge, whether git makes the same of its parents there,
    /// and what was approved is in it.
    fn is_merged(&self, cover: &Cover, path: &RepoPath) -> Result<bool> {
        let entry = |tree| commits::entry_at(self.range.store.repository(), tree, path);
        let made = entry(Some(self.commit.tree));
        if !self.commit.merged.is_empty() {
            let mut steps = cover.steps.iter().filter(|step| step.path == *path);
            return Ok(self.is_by_git(path, &made)?
                && steps.any(|step| commits::has(self.range.store, step, made.clone())));
        }
        let parent = entry(self.commit.parent_tree);
        merged::is_merged(self.range.store, cover, &self.claimed, path, &parent, &made)
    }

    fn by_git(&self) -> Result<Option<&ByGit>> {
        if self.by_git.get().is_none() {
            let made = commits::merged_by_git(self.range.store.repository(), self.commit)?;
            self.by_git.get_or_init(|| made);
        }
        Ok(self.by_git.get().and_then(Option::as_ref))
    }

    /// Whether git's own merge of the commit's parents meets no conflict at `path`, and has `entry` there.
    fn is_by_git(&self, path: &RepoPath, entry: &Option<Entry>) -> Result<bool> {
        Ok(self.by_git()?.is_some_and(|it| it.has(self.range.store.repository(), path, entry)))
    }

    /// Whether a merge that has `entry` at `path`, as one of its parents does, leaves out what another one has there.
    fn is_left_out(&self, path: &RepoPath, entry: &Option<Entry>) -> Result<bool> {
        Ok(match self.by_git()? {
            Some(it) => !it.has(self.range.store.repository(), path, entry),
            // Of more than two parents git does not say it.
            None => self.commit.merged.len() > 1,
        })
    }

    /// Whether the commit changes the file at `path`. What a merge takes from one side alone is no change, unless that
    /// leaves out the other one's.
    fn is_changed(&self, path: &RepoPath, change: &Change) -> Result<bool> {
        Ok(change.is_own || self.is_left_out(path, &change.entry)?)
    }

    /// Whether the commit merges two others and is what git makes of them: all that it holds was changed elsewhere, and
    /// nothing of it is left out. Git before 2.38 cannot say the second.
    fn is_merge_as_git_makes_it(&self) -> Result<bool> {
        let Commit { tree, parent_tree, merged, .. } = self.commit;
        if merged.len() != 1 || parent_tree.is_none() || merged.contains(&None) {
            return Ok(false);
        }
        Ok(match self.by_git()? {
            Some(made) => made.conflicts.is_empty() && made.tree == *tree,
            None => !self.changes.values().any(|change| change.is_own),
        })
    }

    /// Files that instruct agents, or that decide what passes the gate, which the commit changes; and memory, where an
    /// agent made it and nobody approved that.
    fn instructions(&self, known: &Instructions) -> Result<Vec<Finding>> {
        let mut found = Vec::new();
        for (name, change) in &self.changes {
            let Ok(path) = RepoPath::from_tree(name) else { continue };
            let memory = sensitive::memory(&path);
            let what = known.kind(&path).map(InstructionKind::reason);
            let what = what.or_else(|| Some(memory?.reason()));
            let Some(what) = what.filter(|_| self.range.scope.covers(&path)) else { continue };
            let is_read = memory == Some(MemoryFile::Read);
            if is_read && self.commit.agent.is_none() {
                continue;
            }
            if !self.is_changed(&path, change)? {
                continue;
            }
            let is_approved = is_covered(self.range.view, self.commit, &path, &self.claimed)?;
            if is_read && is_approved {
                continue;
            }
            found.push(instructions::finding(
                self.commit, &path, what, is_approved, self.range.fail_on,
            ));
        }
        Ok(found)
    }

    /// Files that the commit changes beside those of the proposals it names, and those of which something was `told`.
    fn extra_files(&self, known: &[Proposal], told: &[RepoPath]) -> Result<Vec<Finding>> {
        let named: BTreeSet<&RepoPath> =
            self.claimed.iter().flat_map(|cover| &cover.steps).map(|step| &step.path).collect();
        let mut found = Vec::new();
        for (name, change) in &self.changes {
            let Ok(path) = RepoPath::from_tree(name) else { continue };
            if change.is_own && (named.contains(&path) || told.contains(&path))
                || !self.range.scope.covers(&path)
                || !self.is_changed(&path, change)?
                || is_covered(self.range.view, self.commit, &path, &self.claimed)?
            {
                continue;
            }
            // Both sides of a merge have changed it, and nobody else has.
            if self.is_by_git(&path, &change.entry)? {
                continue;
            }
            let short = self.commit.short();
            let message = format!(
                "commit {short} names {} and changes {}, which no decision approved",
                known[0].id,
                path.display()
            );
            found.push(
                self.range
                    .fail_on
                    .finding(Concern::ExtraFile, message)
                    .hint("propose that change too, or commit it apart")
                    .path(path.as_bstr())
                    .proposal(known[0].id.as_str()),
            );
        }
        Ok(found)
    }

    /// Whether the reviewers that the commit names are those who decided.
    fn reviewer(&self, known: &[Proposal]) -> Option<Finding> {
        let named = &self.commit.reviewers;
        if named.is_empty() {
            return None;
        }
        // Others may have looked, too; but whoever decided is among them, or where no person did, one
        // of those who approved.
        let missing = known.iter().find(|proposal| {
            let is_named = |who: &Actor| named.contains(&trailers::person(who));
            let mut deciders = trailers::reviewers(proposal).peekable();
            match deciders.peek() {
                Some(_) => !deciders.any(is_named),
                None => !proposal.approvals_in_force().any(|approval| is_named(&approval.by)),
            }
        })?;
        let mut decided: Vec<Actor> = Vec::new();
        for proposal in known {
            trailers::add(&mut decided, trailers::reviewers(proposal).cloned());
            let approvals = proposal.approvals_in_force();
            trailers::add(&mut decided, approvals.map(|approval| approval.by.clone()));
        }
        let decided: Vec<String> = decided.iter().map(trailers::person).collect();
        let who = if decided.is_empty() { "no person".to_owned() } else { decided.join(", ") };
        let message = format!(
            "commit {} says it was reviewed by {}, and {who} decided on {}",
            self.commit.short(),
            named.join(", "),
            missing.id
        );
        let id = missing.id.as_str();
        Some(
            self.range
                .fail_on
                .finding(Concern::ReviewerMismatch, message)
                .hint("correct the Reviewed-by trailer")
                .proposal(id),
        )
    }
}
