//! Purging: a tombstone hides a thread, and every ref, chunk and file in this clone that leads to
//! it goes.
//!
//! The tombstone is written first. From then on no command shows the thread or writes to it, so a
//! repeated command completes a purge that was stopped anywhere. Until that is done
//! `purged_content` is reported. Git's next prune removes the objects.

mod content;
mod lines;
mod sessions;
mod subjects;
mod upper_refs;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use gix::ObjectId;
use gix::objs::Kind;

pub use content::{PurgedBlobs, changed_files};
pub(super) use lines::PurgedLines;
pub use subjects::{Subjects, Target};

use super::ledger;
use super::objects::{self, Batch, Header};
use super::thread::{SetAside, Source, Threads, Tip};
use super::{Store, View, projection, refs};
use crate::error::{Error, Result};
use crate::proposal::event::Purge;
use crate::proposal::rules::Verb;
use crate::proposal::{Actor, Authority, Data, Event, ProposalId, codes};

/// The directory in `.git/aye` for hunks that an editor has open.
pub const EDITED: &str = "edited";

/// The file in `.git/aye` with unwritten answers of reviews.
pub const ANSWERS: &str = "answers";

const MOST_BYTES: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub struct PurgeRecord {
    pub id: ProposalId,
    pub thread: String,
    pub stamped: crate::proposal::StoredEvent,
    pub by: Actor,
    pub at: DateTime<Utc>,
    pub reason: String,
}

impl PurgeRecord {
    pub fn error(&self) -> Error {
        let (id, by) = (&self.id, &self.by.name);
        Error::new(&codes::PROPOSAL_PURGED, format!("{id} was purged by {by}: {}", self.reason))
            .with("proposal_id", id.as_str())
            .hint(format!("its content is gone: aye log {id}"))
    }
}

/// The purges of this clone, the latest last.
pub(super) fn records(store: &Store, threads: &Threads<'_>) -> Result<Vec<PurgeRecord>> {
    let mut found = Vec::new();
    for (thread, tip) in threads.tombstones()? {
        if tip.source == Source::Own {
            found.push(record(store, &thread, tip.name, tip.id)?);
        }
    }
    found.sort_by_key(|record| record.at);
    Ok(found)
}

/// The fetched purges of `thread`; other commits are skipped.
pub(super) fn fetched(
    store: &Store,
    threads: &Threads<'_>,
    thread: &ObjectId,
) -> Result<Vec<PurgeRecord>> {
    let all = threads.tombstones()?.into_iter();
    let fetched = all.filter(|(of, tip)| of == thread && tip.source != Source::Own);
    let records = fetched.filter_map(|(of, tip)| record(store, &of, tip.name, tip.id).ok());
    let is_of = |record: &PurgeRecord| matches!(&record.stamped.event.data, Data::Purge(it) if it.thread == record.thread);
    Ok(records.filter(is_of).collect())
}

fn record(store: &Store, thread: &ObjectId, name: String, tip: ObjectId) -> Result<PurgeRecord> {
    let repository = store.repository();
    let repo = repository.repo();
    let failed = |why| SetAside::unread(name.clone(), &why).error(repo);
    let data = objects::read(repository, tip, Kind::Commit, MOST_BYTES).map_err(failed)?;
    let header = Header::parse(&data, repo.object_hash(), 0);
    let line = header.and_then(|header| header.values("aye-event")?.first().copied());
    let event = line.and_then(|line| Some((Event::from_line(line, None).ok()?, line)));
    let Some((event, line)) = event else {
        return Err(failed(objects::ReadFailure::Bad(format!("commit {tip} is not a tombstone"))));
    };
    let Data::Purge(purge) = &event.data else {
        return Err(failed(objects::ReadFailure::Bad(format!("commit {tip} is not a purge"))));
    };
    let thread = thread.to_string();
    Ok(PurgeRecord {
        id: ProposalId::from_event(&thread),
        thread,
        by: event.actor.clone(),
        at: event.time,
        reason: purge.reason.clone(),
        stamped: crate::proposal::StoredEvent {
            id: tip.to_string(),
            sha256: crate::sha256::hex(line),
            parents: Vec::new(),
            event,
            documents: None,
        },
    })
}

#[derive(Clone, Copy, Debug)]
pub struct PurgeRequest<'a> {
    pub subjects: &'a Subjects,
    pub contents: &'a PurgedBlobs,
    pub reason: &'a str,
}

#[derive(Clone, Debug, Default)]
pub struct PurgeReport {
    pub removed: Vec<String>,
    /// Chunks of other clones that still have the thread.
    pub remaining_chunks: Vec<String>,
}

/// A proposal that was purged in some clone, and has refs or files in this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeRemainder {
    pub id: ProposalId,
    pub names: Vec<String>,
    pub is_own: bool,
}

#[derive(Default)]
struct PurgePlan {
    refs: Vec<(String, Option<ObjectId>)>,
    chunks: Vec<(Tip, BTreeMap<ObjectId, Vec<ObjectId>>)>,
    left: Vec<String>,
}

impl PurgePlan {
    fn names(&self) -> Vec<String> {
        self.refs.iter().map(|(name, _)| name.clone()).collect()
    }
}

impl Store {
    /// Purges proposals, or completes a purge that was stopped or undone by a fetch. The caller
    /// holds the journal's lock, and may repeat a call that failed.
    ///
    /// # Errors
    /// `revised_meanwhile`, `changed_since_shown` if the subjects have changed since they were
    /// shown: nothing is done then. `busy`, `thread_damaged`, `ci_has_no_clone`.
    pub fn purge(
        &self,
        authority: &Authority,
        now: DateTime<Utc>,
        purging: &PurgeRequest<'_>,
    ) -> Result<PurgeReport> {
        if authority.verb() != Verb::Purge {
            return Err(Error::bug("a purge by another authority"));
        }
        self.require_clone()?;
        let private = self.repository().make_private()?;
        let _lock = self.lock()?;
        let view = self.view()?;
        let PurgeRequest { subjects, contents, .. } = purging;
        self.require_as_shown(&view, subjects)?;
        self.note_sessions_with(contents)?;
        for target in &subjects.targets {
            // Later it is unknown that it was about memory.
            if let (Ok(proposal), Some(projector)) = (view.proposal(&target.id), self.projector) {
                projector(self, &proposal, false)?;
            }
        }
        self.remember_purged(&private, &view, subjects)?;
        crate::failpoint!("purge.remembered");
        let durable = self.repository().settings()?.durable;
        let leads = self.leads(&view, subjects, contents)?;
        let mut batch = Batch::new(self.repository());
        let mut moves = Vec::new();
        for target in subjects.targets.iter().filter(|target| target.record.is_none()) {
            let name = view.threads.space(&target.thread)?.tombstone(&target.thread);
            moves
                .push((name, self.tombstone(&mut batch, authority, now, purging, &target.thread)?));
        }
        for (chunk, rest) in leads.chunks.iter().filter(|(_, rest)| !rest.is_empty()) {
            let new = ledger::compose(&mut batch, rest, now)?;
            moves.push((chunk.space.chunk(&new), new));
        }
        batch.write_durably(self.repository())?;
        crate::failpoint!("purge.objects");
        for (name, new) in moves {
            if refs::target(self.repository(), &name)? != Some(new) {
                refs::compare_and_swap(self.repository(), &name, None, new, durable)?.sure()?;
            }
            crate::failpoint!("purge.moved");
        }
        let removed = refs::delete(self.repository(), &leads.refs, durable)?;
        crate::failpoint!("purge.removed");
        self.forget_memo();
        let view = self.view()?;
        self.make_missing(&view, now)?;
        crate::failpoint!("purge.pending");
        for target in &subjects.targets {
            projection::remove(self, &target.id)?;
        }
        // Answers have edited hunks and quoted comments.
        private.remove(ANSWERS);
        crate::failpoint!("purge.files");
        // Journals that a repair set aside and hunks left by an editor may have the content.
        for name in ["broken", EDITED] {
            let Some(found) = private.inside(name)? else { continue };
            let path = found.path();
            std::fs::remove_dir_all(path).map_err(|error| Error::file("remove", path, &error))?;
        }
        Ok(PurgeReport { removed, remaining_chunks: leads.left })
    }

    /// The refs that [`Store::purge`] would delete, as far as they are known before.
    pub fn purge_outlook(
        &self,
        view: &View<'_>,
        subjects: &Subjects,
        contents: &PurgedBlobs,
    ) -> Result<PurgeReport> {
        let leads = self.leads(view, subjects, contents)?;
        Ok(PurgeReport { removed: leads.names(), remaining_chunks: leads.left })
    }

    /// The proposals that a tombstone of this or another clone names, and that still have refs or
    /// files here.
    pub fn purged_content(&self, view: &View<'_>) -> Result<Vec<PurgeRemainder>> {
        let mut found = BTreeMap::new();
        for (thread, tip) in view.threads.tombstones()? {
            let id = ProposalId::from_event(&thread.to_string());
            let is_own = tip.source == Source::Own;
            let (tips, _) = view.threads.found(&thread)?;
            let mut names: BTreeSet<String> = tips.into_iter().map(|tip| tip.name).collect();
            if is_own {
                let name = format!("{}{id}", refs::PENDING);
                names.extend(refs::target(self.repository(), &name)?.map(|_| name));
                let projected = format!("{}/{id}", projection::DIRECTORY);
                let mut trees = self.repository().work_trees().into_iter();
                if trees.any(|top| top.join(&projected).symlink_metadata().is_ok()) {
                    names.insert(projected);
                }
            }
            if !names.is_empty() {
                let holder = PurgeRemainder { id, names: names.into_iter().collect(), is_own };
                let kept: &mut PurgeRemainder = found.entry(thread).or_insert(holder);
                kept.is_own |= is_own;
            }
        }
        Ok(found.into_values().collect())
    }

    /// The refs and chunks that lead to the threads of `subjects`, and refs of direct patches with
    /// `contents`.
    fn leads(
        &self,
        view: &View<'_>,
        subjects: &Subjects,
        contents: &PurgedBlobs,
    ) -> Result<PurgePlan> {
        let ids: BTreeSet<ObjectId> = subjects.targets.iter().map(|target| target.thread).collect();
        let named: BTreeSet<ProposalId> =
            subjects.targets.iter().map(|target| target.id.clone()).collect();
        let mut leads = PurgePlan::default();
        let mut chunks = BTreeSet::new();
        for id in &ids {
            for tip in view.threads.found(id)?.0 {
                match tip.source {
                    Source::Own => leads.refs.push((tip.name, Some(tip.id))),
                    Source::Fetched { .. } | Source::Kept => leads.refs.push((tip.name, None)),
                    Source::Closed | Source::ClosedElsewhere => _ = chunks.insert(tip.name),
                }
            }
        }
        let ledger = view.threads.ledger()?;
        for chunk in ledger.chunks().iter().filter(|chunk| chunks.contains(&chunk.name)) {
            if !chunk.is_own() {
                leads.left.push(chunk.name.clone());
                continue;
            }
            let mut rest: BTreeMap<_, _> = ledger.entries(chunk)?.into_iter().collect();
            rest.retain(|id, _| !ids.contains(id));
            // Copies were fetched from this clone's own directory.
            let copies = ledger.names_of(&chunk.id).into_iter();
            leads.refs.extend(copies.map(|name| (name, Some(chunk.id))));
            leads.chunks.push((chunk.clone(), rest));
        }
        let mut others = self.before_with(&contents.blobs())?;
        // A missing pending ref is rebuilt; a stale one would stay.
        let uppers = self.stacked_on(&named)?;
        others.extend(named.iter().chain(&uppers).map(|id| format!("{}{id}", refs::PENDING)));
        refs::each(self.repository(), refs::BROKEN, |name, _| {
            let of = |id: &str| name.rsplit('/').next().is_some_and(|last| last.starts_with(id));
            if ids.iter().any(|id| of(&id.to_string())) || named.iter().any(|id| of(id.as_str())) {
                others.push(name);
            }
        })?;
        for name in others {
            if let Some(tip) = refs::target(self.repository(), &name)? {
                leads.refs.push((name, Some(tip)));
            }
        }
        Ok(leads)
    }

    fn tombstone(
        &self,
        batch: &mut Batch<'_>,
        authority: &Authority,
        now: DateTime<Utc>,
        purging: &PurgeRequest<'_>,
        id: &ObjectId,
    ) -> Result<ObjectId> {
        let event = Event {
            actor: authority.actor().clone(),
            agent: None,
            clone: self.make_clone_id()?,
            time: now,
            data: Data::Purge(Purge {
                thread: id.to_string(),
                reason: purging.reason.to_owned(),
                blob: purging.subjects.blob.clone(),
                asked: false,
                evidence: authority.evidence().clone(),
            }),
        };
        let tree = batch.add_tree(&gix::objs::Tree::empty())?;
        let headers = [("aye-event", event.to_line()?)];
        let (who, seconds) = (&event.actor, now.timestamp());
        super::trees::commit(batch, tree, &[], who, seconds, &headers, &format!("purge: {id}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::authority::{Caller, Request, authorise};
    use crate::proposal::event::Evidence;
    use crate::proposal::rules::Permits;
    use crate::proposal::{Status, sample};
    use crate::store::Space;
    use crate::store::thread::tests::{Scene, papers};

    fn authority() -> Authority {
        let caller = Caller { actor: sample::person("ada"), marker: None, tool: false };
        let request = Request {
            verb: Verb::Purge,
            proposal: None,
            clone: None,
            evidence: Evidence::Flag,
            memory: false,
            sensitive: false,
            instructs: false,
            command: "aye",
        };
        authorise(&caller, &request, &Permits::NONE).unwrap()
    }

    fn purge(scene: &Scene, text: &str) -> PurgeReport {
        let (store, view) = (&scene.store, scene.store.view().unwrap());
        let subjects = store.purge_subjects(&view, text).unwrap();
        let contents = store.purge_contents(&view, &subjects).unwrap();
        let outlook = store.purge_outlook(&view, &subjects, &contents).unwrap();
        let purging = PurgeRequest { subjects: &subjects, contents: &contents, reason: "a key" };
        let purged = store.purge(&authority(), DateTime::UNIX_EPOCH, &purging).unwrap();
        let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        assert_eq!(sorted(&outlook.removed), sorted(&purged.removed));
        purged
    }

    #[test]
    fn purged_thread_is_gone_and_the_others_of_its_chunk_stay() {
        let scene = Scene::new();
        let all: Vec<ObjectId> = (0..3).map(|at| scene.propose(at)).collect();
        for id in &all {
            scene.set(&Space::Shared.name(id), *id);
            scene.set(&Space::Shared.name(id), scene.reject(*id, &[*id], &papers()));
        }
        let (gone, open) = (all[0], all[2]);
        let before = scene.read(all[1]);
        scene.store.close(&all[..2], None, DateTime::UNIX_EPOCH).unwrap();
        let chunk = scene.store.view().unwrap().threads.ledger().unwrap().chunks()[0].id;
        let copy = format!("{}origin/0123456789abcdef/closed/{chunk}", refs::REMOTES);
        scene.set(&copy, chunk);
        let fetched = scene.fetched(1, gone);
        scene.set(&fetched, scene.comment(&[gone], "theirs"));
        let id = ProposalId::from_event(&gone.to_string());
        let purged = purge(&scene, id.as_str());
        assert_eq!(purged.removed, [Space::Shared.chunk(&chunk), fetched.clone(), copy]);
        let view = scene.store.view().unwrap();
        assert!(view.proposal(&id).unwrap_err().is(&codes::PROPOSAL_PURGED));
        assert_eq!(view.purged().unwrap()[0].reason, "a key");
        assert_eq!(scene.store.purged_content(&view).unwrap(), []);
        assert_eq!(scene.read(all[1]).history, before.history);
        assert_eq!(scene.read(open).history.events().len(), 2);
        let listed = view.proposals(&Default::default(), DateTime::UNIX_EPOCH).unwrap();
        assert_eq!(listed.iter().filter(|it| it.status == Status::Rejected).count(), 2);
        scene.set(&fetched, scene.comment(&[gone], "theirs"));
        let view = scene.store.view().unwrap();
        assert!(view.proposal(&id).is_err());
        let holder = &scene.store.purged_content(&view).unwrap()[0];
        assert_eq!((&holder.names, holder.is_own), (&vec![fetched.clone()], true));
        assert_eq!(purge(&scene, id.as_str()).removed, [fetched]);
        let view = scene.store.view().unwrap();
        assert_eq!(
            (view.purged().unwrap().len(), scene.store.purged_content(&view).unwrap()),
            (1, vec![])
        );
        scene.git(&["fsck", "--strict", "--no-dangling"]);
        let stone = format!("{}origin/0123456789abcdef/gone/{open}", refs::REMOTES);
        scene.set(&stone, scene.comment(&[], "gone"));
        let view = scene.store.view().unwrap();
        assert_eq!(scene.store.purged_content(&view).unwrap().len(), 1);
        assert!(view.proposal(&ProposalId::from_event(&open.to_string())).is_ok());
    }
}
