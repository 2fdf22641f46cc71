//! `aye run` and `aye session`: agents in work trees of their own.

use rustix::process::Signal;

use crate::support::record::{apply, reject};
use crate::support::sessions::{
    diff, kept, no_session_is_left, nothing_pending, only, pending, proposed, read, script, tree,
};
use crate::support::terminal::Terminal;
use crate::support::{Repo, Run, until};

const FILES: &[(&str, &str)] =
    &[("src/a.txt", "one\ntwo\n"), ("b.txt", "bee\n"), (".gitignore", "*.log\n")];

fn run(repo: &Repo, text: &str) -> Run {
    script(repo, &[], text).run()
}

#[test]
fn what_is_left_in_the_tree_is_one_proposal_and_the_checkout_stays() {
    let repo = Repo::with(FILES);
    repo.write("b.txt", "bee\nmine\n");
    repo.write("untracked.txt", "mine\n");
    let files = || {
        let all = repo.snapshot().into_iter();
        all.filter(|(path, _)| !path.starts_with(".agent-memory")).collect::<Vec<_>>()
    };
    let before = files();
    let ended = run(
        &repo,
        "grep -q mine untracked.txt && grep -q mine b.txt && git diff --quiet HEAD || exit 9
         sed -i s/two/TWO/ src/a.txt; echo theirs >>b.txt; echo new >n.txt; chmod +x n.txt
         mkdir d; echo deep >d/e.txt; echo noise >d/x.log; git add -A; git commit -qm work
         sed -i s/TWO/2/ src/a.txt; exit 3",
    );
    assert_eq!(ended.exits(3).out(), "");
    assert_eq!(files(), before);
    no_session_is_left(&repo);
    let id = only(&repo);
    let shown = repo.item(&id);
    assert_eq!(shown["proposed_by"], "robo");
    let text = diff(&repo, &id);
    assert!(
        text.contains("+2\n") && text.contains("+theirs\n") && !text.contains("noise"),
        "{text}"
    );
    apply(&repo, &id);
    assert_eq!(repo.text("src/a.txt"), "one\n2\n");
    assert_eq!(repo.text("b.txt"), "bee\nmine\ntheirs\n");
    assert_eq!(repo.mode("n.txt") & 0o111, 0o111);
    assert_eq!(repo.text("untracked.txt"), "mine\n");
}

#[test]
fn a_run_that_changes_nothing_leaves_nothing() {
    let repo = Repo::with(FILES);
    run(&repo, "cat b.txt").ok().says("bee");
    nothing_pending(&repo);
    no_session_is_left(&repo);
    repo.aye(&["run", "no-such-program"]).fails("invalid_argument", 6);
    no_session_is_left(&repo);
    run(&repo, "kill -TERM $$").exits(143);
}

#[test]
fn a_session_that_is_kept_goes_on_and_its_proposal_with_it() {
    let repo = Repo::with(FILES);
    kept(&repo, "echo first >>b.txt").ok();
    let id = only(&repo);
    kept(&repo, "echo second >>b.txt").ok();
    assert_eq!(only(&repo), id);
    assert!(diff(&repo, &id).contains("+first\n+second\n"));
    kept(&repo, "true").ok();
    assert_eq!(only(&repo), id);
    apply(&repo, &id);
    kept(&repo, "echo third >>b.txt").ok();
    let next = only(&repo);
    assert_ne!(next, id);
    let text = diff(&repo, &next);
    assert!(text.contains("+third\n") && !text.contains("+first\n"), "{text}");
    reject(&repo, &next, "no");
    // What was rejected is not proposed again.
    kept(&repo, "true").ok();
    nothing_pending(&repo);
    repo.aye(&["session", "end", "x"]).ok();
    no_session_is_left(&repo);
}

#[test]
fn work_that_no_proposal_has_is_not_removed() {
    let repo = Repo::with(FILES);
    kept(&repo, "true").ok();
    let top = tree(&repo, "x");
    std::fs::write(top.join("late.txt"), "late\n").expect("write");
    repo.aye(&["session", "end", "x"]).fails("session_unsubmitted", 4).notes("late.txt");
    repo.aye(&["session", "submit", "x", "-m", "Late"]).ok();
    repo.aye(&["session", "end", "x"]).ok();
    assert!(!top.exists());
    assert!(proposed(&repo).contains("+late\n"));
    repo.aye(&["session", "end", "x"]).fails("session_not_found", 3);
    repo.aye(&["run", "--name", "../x", "true"]).fails("invalid_argument", 6);
}

/// The agent outlives an aye that was killed: nobody else gets its tree, as long as it works there.
#[test]
fn a_run_that_is_killed_leaves_its_session_to_the_next_command() {
    let repo = Repo::with(FILES);
    let go = repo.outer().join("go");
    let text = format!(
        "echo early >w.txt; echo ready; while ! [ -e {} ]; do sleep 0.05; done; echo late >>w.txt",
        go.display()
    );
    let mut running = script(&repo, &["--name", "k"], &text).spawn();
    running.begins("ready\n");
    let state = || repo.aye(&["session", "--json"]).ok().json()["sessions"][0]["state"].clone();
    repo.aye(&["session", "end", "k"]).fails("session_live", 7);
    running.child.kill().expect("kill");
    running.child.wait().expect("wait");
    assert_eq!(state(), "live");
    repo.aye(&["session", "submit", "k"]).ok();
    repo.aye(&["session", "end", "k", "--discard"]).fails("session_live", 7);
    repo.aye(&["run", "--name", "k", "true"]).fails("session_live", 7);
    std::fs::write(&go, "").expect("write");
    until("its agent is gone", || state() == "left");
    run(&repo, "true").ok().notes("aye review prop_");
    script(&repo, &["--name", "k"], "true").run().ok();
    assert!(proposed(&repo).contains("+early\n+late\n"));
    no_session_is_left(&repo);
}

/// What it leaves behind and does not wait for keeps its session from nobody.
#[test]
fn a_signal_is_passed_on_and_what_was_done_is_proposed() {
    let repo = Repo::with(FILES);
    let text = "trap 'echo told >t.txt; exit 7' TERM
                sleep 60 >/dev/null 2>&1 & echo $! >pid; echo ready; wait";
    let mut running = script(&repo, &["--name", "x"], text).spawn();
    running.begins("ready\n");
    let pid = i32::try_from(running.child.id()).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process"), Signal::TERM).expect("kill");
    running.wait().exits(7);
    assert!(proposed(&repo).contains("+told\n"));
    let pid = read(&tree(&repo, "x"), "pid");
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    repo.program("kill").args(&[pid.trim()]).run().ok();
    no_session_is_left(&repo);
}

#[test]
fn what_the_command_leaves_running_is_waited_for() {
    let repo = Repo::with(FILES);
    // It writes when the command itself is gone.
    let late = "(while kill -0 $$; do sleep 0.05; done; echo late >l.txt) >/dev/null 2>&1 & exit 5";
    run(&repo, late).exits(5);
    assert!(proposed(&repo).contains("+late\n"));
    no_session_is_left(&repo);
}

#[test]
fn the_terminal_is_the_commands() {
    let repo = Repo::with(FILES);
    let text = "stty size; read -r line; echo \"got $line\"; trap 'echo interrupted; exit 4' INT
                echo waiting; while :; do sleep 0.1; done";
    let mut t = Terminal::start(script(&repo, &[], text), 24, 90);
    t.sees("24 90").types("hello\r").sees("hello").sees("waiting").types("\u{3}");
    t.sees("interrupted");
    assert_eq!(t.ends(), 4);
}

#[test]
fn inside_of_a_session_the_repository_is_the_real_one() {
    let repo = Repo::with(FILES);
    let theirs = repo.agent("other", &["propose", "b.txt", "--old", "bee", "--new", "B"]).id();
    let aye = env!("CARGO_BIN_EXE_aye");
    let text = format!(
        "{aye} list --json | grep -q {theirs} || exit 11
         {aye} propose --commit HEAD; test $? = 4 || exit 12
         {aye} call revise '{{\"proposal_id\":\"x\"}}' >/dev/null; test $? = 4 || exit 13
         echo x >>src/a.txt; {aye} session submit $AYE_SESSION -m 'Half of it' || exit 14
         cd src; echo y >>a.txt; {aye} run true; test $? = 4 || exit 15
         printf '*** Begin Patch\\n*** Update File: b.txt\\n@@\\n-bee\\n+wasp\\n*** End Patch\\n' |
             {aye} patch >/dev/null || exit 16
         XDG_STATE_HOME=/nowhere {aye} call revise '{{\"proposal_id\":\"x\"}}' >/dev/null; test $? = 4 || exit 17"
    );
    let ended = run(&repo, &text).ok();
    assert!(ended.err().contains("in_session"), "{ended}");
    assert_eq!(repo.text("b.txt"), "bee\n");
    let list = repo.aye(&["list", "--by", "robo", "--json"]).ok().json();
    assert_eq!(list["count"], 1, "{list:#}");
    let id = list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    let text = diff(&repo, &id);
    assert!(text.contains("+x\n+y\n") && text.contains("+wasp\n"), "{text}");
    assert_eq!(list["proposals"][0]["description"], "Half of it");
}

/// An edit, a patch, or what is there: all of it is the session's one proposal.
#[test]
fn what_is_proposed_from_within_goes_to_the_sessions_proposal() {
    let repo = Repo::with(FILES);
    let aye = env!("CARGO_BIN_EXE_aye");
    let text = format!(
        "cd src; echo x >x.txt
         {aye} propose a.txt --old two --new TWO -m 'Louder' --domain tests || exit 11
         grep -q TWO a.txt || exit 12
         {aye} propose a.txt --old two --new 2; test $? != 0 || exit 13
         cd ..; sed -i s/bee/wasp/ b.txt; git diff -- b.txt | {aye} propose --patch - || exit 14
         printf '*** Begin Patch\n*** Add File: n.txt\n+new\n*** End Patch\n' |
             {aye} propose --patch - -m 'Louder, and more' --json >out.log || exit 15
         {aye} propose --worktree || exit 16
         {aye} propose .git/config --content-file b.txt; test $? != 0 || exit 17"
    );
    run(&repo, &text).ok();
    let id = only(&repo);
    let text = diff(&repo, &id);
    for line in ["+x\n", "+TWO\n", "+wasp\n", "+new\n"] {
        assert!(text.contains(line), "{text}");
    }
    let shown = repo.item(&id);
    assert_eq!(shown["description"], "Louder, and more");
    assert_eq!((&shown["proposed_by"], &shown["domain"]), (&"robo".into(), &"tests".into()));
    assert_eq!(repo.text("b.txt"), "bee\n");
}

/// As in Codex's sandbox: the command line goes through the spool, and what it says is in the proposal.
#[cfg(target_os = "linux")]
#[test]
fn what_is_proposed_where_git_cannot_be_written_is_proposed_at_the_end() {
    let repo = Repo::with(FILES);
    if repo.program("unshare").args(&["-rm", "true"]).run().status != 0 {
        assert!(std::env::var_os("AYE_REQUIRE_SANDBOX").is_none(), "namespaces are needed");
        return;
    }
    let aye = env!("CARGO_BIN_EXE_aye");
    let git = repo.path(".git");
    let text = format!(
        "mount --bind {git} {git} && mount -o remount,ro,bind {git} || exit 10
         {aye} propose src/a.txt --old two --new TWO -m 'Louder' --json >answer.json || exit 11
         grep -q TWO src/a.txt && grep -q aye/spooled@1 answer.json || exit 12
         rm answer.json; git status --short | grep -q spool && exit 13
         {aye} session submit $AYE_SESSION -m 'Louder still' || exit 14
         mkfifo .aye-spool/000000.json; ln -s /etc/passwd .aye-spool/999999.json
         mkdir src/.aye-spool; echo x >src/.aye-spool/x",
        git = git.display(),
    );
    let all = ["run", "--", "unshare", "-rm", "sh", "-c", &text];
    repo.cmd(&all).env("AYE_AGENT", "robo").run().ok();
    let id = only(&repo);
    let shown = repo.item(&id);
    assert_eq!(shown["description"], "Louder still");
    assert_eq!(diff(&repo, &id).matches("diff --git").count(), 2);
    assert!(!diff(&repo, &id).contains("json"));
    no_session_is_left(&repo);
}

#[test]
fn a_hostile_tree_runs_nothing_and_leads_nowhere() {
    let repo = Repo::with(FILES);
    let secret = repo.outer().join("secret.txt");
    std::fs::write(&secret, "secret\n").expect("write");
    let mark = repo.outer().join("ran");
    let text = format!(
        "rm -rf .git; git init -q .; git config core.fsmonitor 'touch {mark}'
         git config filter.x.clean 'touch {mark}; cat'; git config core.hooksPath hooks
         git config core.worktree /; echo '* filter=x diff=x' >.gitattributes
         mkdir hooks; printf '#!/bin/sh\\ntouch {mark}\\n' >hooks/post-index-change; chmod +x hooks/*
         echo {outer} >.git/objects/info/alternates
         ln -s {secret} leak.txt; ln -sf {secret} b.txt; ln -s {outer} way
         mkfifo pipe; mkdir nested; git init -q nested; echo n >nested/n.txt
         git -C nested config core.fsmonitor 'touch {mark}'
         rm -r src; ln -s {outer} src; echo good >good.txt; chmod 4755 good.txt",
        mark = mark.display(),
        outer = repo.outer().display(),
        secret = secret.display(),
    );
    script(&repo, &["--name", "x"], &text).run().ok().notes("b.txt").notes("pipe").notes("nested");
    assert!(!mark.exists());
    let text = proposed(&repo);
    assert!(text.contains("+good\n") && !text.contains("secret"), "{text}");
    assert!(!text.contains("b/b.txt"), "{text}");
    // A directory in the place of which a symlink stands is gone.
    assert!(text.contains("deleted file mode 100644\n--- a/src/a.txt"), "{text}");
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    assert!(secret.exists() && !mark.exists());
    repo.aye(&["doctor"]).ok();
}

#[test]
fn a_planted_record_removes_nothing_else() {
    let repo = Repo::with(FILES);
    kept(&repo, "true").ok();
    let record = repo.path(".git/aye/sessions/x.json");
    for bad in ["{}", "not json", "[]"] {
        std::fs::write(&record, bad).expect("write");
        repo.aye(&["session", "submit", "x"]).fails("session_record_invalid", 5);
        repo.aye(&["session", "list"]).ok();
    }
    let (outer, top) = (repo.outer().join("precious"), tree(&repo, "x"));
    std::fs::create_dir_all(outer.join("in")).expect("make");
    std::fs::remove_dir_all(&top).expect("remove");
    std::os::unix::fs::symlink(&outer, &top).expect("link");
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    assert!(outer.join("in").exists() && top.symlink_metadata().is_err());
}

#[test]
fn a_run_needs_a_commit_and_a_place() {
    let repo = Repo::new();
    run(&repo, "true").fails("no_commit", 4);
    let repo = Repo::with(FILES);
    let homeless = script(&repo, &[], "true").env("HOME", "").env("XDG_STATE_HOME", "relative");
    homeless.run().fails("no_state_directory", 4);
    no_session_is_left(&repo);
    // A merge that is not settled is no base, and the commit below it is.
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.write("b.txt", "other\n");
    repo.git(&["commit", "-qam", "other"]);
    repo.git(&["switch", "-q", "main"]);
    repo.write("b.txt", "main\n");
    repo.git(&["commit", "-qam", "main"]);
    assert_ne!(repo.try_git(&["merge", "other"]).status, 0);
    run(&repo, "true").fails("git_failed", 4);
    script(&repo, &["--base", "head"], "grep -q main b.txt").run().ok();
}

/// What the repository's configuration names is run neither for the base nor in the tree.
#[test]
fn a_monitor_and_hooks_of_the_repository_are_not_run() {
    let repo = Repo::with(FILES);
    let mark = repo.outer().join("ran");
    let touch = format!("touch {}", mark.display());
    repo.git(&["config", "core.fsmonitor", &touch]);
    for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
        repo.script(&format!(".git/hooks/{hook}"), &touch);
    }
    repo.write("b.txt", "mine\n");
    let _ = std::fs::remove_file(&mark);
    let ended = run(&repo, "grep -q mine b.txt && echo more >>b.txt");
    assert_eq!(ended.status, 0, "{ended}");
    assert!(!mark.exists());
}

#[test]
fn sparse_linked_detached_and_odd_places_are_as_in_the_checkout() {
    let repo = Repo::with(&[("in/a.txt", "a\n"), ("out/b.txt", "b\n"), ("top.txt", "t\n")]);
    repo.git(&["sparse-checkout", "set", "in"]);
    run(&repo, "test ! -e out && echo more >>in/a.txt").ok();
    assert_eq!(proposed(&repo).matches("diff --git").count(), 1);
    reject(&repo, &only(&repo), "no");

    repo.git(&["sparse-checkout", "disable"]);
    repo.git(&["checkout", "-q", "--detach"]);
    let odd = repo.outer().join("ein Ort é");
    repo.git(&["worktree", "add", "-q", "--detach", odd.to_str().expect("UTF-8")]);
    let ended = repo.cmd(&["run", "--", "sh", "-c", "pwd; echo more >>a.txt"]);
    let ended = ended.env("AYE_AGENT", "robo").dir(odd.join("in")).run().ok();
    assert!(ended.out().trim_end().ends_with("/in"), "{ended}");
    assert!(proposed(&repo).contains("in/a.txt"));
    assert_eq!(std::fs::read_to_string(odd.join("in/a.txt")).expect("read"), "a\n");
}

#[test]
fn settings_that_tests_need_are_copied_and_never_proposed() {
    let repo = Repo::with(&[("a.txt", "a\n"), (".gitignore", ".env\nbuild/\n")]);
    repo.write(".worktreeinclude", ".env\nu.txt\n");
    repo.write(".env", "KEY=1\n");
    repo.write("u.txt", "untracked\n");
    run(&repo, "grep -q KEY .env && grep -q untracked u.txt").ok();
    no_session_is_left(&repo);
    // Nothing is removed that was not proposed and is not said.
    script(&repo, &["--name", "e"], "echo KEY=2 >.env").run().ok().notes(".env");
    assert_eq!(repo.text(".env"), "KEY=1\n");
    repo.aye(&["session", "end", "e"]).fails("session_unsubmitted", 4);
    nothing_pending(&repo);
    script(&repo, &["--name", "e"], "git add -f .env").run().ok();
    let shown = repo.aye(&["show", &only(&repo), "--json"]).ok().json();
    assert_eq!(shown["space"], "private", "{shown:#}");
    no_session_is_left(&repo);
}

/// As git has it, what its index has is not ignored, whatever the rules say.
#[test]
fn what_is_added_by_force_is_proposed() {
    let repo = Repo::with(&[("a.txt", "a\n"), (".gitignore", "dist/\n*.key\n")]);
    let text = "mkdir dist; echo x >dist/.gitkeep; echo y >dist/y; echo k >n.key; echo l >o.key
                git add -f dist/.gitkeep n.key; git commit -qm keep; echo a >>a.txt";
    run(&repo, text).ok();
    no_session_is_left(&repo);
    let id = only(&repo);
    let shown = repo.item(&id);
    assert_eq!(shown["space"], "private", "{shown:#}");
    let text = diff(&repo, &id);
    assert!(text.contains("dist/.gitkeep") && text.contains("n.key"), "{text}");
    assert!(!text.contains("dist/y") && !text.contains("o.key"), "{text}");
}

/// What others see already does not get a private file by a revision: it is named, and proposed later.
#[test]
fn what_is_added_by_force_to_a_proposal_of_others_waits() {
    let repo = Repo::with(&[("a.txt", "a\n"), (".gitignore", "*.key\n")]);
    script(&repo, &["--name", "w", "--keep"], "echo b >>a.txt").run().ok();
    let id = only(&repo);
    let more = "echo c >>a.txt; echo k >n.key; git add -f n.key";
    script(&repo, &["--name", "w"], more).run().ok().notes("n.key");
    assert!(only(&repo) == id && !diff(&repo, &id).contains("n.key"));
    apply(&repo, &id);
    repo.aye(&["session", "submit", "w"]).ok();
    let next = only(&repo);
    assert!(next != id && diff(&repo, &next).contains("n.key"), "{next}");
}

#[test]
fn directories_that_are_named_are_copied_and_what_leads_back_is_named() {
    let repo = Repo::with(&[
        ("a.txt", "a\n"),
        ("packages/p/i.js", "1\n"),
        (".gitignore", "deps/\nvenv/\n"),
    ]);
    repo.write("deps/x/i.js", "x\n");
    repo.symlink("../packages/p", "deps/p");
    let own = repo.path("packages/p");
    repo.symlink(own.to_str().expect("UTF-8"), "deps/q");
    repo.symlink("/usr", "deps/usr");
    repo.write("venv/lib/editable.pth", format!("{}\n", repo.root().display()));
    repo.write("venv/lib/other.pth", "/usr/lib\n");
    // What a package manager made is named once, with the command that brings it.
    let named = "git config --add aye.session.link venv";
    run(&repo, "test ! -e deps && test ! -e venv").ok().notes(named);
    run(&repo, "true").ok().lacks(named);
    for name in ["deps", "venv/", "packages", "../deps", "none"] {
        repo.git(&["config", "--add", "aye.session.link", name]);
    }
    let text = "test $(cat deps/x/i.js) = x && test -L deps/p && echo 2 >packages/p/i.js &&
                test $(cat deps/p/i.js) = 2 && echo y >deps/x/i.js";
    let ended = run(&repo, text).ok();
    let said = ended.err();
    for line in ["deps/q:", "packages:"] {
        assert!(said.contains(line), "{said}");
    }
    for other in ["deps/p:", "deps/usr", ".pth"] {
        assert!(!said.contains(other), "{other} in {said}");
    }
    assert_eq!(repo.text("deps/x/i.js"), "x\n");
}

#[test]
fn line_endings_are_those_that_git_would_store() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
    repo.git(&["config", "core.autocrlf", "true"]);
    run(&repo, "grep -q $(printf '\\r') a.txt && printf 'three\\r\\n' >>a.txt").ok();
    assert!(proposed(&repo).contains("+three\n"));
}

#[test]
fn objects_that_only_a_session_needs_survive_a_gc() {
    let repo = Repo::with(FILES);
    repo.write("b.txt", "only in the work tree\n");
    kept(&repo, "true").ok();
    repo.git(&["checkout", "-q", "--", "b.txt"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    let text = "git fsck --connectivity-only && echo more >>b.txt";
    script(&repo, &["--name", "x"], text).run().ok();
    assert!(proposed(&repo).contains("+more\n"));
}

/// git's own `stash create` fails without a word there, once.
#[test]
fn a_file_whose_time_alone_has_changed_is_no_change() {
    let repo = Repo::with(FILES);
    repo.program("touch").args(&["-d", "2020-01-01", "b.txt"]).run().ok();
    run(&repo, "echo wasp > b.txt").ok();
    assert!(proposed(&repo).contains("+wasp"));
    repo.program("touch").args(&["-d", "2021-01-01", "b.txt"]).run().ok();
    run(&repo, "true").ok();
}

#[test]
fn what_was_rejected_is_taken_out_of_the_tree_and_later_edits_stay() {
    let repo = Repo::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("b.txt", "bee\n")]);
    kept(&repo, "sed -i s/2/two/ a.txt; echo new >n.txt; rm b.txt").ok();
    reject(&repo, &only(&repo), "no");
    let top = tree(&repo, "x");
    let path = top.join("a.txt");
    std::fs::write(&path, "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n").expect("write");
    // The next command finds the files without what was rejected.
    let text = "grep -q 2 a.txt && grep -q eight a.txt && grep -q bee b.txt && test ! -e n.txt";
    kept(&repo, text).ok();
    let text = proposed(&repo);
    assert!(text.contains("+eight\n") && !text.contains("two"), "{text}");
    assert!(!text.contains("b.txt") && !text.contains("n.txt"), "{text}");
    apply(&repo, &only(&repo));
    assert_eq!(repo.text("a.txt"), "1\n2\n3\n4\n5\n6\n7\neight\n9\n");
    kept(&repo, "true").ok();
    nothing_pending(&repo);
}

fn lines(two: &str, nine: &str) -> String {
    format!("1\n{two}\n3\n4\n5\n6\n7\n8\n8\n8\n8\n8\n{nine}\n10\n")
}

/// A session `x` that is kept, and has changed `a.txt` in two places.
fn in_two_places() -> Repo {
    let repo = Repo::with(&[("a.txt", lines("2", "9"))]);
    repo.let_flags_decide();
    kept(&repo, "sed -i 's/^2/two/; s/^9/nine/' a.txt").ok();
    repo
}

#[test]
fn of_what_was_applied_in_part_the_rest_is_out_and_the_part_is_the_base() {
    let repo = in_two_places();
    repo.aye(&["apply", &only(&repo), "--hunks", "1", "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), lines("two", "9"));
    kept(&repo, "sed -i s/two/zwei/ a.txt; grep -qx 9 a.txt").ok();
    let text = proposed(&repo);
    assert!(text.contains("-two\n+zwei\n") && !text.contains("nine"), "{text}");
    apply(&repo, &only(&repo));
    assert_eq!(repo.text("a.txt"), lines("zwei", "9"));
}

/// The tree's own git compares with what was decided, but for what its agent has staged or committed.
#[test]
fn status_in_the_tree_shows_what_is_not_decided_yet() {
    let repo = Repo::with(FILES);
    let status =
        || repo.git(&["-C", tree(&repo, "x").to_str().expect("UTF-8"), "status", "--short"]);
    kept(&repo, "echo x >>b.txt; echo new >n.txt; rm src/a.txt; git add n.txt").ok();
    assert_eq!(status(), " M b.txt\nA  n.txt\n D src/a.txt");
    apply(&repo, &only(&repo));
    kept(&repo, "git status --short; git diff --quiet; test $? = 0 && echo clean").ok();
    assert_eq!(status(), "");
    let top = tree(&repo, "x");
    let log =
        || repo.git(&["-C", top.to_str().expect("UTF-8"), "log", "-1", "--format=%s", "main"]);
    assert_eq!(log(), "What a session goes on from");
    kept(&repo, "echo y >>b.txt").ok();
    assert_eq!(status(), " M b.txt");
    reject(&repo, &only(&repo), "no");
    kept(&repo, "true").ok();
    assert_eq!(status(), "");
    // It follows the checkout, in packed refs and with a detached HEAD, too.
    repo.write("c.txt", "sea\n");
    repo.commit("More");
    kept(&repo, "git pack-refs --all").ok();
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!((status(), log()), (String::new(), "More".to_owned()));
    kept(&repo, "git checkout -q --detach; echo z >>c.txt").ok();
    apply(&repo, &only(&repo));
    // What is staged on top of it stays staged.
    kept(&repo, "git status --short; echo s >>b.txt; git add b.txt").ok().lacks("c.txt");
    assert_eq!(status(), "M  b.txt");
    apply(&repo, &only(&repo));
    let shown = kept(&repo, "git diff --quiet && git show :b.txt").ok();
    shown.says("s\n");
    // Its own commits stay, and so does what git is doing at the moment.
    kept(&repo, "echo c >>c.txt; git commit -qam mine").ok();
    apply(&repo, &only(&repo));
    kept(&repo, "git log -1 --format=%s HEAD; git status --short").ok().says("mine\n");
}

#[test]
fn a_hostile_git_directory_is_not_followed_by_the_base() {
    let plans = [
        "rm .git/index; ln -s {outer}/precious .git/index",
        "rm -rf .git/refs/heads; ln -s {outer} .git/refs/heads; mv .git/HEAD h; cp h .git/HEAD; rm h",
        "echo 'ref: refs/heads/../../../../precious' >.git/HEAD",
        "rm .git/HEAD; mkfifo .git/HEAD",
        "rm .git/index; mkfifo .git/index",
        "head -c 4000 /dev/urandom >.git/index",
        "rm -rf .git; ln -s {outer} .git",
        "rm -rf .git; echo 'gitdir: {outer}' >.git",
        "touch .git/index.lock",
        "git config core.splitIndex true; git update-index --split-index; git config core.fsmonitor 'touch {outer}/ran'",
    ];
    for plan in plans {
        let repo = Repo::with(FILES);
        let outer = repo.outer().display().to_string();
        std::fs::write(repo.outer().join("main"), "precious\n").expect("write");
        std::fs::write(repo.outer().join("precious"), "precious\n").expect("write");
        let before = std::fs::read_dir(repo.outer()).expect("read").count();
        let text = format!("echo x >>b.txt\n{}", plan.replace("{outer}", &outer));
        kept(&repo, &text).ok();
        apply(&repo, &only(&repo));
        kept(&repo, "grep -q x b.txt").ok();
        assert_eq!(std::fs::read_dir(repo.outer()).expect("read").count(), before, "{plan}");
        for name in ["main", "precious"] {
            let text = std::fs::read_to_string(repo.outer().join(name)).expect("read");
            assert_eq!(text, "precious\n", "{plan}");
        }
        nothing_pending(&repo);
    }
}

#[test]
fn a_rest_that_is_pending_stays_in_the_tree() {
    let repo = in_two_places();
    repo.aye(&["apply", &only(&repo), "--hunks", "1", "--split-rest", "--yes"]).ok();
    let rest = only(&repo);
    // Unchanged, it is the session's proposal.
    kept(&repo, "grep -qx nine a.txt; git diff | grep -c '^[+-][a-z0-9]'").ok().says("2\n");
    assert_eq!(only(&repo), rest);
    // Edited, it has another revision.
    kept(&repo, "sed -i s/nine/neun/ a.txt").ok();
    assert_eq!(only(&repo), rest);
    assert!(diff(&repo, &rest).contains("-9\n+neun\n"), "{}", diff(&repo, &rest));
    apply(&repo, &rest);
    assert_eq!(repo.text("a.txt"), lines("two", "neun"));
    kept(&repo, "true").ok();
    assert!(pending(&repo).is_empty());
}

#[test]
fn what_a_person_made_of_a_proposal_is_what_the_session_goes_on_from() {
    let repo = Repo::with(FILES);
    kept(&repo, "sed -i s/two/TWO/ src/a.txt").ok();
    let (top, id) = (tree(&repo, "x"), only(&repo));
    let theirs = ["revise", &id, "src/a.txt", "--old", "two", "--new", "second"];
    repo.aye(&theirs).ok();
    apply(&repo, &id);
    kept(&repo, "echo three >>src/a.txt").ok();
    assert_eq!(read(&top, "src/a.txt"), "one\nsecond\nthree\n");
    assert!(proposed(&repo).contains("+three\n"));
    apply(&repo, &only(&repo));
    assert_eq!(repo.text("src/a.txt"), "one\nsecond\nthree\n");
}

#[test]
fn what_a_person_edits_in_a_pending_proposal_is_not_undone_by_the_session() {
    let repo = Repo::with(FILES);
    kept(&repo, "sed -i s/two/TWO/ src/a.txt").ok();
    let (top, id) = (tree(&repo, "x"), only(&repo));
    repo.aye(&["revise", &id, "src/a.txt", "--old", "two", "--new", "second"]).ok();
    std::fs::write(top.join("b.txt"), "wasp\n").expect("write");
    repo.aye(&["session", "submit", "x"]).ok();
    let text = diff(&repo, &id);
    assert!(
        text.contains("+second\n") && text.contains("+wasp\n") && !text.contains("TWO"),
        "{text}"
    );
    repo.aye(&["session", "submit", "x"]).ok();
    assert_eq!(diff(&repo, &id), text);
    kept(&repo, "sed -i s/second/2nd/ src/a.txt").ok();
    assert!(diff(&repo, &id).contains("-two\n+2nd\n"));
    apply(&repo, &id);
    kept(&repo, "true").ok();
    nothing_pending(&repo);
}

/// What was rejected is taken out of the tree alone, whatever its agent has put in the way.
#[test]
fn a_hostile_tree_that_follows_is_written_nowhere_else() {
    let repo =
        Repo::with(&[("d/a.txt", "a\n"), ("e/b.txt", "b\n"), ("f.txt", "f\n"), ("g.txt", "g\n")]);
    let text = "echo more | tee -a d/a.txt e/b.txt f.txt g.txt; echo new >n.txt";
    kept(&repo, text).ok();
    reject(&repo, &only(&repo), "no");
    let (top, outer) = (tree(&repo, "x"), repo.outer().join("elsewhere"));
    std::fs::create_dir(&outer).expect("make");
    let files = [("a.txt", "a\nmore\n"), ("g.txt", "g\nmore\n"), ("n.txt", "new\n")];
    for (name, text) in files {
        std::fs::write(outer.join(name), text).expect("write");
    }
    for name in ["d", "e"] {
        std::fs::remove_dir_all(top.join(name)).expect("remove");
    }
    for name in ["f.txt", "g.txt", "n.txt"] {
        std::fs::remove_file(top.join(name)).expect("remove");
    }
    std::os::unix::fs::symlink(&outer, top.join("d")).expect("link");
    std::fs::write(top.join("e"), "in the way").expect("write");
    repo.program("mkfifo").args(&[top.join("f.txt")]).run().ok();
    std::fs::hard_link(outer.join("g.txt"), top.join("g.txt")).expect("link");
    std::os::unix::fs::symlink(outer.join("n.txt"), top.join("n.txt")).expect("link");
    repo.aye(&["session", "sync", "x"]).exits(5);
    for (name, text) in files {
        assert_eq!(std::fs::read_to_string(outer.join(name)).expect("read"), text, "{name}");
    }
}

#[test]
fn a_proposal_of_which_nothing_is_left_is_withdrawn() {
    let repo = Repo::with(FILES);
    kept(&repo, "sed -i s/two/TWO/ src/a.txt").ok();
    let (top, id) = (tree(&repo, "x"), only(&repo));
    std::fs::write(top.join("src/a.txt"), "one\ntwo\n").expect("write");
    repo.aye(&["session", "submit", "x"]).ok();
    nothing_pending(&repo);
    assert_eq!(repo.item(&id)["status"], "rejected");
    std::fs::write(top.join("src/a.txt"), "one\n2\n").expect("write");
    repo.aye(&["session", "submit", "x"]).ok();
    assert_ne!(only(&repo), id);
}

#[test]
fn a_session_follows_the_checkout_when_it_is_asked_to() {
    let repo = Repo::with(FILES);
    kept(&repo, "sed -i s/two/TWO/ src/a.txt").ok();
    let (top, id) = (tree(&repo, "x"), only(&repo));
    repo.write("src/a.txt", "zero\none\ntwo\n");
    repo.write("b.txt", "wasp\n");
    repo.commit("Go on");
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!(read(&top, "src/a.txt"), "zero\none\nTWO\n");
    assert_eq!(read(&top, "b.txt"), "wasp\n");
    // What is pending is revised, and says what it said.
    assert_eq!(only(&repo), id);
    let text = diff(&repo, &id);
    assert!(text.contains("-two\n+TWO\n") && !text.contains("wasp"), "{text}");
    repo.write("src/a.txt", "zero\none\nzwei\n");
    repo.aye(&["session", "sync", "x"]).exits(5).notes("src/a.txt");
    assert_eq!(read(&top, "src/a.txt"), "zero\none\nTWO\n");
    repo.aye(&["session", "sync", "nobody"]).fails("session_not_found", 3);
}
