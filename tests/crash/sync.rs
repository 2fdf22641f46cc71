//! `aye sync` stopped at every step: the next one completes it, nothing is lost, and no lock is left.

use crate::support::clones::{clone, join, name, refs, thread};
use crate::support::{Repo, Run};

/// Every step of a sync, in its order.
const STEPS: &[&str] =
    &["sync.fetched", "sync.keep", "sync.kept", "sync.renew", "sync.renewed", "sync.pushed"];

fn propose(repo: &Repo, path: &str) -> String {
    repo.aye(&["propose", path, "--old", "1", "--new", "2", "-q"]).ok().id()
}

fn comments(repo: &Repo, id: &str) -> usize {
    let shown = repo.aye(&["show", id, "--json"]).ok().json();
    shown["comments"].as_array().map_or(0, Vec::len)
}

fn locks(repo: &Repo) -> Vec<std::path::PathBuf> {
    let entries = walkdir::WalkDir::new(repo.path(".git")).into_iter().flatten();
    let paths = entries.map(walkdir::DirEntry::into_path);
    paths.filter(|path| path.extension() == Some("lock".as_ref())).collect()
}

/// A copy of a clone that has something to keep, something to send, and a ref to delete there.
fn scene() -> (Repo, Repo, [String; 3]) {
    let origin = Repo::bare();
    let ada = Repo::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    join(&ada, &origin);
    ada.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    let bob = clone(&origin);
    for repo in [&ada, &bob] {
        repo.git(&["config", "aye.syncRemote", "origin"]);
    }
    let lost = propose(&bob, "a");
    let (copied, closed) = (propose(&ada, "b"), propose(&ada, "c"));
    bob.aye(&["sync"]).ok();
    ada.aye(&["sync"]).ok();
    // The remote loses what Bob has sent.
    let gone = format!("refs/aye/by/{}/{}", name(&bob).expect("a name"), thread(&bob, &lost));
    origin.git(&["update-ref", "-d", &gone]);
    // The ledger of a decided thread is there, and its ref is still there, too.
    ada.aye(&["reject", &closed, "--yes"]).ok();
    ada.aye(&["doctor", "--gc"]).ok();
    ada.aye(&["sync", "origin"]).ok();
    let copy = ada.copy();
    ada.aye(&["comment", &copied, "-m", "of the original"]).ok();
    ada.aye(&["sync"]).ok();
    copy.aye(&["comment", &copied, "-m", "of the copy"]).ok();
    (origin, copy, [lost, copied, closed])
}

#[test]
fn sync_stopped_at_every_step_is_completed_by_the_next() {
    let (origin, start, [lost, copied, closed]) = scene();
    for step in STEPS {
        let (server, repo) = (origin.copy(), start.copy());
        repo.git(&["config", "remote.origin.url", &server.root().to_string_lossy()]);
        let run: Run = repo.cmd(&["sync"]).env("FAILPOINTS", format!("{step}=return")).run();
        assert_eq!(run.status, 128 + 6, "{step}: {run}");
        assert_eq!(locks(&repo), Vec::<std::path::PathBuf>::new(), "{step}");
        let mut run = repo.aye(&["sync"]);
        if *step == "sync.renew" {
            // The day is noted, and the name is not new yet: a person is asked.
            assert!(run.status == 4 && run.err().contains("clone_copied"), "{run}");
            repo.aye(&["doctor", "--repair"]).ok();
            run = repo.aye(&["sync"]);
        }
        assert_eq!(run.status, 0, "{step}: {run}");
        assert_eq!(comments(&repo, &copied), 2, "{step}");
        repo.aye(&["show", &lost]).ok();
        repo.aye(&["show", &closed]).ok();
        assert!(!refs(&repo, &["refs/aye/kept"]).is_empty(), "{step}");
        repo.aye(&["sync"]).ok().lacks("received");
        let reader = clone(&server);
        reader.aye(&["sync", "--fetch"]).ok();
        assert_eq!(comments(&reader, &copied), 2, "{step}");
        reader.aye(&["show", &closed]).ok();
        for repo in [&repo, &server] {
            repo.git(&["fsck", "--strict", "--no-dangling"]);
        }
    }
}
