//! What a clone says in private of a proposal that another one with the same lane has published.

use super::*;

/// A proposal that is private in a clone, and which its original has published and pushed to `up` since: the
/// clone is a backup that was restored, with `is_moved` a copy beside. `has_lane`: there was a lane for `up`
/// before.
fn published(
    has_lane: bool,
    is_moved: bool,
    change: impl FnOnce(&Repo, &str),
) -> (Scene, Repo, Repo, String) {
    let scene = scene();
    let Scene { here, up, .. } = &scene;
    if has_lane {
        let before = propose(here, "b.txt", "B\n", &["--private"]);
        here.aye(&["revise", "--public", &before, "--to", "up", "--yes"]).ok();
        push(here, "up");
    }
    let id = propose(here, "a.txt", "first\n", &["--private"]);
    let old = here.copy();
    if !is_moved {
        for place in ["place.private", "place.for.7570"] {
            let place = format!(".git/aye/{place}");
            if old.exists(&place) {
                old.remove(&place);
            }
        }
    }
    change(here, &id);
    here.aye(&["revise", "--public", &id, "--to", "up", "--yes"]).ok();
    push(here, "up");
    let theirs = clone(up);
    theirs.git(&["fetch", "-q", "origin"]);
    (scene, old, theirs, id)
}

/// What all who have it agree on.
fn truth(repo: &Repo, id: &str) -> Value {
    let show = show(repo, id);
    let keys = [
        "status", "revision", "changes", "expires_at", "contested", "approvals",
        "changes_requested",
    ];
    Value::Object(keys.iter().map(|key| ((*key).to_owned(), show[key].clone())).collect())
}

/// Whether `repo` says the same of the proposal as `theirs`, with the cache as it is and with none.
#[track_caller]
fn agree(repo: &Repo, theirs: &Repo, id: &str, status: &str) {
    let expected = truth(theirs, id);
    assert_eq!(expected["status"], status);
    for _ in 0..2 {
        assert_eq!(truth(repo, id), expected);
        assert_eq!(show(repo, id)["audience"], "up");
        repo.remove(".git/aye/cache.sqlite");
    }
}

/// Everything that can be said in private before the publication is known.
const SAID: [&[&str]; 6] = [
    &["apply", "--yes", "--mark-only"],
    &["apply", "--yes"],
    &["reject", "--yes", "-m", "hush"],
    &["approve", "--yes", "-m", "hush"],
    &["comment", "--request-changes", "-m", "hush"],
    &["revise", "a.txt", "--content-file", "-"],
];

#[test]
fn a_private_decision_on_what_is_published_does_not_count() {
    for (number, said) in SAID.into_iter().enumerate() {
        let (has_lane, is_moved) = (number % 2 == 0, number % 3 == 0);
        let (Scene { here, origin, up }, old, theirs, id) =
            published(has_lane, is_moved, |_, _| {});
        old.aye_stdin(&[&said[..1], &[&id], &said[1..]].concat(), "hush\n").ok();
        assert_eq!(show(&old, &id)["audience"], "private", "{said:?}");
        old.git(&["fetch", "-q", "up"]);
        agree(&old, &theirs, &id, "pending");
        // The person is told, unless it was not a decision, and says it again, for everybody now.
        let doctor = old.aye(&["doctor"]);
        match said[0] {
            "approve" => doctor.lacks("event_rejected"),
            _ => doctor.exits(1).says("event_rejected"),
        };
        old.aye(&["log", &id]).ok().says(said[0].replace("comment", "request").as_str());
        old.aye(&["reject", &old.at_revision(&id), "--yes", "-m", "known"]).ok();
        push(&old, "up");
        for other in [&theirs, &here] {
            other.git(&["fetch", "-q", "--all"]);
        }
        agree(&old, &theirs, &id, "rejected");
        agree(&here, &theirs, &id, "rejected");
        old.aye(&["doctor"]).lacks("event_rejected");
        push(&old, "origin");
        assert!(!objects(&up).contains("hush") && !objects(&origin).contains("hush"), "{said:?}");
    }
}

#[test]
fn what_was_said_in_private_before_the_publication_stays_private() {
    let before = |here: &Repo, id: &str| {
        here.aye(&["approve", id, "--yes"]).ok();
        here.aye(&["apply", id, "--yes"]).ok();
        here.aye(&["undo", id, "--yes"]).ok();
        here.aye(&["comment", id, "--request-changes", "-m", "hush"]).ok();
        here.aye(&["comment", id, "-m", "hush"]).ok();
    };
    let (Scene { here, up, .. }, _, theirs, id) = published(true, false, before);
    agree(&here, &theirs, &id, "pending");
    here.aye(&["doctor"]).ok().lacks("event_rejected");
    assert_eq!(show(&here, &id)["comments"].as_array().map(Vec::len), Some(1), "it is no decision");
    assert!(!objects(&up).contains("hush"));
}

#[test]
fn what_is_published_is_published_as_it_stands() {
    let before = |here: &Repo, id: &str| {
        here.aye_stdin(&["revise", id, "a.txt", "--content-file", "-"], "second\n").ok();
        here.aye_stdin(&["revise", id, "a.txt", "--content-file", "-"], "third\n").ok();
    };
    let (Scene { here, up: _up, .. }, old, theirs, id) = published(true, false, before);
    agree(&here, &theirs, &id, "pending");
    old.aye_stdin(&["revise", &id, "a.txt", "--content-file", "-"], "another\n").ok();
    old.git(&["fetch", "-q", "up"]);
    agree(&old, &theirs, &id, "pending");
    old.aye(&["diff", &id]).ok().says("+third");
}
