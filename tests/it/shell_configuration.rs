//! `aye shell`: the repository's own configuration starts nothing.

use super::shell::{repo, without_sandbox};
use crate::support::Repo;

/// Git answers from the repository's configuration alone, which is no answer to what the user has set.
#[test]
fn a_question_for_the_configuration_notes_whose_is_read() {
    let repo = repo();
    let note = "the configuration of the repository here, not the user's own";
    for command in ["git config --get no.such", "git config --global --list | cat", "git var -l"] {
        let run = repo.aye(&["shell", command]).notes(note);
        assert!(!run.out().contains(note), "{run}");
        let run = repo.aye(&["call", "readonly_shell", &format!("{{\"command\": {command:?}}}")]);
        run.says(note);
    }
    for command in ["git config --local --list", "git log -1"] {
        assert!(!repo.aye(&["shell", command]).ok().err().contains(note), "{command}");
    }
}

/// Kinds of repository configuration that would start a program: `(name, key, value)`.
const CONFIGURATION: &[(&str, &str)] = &[
    ("core.fsmonitor", "EVIL"),
    ("core.pager", "EVIL"),
    ("pager.log", "EVIL"),
    ("pager.status", "EVIL"),
    ("diff.external", "EVIL"),
    ("diff.evil.command", "EVIL"),
    ("diff.evil.textconv", "EVIL"),
    ("filter.evil.clean", "EVIL"),
    ("filter.evil.smudge", "EVIL"),
    ("filter.evil.process", "EVIL"),
    ("core.hooksPath", "hooks"),
    ("core.sshCommand", "EVIL"),
    ("core.editor", "EVIL"),
    ("core.askPass", "EVIL"),
    ("gpg.program", "EVIL"),
    ("gpg.ssh.program", "EVIL"),
    ("alias.status", "!EVIL"),
    ("credential.helper", "!EVIL"),
    ("core.gitProxy", "EVIL"),
    ("core.alternateRefsCommand", "EVIL"),
    ("log.showSignature", "true"),
    ("pretty.evil", "format:%G?"),
    ("format.pretty", "evil"),
    ("interactive.diffFilter", "EVIL"),
    ("sequence.editor", "EVIL"),
];

const LOOKING: &[&str] = &[
    "git status",
    "git status --short",
    "git diff",
    "git diff HEAD",
    "git diff HEAD~1 HEAD",
    "git log -p",
    "git log --stat",
    "git show HEAD",
    "git show HEAD:a.evil",
    "git blame a.evil",
    "git grep x",
    "git ls-files -m",
    "git stash list",
    "git stash show -p || true",
    "git describe --always --dirty",
    "git branch -vv",
    "git log -1 --format='%h %s'",
    "git cat-file -p HEAD:a.evil",
    "git reflog",
    "git shortlog -sn HEAD",
    "git remote -v",
];

#[test]
fn no_repository_configuration_starts_a_program() {
    let repo = repo();
    repo.write("a.evil", "x\n");
    repo.commit("Add");
    repo.write(".gitattributes", "*.evil diff=evil filter=evil\n");
    repo.commit("Attributes");
    repo.write("a.evil", "stashed\n");
    repo.git(&["stash"]);
    let mark = repo.outer().join("ran");
    let evil = repo.outer().join("evil.sh");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat 2>/dev/null\n", mark.display());
    std::fs::write(&evil, script).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&evil, PermissionsExt::from_mode(0o755)).unwrap();
    for hook in ["post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"] {
        repo.write(&format!("hooks/{hook}"), std::fs::read(&evil).unwrap());
        repo.chmod(&format!("hooks/{hook}"), 0o755);
    }
    let config = repo.text(".git/config");
    let evil = evil.to_str().unwrap();
    // Without the kernel's help apart from what would take their place, with it all at once.
    let apart = (0..5).map(|n| (CONFIGURATION.iter().skip(n).step_by(5).collect(), false));
    let all: Vec<&(&str, &str)> = CONFIGURATION.iter().collect();
    for (settings, kernel) in apart.chain([(all, true)]) {
        repo.write(".git/config", &config);
        for (key, value) in &settings {
            repo.git(&["config", key, &value.replace("EVIL", evil)]);
        }
        let key = settings[0].0;
        repo.write("a.evil", format!("changed {key}\n"));
        let index = repo.read(".git/index");
        // What is switched off does not stand in the way.
        repo.aye(&["shell", "git status --short"]).exits(0).says("a.evil");
        for command in LOOKING {
            if kernel {
                repo.aye(&["shell", command]);
            } else {
                without_sandbox(&repo, command);
            }
            assert!(
                !mark.exists(),
                "{settings:?} with {command} (sandbox: {kernel}) ran: {}",
                std::fs::read_to_string(&mark).unwrap_or_default()
            );
        }
        assert_eq!(repo.read(".git/index"), index, "{settings:?} (sandbox: {kernel})");
    }
    // The trap works: git alone steps into it.
    repo.write(".git/config", &config);
    repo.git(&["config", "core.fsmonitor", evil]);
    repo.try_git(&["status"]);
    assert!(mark.exists(), "the test proves nothing");
}

#[test]
fn no_merge_is_done_again_with_the_drivers_of_the_repository() {
    let repo = repo();
    repo.write(".gitattributes", "a.txt merge=evil\n");
    repo.commit("Attributes");
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("a.txt", "other\n");
    repo.commit("Other");
    repo.git(&["checkout", "-q", "-"]);
    repo.write("a.txt", "mine\n");
    repo.commit("Mine");
    repo.try_git(&["merge", "-q", "other"]);
    repo.write("a.txt", "both\n");
    repo.commit("Merge");
    let mark = repo.outer().join("ran");
    repo.git(&["config", "merge.evil.driver", &format!("touch {}; false", mark.display())]);
    repo.git(&["config", "log.diffMerges", "remerge"]);
    for command in ["git log -m -p -1", "git show -m", "git show --diff-merges=on"] {
        let shown = without_sandbox(&repo, command);
        assert!(shown.contains("-mine") && shown.contains("-other"), "{command}: {shown}");
        repo.aye(&["shell", command]).exits(0).says("-mine");
    }
    for command in ["git show --diff-merges=remerge", "git log -p --diff-merges=r"] {
        without_sandbox(&repo, command);
        repo.aye(&["shell", command]).exits(4);
    }
    assert!(!mark.exists());
    // The trap works: git alone steps into it.
    repo.try_git(&["show", "-m"]);
    assert!(mark.exists(), "the test proves nothing");
}

#[test]
fn configuration_that_cannot_be_switched_off_is_refused() {
    let repo = repo();
    let config = repo.text(".git/config");
    for addition in [
        "[include]\n\tpath = ../evil.config\n",
        "[includeIf \"gitdir:/\"]\n\tpath = ../evil.config\n",
        "[core]\n\tworktree = /\n",
        "[core]\n\tworktree = ../..\n",
        "[blame]\n\tignoreRevsFile = .env\n",
        "[filter \"a=b\"]\n\tclean = evil\n",
        "[filter.a \"b\"]\n\tclean = evil\n",
        "[broken\n",
    ] {
        repo.write(".git/config", format!("{config}{addition}"));
        repo.aye(&["shell", "git status"]).fails("COMMAND_NOT_ALLOWED", 4);
        repo.aye(&["shell", "cat a.txt"]).exits(0);
    }
    // What is included would be printed.
    repo.write(".env", "SECRET=hunter2\n");
    repo.write(".git/config", format!("{config}[include]\n\tpath = ../.env\n"));
    for command in ["git config -l", "git config list", "git config --get-all secret.x"] {
        repo.aye(&["shell", command]).fails("COMMAND_NOT_ALLOWED", 4).lacks("hunter2");
    }
    repo.aye(&["shell", "git config --no-includes -l"]).exits(0).says("core.bare=false");
}

#[test]
fn a_repository_inside_the_repository_is_held_to_the_same() {
    let repo = repo();
    let mark = repo.outer().join("ran");
    let evil = format!("touch {}", mark.display());
    repo.git(&["init", "-q", "vendor/inner"]);
    repo.git(&["-C", "vendor/inner", "config", "core.fsmonitor", &evil]);
    repo.git(&["init", "-q", "--bare", "vendor/bare"]);
    repo.git(&["-C", "vendor/bare", "config", "core.fsmonitor", &evil]);
    for command in [
        "cd vendor/inner && git status",
        "git -C vendor/inner status",
        "cd vendor/bare && git log",
        "cd vendor/bare && git status",
        "git -C vendor/bare rev-parse HEAD",
        "cd vendor/inner/.git && git log",
        "git status",
    ] {
        repo.aye(&["shell", command]);
        assert!(!mark.exists(), "{command}");
    }
    repo.aye(&["shell", "git -C vendor/bare log"]).exits(128);
}

/// A directory named `.git` that is no repository is passed over by git, and must not hide the
/// configuration of the one above.
#[test]
fn an_empty_dot_git_hides_nothing() {
    let repo = repo();
    repo.write("sub/.git/x", "");
    repo.write("sub/a.evil", "x\n");
    let config = repo.text(".git/config");
    repo.write(".git/config", format!("{config}[filter.Evil]\n\tclean = x\n"));
    let json = repo.aye(&["--json", "shell", "--explain", "cd sub && git status"]).exits(0).json();
    let arguments = json["steps"][1]["arguments"].to_string();
    assert!(arguments.contains("filter.evil.clean="), "{arguments}");
    repo.write(".git/config", format!("{config}[include]\n\tpath = x\n"));
    repo.aye(&["shell", "cd sub && git status"]).fails("COMMAND_NOT_ALLOWED", 4);
}

#[test]
fn it_works_outside_a_repository_and_in_a_bare_one() {
    let outside = Repo::outside();
    outside.write("x.txt", "x\n");
    outside.aye(&["shell", "cat x.txt"]).exits(0).says("x\n");
    let bare = Repo::outside().init(&["--bare"]);
    bare.aye(&["shell", "git rev-parse --is-bare-repository"]).exits(0).says("true");
}
