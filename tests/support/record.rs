//! Decisions written straight into the store, for tests of what follows from them.

use aye::proposal::event::{Apply, Comment, Effect, How, Reject, RequestChanges, digest};
use aye::proposal::{Actor, ActorKind, Data, Proposal};
use aye::store::Store;

use super::Repo;

/// The store of `repo`.
pub fn store(repo: &Repo) -> Store {
    Store::discover(repo.root()).expect("the store")
}

/// The proposal that `id` names.
pub fn proposal(repo: &Repo, id: &str) -> Proposal {
    store(repo).view().expect("a view").find(id).expect("the proposal")
}

/// Records `data` on the proposal `id`, as a person.
pub fn record(repo: &Repo, id: &str, data: impl FnOnce(&Proposal) -> Data) {
    let proposal = proposal(repo, id);
    let actor =
        Actor { name: super::NAME.into(), email: super::EMAIL.into(), kind: ActorKind::Human };
    store(repo)
        .write(&actor, chrono::Utc::now(), |writer| {
            writer.append(Some(&proposal.id), data(&proposal)).map(drop)
        })
        .expect("recorded");
}

/// Applies: writes the proposed files and records the decision.
pub fn apply(repo: &Repo, id: &str) {
    let held = store(repo);
    for change in &proposal(repo, id).current().changes {
        let path = change.path.to_str().expect("a plain path");
        match &change.after {
            Some(entry) => repo.write(path, held.file(entry).expect("the blob").bytes),
            None => repo.remove(path),
        }
    }
    record(repo, id, |proposal| {
        let revision = proposal.current();
        Data::Apply(Apply {
            revision: revision.event.clone(),
            digest: digest(&revision.changes),
            how: How::Flag,
            effect: Effect::Files,
            commit: None,
            written: Vec::new(),
        })
    });
}

/// Rejects.
pub fn reject(repo: &Repo, id: &str, reason: &str) {
    record(repo, id, |proposal| {
        let revision = proposal.current();
        Data::Reject(Reject {
            reason: Some(reason.into()),
            revision: revision.event.clone(),
            digest: digest(&revision.changes),
            how: How::Flag,
        })
    });
}

/// Asks for changes.
pub fn request_changes(repo: &Repo, id: &str, reason: &str) {
    record(repo, id, |proposal| {
        let revision = Some(proposal.current().event.clone());
        Data::RequestChanges(RequestChanges { reason: Some(reason.into()), revision })
    });
}

/// Comments.
pub fn comment(repo: &Repo, id: &str, body: &str) {
    record(repo, id, |_| {
        Data::Comment(Comment { body: body.into(), path: None, line: None, revision: None })
    });
}

/// Proposes to replace `old` by `new` in `path`, as an agent; the id.
pub fn propose(repo: &Repo, path: &str, old: &str, new: &str) -> String {
    let run = repo.agent("codex", &["propose", path, "--old", old, "--new", new, "--json"]);
    run.ok().json()["proposal_id"].as_str().expect("an id").to_owned()
}
