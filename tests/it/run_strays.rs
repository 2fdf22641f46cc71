//! New files that git ignores: where the tree of a session is removed, they are not.

use std::path::{Path, PathBuf};

use crate::support::sessions::{no_session_is_left, script, tree};
use crate::support::{Cmd, Repo, Run};

const FILES: &[(&str, &str)] = &[
    ("a.txt", "a\n"),
    ("web/i.js", "1\n"),
    (".gitignore", "reports/\n*.log\nnode_modules/\ntarget/\n/dep/\n/.env\n"),
];

fn run(repo: &Repo, text: &str) -> Run {
    script(repo, &[], text).run().ok()
}

/// The directories that the trees of the repository lie in, and what was moved out of them.
fn moved(repo: &Repo) -> Vec<PathBuf> {
    let trees = repo.outer().join("home/.local/state/aye/trees");
    let below = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    below(&trees).iter().flat_map(|path| below(path)).collect()
}

/// All files below `place`, by their paths.
fn files(place: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut left = vec![place.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory").flatten() {
            match entry.file_type().expect("a type").is_dir() {
                true => left.push(entry.path()),
                false => files.push(
                    entry.path().strip_prefix(place).expect("below").to_string_lossy().into_owned(),
                ),
            }
        }
    }
    files.sort();
    files
}

#[test]
fn new_ignored_files_are_moved_to_a_place_that_the_last_line_names() {
    let repo = Repo::with(FILES);
    let ended = run(
        &repo,
        "mkdir -p reports/deep reports/node_modules/x target/debug web/node_modules reports/empty
         echo asked >reports/audit.md; echo x >reports/deep/b; echo y >reports/node_modules/x/i
         echo z >target/debug/out; echo z >web/node_modules/i; echo w >web/w.log; ln -s / reports/root
         chmod 500 reports/deep; echo b >>a.txt",
    );
    for path in ["reports/audit.md", "web/w.log", "target", "web/node_modules"] {
        assert!(ended.err().contains(path), "{path}: {ended}");
    }
    let [place] = &moved(&repo)[..] else { panic!("{:?}", moved(&repo)) };
    let last = ended.err().lines().last().expect("a line").to_owned();
    assert!(last.ends_with(&*place.to_string_lossy()), "{last}");
    let expected = ["reports/audit.md", "reports/deep/b", "reports/root", "web/w.log"];
    assert_eq!(files(place), expected);
    assert_eq!(std::fs::read_to_string(place.join("reports/audit.md")).expect("read"), "asked\n");
    assert!(place.join("reports/root").is_symlink());
    no_session_is_left(&repo);
}

#[test]
fn each_way_in_which_a_tree_is_removed_keeps_them_but_for_discard() {
    let repo = Repo::with(FILES);
    let make = |name: &str| {
        let text = "mkdir reports; echo asked >reports/audit.md";
        script(&repo, &["--keep", "--name", name], text).run().ok();
        assert_eq!(moved(&repo).len(), 1, "while there is a tree they stay in it");
    };
    let clear = || {
        let [place] = &moved(&repo)[..] else { panic!("{:?}", moved(&repo)) };
        assert_eq!(files(place), ["reports/audit.md"]);
        std::fs::remove_dir_all(place).expect("removed");
    };
    make("x");
    repo.aye(&["session", "end", "x"]).ok().notes(".until-");
    clear();
    // An agent discards nothing that nobody has seen.
    make("x");
    repo.agent("codex", &["session", "end", "x", "--discard"]).ok();
    clear();
    make("x");
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    assert!(moved(&repo).is_empty());
    make("x");
    repo.aye(&["init", "--remove", "--yes"]).ok();
    clear();
}

#[test]
fn what_the_tree_was_given_is_not_counted() {
    let repo = Repo::with(FILES);
    for (path, text) in [(".worktreeinclude", ".env\nreports/in\n"), (".env", "K=1\n")] {
        repo.write(path, text);
    }
    repo.write("reports/in", "in\n");
    repo.write("dep/x/i", "x\n");
    repo.git(&["config", "aye.session.link", "dep"]);
    run(&repo, "test -f .env && test -f reports/in && echo y >dep/x/i && echo n >dep/n");
    assert!(moved(&repo).is_empty());
    run(&repo, "echo asked >reports/audit.md");
    let [place] = &moved(&repo)[..] else { panic!("{:?}", moved(&repo)) };
    assert_eq!(files(place), ["reports/audit.md"]);
}

#[test]
fn they_are_kept_for_14_days() {
    let repo = Repo::with(FILES);
    let at = |day: &str, command: &[&str]| {
        repo.cmd(command).env("AYE_NOW", format!("2030-01-{day}T12:00:00Z")).run().ok()
    };
    let text = "mkdir reports; echo asked >reports/audit.md; chmod 500 reports";
    at("01", &["run", "--name", "x", "--", "sh", "-c", text]);
    at("01", &["run", "--name", "x", "--", "sh", "-c", text]);
    assert_eq!(moved(&repo).len(), 2);
    at("15", &["session"]);
    assert_eq!(moved(&repo).len(), 2);
    at("16", &["session"]);
    assert!(moved(&repo).is_empty());
}

#[test]
fn a_tree_that_they_cannot_be_moved_out_of_is_kept() {
    let repo = Repo::with(FILES);
    let fail = |cmd: Cmd| cmd.env("FAILPOINTS", "session.stray=return(disk_full)").run();
    let text = "mkdir reports; echo asked >reports/audit.md; exit 3";
    fail(script(&repo, &["--name", "x"], text)).exits(3);
    let end = ["session", "end", "x"];
    assert_ne!(fail(repo.cmd(&end)).status, 0);
    assert_eq!(files(&tree(&repo, "x").join("reports")), ["audit.md"]);
    repo.aye(&end).ok();
    assert!(moved(&repo).iter().any(|place| files(place) == ["reports/audit.md"]));
}
