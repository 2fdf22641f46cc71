//! Builds in the tree of a session: what was built in the checkout is not taken for newer than what differs.

use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::sessions::tree;
use crate::support::{Repo, Run};

const MAKEFILE: &str = "b/out: s sub/t\n\tmkdir -p b\n\tcat s sub/t >b/out\n\techo built\n";

/// A checkout in which `b` is built of `s` and `sub/t`, an hour ago, and brought into trees.
fn built() -> Repo {
    let repo = Repo::with(&[
        ("Makefile", MAKEFILE),
        (".gitignore", "/b/\n/.env\n"),
        ("s", "old\n"),
        ("sub/t", "t\n"),
        ("other", "one\n"),
    ]);
    repo.program("make").args(&["-s"]).run().ok().says("built");
    for (at, ago) in [("s", 9), ("sub/t", 9), ("other", 9), ("Makefile", 9), ("b/out", 5), ("b", 5)]
    {
        let time = SystemTime::now() - Duration::from_secs(ago * 600);
        let file = std::fs::File::open(repo.path(at)).expect("open");
        file.set_modified(time).expect("a time");
    }
    repo.git(&["config", "aye.session.link", "b"]);
    repo
}

fn make(repo: &Repo, options: &[&str], before: &str) -> Run {
    let script = format!("{before}\nmake -s; cat b/out");
    repo.aye(&[&["run"], options, &["--", "sh", "-c", &script]].concat()).ok()
}

fn time(path: &Path) -> SystemTime {
    path.metadata().and_then(|facts| facts.modified()).expect("a time")
}

#[test]
fn what_is_built_is_built_again_only_where_a_source_differs() {
    let repo = built();
    assert_eq!(make(&repo, &[], "").out(), "old\nt\n");
    assert_eq!(make(&repo, &[], "echo new >s").out(), "built\nnew\nt\n");
    // Edited in the checkout since it was built there: not committed, and at another commit.
    repo.write("s", "new\n");
    assert_eq!(make(&repo, &[], "").out(), "built\nnew\nt\n");
    repo.git(&["commit", "-qam", "new"]);
    assert_eq!(make(&repo, &[], "").out(), "built\nnew\nt\n");
    repo.program("make").args(&["-s"]).run().ok().says("built");
    assert_eq!(make(&repo, &[], "").out(), "new\nt\n");
    // The checkout's file is older than what is built of it; that of the tree is another.
    repo.write("sub/t", "u\n");
    repo.program("make").args(&["-s"]).run().ok().says("built");
    assert_eq!(make(&repo, &[], "").out(), "new\nu\n");
    assert_eq!(make(&repo, &["--base", "head"], "").out(), "built\nnew\nt\n");
}

#[test]
fn copies_and_what_is_as_in_the_checkout_have_its_times_and_git_knows() {
    let repo = built();
    repo.write(".worktreeinclude", ".env\n");
    repo.write(".env", "KEY=1\n");
    let then = SystemTime::now() - Duration::from_secs(7200);
    let touch = |path: &Path| {
        std::fs::File::open(path).and_then(|file| file.set_modified(then)).expect("a time");
    };
    touch(&repo.path(".env"));
    // Same size, other content, and older than the index.
    repo.write("other", "two\n");
    touch(&repo.path("other"));
    repo.aye(&["run", "--keep", "--base", "head", "--name", "x", "--", "true"]).ok();
    let tree = tree(&repo, "x");
    for path in ["s", "sub/t", "Makefile", "b/out", "b", ".env"] {
        assert_eq!(time(&tree.join(path)), time(&repo.path(path)), "{path}");
    }
    assert!(time(&tree.join("other")) > time(&repo.path("b/out")));
    // Its index has the times: git reads no file again.
    let stale = "git diff-files --name-only; git fsck --no-progress 2>&1; git status --short";
    let run = repo.program("sh").args(&["-c", &format!("cd '{}' && {stale}", tree.display())]);
    assert_eq!(run.run().ok().out(), "");
    repo.aye(&["session", "end", "x"]).ok();
}
