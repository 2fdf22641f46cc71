//! Git hooks, through real commits and pushes.

use crate::support::clones::{exchange, fetch, join, push};
use crate::support::record::{apply, proposal, propose, reject};
use crate::support::{self, Repo, Run};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("b.txt", "three\n")];

const HOOKS: [&str; 4] = ["pre-commit", "commit-msg", "post-commit", "pre-push"];

/// A repository with the hooks installed.
fn hooked(files: &[(&str, &str)]) -> Repo {
    let repo = Repo::with(files);
    repo.aye(&["hooks", "install"]).ok();
    repo
}

/// Through `cp`: what another thread starts here would hold a file of this process open, and an
/// open program cannot be run.
fn copy_aye(repo: &Repo, to: &std::path::Path) {
    let from = std::ffi::OsStr::new(env!("CARGO_BIN_EXE_aye"));
    repo.program("cp").args(&[from, to.as_os_str()]).run().ok();
}

fn commit(repo: &Repo, message: &str) -> Run {
    repo.git(&["add", "--all"]);
    repo.try_git(&["commit", "-q", "-m", message])
}

/// What a run has said, on either stream.
fn said(run: &Run) -> String {
    run.out() + &run.err()
}

/// The proposals that the trailers of HEAD name.
fn ids(repo: &Repo) -> Vec<String> {
    let names = repo.git(&["log", "-1", "--format=%(trailers:key=Proposal-Id,valueonly)"]);
    names.lines().filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// All files of the directory of hooks but git's samples.
fn files(repo: &Repo, directory: &str) -> Vec<String> {
    let Ok(found) = std::fs::read_dir(repo.path(directory)) else { return Vec::new() };
    let names = found.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.ends_with(".sample"));
    names.sort();
    names
}

#[test]
fn hooks_are_installed_once_and_removed_without_a_trace() {
    let repo = hooked(FILES);
    let texts = || HOOKS.map(|hook| repo.text(&format!(".git/hooks/{hook}")));
    let installed = texts();
    for hook in HOOKS {
        assert_eq!(repo.mode(&format!(".git/hooks/{hook}")), 0o755);
    }
    repo.aye(&["hooks", "install"]).ok();
    assert_eq!(texts(), installed);
    repo.aye(&["hooks", "uninstall", "pre-push"]).ok();
    assert!(!repo.exists(".git/hooks/pre-push") && repo.exists(".git/hooks/pre-commit"));
    repo.aye(&["hooks", "uninstall"]).ok();
    repo.aye(&["hooks", "uninstall"]).ok();
    assert!(files(&repo, ".git/hooks").is_empty());
    // In a bare repository, and from a linked work tree.
    let bare = Repo::bare();
    bare.aye(&["hooks", "install", "pre-push"]).ok();
    assert_eq!(files(&bare, "hooks"), ["pre-push"]);
    Repo::outside().aye(&["hooks", "status"]).fails("not_a_repository", 3);
    repo.git(&["worktree", "add", "-q", "../linked"]);
    repo.cmd(&["hooks", "install"]).dir(repo.outer().join("linked")).run().ok();
    assert_eq!(texts(), installed);
}

#[cfg(target_os = "linux")]
#[test]
fn hooks_are_installed_where_a_path_is_not_utf8() {
    use std::os::unix::ffi::OsStrExt as _;
    let repo = Repo::outside();
    let odd = repo.outer().join(std::ffi::OsStr::from_bytes(b"not\xffutf8"));
    repo.program("git").args(&[std::ffi::OsStr::new("init"), odd.as_os_str()]).run().ok();
    repo.cmd(&["hooks", "install"]).dir(&odd).run().ok();
    assert!(odd.join(".git/hooks/pre-push").exists());
    repo.cmd(&["init", "--remove", "--yes"]).dir(&odd).run().ok();
    assert!(!odd.join(".git/hooks/pre-push").exists());
}

/// What a hook stands for is not touched: the refusal has the line to paste.
#[test]
fn a_hook_that_is_not_ours_to_move_is_refused_and_stays() {
    type Make = fn(&Repo);
    let (managed, foreign) = ("hooks_managed", "hook_not_ours");
    let cases: [(&str, &str, Make); 14] = [
        ("a directory of the project", managed, |repo| {
            drop(repo.git(&["config", "core.hooksPath", ".githooks"]))
        }),
        ("no hooks", managed, |repo| drop(repo.git(&["config", "core.hooksPath", "/dev/null"]))),
        ("an empty path", managed, |repo| drop(repo.git(&["config", "core.hooksPath", ""]))),
        ("husky", managed, |repo| drop(repo.git(&["config", "core.hooksPath", ".husky/_"]))),
        ("a link of the directory", managed, |repo| {
            std::fs::create_dir(repo.path("shared")).expect("a directory");
            repo.symlink("../shared", ".git/hooks");
        }),
        ("a link that leads nowhere", managed, |repo| repo.symlink("nowhere", ".git/hooks")),
        ("lefthook", managed, |repo| repo.script(".git/hooks/pre-push", "lefthook run pre-push")),
        ("the framework", managed, |repo| {
            repo.script(".git/hooks/pre-commit", "# https://pre-commit.com\nexec true")
        }),
        ("a dispatcher", foreign, |repo| {
            repo.script(".git/hooks/pre-commit", "exec \"$0.d\"/run \"$@\"")
        }),
        ("a link", foreign, |repo| {
            std::fs::create_dir(repo.path(".git/hooks")).expect("a directory");
            repo.symlink("../../a.txt", ".git/hooks/pre-commit");
        }),
        ("a link to itself", foreign, |repo| {
            std::fs::create_dir(repo.path(".git/hooks")).expect("a directory");
            repo.symlink("pre-commit", ".git/hooks/pre-commit");
        }),
        ("not executable", foreign, |repo| {
            repo.write(".git/hooks/pre-commit", "#!/bin/sh\n");
            repo.chmod(".git/hooks/pre-commit", 0o644);
        }),
        ("a directory in its place", foreign, |repo| {
            std::fs::create_dir_all(repo.path(".git/hooks/pre-commit")).expect("a directory")
        }),
        ("another one beside", foreign, |repo| {
            repo.script(".git/hooks/pre-commit", "exit 0");
            repo.script(".git/hooks/pre-commit.aye-chained", "exit 0");
        }),
    ];
    for (what, code, make) in cases {
        let repo = Repo::with(FILES);
        make(&repo);
        let before = repo.snapshot();
        let run = repo.aye(&["hooks", "install"]).fails(code, 4);
        assert!(run.err().contains("aye hooks run pre-commit \"$@\""), "{what}: {run}");
        repo.aye(&["hooks", "status"]).ok();
        repo.aye(&["hooks", "uninstall"]).ok();
        assert_eq!(repo.snapshot(), before, "{what}");
    }
    // A person's own path that leads to the repository's own directory is no other.
    let repo = Repo::with(FILES);
    repo.git(&["config", "core.hooksPath", ".git/hooks"]);
    repo.aye(&["hooks", "install"]).ok();
    // What somebody has edited is theirs.
    let edited = repo.text(".git/hooks/pre-commit") + "# my own\n";
    repo.write(".git/hooks/pre-commit", &edited);
    repo.aye(&["hooks", "install"]).fails("hook_not_ours", 4);
    repo.aye(&["hooks", "uninstall"]).ok();
    assert_eq!(files(&repo, ".git/hooks"), ["pre-commit"]);
    assert_eq!(repo.text(".git/hooks/pre-commit"), edited);
}

#[test]
fn an_earlier_hook_runs_first_with_its_own_text_and_comes_back() {
    let repo = Repo::with(FILES);
    let text = "echo \"ran $1\" >> hook.log; exit ${HOOK_FAILS:-0}";
    for hook in ["pre-commit", "commit-msg", "post-commit"] {
        repo.script(&format!(".git/hooks/{hook}"), text);
    }
    repo.script(".git/hooks/pre-push", "cat > pushed; echo \"$@\" >> pushed");
    let before = repo.read(".git/hooks/pre-commit");
    repo.aye(&["hooks", "install"]).ok();
    assert_eq!(repo.read(".git/hooks/pre-commit.aye-chained"), before);
    repo.aye(&["hooks", "install"]).ok();
    repo.write("b.txt", "x\n");
    commit(&repo, "One").ok();
    assert_eq!(repo.text("hook.log"), "ran \nran .git/COMMIT_EDITMSG\nran \n");
    repo.write("b.txt", "y\n");
    repo.git(&["add", "b.txt"]);
    repo.program("git").args(&["commit", "-m", "Two"]).env("HOOK_FAILS", "3").run().exits(1);
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "One");
    // Both read what is pushed.
    let remote = repo.outer().join("remote.git");
    repo.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    repo.git(&["push", "-q", remote.to_str().unwrap(), "main"]);
    let (pushed, head) = (repo.text("pushed"), repo.git(&["rev-parse", "HEAD"]));
    let line = format!("refs/heads/main {head} refs/heads/main 0000");
    assert!(pushed.starts_with(&line) && pushed.lines().count() == 2, "{pushed}");
    repo.aye(&["hooks", "uninstall"]).ok();
    assert_eq!(repo.read(".git/hooks/pre-commit"), before);
    assert_eq!(repo.mode(".git/hooks/pre-commit"), 0o755);
    let mut names = HOOKS.to_vec();
    names.sort_unstable();
    assert_eq!(files(&repo, ".git/hooks"), names);
}

#[test]
fn a_commit_that_meets_a_pending_proposal_is_told_and_stopped_on_request() {
    let repo = hooked(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.write("b.txt", "drei\n");
    commit(&repo, "Elsewhere").ok();
    repo.write("a.txt", "uno\ntwo\n");
    let run = commit(&repo, "Same file").ok();
    assert!(said(&run).contains(&id) && said(&run).lines().count() == 1, "{run}");
    // Several are one line, too.
    propose(&repo, "a.txt", "two", "zwei");
    repo.write("a.txt", "un\ntwo\n");
    let run = commit(&repo, "Once more").ok();
    assert_eq!(said(&run).lines().count(), 1, "{run}");
    // The strictest of all levels counts, and a word that is misspelt opens nothing.
    let own = [("user.name", "A"), ("user.email", "a@example.com")];
    let own = repo.user_config(&[&own[..], &[("aye.hookFailOn", "touches-pending")]].concat());
    for (value, user, exit) in
        [("any", None, 1), ("none", Some(&own), 1), ("nonsense", None, 1), ("none", None, 0)]
    {
        repo.git(&["config", "aye.hookFailOn", value]);
        repo.write("a.txt", format!("{value} {exit}\ntwo\n"));
        repo.git(&["add", "--all"]);
        let tried = repo.program("git").args(&["commit", "-q", "-m", "x"]);
        let tried = user.into_iter().fold(tried, |tried, at| tried.env("GIT_CONFIG_GLOBAL", at));
        let run = tried.run().exits(exit);
        assert_eq!(said(&run).contains("touches_pending"), exit == 1, "{value}: {run}");
    }
    repo.git(&["config", "aye.hookFailOn", "touches-pending"]);
    // What was sent back will be another change.
    let all = repo.aye(&["list", "--json"]).ok().json();
    for item in all["proposals"].as_array().expect("a list") {
        let id = item["proposal_id"].as_str().expect("an id");
        repo.aye(&["comment", id, "--request-changes", "-m", "say why"]).ok();
    }
    repo.write("a.txt", "uns\ntwo\n");
    assert_eq!(said(&commit(&repo, "Sent back").ok()), "");
    // From a linked work tree, too.
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "../linked"]);
    propose(&repo, "b.txt", "drei", "tres");
    std::fs::write(linked.join("b.txt"), "trois\n").unwrap();
    repo.program("git").args(&["commit", "-q", "-a", "-m", "x"]).dir(&linked).run().exits(1);
}

/// What is applied while a merge is open is committed by the merge alone.
#[test]
fn a_merge_names_what_was_applied_in_it_and_not_what_its_sides_bring() {
    let repo =
        Repo::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "three\n"), ("c.txt", "1\n2\n3\n4\n5\n")]);
    repo.aye(&["hooks", "install"]).ok();
    repo.let_flags_decide();
    let base = repo.git(&["rev-parse", "HEAD"]);
    let decide = |id: &str, how: &str| repo.aye(&["apply", id, how, "--yes"]).ok();
    repo.git(&["switch", "-q", "-c", "side"]);
    let theirs = propose(&repo, "a.txt", "one", "eins");
    decide(&theirs, "--commit");
    let also = propose(&repo, "c.txt", "1", "eins");
    decide(&also, "--commit");
    repo.git(&["switch", "-q", "-"]);
    let own = propose(&repo, "c.txt", "5", "five");
    decide(&own, "--commit");
    // By git alone: what both sides have changed is named by their commits.
    repo.git(&["merge", "-q", "--no-edit", "side"]);
    assert!(ids(&repo).is_empty());
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let id = propose(&repo, "b.txt", "three", "drei");
    repo.git(&["merge", "-q", "--no-commit", "--no-ff", "side"]);
    decide(&id, "--index");
    repo.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(ids(&repo), [id.as_str()]);
    assert_eq!(proposal(&repo, &id).commits, [repo.git(&["rev-parse", "HEAD"])]);
    repo.aye(&["check", "--range", &format!("{base}..HEAD"), "--require-proposal"]).ok();
}

#[test]
fn applied_proposals_get_their_trailers_and_learn_their_commit() {
    let repo = hooked(FILES);
    let first = propose(&repo, "a.txt", "one", "eins");
    let second = propose(&repo, "b.txt", "three", "drei");
    apply(&repo, &first);
    apply(&repo, &second);
    // Changed after it was approved: not what was approved, so not its commit.
    repo.write("b.txt", "drei!\n");
    commit(&repo, "German\n\nSome text.").ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    let trailers = format!(
        "Proposal-Id: {first}\nProposed-by: codex\nReviewed-by: Ada Reviewer <ada@example.com>"
    );
    assert!(message.contains(&trailers) && !message.contains(&second), "{message}");
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(proposal(&repo, &first).commits, [head.as_str()]);
    assert!(proposal(&repo, &second).commits.is_empty());
    // That commit also has what nobody approved.
    let check = repo.aye(&["check", "--range", "HEAD~1..HEAD"]).exits(1);
    check.says("error[extra_file]: b.txt").lacks("content_differs");
    // Committed once: the next commit of that file is not the proposal's.
    repo.write("a.txt", "eins\ntwo\nmore\n");
    commit(&repo, "More").ok();
    assert!(ids(&repo).is_empty());
    // An amended commit is a new one, and still holds it; one that names what it does not hold is none.
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let named = format!("Better\n\nProposal-Id: {first}\nProposal-Id: {second}");
    repo.git(&["commit", "-q", "--amend", "-m", &named]);
    let amended = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(proposal(&repo, &first).commits, [head, amended]);
    assert!(proposal(&repo, &second).commits.is_empty());
}

#[test]
fn a_message_that_nobody_wrote_still_aborts_the_commit() {
    let repo = hooked(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &id);
    repo.git(&["add", "a.txt"]);
    repo.write("template", "# Why\nTicket:\n");
    let git = |editor: &str, args: &[&str]| {
        let all = [&["-c", "core.commentChar=#"], args].concat();
        repo.program("git").args(&all).env("GIT_EDITOR", editor).run()
    };
    for args in [
        &["commit"][..],
        &["commit", "-v", "-s"],
        &["-c", "commit.template=template", "commit"],
        &["commit", "-m", ""],
    ] {
        git("true", args).exits(1);
    }
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1");
    // Whoever writes something gets the trailers with it.
    git("sed -i 1iGerman", &["commit", "-q", "-v"]).ok();
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "German");
    assert_eq!(ids(&repo), [id.as_str()]);
}

#[test]
fn trailers_stand_at_the_end_whatever_the_message_holds() {
    for (text, settings) in [
        ("Title\n\nSee the table:\n\n---\n| a | b |", [("a.b", "c")]),
        ("Title\n\nBefore:\n--- a/x\ntext", [("trailer.ifmissing", "doNothing")]),
        ("Title", [("trailer.separators", "=")]),
        ("Title\n\nBody\n\nSigned-off-by: A <a@b.c>", [("trailer.where", "start")]),
    ] {
        let repo = hooked(FILES);
        let id = propose(&repo, "a.txt", "one", "eins");
        apply(&repo, &id);
        for (key, value) in settings {
            repo.git(&["config", key, value]);
        }
        commit(&repo, text).ok();
        repo.git(&["config", "--remove-section", settings[0].0.split('.').next().unwrap()]);
        assert_eq!(ids(&repo), [id.as_str()], "{text}");
        let message = repo.git(&["log", "-1", "--format=%B"]);
        assert!(message.starts_with(text), "{message}");
    }
}

#[test]
fn an_apply_that_commits_is_not_stopped_by_its_own_proposal() {
    let repo = hooked(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let other = propose(&repo, "a.txt", "two", "zwei");
    // Where another proposal for the same file has a say, nothing is left half done.
    repo.git(&["config", "aye.hookFailOn", "any"]);
    repo.aye(&["apply", &id, "--yes", "--commit"]).exits(4);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    support::record::reject(&repo, &other, "no");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert_eq!(ids(&repo), [id.as_str()]);
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    repo.aye(&["check"]).ok();
}

#[test]
fn a_hook_whose_aye_is_gone_lets_git_go_on_with_a_warning() {
    let repo = Repo::with(FILES);
    let program = repo.outer().join("aye");
    copy_aye(&repo, &program);
    repo.program(&program).args(&["hooks", "install"]).run().ok();
    propose(&repo, "a.txt", "one", "eins");
    std::fs::remove_file(&program).unwrap();
    repo.write("a.txt", "uno\n");
    repo.git(&["add", "--all"]);
    let bare = repo.outer().join("remote.git");
    repo.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    let git = |args: &[&str]| repo.program("git").args(args).env("PATH", WITHOUT_AYE).run();
    let warned = |run: Run, times: usize| {
        assert_eq!(run.ok().err().matches("warning: ").count(), times);
    };
    warned(git(&["commit", "-q", "-m", "x"]), 3);
    warned(git(&["push", "-q", bare.to_str().unwrap(), "HEAD"]), 1);
    // One that cannot be run, or that aborts, is none.
    for text in ["kill -ABRT $$", "exit 127"] {
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        repo.chmod(program.to_str().unwrap(), 0o755);
        warned(git(&["commit", "-q", "--allow-empty", "-m", "x"]), 3);
    }
}

/// Where aye is not; the programs of the system are.
const WITHOUT_AYE: &str = "/usr/local/bin:/usr/bin:/bin";

#[test]
fn the_hook_starts_aye_only_where_something_may_be_pending() {
    let repo = Repo::with(FILES);
    let program = repo.outer().join("aye");
    copy_aye(&repo, &program);
    repo.program(&program).args(&["hooks", "install", "pre-commit"]).run().ok();
    // From here on the hook's aye only says that it was asked.
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "#!/bin/sh\nexit 3\n").unwrap();
    repo.chmod(program.to_str().unwrap(), 0o755);
    let asks = |asks: bool, when: &str| {
        let run = repo.try_git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(run.status != 0, asks, "{when}: {}", run.err());
    };
    let look = || {
        repo.later(&["check"]).run().ok();
    };
    asks(true, "never looked");
    look();
    asks(false, "no thread");
    let id = propose(&repo, "a.txt", "one", "eins");
    asks(true, "a proposal");
    reject(&repo, &id, "no");
    asks(true, "a decision not looked at");
    look();
    asks(false, "decided");
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let commit = ["commit", "-q", "--allow-empty", "-m", "x"];
    repo.program("git").args(&commit).dir(&linked).run().ok();
    repo.git(&["pack-refs", "--all"]);
    asks(true, "packed");
    look();
    asks(false, "packed and looked at");
    repo.git(&["pack-refs", "--all"]);
    let packed = repo.path(".git/packed-refs");
    std::fs::write(&packed, std::fs::read(&packed).unwrap()).unwrap();
    asks(true, "packed anew");
    look();
    repo.write(".git/aye/journal/0123456789abcdef.journal", "{}");
    asks(true, "an interrupted apply");
    repo.remove(".git/aye/journal/0123456789abcdef.journal");
    asks(false, "settled");
    let other = Repo::with(FILES);
    propose(&other, "a.txt", "one", "uno");
    exchange(&repo, &other);
    asks(true, "a thread of another clone");
    std::fs::remove_dir_all(repo.path(".git/refs/aye/remotes")).unwrap();
    look();
    asks(false, "it is gone");
    // What has just run out is pending again where the clock is set back.
    let args = ["propose", "a.txt", "--old", "two", "--new", "zwei", "--expires-in", "1s"];
    repo.agent("codex", &args).ok();
    look();
    asks(true, "it has just run out");
}

#[test]
fn a_broken_store_does_not_lock_people_out() {
    let repo = hooked(FILES);
    propose(&repo, "a.txt", "one", "eins");
    let own = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/p"]);
    repo.write(&format!(".git/{own}"), format!("{}\n", "1".repeat(40)));
    for memo in ["open", "decided"] {
        let _ = std::fs::remove_file(repo.path(&format!(".git/aye/{memo}")));
    }
    repo.write("a.txt", "uno\n");
    commit(&repo, "Still possible").ok().notes("cannot be read");
}

#[test]
fn a_push_is_held_to_the_proposals_its_commits_name() {
    let repo = Repo::with(FILES);
    let remote = repo.outer().join("remote.git");
    let url = remote.to_str().unwrap();
    repo.git(&["init", "-q", "--bare", url]);
    repo.git(&["remote", "add", "origin", url]);
    repo.aye(&["hooks", "install", "pre-push"]).ok();
    repo.git(&["push", "-q", "origin", "main"]);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.write("b.txt", "x\n");
    commit(&repo, "Fine").ok();
    repo.git(&["push", "-q", "origin", "main"]);
    commit(&repo, "x").exits(1);
    repo.git(&["commit", "-q", "--allow-empty", "-m", &format!("Claim\n\nProposal-Id: {id}")]);
    let stopped = |run: Run| {
        let run = run.exits(1);
        let said = run.out() + &run.err();
        assert!(said.contains("not_applied") && said.contains(&id), "{said}");
    };
    stopped(repo.try_git(&["push", "-q", "origin", "main"]));
    // A new branch as well: what no branch of the remote has.
    stopped(repo.try_git(&["push", "-q", "origin", "HEAD:refs/heads/topic"]));
    // And a remote that is only a URL: what no remote has.
    let other = repo.outer().join("other.git");
    let other = other.to_str().unwrap();
    repo.git(&["init", "-q", "--bare", other]);
    stopped(repo.try_git(&["push", "-q", other, "HEAD:refs/heads/topic"]));
    let touched = propose(&repo, "b.txt", "x", "y");
    repo.git(&["push", "-q", other, "HEAD~1:refs/heads/topic"]);
    reject(&repo, &touched, "no");
    // Deleting, pushing threads, and tags of old commits are no business of it.
    repo.git(&["push", "-q", "origin", "refs/aye/p/*:refs/aye/by/0123456789abcdef/*"]);
    repo.git(&["push", "-q", "origin", "HEAD~1:refs/heads/old"]);
    repo.git(&["push", "-q", "origin", ":refs/heads/old"]);
}

/// CI would know nothing of the commits' proposals.
#[test]
fn a_push_names_decisions_that_the_remote_lacks() {
    let (server, repo) = (Repo::bare(), Repo::with(FILES));
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    repo.aye(&["hooks", "install", "pre-push"]).ok();
    let apply = |old: &str, new: &str| {
        let id = propose(&repo, "a.txt", old, new);
        repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
        id
    };
    let said = |to: &str| repo.try_git(&["push", "-q", "origin", &format!("HEAD:{to}")]);
    let first = apply("one", "eins");
    let run = said("main").ok();
    assert!(run.err().contains(&first), "{run}");
    // Once the threads are there, only the next one is missing.
    push(&repo);
    fetch(&repo);
    let second = apply("eins", "uno");
    repo.git(&["config", "aye.requireSynced", "true"]);
    let run = said("topic").exits(1);
    let text = run.out() + &run.err();
    assert!(text.contains("not_synced") && text.contains(&second), "{text}");
    assert!(!text.contains(&first), "{text}");
    assert_eq!(server.git(&["for-each-ref", "refs/heads/topic"]), "");
    repo.git(&["config", "aye.requireSynced", "false"]);
    assert_eq!(said("quiet").ok().err(), "");
    repo.git(&["config", "aye.requireSynced", "true"]);
    push(&repo);
    fetch(&repo);
    assert_eq!(said("topic").ok().err(), "");
    // Without trailers the content names them.
    repo.git(&["config", "aye.trailers", "none"]);
    let third = apply("uno", "un");
    let run = said("topic").exits(1);
    assert!((run.out() + &run.err()).contains(&third), "{run}");
    push(&repo);
    fetch(&repo);
    assert_eq!(said("topic").ok().err(), "");
    repo.git(&["config", "aye.trailers", "all"]);
    // A proposal that only this clone has is reported as private.
    repo.git(&["config", "aye.private", "b.txt"]);
    let id = propose(&repo, "b.txt", "three", "drei");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert!(!said("main").ok().err().contains("lacks"));
}

/// The pre-commit framework names the first ref alone, and no commit where a whole history is sent.
#[test]
fn what_is_not_for_a_remote_is_refused_under_the_pre_commit_framework_too() {
    let repo = Repo::with(FILES);
    repo.git(&["remote", "add", "origin", "../origin.git"]);
    let private = ["propose", "a.txt", "--old", "one", "--new", "eins", "--private"];
    repo.agent("codex", &private).ok();
    let own = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/private"]);
    let name = own.rsplit('/').next().expect("an id");
    let push = |local: &str, there: &str, remote: &str| {
        repo.cmd(&["hooks", "run", "pre-push"])
            .stdin("")
            .env("PRE_COMMIT_LOCAL_BRANCH", local)
            .env("PRE_COMMIT_REMOTE_BRANCH", there)
            .env("PRE_COMMIT_REMOTE_NAME", remote)
            .env("PRE_COMMIT_REMOTE_URL", format!("../{remote}.git"))
    };
    let refused = |run: Run| {
        let run = run.exits(1);
        assert!((run.out() + &run.err()).contains("not_for_remote"), "{run}");
    };
    let there = format!("refs/aye/by/0123456789abcdef/{name}");
    refused(push(&own, &there, "origin").run());
    refused(push("HEAD", &own, "origin").run());
    // By its commit alone, too.
    refused(push(&repo.git(&["rev-parse", "--short", &own]), "refs/heads/x", "origin").run());
    push("refs/heads/main", "refs/heads/main", "origin").run().ok();
    // The commits of a whole history.
    repo.git(&["commit", "-q", "--allow-empty", "-m", "x\n\nProposal-Id: prop_aaaaaaaaaa"]);
    push("refs/heads/main", "refs/heads/main", "origin").run().exits(1);
}

#[test]
fn the_frameworks_manifest_is_complete() {
    let text = include_str!("../../.pre-commit-hooks.yaml");
    let hooks: serde_json::Value = serde_yaml::from_str(text).unwrap();
    let repo = Repo::new();
    for hook in hooks.as_array().unwrap() {
        for key in ["id", "name", "entry", "language"] {
            assert!(hook[key].as_str().is_some_and(|value| !value.is_empty()), "{key}: {hook}");
        }
        // The command is one this aye has.
        let entry = hook["entry"].as_str().unwrap();
        let aye = std::path::Path::new(env!("CARGO_BIN_EXE_aye")).parent().unwrap();
        let with = format!("{}:{WITHOUT_AYE}", aye.display());
        let run =
            |path: &str| repo.program("sh").args(&["-c", entry]).env("PATH", path).stdin("").run();
        let done = run(&with);
        assert_eq!(done.status, 0, "{hook}: {}", done.err());
        assert!(!done.err().contains("aye is not here"), "{done}");
        // What is installed already may not be so for all who work on the repository.
        if hook["language"] == "system" {
            run(WITHOUT_AYE).ok().notes("warning: aye is not here");
        }
    }
}

/// As with `aye agents install`: an agent may hold itself to the gate, and no more.
#[test]
fn an_agent_installs_hooks_and_makes_none_of_them_another() {
    let repo = Repo::with(FILES);
    repo.agent("robo", &["hooks", "install"]).ok();
    repo.agent("robo", &["hooks", "install"]).ok();
    let hook = ".git/hooks/pre-commit";
    let installed = repo.text(hook);
    repo.agent("robo", &["hooks", "uninstall"]).fails("human_approval_required", 4);
    // Nor does it have them run what it can write itself.
    let other = repo.outer().join("aye");
    copy_aye(&repo, &other);
    let by = || repo.program(&other).args(&["hooks", "install"]);
    by().env("AYE_AGENT", "robo").run().fails("human_approval_required", 4);
    assert_eq!(repo.text(hook), installed);
    by().run().ok();
    assert_ne!(repo.text(hook), installed);
}

#[test]
fn from_the_run_of_a_session_no_hook_of_the_checkout_is_written() {
    let repo = Repo::with(FILES);
    let aye = env!("CARGO_BIN_EXE_aye");
    let run = |words: &str| {
        let run = ["run", "--", "sh", "-c", words];
        repo.cmd(&run).env("AYE_AGENT", "robo").run()
    };
    let install = format!("'{aye}' -C '{}' hooks install", repo.root().display());
    run(&install).exits(4).notes("error[in_session]");
    assert!(!repo.exists(".git/hooks/pre-commit"));
    // Those of its own tree are its own.
    run(&format!("'{aye}' hooks install")).ok();
}

const LINES: &str = "one\n2\n3\n4\n5\n6\nseven\n8\n9\n10\n11\n12\nthirteen\n";

/// A commit names what it brings as it was approved, whatever was applied, taken back and edited around that.
#[test]
fn a_commit_is_named_after_what_it_brings() {
    for (what, steps) in [
        ("two on top of each other", "p a one eins. apply p. q a eins uno. apply q. commit p q"),
        (
            "what is staged alone",
            "p a one eins. q b one eins. apply p. apply q. commit q -- b. commit p",
        ),
        (
            "an undo, and what is applied again",
            "p a one eins. apply p. commit p. undo p. commit. apply p. commit p",
        ),
        ("a revert", "p a one eins. apply p. commit p. revert. edit a one eins. commit p"),
        (
            "undos between the applies",
            "p a one eins. q a seven sieben. apply p. apply q. undo p. commit q. apply p. commit p. \
             r a thirteen dreizehn. apply r. undo p. commit r. apply p. commit p. \
             x a eins uno. y a sieben siete. z a dreizehn trece. apply x. apply y. apply z. undo y. commit x z",
        ),
        (
            "what is applied again beneath another",
            "p a one eins. apply p. commit p. undo p. commit. q a seven sieben. apply q. commit q. \
             r a thirteen dreizehn. apply p. apply r. commit p r. s a 10 zehn. apply s. commit s",
        ),
        (
            "what was never out of HEAD",
            "p a one eins. apply p. commit p. edit a thirteen mine. undo p. apply p. commit",
        ),
        (
            "an undo beside another",
            "p a one eins. apply p. commit p. q a seven sieben. undo p. apply q. commit q",
        ),
        (
            "an undo of another file",
            "p a one eins. apply p. commit p. q b seven sieben. undo p. apply q. commit q",
        ),
        (
            "more in the same file",
            "p a one eins. apply p. edit a thirteen mine. commit. edit a mine ours. commit",
        ),
        (
            "its lines alone",
            "p a one eins. edit a thirteen mine. apply p. edit a mine thirteen. commit p. edit a thirteen mine. commit",
        ),
    ] {
        let repo = hooked(&[("a", LINES), ("b", LINES)]);
        let mut named: Vec<(&str, String)> = Vec::new();
        for step in steps.split(". ") {
            let words: Vec<&str> = step.split_whitespace().collect();
            let id =
                |name: &str| named.iter().find(|(it, _)| *it == name).expect("a name").1.clone();
            match words[..] {
                ["apply", name] => drop(repo.aye(&["apply", &id(name), "--yes"]).ok()),
                ["undo", name] => drop(repo.aye(&["undo", &id(name), "--yes"]).ok()),
                ["revert"] => drop(repo.git(&["revert", "--no-edit", "HEAD"])),
                ["edit", path, old, new] => repo.write(path, repo.text(path).replace(old, new)),
                ["commit", ref expected @ ..] => {
                    let (expected, paths) = match expected {
                        [names @ .., "--", path] => (names, vec!["--", *path]),
                        names => (names, vec!["-a"]),
                    };
                    repo.git(&[&["commit", "-q", "-m", step][..], &paths].concat());
                    let wanted: Vec<String> = expected.iter().map(|name| id(name)).collect();
                    assert_eq!(ids(&repo), wanted, "{what}: {step}");
                    let head = repo.git(&["rev-parse", "HEAD"]);
                    for id in &wanted {
                        assert!(proposal(&repo, id).commits.contains(&head), "{what}: {step}");
                        // What was taken back is pending again, and its file was touched.
                        repo.aye(&["check", "--range", "HEAD~1..", "--require-proposal"])
                            .lacks("error[");
                    }
                }
                [name, path, old, new] => named.push((name, propose(&repo, path, old, new))),
                _ => panic!("{step}"),
            }
        }
    }
}

/// What was approved until it was undone is not by that alone.
#[test]
fn what_was_undone_and_comes_back_by_hand_is_nobodys() {
    let repo = hooked(&[("a.txt", LINES), ("b.txt", LINES)]);
    let p = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &p);
    commit(&repo, "First").ok();
    repo.aye(&["undo", &p, "--yes"]).ok();
    commit(&repo, "Undone").ok();
    repo.write("a.txt", repo.text("a.txt").replace("one", "eins"));
    let r = propose(&repo, "b.txt", "thirteen", "dreizehn");
    apply(&repo, &r);
    commit(&repo, "And by hand what was undone").ok();
    repo.aye(&["check", "--range", "HEAD~1.."]).exits(1).says("error[extra_file]: a.txt");
    // What was there before an approved deletion is not what came of it.
    let new = ["propose", "new.txt", "--content-file", "-", "-q"];
    let made = repo.aye_stdin(&new, "new\n").ok().id();
    apply(&repo, &made);
    let gone = repo.aye(&["propose", "new.txt", "--delete", "-q"]).ok().id();
    apply(&repo, &gone);
    repo.write("new.txt", "new\n");
    commit(&repo, "Kept").ok();
    assert_eq!(ids(&repo), [made.as_str()]);
}

/// A repository that forbids agents' names in messages, by a hook of its own.
#[test]
fn trailers_are_as_few_as_the_repository_wants() {
    for (wanted, named) in [("id", true), ("none", false)] {
        let repo = Repo::with(FILES);
        let policy = "#!/bin/sh\n! grep -qiE '^[A-Za-z-]+-by:.*codex' \"$1\"\n";
        repo.script(".git/hooks/commit-msg", policy);
        repo.aye(&["hooks", "install"]).ok();
        let base = repo.git(&["rev-parse", "HEAD"]);
        let first = propose(&repo, "a.txt", "one", "eins");
        repo.aye(&["apply", &first, "--yes", "--commit"]).fails("git_failed", 4);
        repo.git(&["config", "aye.trailers", wanted]);
        let first_of = |id: &str| if named { vec![id.to_owned()] } else { Vec::new() };
        repo.aye(&["apply", &first, "--yes", "--commit"]).ok();
        assert_eq!(ids(&repo), first_of(&first));
        let second = propose(&repo, "b.txt", "three", "drei");
        apply(&repo, &second);
        commit(&repo, "My words").ok();
        assert_eq!(ids(&repo), first_of(&second));
        assert!(!repo.git(&["log", "-2", "--format=%B"]).contains("-by:"));
        // Both know their commits, and the check finds what was approved.
        for (id, rev) in [(&first, "HEAD~1"), (&second, "HEAD")] {
            let commits: Vec<String> = proposal(&repo, id).committed().cloned().collect();
            assert_eq!(commits, [repo.git(&["rev-parse", rev])], "{wanted}");
        }
        let range = format!("{base}..HEAD");
        repo.aye(&["check", "--range", &range, "--require-proposal"]).ok();
        repo.write("b.txt", "vier\n");
        commit(&repo, "By hand").ok();
        repo.aye(&["check", "--range", &range, "--require-proposal"]).exits(1);
    }
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.git(&["config", "aye.trailers", "some"]);
    repo.aye(&["apply", &id, "--yes", "--commit"]).fails("invalid_config", 2);
}
