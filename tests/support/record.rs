//! Decisions made through the library, for tests of what follows from them.

use aye::changeset::{Changeset, FileChange};
use aye::decide::verdict::{self, PlainVerdict, VerdictDetails};
use aye::decide::{self, Request};
use aye::proposal::event::{Comment, Effect, Evidence, Note, RevisionReason};
use aye::proposal::rules::Verb;
use aye::proposal::{Actor, ActorKind, Authority, Caller, Proposal};
use aye::store::{NewRevision, Store, Writer};

use super::Repo;

/// The store of `repo`.
pub fn store(repo: &Repo) -> Store {
    Store::discover(repo.root()).expect("the store")
}

/// The proposal that `id` names.
pub fn proposal(repo: &Repo, id: &str) -> Proposal {
    store(repo).view().expect("a view").find(id).expect("the proposal")
}

/// The authority of the person at the terminal.
fn authority(store: &Store, verb: Verb, proposal: &Proposal) -> Authority {
    let actor =
        Actor { name: super::NAME.into(), email: super::EMAIL.into(), kind: ActorKind::Human };
    let caller = Caller { actor, marker: None, tool: false };
    let proposals = std::slice::from_ref(proposal);
    decide::authorise(store, &caller, verb, proposals, &Evidence::Terminal, "").expect("the rules")
}

/// Applies: writes the proposed files and records the decision.
pub fn apply(repo: &Repo, id: &str) {
    let (store, proposal) = (store(repo), proposal(repo, id));
    let authority = authority(&store, Verb::Apply, &proposal);
    let request = Request::all(Effect::Files);
    decide::apply(&store, &authority, chrono::Utc::now(), &proposal, &request, None)
        .expect("applied");
}

/// Gives a new revision, whoever may do so by the commands.
pub fn revise(repo: &Repo, id: &str, changes: Vec<FileChange>) {
    let (store, proposal) = (store(repo), proposal(repo, id));
    let authority = authority(&store, Verb::Revise, &proposal);
    let changeset = Changeset::new(changes).expect("changes");
    let new = NewRevision::new(&changeset, RevisionReason::Answer);
    let revise = |writer: &mut Writer<'_>| writer.revise(&authority, &proposal.id, new).map(drop);
    store.write(authority.actor(), chrono::Utc::now(), revise).expect("recorded");
}

/// Takes an apply back.
pub fn undo(repo: &Repo, id: &str) {
    let (store, proposal) = (store(repo), proposal(repo, id));
    let authority = authority(&store, Verb::Undo, &proposal);
    let seen = store
        .view()
        .and_then(|view| decide::ViewedState::now(&view, [&proposal.id]))
        .expect("seen");
    decide::undo(&store, &authority, chrono::Utc::now(), &proposal, &seen, None).expect("undone");
}

fn say(repo: &Repo, id: &str, verb: Verb, word: PlainVerdict, reason: &str) {
    let (store, proposal) = (store(repo), proposal(repo, id));
    let authority = authority(&store, verb, &proposal);
    let proposals = std::slice::from_ref(&proposal);
    let besides = VerdictDetails { reason: Some(reason), ..VerdictDetails::default() };
    verdict::record_verdicts(&store, &authority, chrono::Utc::now(), proposals, word, &besides)
        .expect("recorded");
}

/// Rejects.
pub fn reject(repo: &Repo, id: &str, reason: &str) {
    say(repo, id, Verb::Reject, PlainVerdict::Reject, reason);
}

/// Asks for changes.
pub fn request_changes(repo: &Repo, id: &str, reason: &str) {
    say(repo, id, Verb::RequestChanges, PlainVerdict::RequestChanges, reason);
}

/// Comments.
pub fn comment(repo: &Repo, id: &str, body: &str) {
    comment_at(repo, id, body, chrono::Utc::now());
}

/// The same by a clock that says `now`.
pub fn comment_at(repo: &Repo, id: &str, body: &str, now: chrono::DateTime<chrono::Utc>) {
    let proposal = proposal(repo, id);
    let actor =
        Actor { name: super::NAME.into(), email: super::EMAIL.into(), kind: ActorKind::Human };
    store(repo)
        .write(&actor, now, |writer| {
            let comment = Comment { body: body.into(), ..Comment::default() };
            writer.note(Some(&proposal.id), Note::Comment(comment)).map(drop)
        })
        .expect("recorded");
}

/// Proposes the whole `content` of `path`, as an agent; the id.
pub fn rewrite(repo: &Repo, path: &str, content: &str, why: &str) -> String {
    let args = ["propose", path, "--content-file", "-", "-m", why, "-q"];
    repo.cmd(&args).env("AYE_AGENT", "codex").stdin(content).run().ok().id()
}

/// Proposes to replace `old` by `new` in `path`, as an agent; the id.
pub fn propose(repo: &Repo, path: &str, old: &str, new: &str) -> String {
    repo.agent("codex", &["propose", path, "--old", old, "--new", new, "-q"]).ok().id()
}
