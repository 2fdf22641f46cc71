//! The store in scratch repositories.

use chrono::{DateTime, Duration, TimeZone as _, Utc};

use super::*;
use crate::changeset::{Changeset, File, FileChange, Mode, RepoPath};
use crate::git::Git;
use crate::proposal::authority::{Request, authorise};
use crate::proposal::event::{
    BlobRef, Comment, Effect, Evidence, FileOutcome, InputForm, Note, RevisionReason, Subject,
    Verdict, Written,
};
use crate::proposal::manifest::{Blob, EntryOutcome, Manifest, ManifestEntry, OtherChanges};
use crate::proposal::rules::{Permits, Verb};
use crate::proposal::{
    Actor, ActorKind, Authority, Caller, Entry, Proposal, ProposalId, State, Status,
};

struct Fixture {
    directory: tempfile::TempDir,
    store: Store,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let git =
        |args: &[&str]| Git::new(directory.path()).without_local_env().args(args).text().unwrap();
    git(&["init", "-q", "-b", "main"]);
    for (key, value) in
        [("user.name", "Ada"), ("user.email", "ada@example.com"), ("core.fsync", "none")]
    {
        git(&["config", key, value]);
    }
    std::fs::write(directory.path().join("a.txt"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    let store = Store::discover(directory.path()).unwrap();
    Fixture { directory, store }
}

fn at(seconds: i64) -> DateTime<Utc> {
    Utc.timestamp_opt(1_790_000_000 + seconds, 0).unwrap()
}

fn agent() -> Actor {
    Actor { name: "codex".into(), email: String::new(), kind: ActorKind::Agent }
}

fn ada() -> Actor {
    Actor { name: "Ada".into(), email: "ada@example.com".into(), kind: ActorKind::Human }
}

fn authority(verb: Verb, proposal: Option<&Proposal>) -> Authority {
    let caller = Caller { actor: ada(), marker: None, tool: false };
    let request = Request {
        verb,
        proposal,
        clone: None,
        evidence: Evidence::Flag,
        memory: false,
        sensitive: false,
        instructs: false,
        command: "aye",
    };
    authorise(&caller, &request, &Permits::NONE).unwrap()
}

fn changeset(path: &str, before: Option<&str>, after: &str) -> Changeset {
    let file = |text: &str| File { bytes: text.as_bytes().to_vec(), mode: Mode::Regular };
    Changeset::new(vec![FileChange {
        path: RepoPath::new(path).unwrap(),
        before: before.map(file),
        after: Some(file(after)),
        origin: None,
        snippets: Vec::new(),
    }])
    .unwrap()
}

fn new(text: &str) -> NewProposal {
    NewProposal {
        changeset: changeset("a.txt", Some("one\n"), text),
        description: Some(format!("Say {text}")),
        domain: None,
        related_task_id: None,
        proposed_by: "codex".into(),
        expires_in: Duration::days(7),
        subject: Subject::Code,
        form: InputForm::Snippet,
        instead_of: None,
        on: None,
        memory: None,
        target: None,
        incomplete: Vec::new(),
        private: false,
    }
}

fn propose(store: &Store, second: i64, text: &str) -> Proposal {
    store.propose(&agent(), at(second), new(text)).unwrap().0
}

fn manifest(proposal: &Proposal) -> Manifest {
    let change = &proposal.current().changes[0];
    let [now, after] = change.sides();
    let base: Option<Blob> = now.clone();
    let (path, outcome, residue) = (change.path.clone(), EntryOutcome::Clean, OtherChanges::None);
    Manifest::new(vec![ManifestEntry { path, base, now, after, outcome, residue }])
}

fn apply(store: &Store, second: i64, proposal: &Proposal) -> Proposal {
    let authority = authority(Verb::Apply, Some(proposal));
    let manifest = manifest(proposal);
    store
        .write(&ada(), at(second), |writer| {
            let tips = writer.view.tips(&proposal.id)?;
            writer.pin(&proposal.id, &tips)?;
            let new = NewDecision {
                effect: Some(Effect::Files),
                manifest: Some(&manifest),
                lines: Some(2),
                reason: Some("fine"),
                ..NewDecision::new(Verdict::Apply)
            };
            writer.decide(&authority, &proposal.id, new)
        })
        .unwrap();
    store.view().unwrap().proposal(&proposal.id).unwrap()
}

#[test]
fn a_proposal_is_listed_and_resolved_and_its_duplicate_is_found() {
    let Fixture { directory: _directory, store } = fixture();
    let proposal = propose(&store, 0, "two\n");
    assert!(store.propose(&agent(), at(1), new("two\n")).unwrap().1);
    let other = propose(&store, 2, "three\n");
    for _ in 0..2 {
        let view = store.view().unwrap();
        let found = view.proposals(&Filter::pending(), at(3)).unwrap();
        let ids: Vec<_> = found.iter().map(|summary| &summary.id).collect();
        assert_eq!(ids, [&proposal.id, &other.id]);
        assert_eq!((found[0].files, found[0].prefix >= 4), (1, true));
        assert!(matches!(found[0].lines, crate::changeset::hunks::Lines::Counted(_)));
        let text = &proposal.id.as_str()[..5 + found[0].prefix];
        assert_eq!(view.find(text).unwrap().id, proposal.id);
        assert_eq!(view.pending(at(3)).unwrap().len(), 2);
        store.forget_memo();
    }
    let view = store.view().unwrap();
    assert!(view.proposals(&Filter::pending(), at(86_400 * 8)).unwrap().is_empty());
    assert_eq!(view.touching(&RepoPath::new("a.txt").unwrap(), at(3)).unwrap().len(), 2);
}

#[test]
fn an_apply_counts_and_an_undo_ends_it() {
    let Fixture { directory, store } = fixture();
    let proposal = propose(&store, 0, "two\n");
    let applied = apply(&store, 1, &proposal);
    assert_eq!(applied.skipped, []);
    assert!(matches!(applied.state, State::Applied(_)), "{:?}", applied.state);
    let view = store.view().unwrap();
    let path = RepoPath::new("a.txt").unwrap();
    assert_eq!(view.approved_steps(&path).unwrap().len(), 1);
    assert!(view.has_applied().unwrap());
    assert!(view.proposals(&Filter::pending(), at(2)).unwrap().is_empty());
    let authority = authority(Verb::Undo, Some(&applied));
    let manifest = manifest(&proposal);
    store
        .write(&ada(), at(2), |writer| {
            let new = NewDecision {
                effect: Some(Effect::Files),
                manifest: Some(&manifest),
                ..NewDecision::new(Verdict::Undo)
            };
            writer.decide(&authority, &proposal.id, new)?;
            assert_eq!(writer.proposal(&proposal.id)?.state, State::Pending);
            writer.renew(&proposal.id, &Evidence::Flag)
        })
        .unwrap();
    let undone = store.view().unwrap().proposal(&proposal.id).unwrap();
    assert_eq!((undone.status(at(3)), undone.skipped.len()), (Status::Pending, 0));
    assert_eq!(undone.undone.len(), 1);
    let fsck =
        Git::new(directory.path()).without_local_env().args(["fsck", "--strict"]).answer().unwrap();
    assert!(fsck.ok(), "{fsck:?}");
}

#[test]
fn a_revision_and_its_decision_are_one_move_of_the_ref() {
    let Fixture { directory: _directory, store } = fixture();
    let proposal = propose(&store, 0, "two\n");
    let revise = authority(Verb::Apply, Some(&proposal));
    let changes = changeset("a.txt", Some("one\n"), "2\n");
    store
        .write(&ada(), at(1), |writer| {
            let revision = NewRevision::new(&changes, RevisionReason::Partial);
            writer.revise(&revise, &proposal.id, revision)?;
            let manifest = manifest(&writer.proposal(&proposal.id)?);
            let new = NewDecision {
                effect: Some(Effect::Files),
                manifest: Some(&manifest),
                ..NewDecision::new(Verdict::Apply)
            };
            writer.decide(&revise, &proposal.id, new)
        })
        .unwrap();
    let view = store.view().unwrap();
    let applied = view.proposal(&proposal.id).unwrap();
    assert_eq!((applied.revisions.len(), applied.skipped.len()), (2, 0));
    assert!(matches!(applied.state, State::Applied(_)));
    let kinds: Vec<String> = view
        .log(None, None)
        .unwrap()
        .iter()
        .map(|it| it.stamped.event.data.kind().to_owned())
        .collect();
    assert_eq!(kinds, ["apply", "revise", "propose"]);
    assert_eq!(view.log(None, Some(1)).unwrap().len(), 1);
}

#[test]
fn an_answer_to_something_else_than_was_shown_is_refused() {
    let Fixture { directory: _directory, store } = fixture();
    let proposal = propose(&store, 0, "two\n");
    let tips = store.view().unwrap().tips(&proposal.id).unwrap();
    let comment = Comment { body: "why?".into(), ..Comment::default() };
    store
        .write(&ada(), at(1), |writer| writer.note(Some(&proposal.id), Note::Comment(comment)))
        .unwrap();
    let pinned = store.write(&ada(), at(2), |writer| writer.pin(&proposal.id, &tips).map(drop));
    assert!(pinned.unwrap_err().is(&crate::proposal::codes::CHANGED_SINCE_SHOWN));
}

#[test]
fn a_private_proposal_is_published_under_its_id() {
    let Fixture { directory: _directory, store } = fixture();
    let private = NewProposal { private: true, ..new("two\n") };
    let proposal = store.propose(&agent(), at(0), private).unwrap().0;
    assert_eq!(store.view().unwrap().space(&proposal.id).unwrap(), Space::Private);
    // A proposal on a private one is private, too.
    let above = NewProposal { changeset: changeset("a.txt", Some("two\n"), "three\n"), ..new("") };
    let above = store.propose(&agent(), at(1), above).unwrap().0;
    assert_eq!(store.view().unwrap().space(&above.id).unwrap(), Space::Private);
    let publish = authority(Verb::Publish, Some(&proposal));
    store.write(&ada(), at(2), |writer| writer.publish(&publish, &proposal)).unwrap();
    let view = store.view().unwrap();
    assert_eq!(view.space(&proposal.id).unwrap(), Space::Shared);
    assert_eq!(view.proposal(&proposal.id).unwrap().status(at(3)), Status::Pending);
}

#[test]
fn plans_and_patches_are_threads_of_their_own() {
    let Fixture { directory: _directory, store } = fixture();
    let plan = |text: &str| serde_json::json!({ "branch": "main", "plan": [{ "step": text, "status": "pending" }] });
    for (second, text) in [(0, "first"), (1, "second")] {
        store
            .write(&agent(), at(second), |writer| writer.note(None, Note::Plan(plan(text))))
            .unwrap();
    }
    let view = store.view().unwrap();
    let (_, tip) = view.plan_tip("main", |_| true).unwrap().unwrap();
    assert_eq!(tip.event.data, crate::proposal::Data::Plan(plan("second")));
    assert_eq!(tip.parents.len(), 1);
    assert!(view.plan_tip("other", |_| true).unwrap().is_none());
    let patch = authority(Verb::Patch, None);
    let entry = |text: &str| Entry::new(hash(&store, text), "100644");
    let written = Written {
        path: RepoPath::new("a.txt").unwrap(),
        before: Some(entry("one\n")),
        after: Some(entry("patched\n")),
        outcome: FileOutcome::Clean,
    };
    let stamped = store.write(&ada(), at(2), |writer| writer.patch(&patch, vec![written])).unwrap();
    let view = store.view().unwrap();
    let patches = view.patches().unwrap();
    assert_eq!((patches.len(), patches[0].undone.is_none()), (1, true));
    assert!(view.has_recorded(&patches[0].id, &stamped).unwrap());
    let side = |text: &str| {
        let sha256 = crate::sha256::hex(text.as_bytes());
        Some(Blob { id: hash(&store, text), mode: "100644".into(), sha256 })
    };
    let back = Manifest::new(vec![ManifestEntry {
        path: RepoPath::new("a.txt").unwrap(),
        base: side("one\n"),
        now: side("patched\n"),
        after: side("one\n"),
        outcome: EntryOutcome::Clean,
        residue: OtherChanges::None,
    }]);
    let undo = authority(Verb::Undo, None);
    let new = NewDecision {
        effect: Some(Effect::Files),
        manifest: Some(&back),
        ..NewDecision::new(Verdict::Undo)
    };
    store.write(&ada(), at(3), |writer| writer.decide(&undo, &patches[0].id, new)).unwrap();
    assert!(store.view().unwrap().patches().unwrap()[0].undone.is_some());
}

fn hash(store: &Store, text: &str) -> String {
    let file = File { bytes: text.as_bytes().to_vec(), mode: Mode::Regular };
    store.entry_of(&file).unwrap().id
}

#[test]
fn a_decided_thread_is_found_in_the_ledger() {
    let Fixture { directory: _directory, store } = fixture();
    let proposal = propose(&store, 0, "two\n");
    apply(&store, 1, &proposal);
    let id = gix::ObjectId::from_hex(proposal.first_event.as_bytes()).unwrap();
    assert_eq!(store.close(&[id], None, at(2)).unwrap(), 1);
    for _ in 0..2 {
        let view = store.view().unwrap();
        let applied = Filter { status: Some(Status::Applied), ..Filter::default() };
        assert_eq!(view.ids_of(&applied, at(3)).unwrap(), std::slice::from_ref(&proposal.id));
        assert!(view.has_applied().unwrap());
        assert_eq!(view.approved_steps(&RepoPath::new("a.txt").unwrap()).unwrap().len(), 1);
        assert_eq!(view.log(None, None).unwrap().len(), 2);
        assert_eq!(view.find(&proposal.id.as_str()[..12]).unwrap().id, proposal.id);
        assert!(view.proposals(&Filter::pending(), at(3)).unwrap().is_empty());
    }
    let comment = Comment { body: "late".into(), ..Comment::default() };
    store
        .write(&ada(), at(4), |writer| writer.note(Some(&proposal.id), Note::Comment(comment)))
        .unwrap();
    let view = store.view().unwrap();
    let all = view.proposals(&Filter::default(), at(5)).unwrap();
    assert_eq!((all.len(), all[0].comments), (1, 1));
}

#[test]
fn a_hostile_memo_is_dropped() {
    let Fixture { directory, store } = fixture();
    let proposal = propose(&store, 0, "two\n");
    let path = directory.path().join(".git/aye/open");
    let good = std::fs::read(&path).unwrap();
    let garbage: [&[u8]; 5] = [
        b"",
        b"aye memo 0\n{}\n",
        b"aye memo 1\n{}\n\xff\n[[[\n",
        b"aye memo 1\n",
        &good[..good.len() / 2],
    ];
    for bytes in garbage {
        std::fs::write(&path, bytes).unwrap();
        store.view().unwrap().count_pending(at(1)).unwrap();
        let mended = std::fs::read(&path).unwrap();
        assert_eq!(store.view().unwrap().count_pending(at(1)).unwrap(), 1);
        assert!(std::fs::read(&path).unwrap() == mended);
        let ids = store.view().unwrap().ids_of(&Filter::pending(), at(1)).unwrap();
        assert_eq!(ids, std::slice::from_ref(&proposal.id), "{bytes:?}");
    }
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert_eq!(store.view().unwrap().count_pending(at(1)).unwrap(), 1);
}

#[test]
fn pending_refs_and_projections_follow_and_expire() {
    let Fixture { directory, store } = fixture();
    let proposal = propose(&store, 0, "two\n");
    let is_projected = || {
        let dir = directory.path().join(".agent-memory/proposals").join(proposal.id.as_str());
        (
            dir.join("change.patch").exists(),
            pending::targets(&store).unwrap().contains_key(&proposal.id),
        )
    };
    assert_eq!(is_projected(), (true, true));
    let view = store.view().unwrap();
    assert!(!store.is_unfinished(&view, at(1)));
    let examined = store.projection_faults(&view, true, at(1)).unwrap();
    assert!(examined.refs.is_empty() && examined.projections.unwrap().is_empty());
    // After the week the next writer removes them.
    let late = at(86_400 * 8);
    assert!(store.is_unfinished(&store.view().unwrap(), late));
    store.write(&agent(), late, |_| Ok(())).unwrap();
    assert_eq!(is_projected(), (false, false));
    assert!(!store.is_unfinished(&store.view().unwrap(), late));
    assert_eq!(store.rebuild_projections(&store.view().unwrap(), at(2)).unwrap(), 1);
    assert_eq!(is_projected(), (true, true));
    store.forget_memo();
    store.write(&agent(), late, |_| Ok(())).unwrap();
    assert_eq!(is_projected(), (false, false));
}

#[test]
fn long_lists_are_blobs_of_their_own() {
    let Fixture { directory: _directory, store } = fixture();
    let files = (0..600).map(|n| {
        let file = File { bytes: format!("{n}\n").into_bytes(), mode: Mode::Regular };
        let path = RepoPath::new(format!("some/directory/file-{n}.txt")).unwrap();
        FileChange { path, before: None, after: Some(file), origin: None, snippets: Vec::new() }
    });
    let changeset = Changeset::new(files.collect()).unwrap();
    let proposal = store.propose(&agent(), at(0), NewProposal { changeset, ..new("") }).unwrap().0;
    assert_eq!(proposal.current().changes.len(), 600);
    let blob: Option<BlobRef> = store
        .view()
        .unwrap()
        .thread(&proposal.id)
        .unwrap()
        .history
        .first()
        .unwrap()
        .event
        .list()
        .cloned();
    assert!(blob.is_some());
}

#[test]
fn a_short_id_names_one_thread() {
    let id = ProposalId::from_event(&"ab".repeat(20));
    assert!(id.is_of(&"ab".repeat(20)));
}
