//! What the installed hooks run. Only a finding stops git: what goes wrong in aye itself is a
//! warning, since a broken gate must not lock people out of their own repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use bstr::BString;
use chrono::Duration;

use super::message;
use super::pushed::{Push, is_zero};
use crate::changeset::RepoPath;
use crate::check::approved::{self, Approved, Cover};
use crate::check::commits::{self, Commit};
use crate::check::{Concern, Scope, merged, missing, range, touched::Pending};
use crate::cli::output::failure_text;
use crate::cli::{Context, check};
use crate::error::{Error, Exit, Result};
use crate::git::COMMITTING;
use crate::hooks::Hook;
use crate::proposal::event::Committed;
use crate::proposal::steps::Step;
use crate::proposal::{Entry, Note, Proposal, ProposalId, Status};
use crate::report::{Finding, Level, Report, Rule};
use crate::store::refused::{self, Sent};
use crate::store::{Audience, Filter, Store, View, tree_changes};
use crate::text::escape;

/// Runs `hook` with what git passed to it.
///
/// # Errors
/// Never: an error becomes a warning and lets git go on.
pub(super) fn run(context: &mut Context, hook: Hook, args: &[OsString]) -> Result<Exit> {
    let result = match hook {
        Hook::PreCommit => check::staged(context).and_then(|report| say(context, &report)),
        Hook::PrePush => pre_push(context, args).and_then(|report| say(context, &report)),
        Hook::PrepareCommitMsg => message::prepare(context, args).map(|()| Exit::Done),
        Hook::CommitMsg => message::take_back(context, args).map(|()| Exit::Done),
        Hook::PostCommit => post_commit(context).map(|()| Exit::Done),
    };
    result.or_else(|error| {
        for line in failure_text(&error, None).lines() {
            context.note(&line.replacen("error[", "warning[", 1));
        }
        context.note(&format!("note: the {} hook of aye let git go on", hook.name()));
        Ok(Exit::Done)
    })
}

/// Prints a report that has something to say: in one line, where nothing in it stops git.
fn say(context: &mut Context, report: &Report) -> Result<Exit> {
    let findings = report.findings();
    if findings.iter().all(|finding| finding.level == Level::Note) {
        match findings {
            [] => {}
            [one] => {
                let hint = one.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                context.note(&format!(
                    "note: {}{}",
                    escape::line(&one.message),
                    escape::line(&hint)
                ));
            }
            [first, rest @ ..] => context.note(&format!(
                "note: {}, and {} more like it (aye check)",
                escape::line(&first.message),
                rest.len()
            )),
        }
        return Ok(Exit::Done);
    }
    let exit = context.emit_report(report)?;
    if exit == Exit::Negative {
        context.note("hint: git's --no-verify goes ahead without this check");
    }
    Ok(exit)
}

fn pre_push(context: &mut Context, args: &[OsString]) -> Result<Report> {
    let mut report = check::report().rules([Rule::new(
        "lane_not_for_remote",
        "A lane is pushed to a remote that it is not for",
        "push refs/aye/log/* alone",
    )]);
    let opened = context.store_here();
    let found = opened.as_ref().ok();
    let Push { remote, url, refs: pushed, is_guessed } = Push::read(context, args, found)?;
    if pushed.is_empty() {
        return Ok(report);
    }
    // Before anything else can go wrong: what goes to the wrong remote cannot be taken back.
    let is_for =
        |name: &str| name == remote || found.is_some_and(|store| store.remote_has_url(name, &url));
    for push in &pushed {
        let names = push.names.as_ref();
        let sent = names.map(|(local, remote)| Sent { local, remote });
        if let Some(why) = sent.and_then(|sent| refused::refusal(sent, &remote, is_for)) {
            report.push(not_for_them(why));
        }
    }
    let Some(store) = found else {
        return Err(opened.err().unwrap_or_else(|| Error::bug("no store")));
    };
    let view = store.view()?;
    for push in &pushed {
        let whom = match view.audience_of_commit(&push.local) {
            Some(Audience::Private) => "for this clone alone".to_owned(),
            Some(Audience::Remote(name)) if !is_for(&name) => format!("for the remote '{name}'"),
            _ => continue,
        };
        if report.findings().is_empty() {
            report.push(not_for_them(format!("{} is of a lane {whom}", push.local)));
        }
    }
    if !report.findings().is_empty() {
        return Ok(report);
    }
    let is_ours = |names: &(String, String)| {
        names.0.starts_with("refs/aye/") || names.1.starts_with("refs/aye/")
    };
    // Lanes are pushed as they are.
    let pushed = pushed.into_iter().filter(|push| !push.names.as_ref().is_some_and(is_ours));
    let (scope, fail_on) = (Scope::default(), check::hook_fail_on(context, store));
    let pending = Pending::new(&view, context.now, &scope, &[]);
    let mut seen = BTreeSet::new();
    // Nothing is known of a URL, nor of a remote that was never fetched: there, what no remote has.
    let tracked = store.repo().references().is_ok_and(|refs| {
        refs.prefixed(&*format!("refs/remotes/{remote}/"))
            .is_ok_and(|mut refs| refs.next().is_some())
    });
    for push in pushed {
        let known = format!("^{}", push.remote);
        let fresh = match tracked {
            true => format!("--remotes={remote}"),
            false => "--remotes".to_owned(),
        };
        // A branch that is new there, or moved there without us: what no branch that is known of
        // it has yet.
        let is_known = !is_zero(&push.remote)
            && gix::ObjectId::from_hex(push.remote.as_bytes())
                .is_ok_and(|id| store.repo().find_commit(id).is_ok());
        let arguments = if is_known {
            vec![push.local.as_str(), known.as_str()]
        } else {
            vec![push.local.as_str(), "--not", fresh.as_str()]
        };
        let ids = commits::list(store, &arguments)?;
        let now = context.now;
        let found = range::findings(store, &view, &pending, &scope, &ids, now, &fail_on, false)?;
        for finding in found {
            if seen.insert((finding.message.clone(), finding.proposal_id.clone())) {
                report.push(finding);
            }
        }
    }
    if is_guessed && !report.findings().is_empty() {
        context.note(&format!(
            "note: nothing told the hook what is pushed, so what HEAD has and '{}' has not was checked (git names \
             nothing where all is there already; a line above aye's may have read it)",
            escape::line(&remote)
        ));
    }
    Ok(report)
}

/// That a lane is not for the remote that it would be pushed to.
fn not_for_them(why: String) -> Finding {
    Finding::new("lane_not_for_remote", Level::Error, why).hint(
        "push `refs/aye/log/*`; for another remote than the default one: \
         git push R 'refs/aye/for/R/*:refs/aye/log/*'",
    )
}

/// Records the new commit on the proposals it holds.
fn post_commit(context: &mut Context) -> Result<()> {
    if context.var(COMMITTING).is_some() {
        // The apply that commits records it itself, and holds the store's lock.
        return Ok(());
    }
    let store = context.store_here()?;
    let view = store.view()?;
    // What a trial commits is gone with it.
    if !view.has_events() || store.require_lane().is_err() || store.is_in_trial() {
        return Ok(());
    }
    let Ok(head) = store.repo().head_id() else { return Ok(()) };
    let commit = commits::read(&store, head.detach())?;
    let id = commit.id.to_string();
    let mut found = held(&store, &view, context, &commit)?;
    say_unnamed(context, &view, &commit, &found);
    found.held.retain(|proposal| !proposal.committed().any(|known| *known == id));
    let held = found.held;
    if held.is_empty() {
        return Ok(());
    }
    let actor = context.actor(&store);
    store.write(&actor, context.now, |writer| {
        for proposal in &held {
            let note = Note::Committed(Committed { commit: id.clone() });
            writer.note(Some(&proposal.id), note)?;
        }
        Ok(())
    })?;
    warn_of_more(context, &store, &view, &commit)
}

/// Says of a commit that names proposals and holds more than was approved what a push, or the build machine,
/// will say: by then the way out is to rewrite what others may have.
fn warn_of_more(context: &Context, store: &Store, view: &View, commit: &Commit) -> Result<()> {
    let scope = Scope::default();
    let pending = Pending::new(view, context.now, &scope, &[]);
    let only = commits::list(store, &["--max-count=1", &commit.id.to_string()])?;
    let fail_on = check::hook_fail_on(context, store);
    let found =
        range::findings(store, view, &pending, &scope, &only, context.now, &fail_on, false)?;
    let refused: Vec<&Finding> =
        found.iter().filter(|finding| finding.level == Level::Error).collect();
    let [first, rest @ ..] = &refused[..] else { return Ok(()) };
    let more = match rest.len() {
        0 => String::new(),
        more => format!(", and {more} more like it"),
    };
    context.note(&format!("warning: {}{more}", escape::line(&first.message)));
    let has_more = [Concern::ExtraFile, Concern::ContentDiffers];
    let is_more = has_more.iter().any(|concern| refused.iter().any(|it| it.rule == concern.id()));
    let what = match is_more {
        // The first parent's file would take out what the merge brings, and how it was resolved.
        true if !commit.merged.is_empty() => {
            "take the trailers of those proposals out of the merge, whose other changes stay in it: git commit --amend"
        }
        true => {
            "take the rest out of it: git reset HEAD~1 -- FILE… && git commit --amend --no-edit"
        }
        false => first.hint.as_deref().unwrap_or("`aye check --range HEAD~1..` says why"),
    };
    let what = escape::line(what);
    context.note(&format!(
        "hint: `aye check --range` and the pre-push hook refuse this commit; {what}"
    ));
    Ok(())
}

/// What a commit has of applied proposals.
#[derive(Default)]
struct Held {
    /// Those that it holds as approved: of those it changes files of what it brings, and those it names (a
    /// rebased or amended commit may change less, and still be their commit).
    held: Vec<Proposal>,
    /// Those that it brings otherwise than as approved, and how, in words.
    mixed: Vec<(ProposalId, String)>,
}

/// What `commit` has of applied proposals.
fn held(store: &Store, view: &View, context: &Context, commit: &Commit) -> Result<Held> {
    let changes = tree_changes(store.repo(), commit.parent_tree, commit.tree)?;
    let parent = |path: &RepoPath| commits::entry_at(store, commit.parent_tree, path);
    let lookup = |path: &RepoPath| commits::entry_at(store, Some(commit.tree), path);
    let of = Of { store, view };
    let is_merge = !commit.merged.is_empty();
    let mut result = Held::default();
    for (proposal, approved) in applied_among(store, view, context, &changes, parent)? {
        let is_held = match is_merge {
            true => of.is_held(&approved, lookup)?,
            false => of.is_brought(&approved, parent, lookup)?,
        };
        if is_held {
            result.held.push(proposal);
        } else if !is_merge && proposal.committed().next().is_none() {
            let mixed = mixed(store, context, &proposal, commit, &changes);
            result.mixed.extend(mixed.map(|said| (proposal.id, said)));
        }
    }
    for name in &commit.proposal_ids {
        if let Ok(proposal) = view.find(name)
            && !result.held.iter().any(|known| known.id == proposal.id)
            && let Some(approved) = approved::applied(store, &proposal)
            && of.is_held(&approved, lookup)?
        {
            result.held.push(proposal);
        }
    }
    Ok(result)
}

/// Says of a commit without the trailers of what was applied that it has that: on a line, for nothing is wrong.
fn say_unnamed(context: &Context, view: &View, commit: &Commit, found: &Held) {
    if !commit.merged.is_empty() {
        return;
    }
    let named: Vec<ProposalId> =
        commit.proposal_ids.iter().filter_map(|name| Some(view.find(name).ok()?.id)).collect();
    let unnamed: Vec<&ProposalId> =
        found.held.iter().map(|held| &held.id).filter(|id| !named.contains(id)).collect();
    if let [first, rest @ ..] = &unnamed[..] {
        context.note(&format!(
            "note: the commit holds {first}{} and does not say so (git commit --amend --no-edit \
             --trailer 'Proposal-Id: {first}')",
            and_more(rest.len())
        ));
    }
    if let [(id, how), rest @ ..] = &found.mixed[..] {
        let more = and_more(rest.len());
        context.note(&format!("note: the commit does not name {id}: {}{more}", escape::line(how)));
    }
}

/// How `commit`, which makes `changes`, brings what was written for `proposal`, where that was lately and is not
/// exactly what was approved.
fn mixed(
    store: &Store,
    context: &Context,
    proposal: &Proposal,
    commit: &Commit,
    changes: &BTreeMap<BString, Option<Entry>>,
) -> Option<String> {
    let decision = proposal.apply_here(&store.own_lanes())?;
    if context.now - decision.at >= Duration::days(missing::DAYS) {
        return None;
    }
    let written = decision.written.iter().filter(|file| file.before != file.after);
    written.filter(|file| changes.contains_key(file.path.as_bstr())).find_map(|file| {
        let path = file.path.display();
        let is_moved = changes.get(file.path.as_bstr()) == Some(&None) && file.after.is_some();
        if is_moved {
            let mut there = changes.iter().filter(|(_, entry)| **entry == file.after);
            return there.next().map(|(to, _)| format!("{path} goes to {to} with it"));
        }
        let step = Step::from(file);
        let has = |tree| commits::has(store, &step, commits::entry_at(store, tree, &file.path));
        (has(Some(commit.tree)) && !has(commit.parent_tree)).then(|| {
            format!("{path} has more than was approved (git commit -p takes some lines alone)")
        })
    })
}

fn and_more(count: usize) -> String {
    if count == 0 { String::new() } else { format!(", and {count} more like it") }
}

/// Where approved contents are looked up.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    /// What holds them.
    pub store: &'a Store,
    /// What was decided.
    pub view: &'a View,
}

impl Of<'_> {
    /// True if `lookup` gives every file as it was `approved`, or as later proposals have made it.
    pub(super) fn is_held(
        self,
        approved: &Cover,
        lookup: impl Fn(&RepoPath) -> Option<Entry>,
    ) -> Result<bool> {
        Ok(self.difference(approved, &approved.files(), lookup)?.is_none())
    }

    fn difference<'f>(
        self,
        approved: &Cover,
        files: &'f [Approved],
        lookup: impl Fn(&RepoPath) -> Option<Entry>,
    ) -> Result<Option<&'f Approved>> {
        let Self { store, view } = self;
        approved::first_difference(store, view, approved, files, lookup)
    }

    /// True if a commit that takes files from what `parent` gives to what `made` does brings what was
    /// `approved`: it is that very step, or it holds that and `parent` has it neither as approved nor among
    /// other changes.
    pub(super) fn is_brought(
        self,
        approved: &Cover,
        parent: impl Fn(&RepoPath) -> Option<Entry>,
        made: impl Fn(&RepoPath) -> Option<Entry>,
    ) -> Result<bool> {
        let is_step = |path: &RepoPath| -> Result<bool> {
            let sides = [&parent(path), &made(path)];
            Ok(sides[0] != sides[1] && merged::is_merged(self.store, (approved, &[]), path, sides)?)
        };
        let files = approved.files();
        for file in &files {
            let file = std::slice::from_ref(file);
            let other = self.difference(approved, file, &made)?;
            if let Some((path, _)) = other
                && !is_step(path)?
            {
                return Ok(false);
            }
        }
        for (path, _) in &files {
            if is_step(path)? {
                return Ok(true);
            }
        }
        let lacks = |step: &Step| !commits::has(self.store, step, parent(&step.path));
        Ok(approved.steps.iter().any(lacks) && !self.is_held(approved, &parent)?)
    }
}

/// Applied proposals that change one of the files of `changes`, each with what it holds now, and that no
/// commit holds yet which HEAD leads to; or that one held, and `parent`, what the files are changed from, has again
/// as it was before. What is known of an apply that was taken back says nothing of the one that stands.
pub(super) fn applied_among(
    store: &Store,
    view: &View,
    context: &Context,
    changes: &BTreeMap<BString, Option<Entry>>,
    parent: impl Fn(&RepoPath) -> Option<Entry>,
) -> Result<Vec<(Proposal, Cover)>> {
    let mut found: Vec<(Proposal, Cover)> = Vec::new();
    let mut seen = BTreeSet::new();
    for path in changes.keys() {
        let filter = Filter {
            status: Some(Status::Applied),
            path: Some(path.to_string()),
            ..Filter::default()
        };
        for summary in view.proposals(&filter, context.now)? {
            if !seen.insert(summary.id.as_str().to_owned()) {
                continue;
            }
            let proposal = view.proposal(&summary.id)?;
            // What was reset, or committed on another branch. Few of what was ever committed to a file have
            // left it as it is now, so history is asked last.
            let is_due = proposal.committed().next().is_none()
                || leaves(&proposal, changes)
                    && (is_back(&proposal, changes, &parent)
                        || !proposal.committed().any(|commit| is_in_history(store, commit)));
            if is_due {
                let approved = approved::applied(store, &proposal);
                found.extend(approved.map(|approved| (proposal, approved)));
            }
        }
    }
    found.sort_unstable_by(|(a, _), (b, _)| a.created_at.cmp(&b.created_at).then(a.id.cmp(&b.id)));
    Ok(found)
}

/// Whether a file of `changes` is as the applied `proposal` has left it.
fn leaves(proposal: &Proposal, changes: &BTreeMap<BString, Option<Entry>>) -> bool {
    let is_now = |path: &RepoPath, after: &Option<Entry>| {
        changes.get(path.as_bstr()).is_some_and(|found| found == after)
    };
    let mut written = proposal.applies().flat_map(|decision| &decision.written);
    written.any(|file| is_now(&file.path, &file.after))
        || proposal.current().changes.iter().any(|change| is_now(&change.path, &change.after))
}

/// Whether a file of `changes` becomes what the applied `proposal` has made of it, from what that was made of: its
/// commit was reverted, or it was undone and applied again.
fn is_back(
    proposal: &Proposal,
    changes: &BTreeMap<BString, Option<Entry>>,
    parent: impl Fn(&RepoPath) -> Option<Entry>,
) -> bool {
    let written = proposal.applies().flat_map(|decision| &decision.written);
    written.filter(|file| file.before != file.after).any(|file| {
        changes.get(file.path.as_bstr()) == Some(&file.after) && parent(&file.path) == file.before
    })
}

/// Whether HEAD leads to `commit` (hex).
fn is_in_history(store: &Store, commit: &str) -> bool {
    let repo = store.repo();
    let (Ok(head), Ok(id)) = (repo.head_id(), gix::ObjectId::from_hex(commit.as_bytes())) else {
        return false;
    };
    head == id || repo.merge_base(head, id).ok().flatten().is_some_and(|base| base == id)
}
