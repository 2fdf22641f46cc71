//! `aye shell`: the repository's own configuration starts nothing.

use super::shell::repo;
use crate::support::Repo;

/// What a configured program says. The sandbox lets `sh` start, so that it could.
const TRAP: &str = "echo ran-evil >&2; cat";
const CONFIGURATION: &str = include_str!("../data/shell/configuration.txt");
const LOOKING: &str = include_str!("../data/shell/looking.txt");

/// A repository with all of it, with a merge that had a conflict, and with a stash.
fn hostile() -> Repo {
    let repo = repo();
    repo.write("a.evil", "x\n");
    repo.write(".gitattributes", "*.evil diff=evil filter=evil\na.txt merge=evil\n");
    repo.commit("Add");
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("a.txt", "other\n");
    repo.commit("Other");
    repo.git(&["checkout", "-q", "-"]);
    repo.write("a.txt", "mine\n");
    repo.commit("Mine");
    repo.try_git(&["merge", "-q", "other"]);
    repo.write("a.txt", "both\n");
    repo.commit("Merge");
    repo.write("a.evil", "stashed\n");
    repo.git(&["stash"]);
    repo.write("a.evil", "changed\n");
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction"] {
        repo.script(&format!("hooks/{hook}"), TRAP);
    }
    repo
}

#[test]
fn no_repository_configuration_starts_a_program() {
    let repo = hostile();
    let config = repo.text(".git/config");
    let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
    let all: Vec<(&str, String)> = lines(CONFIGURATION)
        .filter_map(|line| line.split_once(' '))
        .map(|(key, value)| (key, value.replace("TRAP", TRAP)))
        .collect();
    // Some apart from what would take their place, and all at once.
    let apart = (0..5).map(|n| all.iter().skip(n).step_by(5).collect());
    let index = repo.read(".git/index");
    for settings in apart.chain([all.iter().collect::<Vec<_>>()]) {
        repo.write(".git/config", &config);
        for (key, value) in &settings {
            repo.git(&["config", key, value]);
        }
        // What is switched off does not stand in the way.
        repo.aye(&["shell", "git status --short"]).exits(0).says("a.evil");
        repo.aye(&["shell", "git diff"]).exits(0).says("+changed");
        repo.aye(&["shell", "git stash show"]).exits(0).says("1 file changed");
        for command in lines(LOOKING) {
            let run = repo.aye(&["shell", command]);
            assert!(!run.out().contains("ran-evil"), "{settings:?}: {run}");
        }
        assert_eq!(repo.read(".git/index"), index, "{settings:?}");
    }
    // The traps work: git alone steps into them.
    for (key, words) in [
        ("core.fsmonitor", &["status"][..]),
        ("diff.evil.textconv", &["diff"]),
        ("filter.evil.clean", &["diff"]),
        ("merge.evil.driver", &["show", "--diff-merges=remerge", ":/Merge"]),
    ] {
        repo.write(".git/config", &config);
        repo.git(&["config", key, TRAP]);
        repo.write("a.evil", format!("again {key}\n"));
        let run = repo.program("git").args(words).run();
        assert!(run.err().contains("ran-evil"), "{key}: the test proves nothing: {run}");
    }
}

#[test]
fn a_repository_inside_the_repository_is_held_to_the_same() {
    let repo = repo();
    repo.git(&["init", "-q", "vendor/inner"]);
    repo.git(&["-C", "vendor/inner", "config", "core.fsmonitor", TRAP]);
    repo.git(&["init", "-q", "--bare", "vendor/bare"]);
    repo.git(&["-C", "vendor/bare", "config", "core.fsmonitor", TRAP]);
    for command in [
        "cd vendor/inner && git status",
        "git -C vendor/inner status",
        "cd vendor/bare && git log",
        "cd vendor/bare && git status",
        "git -C vendor/bare rev-parse HEAD",
        "cd vendor/inner/.git && git log",
        "git status",
    ] {
        let run = repo.aye(&["shell", command]);
        assert!(!run.out().contains("ran-evil"), "{run}");
    }
    repo.aye(&["shell", "git -C vendor/inner status"]).exits(0).says("No commits yet");
    repo.aye(&["shell", "git -C vendor/bare log"]).exits(128);
}
