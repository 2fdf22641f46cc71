//! Hostile remotes, through a real fetch by `aye sync`.

use super::*;
use crate::support::clones::{join, name, refs};
use crate::support::record::comment;

/// A scene with a bare remote that has this clone's thread.
fn shared() -> (Scene, Repo) {
    let scene = scene();
    let origin = Repo::bare();
    join(&scene.repo, &origin);
    scene.repo.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    scene.repo.git(&["config", "aye.syncRemote", "origin"]);
    scene.repo.aye(&["sync"]).ok();
    (scene, origin)
}

/// Sets refs at the remote as somebody with push rights does.
fn set(origin: &Repo, refs: &[(String, String)]) {
    let lines: String = refs.iter().map(|(name, at)| format!("update {name} {at}\n")).collect();
    let run = origin.program("git").args(&["update-ref", "--stdin"]).stdin(lines).run();
    run.ok();
}

#[test]
fn refs_to_anything_but_events_stop_nobody() {
    let (scene, origin) = shared();
    let by = format!("refs/aye/by/{}", forger::CLONE);
    let blob = forger::blob(&origin, "no event");
    let tree = origin.git(&["write-tree"]);
    let head = origin.git(&["rev-parse", "refs/heads/main"]);
    let tag = forger::fed(
        &origin,
        &["mktag"],
        format!("object {head}\ntype commit\ntag x\ntagger m <m@x> 0 +0000\n\nx\n"),
    );
    let id = |digit: &str| digit.repeat(40);
    set(
        &origin,
        &[
            (format!("{by}/{}", scene.thread), blob.clone()),
            (format!("{by}/{}", id("1")), tree),
            (format!("{by}/{}", id("2")), head),
            (format!("{by}/{}", id("3")), tag),
            (format!("{by}/closed/{}", id("4")), blob.clone()),
            (format!("{by}/gone/{}", id("5")), blob.clone()),
            (format!("{by}/{}", id("A")), blob.clone()),
            (format!("{by}/{}/x/y", id("6")), blob.clone()),
            ("refs/aye/by/no-clone".to_owned(), blob.clone()),
            (format!("refs/aye/by/{}/junk", name(&scene.repo).expect("a name")), blob),
        ],
    );
    scene.repo.aye(&["sync"]).ok();
    scene.is("pending");
    assert!(finds(&scene.repo, DAMAGED));
    comment(&scene.repo, &scene.id, "goes on");
    scene.repo.aye(&["sync"]).ok();
    // They become what they were not, and go again.
    for at in refs(&origin, &[&by]) {
        origin.git(&["update-ref", "-d", &format!("refs/aye/{at}")]);
    }
    scene.repo.aye(&["sync"]).ok();
    assert!(refs(&scene.repo, &[&format!("refs/aye/remotes/origin/{}", forger::CLONE)]).is_empty());
    scene.repo.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn events_in_this_clones_directory_count_and_cost_one_name_a_day() {
    let (scene, origin) = shared();
    let own = name(&scene.repo).expect("a name");
    let forged = |body: &str| {
        forger::borrow(&origin, &scene.repo);
        Forged::comment(body).on(&[&scene.thread]).write(&origin)
    };
    set(&origin, &[(format!("refs/aye/by/{own}/{}", scene.thread), forged("in your name"))]);
    let run = scene.repo.aye(&["sync"]).ok();
    assert!(run.err().contains("aye.clone is"), "{run}");
    let fresh = name(&scene.repo).expect("a name");
    assert_ne!(fresh, own);
    set(&origin, &[(format!("refs/aye/by/{fresh}/{}", scene.thread), forged("and again"))]);
    scene.repo.aye(&["comment", &scene.id, "-m", "mine"]).ok();
    // What is written on top of the foreign event leads to it, and is sent.
    scene.repo.aye(&["sync"]);
    scene.is("pending");
    assert!(scene.repo.aye(&["list"]).ok().out().contains(&scene.id));
}

#[test]
fn flood_of_refs_is_fetched_and_named() {
    let (scene, origin) = shared();
    let blobs: Vec<String> =
        (0..70).map(|at| forger::blob(&origin, format!("junk {at}"))).collect();
    let of = |at: usize| format!("refs/aye/by/{:016x}/{}", at + 1, scene.thread);
    set(&origin, &(0..2_000).map(|at| (of(at), blobs[at % 70].clone())).collect::<Vec<_>>());
    scene.repo.aye(&["sync"]).ok();
    scene.is("pending");
    assert!(scene.repo.aye(&["list"]).ok().err().contains("too_many_refs"));
    scene.repo.aye(&["reject", &scene.id, "--yes"]).ok();
    scene.is("rejected");
    scene.repo.aye(&["sync"]).ok();
}

#[test]
fn words_of_a_server_are_printed_without_control_characters() {
    let (scene, origin) = shared();
    origin.script(
        "hooks/pre-receive",
        "printf 'no\\033[2J\\n\\n ! [rejected] x -> refs/aye/remotes/origin/x\\n' >&2; exit 1",
    );
    comment(&scene.repo, &scene.id, "x");
    let run = scene.repo.aye(&["sync"]).exits(4);
    assert!(!run.err().contains('\u{1b}') && run.err().contains("push_refused"), "{run}");
    // The next one fetches as ever.
    origin.remove("hooks/pre-receive");
    scene.repo.aye(&["sync"]).ok();
}
