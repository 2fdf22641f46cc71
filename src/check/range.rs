//! Commits checked against the proposals that they touch or name.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use chrono::{DateTime, Utc};
use gix::ObjectId;

use super::approvals::{Cover, counts, first_difference, is_covered};
use super::commits::{self, Change, Commit, GitMerge};
use super::pending_paths::PendingPaths;
use super::{
    Concern, FailOn, Requirement, Requirements, Scope, causes, contested, instructions,
    merged_steps, renamed_covers,
};
use crate::actor::authors;
use crate::changeset::RepoPath;
use crate::changeset::instructions::{InstructionKind, Instructions};
use crate::changeset::sensitive::{self, MemoryFile};
use crate::error::{Error, Result};
use crate::proposal::state::{Decision, Revision};
use crate::proposal::steps::FileStep;
use crate::proposal::{Actor, ActorKind, ChangeRecord, Entry, Proposal, Status, codes, trailers};
use crate::report::{Finding, Level};
use crate::repository::Repository;
use crate::store::{Filter, Space, Store, View, codes as store_codes};

pub struct Range<'a> {
    pub store: &'a Store,
    pub view: &'a View<'a>,
    pub pending: &'a PendingPaths<'a>,
    pub scope: &'a Scope,
    pub now: DateTime<Utc>,
    pub fail_on: &'a FailOn,
    pub required: &'a Requirements,
}

impl Range<'_> {
    /// Findings over `ids`, oldest first: commits that touch files of pending proposals, and
    /// commits that claim a proposal without its exact approved content. The boundary commit of a
    /// shallow clone is skipped: see `cut`.
    ///
    /// # Errors
    /// `invalid_range` for an unreadable commit; errors of the store.
    pub fn findings(&self, ids: &[ObjectId]) -> Result<Vec<Finding>> {
        let Self { store, view, pending, fail_on, .. } = *self;
        let repository = store.repository();
        let mut all = Vec::new();
        let may_touch = pending.may_touch()?;
        let instructions = store.repository().instructions();
        let tip = ids.last().copied();
        let last = repository.repo().shallow_commits().ok().flatten();
        let is_cut = |id: &&ObjectId| last.as_ref().is_some_and(|last| last.contains(id));
        for id in ids.iter().filter(|id| !is_cut(id)).copied() {
            let mut found = Vec::new();
            let commit = commits::read(repository, id)?;
            let (changes, claimed) = (commits::changes(repository, &commit)?, Vec::new());
            let by_git = OnceCell::new();
            let agent = commit.author_agent;
            let mut claims =
                Claims { range: self, commit: &commit, changes, tip, agent, claimed, by_git };
            let mut proposers = Vec::new();
            for name in &commit.proposal_ids {
                for proposal in claims.candidates(name).unwrap_or_default() {
                    let names = proposal.authors().into_iter();
                    proposers.extend(names.filter_map(|name| authors::agent_of(name, "")));
                    claims.claimed.extend(claims.covers(&proposal).unwrap_or_default());
                }
            }
            // Whoever commits an agent's proposal names that agent, and is a person.
            let mut helpers = commit.helpers.iter().copied();
            claims.agent = agent.or_else(|| helpers.find(|agent| !proposers.contains(agent)));
            let (mut known, mut claimed, mut held) = (Vec::new(), Vec::new(), Vec::new());
            // Files of proposals that already have an error.
            let mut told: Vec<RepoPath> = Vec::new();
            for name in &commit.proposal_ids {
                let (finding, proposal) = claims.claim(name)?;
                let is_told = finding.as_ref().is_some_and(|finding| finding.level == Level::Error);
                let is_it = |proposal: &&Proposal| {
                    finding.is_none() || !is_told && claims.undone_decision(proposal).is_some()
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
                    // This very commit holds an approved, still pending proposal.
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
            found.extend(claims.unapproved_lines()?);
            if known.is_empty() {
                found.extend(claims.without_proposal()?);
            } else {
                found.extend(claims.extra_files(&known, &told)?);
                known.retain(|proposal| claims.undone_decision(proposal).is_none());
                found.extend(claims.reviewer(&known));
            }
            show_beside(&mut found, &claims.changes);
            all.extend(found.into_iter().map(|finding| (commit.short(), finding)));
        }
        Ok(causes::merge(all))
    }
}

/// Gives findings about a commit its first changed file as their location.
fn show_beside(found: &mut [Finding], changes: &BTreeMap<BString, Change>) {
    let own = changes.iter().find(|(_, change)| change.is_own).or(changes.iter().next());
    if let Some((path, _)) = own {
        found.iter_mut().for_each(|finding| finding.fallback_path = Some(path.clone()));
    }
}

/// A finding if `ids` continue behind the boundary of a shallow clone, whose changes are unknown.
pub fn shallow_boundary_finding(
    repository: &Repository,
    ids: &[ObjectId],
    fail_on: &FailOn,
) -> Option<Finding> {
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

/// Agents named as author or accountable: a notice, or a failure if `aye.assistedBy` demands
/// another trailer.
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

struct Claims<'a> {
    range: &'a Range<'a>,
    commit: &'a Commit,
    changes: BTreeMap<BString, Change>,
    /// Last commit of the range.
    tip: Option<ObjectId>,
    /// The agent whose commit it is, as far as it says so.
    agent: Option<&'static str>,
    /// Approvals of the named proposals.
    claimed: Vec<Cover>,
    /// Only for merge commits.
    by_git: OnceCell<Option<GitMerge>>,
}

impl Claims<'_> {
    /// Several are possible: an id can be forged to share another's prefix.
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

    /// For an ambiguous name the first candidate without a finding. Returns the proposal if within
    /// the scope.
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

    fn unreadable(&self, name: &str, error: &Error) -> Finding {
        let (short, why) = (self.commit.short(), error.message());
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
            let message = format!("commit {short} {}{name}", causes::UNKNOWN);
            let hint = "fetch the threads of other clones (`aye sync --fetch`; a private one is in its writer's clone alone), or correct the trailer";
            (Concern::UnknownProposal, message, hint.to_owned())
        } else {
            let is_incomplete = error.is(&store_codes::THREAD_INCOMPLETE);
            let concern =
                if is_incomplete { Concern::ThreadIncomplete } else { Concern::ThreadDamaged };
            let hint = error
                .hint_text()
                .unwrap_or("fetch the threads of other clones: aye sync --fetch")
                .to_owned();
            (concern, format!("commit {short} names {name}: {why}"), hint)
        };
        self.range.fail_on.finding(concern, message).hint(hint)
    }

    fn claim_of(&self, proposal: Proposal) -> Result<(Option<Finding>, Option<Proposal>)> {
        if !self.range.scope.takes(&proposal) {
            return Ok((None, None));
        }
        let decided = self.decided(&proposal)?;
        // An undone proposal is compared with its former approval.
        let finding = match decided.as_ref().map(|finding| finding.level) {
            None | Some(Level::Note) => self.content(&proposal)?.or(decided),
            Some(_) => decided,
        };
        Ok((finding, Some(proposal)))
    }

    /// Notice that nobody else has the proposal.
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
        let decided = proposal.decision_summary();
        format!("commit {short} names {id}, which two clones decided differently: {decided}")
    }

    /// Contradictory decisions without the policy's evidence: another clone merely asserts one.
    fn claimed_otherwise(&self, proposal: &Proposal) -> Result<Option<Finding>> {
        if !proposal.contested || contested::is_binding(self.range.store, proposal)? {
            return Ok(None);
        }
        let finding = self.range.fail_on.finding(Concern::Contested, self.contested(proposal));
        Ok(Some(
            finding.hint(proposal.settling_commands()).proposal(proposal.id.as_str()).advisory(),
        ))
    }

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
        } else if let Some(decision) = self.undone_decision(proposal) {
            let by = &decision.by.name;
            let message = format!("commit {short} names {id}, which '{by}' has undone");
            if !self.is_at_the_tip(decision) {
                let why = format!("{message}; so do later commits");
                let finding = Finding::new(Concern::NotApplied.id(), Level::Note, why);
                return Ok(Some(finding.proposal(id)));
            }
            let hint = match status {
                Status::Pending => format!("git revert {short} takes it out; {review}"),
                _ => format!("git revert {short} takes it out"),
            };
            (Concern::NotApplied, message, hint)
        } else if status != Status::Applied {
            let message = format!("commit {short} names {id}, which is {}", status.as_str());
            let hint = match status {
                Status::Pending => review,
                _ => format!("aye show {id}; take the trailer out of the commit"),
            };
            (Concern::NotApplied, message, hint)
        } else if is_contested {
            (Concern::Contested, self.contested(proposal), proposal.settling_commands())
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

    /// A person's last decision that applied `proposal`, unless another one applies it. It may be
    /// rejected by now: an undo also settles a contradiction.
    fn undone_decision<'p>(&self, proposal: &'p Proposal) -> Option<&'p Decision> {
        let applies = proposal.status(self.range.now) == Status::Applied;
        proposal.undone.last().filter(|decision| !applies && decision.is_by_a_person())
    }

    /// True if the commit returns the files of `proposal` to their before side, as a commit after
    /// `aye undo` does.
    fn is_where_it_starts(&self, proposal: &Proposal) -> bool {
        let files = proposal.current().changes.iter();
        let mut touched = files.filter_map(|file| {
            let change = self.changes.get(file.path.as_bstr()).filter(|change| change.is_own)?;
            Some((file, &change.entry))
        });
        let takes_back = |file: &ChangeRecord, now: &Option<Entry>| {
            let (path, before, after) =
                (file.path.clone(), file.before.clone(), file.after.clone());
            let had = self.range.store.repository().entry_at(self.commit.parent_tree, &path);
            let back =
                FileStep { path: path.clone(), before: after.clone(), after: before.clone() };
            let made = FileStep { path, before, after };
            commits::has(self.range.store, &made, had)
                && commits::has(self.range.store, &back, now.clone())
        };
        // After a rebase the file may hold other lines, too.
        touched.all(|(file, now)| file.before == *now || takes_back(file, now))
    }

    /// True if the range ends with anything that `decision` wrote, among other content.
    fn is_at_the_tip(&self, decision: &Decision) -> bool {
        let tip = self.tip.and_then(|id| commits::read(self.range.store.repository(), id).ok());
        let tree = tip.map(|commit| commit.tree);
        let mut written = decision.written.iter().filter(|file| file.before != file.after);
        written.any(|file| {
            let found = self.range.store.repository().entry_at(tree, &file.path);
            commits::has(self.range.store, &FileStep::from(file), found)
        })
    }

    /// Includes an undone decision if the range ends without it.
    fn covers(&self, proposal: &Proposal) -> Result<Vec<Cover>> {
        let undone =
            self.undone_decision(proposal).filter(|decision| !self.is_at_the_tip(decision));
        renamed_covers::covers(self.range.view, self.commit, proposal, undone)
    }

    /// Finding unless approved steps alone led to the approved content. Any one approval suffices.
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

    fn difference(&self, proposal: &Proposal, cover: &Cover) -> Result<Option<Finding>> {
        let (short, id) = (self.commit.short(), proposal.id.as_str());
        let differs = |path: &RepoPath, message: String| {
            self.finding(Concern::ContentDiffers, path, message)
                .hint(format!(
                    "git diff {short}^ {short} and aye diff {id} show both; propose the difference"
                ))
                .path(path.as_bstr())
                .proposal(id)
        };
        let mut approved = cover.files();
        // An undone change may be missing (a squash holds both), but its steps are checked.
        let is_undone = self.undone_decision(proposal).is_some();
        approved.retain(|(path, _)| self.range.scope.covers(path) && !is_undone);
        let commit = self.commit;
        let lookup =
            |path: &RepoPath| self.range.store.repository().entry_at(Some(commit.tree), path);
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
                self.range.store.repository().entry_at(commit.parent_tree, path) == lookup(path);
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

    /// As `merged_steps::is_merged`. In a merge commit git's own merge must have the same content, with
    /// the approved change.
    fn is_merged(&self, cover: &Cover, path: &RepoPath) -> Result<bool> {
        let entry = |tree| self.range.store.repository().entry_at(tree, path);
        let made = entry(Some(self.commit.tree));
        if !self.commit.merged.is_empty() {
            let mut steps = cover.steps.iter().filter(|step| step.path == *path);
            return Ok(self.is_by_git(path, &made)?
                && steps.any(|step| commits::has(self.range.store, step, made.clone())));
        }
        let parent = entry(self.commit.parent_tree);
        merged_steps::is_merged(self.range.store, cover, &self.claimed, path, &parent, &made)
    }

    /// A notice where `path` may have a person's own lines.
    fn finding(&self, concern: Concern, path: &RepoPath, message: String) -> Finding {
        let is_free = self.range.required.of(path) == Requirement::Agents && self.agent.is_none();
        if is_free {
            Finding::new(concern.id(), Level::Note, message)
        } else {
            self.range.fail_on.finding(concern, message)
        }
    }

    /// The changed files in the range's scope that no approval covers and `admits` takes.
    fn uncovered(&self, admits: impl Fn(&RepoPath) -> bool) -> Result<Vec<RepoPath>> {
        let mut found = Vec::new();
        for (name, change) in &self.changes {
            let Ok(path) = RepoPath::from_tree(name) else { continue };
            if self.range.scope.covers(&path)
                && admits(&path)
                && self.is_changed(&path, change)?
                && !is_covered(self.range.view, self.commit, &path, &self.claimed)?
            {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// A commit that names no proposal, with a change that needs one. Approved content needs no
    /// trailer.
    fn without_proposal(&self) -> Result<Option<Finding>> {
        let (commit, required) = (self.commit, self.range.required);
        if !commit.proposal_ids.is_empty() || commit.is_empty() {
            return Ok(None);
        }
        let is_due = |path: &RepoPath| match required.of(path) {
            Requirement::Nobody => false,
            Requirement::Agents => self.agent.is_some(),
            Requirement::All => true,
        };
        let due = self.uncovered(is_due)?;
        // Nothing is known of the changes of a merge with a missing parent.
        let is_blind = self.changes.is_empty() && required.everywhere == Requirement::All;
        if due.is_empty() && !is_blind || self.is_merge_as_git_makes_it()? {
            return Ok(None);
        }
        let (short, path) = (commit.short(), due.first().map(RepoPath::display));
        let message = match (self.agent, path) {
            (Some(agent), _) => format!("commit {short} by the agent '{agent}' names no proposal"),
            (None, Some(path)) if required.everywhere != Requirement::All => format!(
                "commit {short} names no proposal and changes {path}, for which the policy wants one"
            ),
            _ => format!("commit {short} names no proposal"),
        };
        Ok(Some(self.range.fail_on.finding(Concern::NoProposal, message).hint(causes::PROPOSE)))
    }

    /// Lines of agents' proposals that nobody approved, in a person's commit. The commit may name
    /// others.
    fn unapproved_lines(&self) -> Result<Vec<Finding>> {
        let Range { view, store, required, now, .. } = *self.range;
        let mut found = Vec::new();
        if self.agent.is_some() {
            return Ok(found);
        }
        for path in self.uncovered(|path| required.of(path) == Requirement::Agents)? {
            let filter = Filter { path: Some(path.as_bstr().to_string()), ..Filter::default() };
            for summary in view.proposals(&filter, now)? {
                if summary.status == Status::Applied || !summary.approvals.is_empty() {
                    continue;
                }
                let Ok(proposal) = view.proposal(&summary.id) else { continue };
                let is_agents = |it: &Revision| it.actor.kind == ActorKind::Agent;
                if !proposal.revisions.iter().any(is_agents) {
                    continue;
                }
                let is_brought = |file: &ChangeRecord| {
                    let (before, after) = (file.before.clone(), file.after.clone());
                    commits::brings(
                        store,
                        self.commit,
                        &FileStep { path: path.clone(), before, after },
                    )
                };
                let mut files = proposal.current().changes.iter();
                if files.any(|file| file.path == path && is_brought(file)) {
                    let (short, id) = (self.commit.short(), proposal.id.as_str());
                    let message = format!(
                        "commit {short} has lines of {id} by the agent '{}', which is {}",
                        proposal.proposed_by,
                        summary.status.as_str()
                    );
                    let finding = self.range.fail_on.finding(Concern::NoProposal, message);
                    let hint = match summary.status {
                        Status::Pending => format!("aye review {id}"),
                        Status::Rejected => {
                            format!("aye undo {id}, then aye review {id}")
                        }
                        _ => causes::PROPOSE.to_owned(),
                    };
                    found.push(finding.hint(hint).path(path.as_bstr()).proposal(id));
                }
            }
        }
        Ok(found)
    }

    fn by_git(&self) -> Result<Option<&GitMerge>> {
        if self.by_git.get().is_none() {
            let made = commits::git_merge(self.range.store.repository(), self.commit)?;
            self.by_git.get_or_init(|| made);
        }
        Ok(self.by_git.get().and_then(Option::as_ref))
    }

    fn is_by_git(&self, path: &RepoPath, entry: &Option<Entry>) -> Result<bool> {
        Ok(self.by_git()?.is_some_and(|it| it.has(self.range.store.repository(), path, entry)))
    }

    /// True if a merge with one parent's `entry` drops another parent's change.
    fn drops_parent_change(&self, path: &RepoPath, entry: &Option<Entry>) -> Result<bool> {
        Ok(match self.by_git()? {
            Some(it) => !it.has(self.range.store.repository(), path, entry),
            // git cannot merge more than two parents here.
            None => self.commit.merged.len() > 1,
        })
    }

    /// A merge that takes one side's file changes it only if it drops the other side's change.
    fn is_changed(&self, path: &RepoPath, change: &Change) -> Result<bool> {
        Ok(change.is_own || self.drops_parent_change(path, &change.entry)?)
    }

    /// True if the commit equals git's own merge of two parents. Before git 2.38 dropped changes go
    /// unnoticed.
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

    /// Changed files that instruct agents or decide what passes the gate, and memory that an agent
    /// changed without approval.
    fn instructions(&self, known: &Instructions) -> Result<Vec<Finding>> {
        let mut found = Vec::new();
        for (name, change) in &self.changes {
            let Ok(path) = RepoPath::from_tree(name) else { continue };
            let memory = sensitive::memory(&path);
            let what = known.kind(&path).map(InstructionKind::reason);
            let what = what.or_else(|| Some(memory?.reason()));
            let Some(what) = what.filter(|_| self.range.scope.covers(&path)) else { continue };
            let is_read = memory == Some(MemoryFile::Read);
            if is_read && self.agent.is_none() {
                continue;
            }
            if !self.is_changed(&path, change)? {
                continue;
            }
            let is_approved = is_covered(self.range.view, self.commit, &path, &self.claimed)?;
            if is_read && is_approved {
                continue;
            }
            let (commit, agent, fail_on) = (self.commit, self.agent, self.range.fail_on);
            found.push(instructions::finding(commit, agent, &path, what, is_approved, fail_on));
        }
        Ok(found)
    }

    /// Skips files in `told`, which have a finding already.
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
            // Only the merged sides changed it.
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
                self.finding(Concern::ExtraFile, &path, message)
                    .hint("propose that change too, or commit it apart")
                    .path(path.as_bstr())
                    .proposal(known[0].id.as_str()),
            );
        }
        Ok(found)
    }

    fn reviewer(&self, known: &[Proposal]) -> Option<Finding> {
        let named = &self.commit.reviewers;
        if named.is_empty() {
            return None;
        }
        // Others may review, too, but a decider must be among them; if no person decided, an
        // approver.
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
