//! Git hooks, through real commits and pushes.

use crate::support::record::{apply, proposal, propose, reject};
use crate::support::{self, Repo, Run};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("b.txt", "three\n")];

fn script(repo: &Repo, path: &str, text: &str) {
    repo.write(path, format!("#!/bin/sh\n{text}\n"));
    repo.chmod(path, 0o755);
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

#[test]
fn a_commit_that_meets_a_pending_proposal_is_told_and_stopped_on_request() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok().says("pre-commit").says("installed");
    repo.aye(&["hooks", "install"]).ok().says("installed already");
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.write("b.txt", "drei\n");
    commit(&repo, "Elsewhere").ok();
    repo.write("a.txt", "uno\ntwo\n");
    let run = commit(&repo, "Same file").ok();
    let said = run.out() + &run.err();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("note: ") && said.contains(&id) && said.contains("aye review"));
    // Several are one line, too.
    propose(&repo, "a.txt", "two", "zwei");
    repo.write("a.txt", "un\ntwo\n");
    let run = commit(&repo, "Once more").ok();
    assert!((run.out() + &run.err()).contains("and 1 more like it (aye check)"), "{run}");
    repo.git(&["config", "aye.hookFailOn", "any"]);
    repo.write("a.txt", "ein\ntwo\n");
    let run = commit(&repo, "Stopped").exits(1);
    let said = run.out() + &run.err();
    assert!(said.contains(&id) && said.contains("touches_pending"), "{said}");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Once more");
    repo.git(&["commit", "-q", "--no-verify", "-m", "Anyway"]);
    // A repository names more, and takes away nothing of what a person wants.
    let own = [("user.name", "A"), ("user.email", "a@example.com")];
    let own = repo.user_config(&[&own[..], &[("aye.hookFailOn", "touches-pending")]].concat());
    repo.git(&["config", "aye.hookFailOn", "none"]);
    repo.write("a.txt", "einer\ntwo\n");
    repo.git(&["add", "--all"]);
    let tried = repo.program("git").args(&["commit", "-q", "-m", "Stopped"]);
    tried.env("GIT_CONFIG_GLOBAL", own).run().exits(1);
    repo.git(&["config", "aye.hookFailOn", "nonsense"]);
    repo.write("a.txt", "eine\ntwo\n");
    // A word that is misspelt opens nothing.
    let run = commit(&repo, "Not known").exits(1);
    assert!(run.err().contains("aye.hookFailOn: 'nonsense'"), "{run}");
    repo.git(&["config", "aye.hookFailOn", "none"]);
    repo.git(&["commit", "-q", "-m", "Known"]);
    repo.git(&["config", "aye.hookFailOn", "touches-pending"]);
    // What was sent back will be another change.
    let all = repo.aye(&["list", "--json"]).ok().json();
    for item in all["proposals"].as_array().expect("a list") {
        let id = item["proposal_id"].as_str().expect("an id");
        repo.aye(&["comment", id, "--request-changes", "-m", "say why"]).ok();
    }
    repo.write("a.txt", "uns\ntwo\n");
    let run = commit(&repo, "Sent back").ok();
    assert_eq!(run.out() + &run.err(), "");
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
    let body = || repo.git(&["log", "-1", "--format=%B"]);
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
    assert!(!body().contains("Proposal-Id"), "{}", body());
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let id = propose(&repo, "b.txt", "three", "drei");
    repo.git(&["merge", "-q", "--no-commit", "--no-ff", "side"]);
    decide(&id, "--index");
    repo.git(&["commit", "-q", "--no-edit"]);
    let body = body();
    assert_eq!(body.matches("Proposal-Id").count(), 1, "{body}");
    assert!(body.starts_with("Merge") && body.contains(&format!("Proposal-Id: {id}\n")), "{body}");
    assert_eq!(proposal(&repo, &id).commits, [repo.git(&["rev-parse", "HEAD"])]);
    repo.aye(&["check", "--range", &format!("{base}..HEAD"), "--require-proposal"]).ok();
}

#[test]
fn applied_proposals_get_their_trailers_and_learn_their_commit() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    let first = propose(&repo, "a.txt", "one", "eins");
    let second = propose(&repo, "b.txt", "three", "drei");
    apply(&repo, &first);
    apply(&repo, &second);
    // Changed after it was approved: not what was approved, so not its commit.
    repo.write("b.txt", "drei!\n");
    let made = commit(&repo, "German\n\nSome text.").ok();
    assert!(made.err().contains("refuse this commit"), "said before it is pushed: {made}");
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains(&format!(
            "Proposal-Id: {first}\nProposed-by: codex\nReviewed-by: Ada Reviewer <ada@example.com>"
        )),
        "{message}"
    );
    assert!(!message.contains(&second), "{message}");
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(proposal(&repo, &first).commits, [head.as_str()]);
    assert!(proposal(&repo, &second).commits.is_empty());
    // That commit also has what nobody approved.
    let check = repo.aye(&["check", "--range", "HEAD~1..HEAD"]).exits(1);
    check.says("error[extra_file]: b.txt").lacks("content_differs");
    // Committed once: the next commit of that file is not the proposal's.
    repo.write("a.txt", "eins\ntwo\nmore\n");
    let made = commit(&repo, "More").ok();
    assert!(!made.err().contains("refuse"), "{made}");
    assert!(!repo.git(&["log", "-1", "--format=%B"]).contains("Proposal-Id"));
    // An amended commit is a new one, and still holds it.
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.git(&["commit", "-q", "--amend", "-m", &format!("Better\n\nProposal-Id: {first}")]);
    let amended = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(proposal(&repo, &first).commits, [head, amended]);
}

#[test]
fn what_a_commit_is_told_to_do_fits_what_is_wrong_with_it() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    let id = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &id);
    let message = format!("German\n\nProposal-Id: {id}\nProposal-Id: prop_zzzzzzzzzz");
    let made = commit(&repo, &message).ok().notes("refuse this commit; fetch the lane that has it");
    assert!(!made.err().contains("git reset"), "{made}");
    let other = propose(&repo, "a.txt", "two", "zwei");
    apply(&repo, &other);
    repo.write("b.txt", "x\n");
    commit(&repo, "More").ok().notes("git reset HEAD~1 -- FILE");
}

/// The first parent's file would take what the other side brings out of a merge.
#[test]
fn a_merge_is_not_told_to_lose_what_it_merges() {
    let lines = |changes: &[(usize, &str)]| {
        let mut lines: Vec<String> = (1..=40).map(|line| line.to_string()).collect();
        changes.iter().for_each(|(at, text)| lines[at - 1] = (*text).to_owned());
        lines.join("\n") + "\n"
    };
    let repo = Repo::with(&[("b.txt", lines(&[]))]);
    repo.aye(&["hooks", "install"]).ok();
    repo.let_flags_decide();
    repo.git(&["switch", "-q", "-c", "side"]);
    repo.write("b.txt", lines(&[(30, "theirs")]));
    commit(&repo, "Theirs").ok();
    repo.git(&["switch", "-q", "-"]);
    repo.write("b.txt", lines(&[(30, "ours")]));
    commit(&repo, "Ours").ok();
    let id = propose(&repo, "b.txt", "5\n6\n", "5\nSIX\n");
    repo.try_git(&["merge", "-q", "side"]).exits(1);
    repo.write("b.txt", lines(&[(30, "both")]));
    repo.git(&["add", "b.txt"]);
    repo.aye(&["apply", &id, "--index", "--yes"]).ok();
    let made = repo.try_git(&["commit", "-q", "--no-edit"]).ok();
    assert!(made.err().contains("out of the merge") && !made.err().contains("reset"), "{made}");
    let editor = "core.editor=sed -i -e '/^Proposal-Id:/d' -e '/-by:/d'";
    repo.git(&["-c", editor, "commit", "-q", "--amend"]);
    assert_eq!(repo.git(&["show", "HEAD:b.txt"]), lines(&[(6, "SIX"), (30, "both")]).trim_end());
    repo.aye(&["check", "--range", "HEAD~1.."]).ok();
}

#[test]
fn a_message_that_nobody_wrote_still_gives_the_commit_up() {
    let repo = Repo::with(FILES);
    script(&repo, ".git/hooks/commit-msg", "[ -s \"$1\" ] || echo blank >>\"$PWD/said\"");
    repo.aye(&["hooks", "install"]).ok().says("kept and runs after it");
    let id = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &id);
    repo.git(&["add", "a.txt"]);
    repo.write("template", "# Why\nTicket:\n");
    let git = |editor: &str, args: &[&str]| {
        let all = [&["-c", "core.commentChar=#"], args].concat();
        repo.program("git").args(&all).env("GIT_EDITOR", editor).run()
    };
    let given_up = |run: Run| {
        let said = run.exits(1).err();
        assert!(said.contains("Aborting commit"), "{said}");
    };
    given_up(git("true", &["commit"]));
    given_up(git("true", &["commit", "-v", "-s"]));
    given_up(git("true", &["-c", "commit.template=template", "commit"]));
    given_up(git("true", &["commit", "-m", ""]));
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1");
    // Who writes something gets the trailers with it.
    git("sed -i 1iGerman", &["commit", "-q", "-v"]).ok();
    let message = repo.git(&["log", "-1", "--format=%s %(trailers:key=Proposal-Id,valueonly)"]);
    assert_eq!(message.trim(), format!("German {id}"));
    assert!(!repo.exists("said"));
}

#[cfg(target_os = "linux")]
#[test]
fn hooks_are_found_wherever_the_repository_and_they_lie() {
    use std::os::unix::ffi::OsStrExt as _;
    let repo = Repo::outside();
    let odd = repo.outer().join(std::ffi::OsStr::from_bytes(b"not\xffutf8"));
    repo.program("git").args(&[std::ffi::OsStr::new("init"), odd.as_os_str()]).run().ok();
    repo.cmd(&["hooks", "install"]).dir(&odd).run().ok();
    assert!(odd.join(".git/hooks/pre-push").exists());
    repo.cmd(&["hooks", "status"]).dir(&odd).run().ok().says("pre-push");
    repo.cmd(&["deinit", "--yes"]).dir(&odd).run().ok();
    assert!(!odd.join(".git/hooks/pre-push").exists());

    let repo = Repo::with(FILES);
    repo.git(&["config", "core.hooksPath", "../beside"]);
    let run = repo.aye(&["hooks", "install"]).ok();
    assert!(!run.err().contains("inside the work tree"), "{run}");
    repo.git(&["config", "core.hooksPath", ".githooks"]);
    repo.aye(&["hooks", "install"]).ok().notes("inside the work tree");
}

/// As `git commit --signoff` leaves room for both.
#[test]
fn the_editor_opens_on_an_empty_line_with_another_before_the_trailers() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    let id = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &id);
    // Typed where the cursor is.
    let commit = repo.program("git").args(&["commit", "-q", "-a"]);
    commit.env("GIT_EDITOR", "sed -i '1s/^/German/'").run().ok();
    let message = repo.git(&["log", "-1", "--format=%s %(trailers:key=Proposal-Id,valueonly)"]);
    assert_eq!(message.trim(), format!("German {id}"));
    repo.write("b.txt", "by hand\n");
    let commit = repo.program("git").args(&["commit", "-q", "-a", "--signoff"]);
    commit.env("GIT_EDITOR", "sed -i '1s/^/Hand/'").run().ok();
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Hand");
}

#[test]
fn trailers_stand_at_the_end_whatever_the_message_holds() {
    for (text, settings) in [
        ("Title\n\nSee the table:\n\n---\n| a | b |", [("a.b", "c")]),
        ("Title\n\nBefore:\n--- a/x\ntext", [("trailer.ifmissing", "doNothing")]),
        ("Title", [("trailer.separators", "=")]),
        ("Title\n\nBody\n\nSigned-off-by: A <a@b.c>", [("trailer.where", "start")]),
    ] {
        let repo = Repo::with(FILES);
        repo.aye(&["hooks", "install"]).ok();
        let id = propose(&repo, "a.txt", "one", "eins");
        apply(&repo, &id);
        for (key, value) in settings {
            repo.git(&["config", key, value]);
        }
        commit(&repo, text).ok();
        repo.git(&["config", "--remove-section", settings[0].0.split('.').next().unwrap()]);
        let named = repo.git(&["log", "-1", "--format=%(trailers:key=Proposal-Id,valueonly)"]);
        assert_eq!(named.trim(), id, "{text}");
        let message = repo.git(&["log", "-1", "--format=%B"]);
        assert!(message.starts_with(text), "{message}");
    }
}

#[test]
fn a_kept_hook_that_is_not_executable_is_said_to_be_so() {
    let repo = Repo::with(FILES);
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 9\n");
    repo.chmod(".git/hooks/pre-commit", 0o644);
    repo.aye(&["hooks", "install"]).ok().says("does not run: it is not executable");
    repo.aye(&["hooks", "status"]).ok().says("kept, but not executable");
    repo.write("b.txt", "x\n");
    commit(&repo, "One").ok();
}

#[test]
fn nothing_is_installed_where_one_hook_cannot_be() {
    let repo = Repo::with(FILES);
    script(&repo, ".git/hooks/post-commit", "exit 0");
    script(&repo, ".git/hooks.aye-chained/post-commit", "exit 0");
    repo.aye(&["hooks", "install"]).fails("hook_in_the_way", 5);
    assert!(!repo.exists(".git/hooks/pre-commit"));
}

#[test]
fn what_another_proposal_was_applied_on_top_of_is_in_the_commit_too() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    let first = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &first);
    let second = propose(&repo, "a.txt", "two", "zwei");
    repo.aye(&["apply", &second, "--yes"]).ok();
    commit(&repo, "Both").ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains(&first) && message.contains(&second), "{message}");
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    let head = repo.git(&["rev-parse", "HEAD"]);
    for id in [&first, &second] {
        assert_eq!(proposal(&repo, id).commits, [head.as_str()]);
    }

    // What was there before an approved deletion is not what came of it.
    let new = ["propose", "new.txt", "--content-file", "-", "-q"];
    let made = repo.aye_stdin(&new, "new\n").ok().id();
    apply(&repo, &made);
    let gone = repo.aye(&["propose", "new.txt", "--delete", "-q"]).ok().id();
    apply(&repo, &gone);
    repo.write("new.txt", "new\n");
    repo.git(&["add", "--all"]);
    commit(&repo, "Kept").ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains(&made) && !message.contains(&gone), "{message}");
}

#[test]
fn an_apply_that_commits_is_not_stopped_by_its_own_proposal() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    let id = propose(&repo, "a.txt", "one", "eins");
    let other = propose(&repo, "a.txt", "two", "zwei");
    // Where another proposal for the same file has a say, nothing is left half done.
    repo.git(&["config", "aye.hookFailOn", "any"]);
    repo.aye(&["apply", &id, "--yes", "--commit"]).exits(4);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    support::record::reject(&repo, &other, "no");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert_eq!(message.matches("Proposal-Id").count(), 1, "{message}");
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    repo.aye(&["check"]).ok();
}

#[test]
fn a_partial_commit_carries_only_what_it_holds() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    let first = propose(&repo, "a.txt", "one", "eins");
    let second = propose(&repo, "b.txt", "three", "drei");
    apply(&repo, &first);
    apply(&repo, &second);
    repo.git(&["commit", "-q", "-m", "Only b", "--", "b.txt"]);
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains(&second) && !message.contains(&first), "{message}");
    repo.git(&["commit", "-q", "-a", "-m", "The rest"]);
    assert!(repo.git(&["log", "-1", "--format=%B"]).contains(&first));
    assert!(!proposal(&repo, &first).commits.is_empty());
}

#[test]
fn an_earlier_hook_runs_first_with_its_own_text() {
    let repo = Repo::with(FILES);
    let text = "echo \"ran $1\" >> hook.log; exit ${HOOK_FAILS:-0}";
    for hook in ["pre-commit", "prepare-commit-msg", "post-commit"] {
        script(&repo, &format!(".git/hooks/{hook}"), text);
    }
    let before = repo.read(".git/hooks/pre-commit");
    repo.aye(&["hooks", "install"]).ok().says("kept and runs first");
    assert_eq!(repo.read(".git/hooks.aye-chained/pre-commit"), before);
    repo.aye(&["hooks", "status"]).ok().says("runs the earlier hook first");
    repo.write("b.txt", "x\n");
    commit(&repo, "One").ok();
    assert_eq!(repo.text("hook.log"), "ran \nran .git/COMMIT_EDITMSG\nran \n");
    repo.write("b.txt", "y\n");
    repo.git(&["add", "b.txt"]);
    repo.program("git").args(&["commit", "-m", "Two"]).env("HOOK_FAILS", "3").run().exits(1);
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "One");
    let status = repo.aye(&["hooks", "status", "--json"]).ok().json();
    assert_eq!(status["schema"], "aye/hooks@1");
    assert_eq!(status["hooks"][0]["state"], "installed");
    assert_eq!(status["hooks"][0]["chained"], true);
    repo.aye(&["hooks", "uninstall"]).ok().says("is back");
    assert_eq!(repo.read(".git/hooks/pre-commit"), before);
    assert!(!repo.exists(".git/hooks.aye-chained"));
    assert!(!repo.exists(".git/hooks/pre-push"));
    assert_eq!(repo.mode(".git/hooks/pre-commit"), 0o755);
}

/// One script, linked as each hook, that goes by its own name and place.
const DISPATCHER: &str = r#". "$(dirname "$0")/lib.sh"
echo "$(basename "$0") in $(cd "$(dirname "$0")/.." && basename "$PWD")"
for step in "$0.d"/* "$(dirname "$0")/../steps"/*; do
    [ -x "$step" ] || continue
    "$step" "$@" || exit $?
done"#;

fn dispatcher(repo: &Repo, directory: &str) {
    script(repo, &format!("{directory}/dispatch"), DISPATCHER);
    repo.write(&format!("{directory}/lib.sh"), "echo library\n");
    for hook in ["pre-commit", "commit-msg"] {
        repo.symlink("dispatch", &format!("{directory}/{hook}"));
    }
}

#[test]
fn a_kept_hook_goes_by_its_own_name_and_place() {
    let repo = Repo::with(FILES);
    dispatcher(&repo, ".git/hooks");
    script(&repo, ".git/hooks/pre-commit.d/10-check", "echo checked; exit ${CHECK:-0}");
    let link = std::fs::read_link(repo.path(".git/hooks/pre-commit")).expect("a link");
    repo.aye(&["hooks", "install"]).ok().says("kept and runs first");
    repo.write("b.txt", "x\n");
    let run = commit(&repo, "One").ok();
    run.notes("library").notes("pre-commit in .git").notes("checked").notes("commit-msg in .git");
    // What is put beside it later counts, too.
    script(&repo, ".git/hooks/commit-msg.d/10-refuse", "echo refused by $0; exit 7");
    repo.write("b.txt", "y\n");
    commit(&repo, "Two").exits(1).notes("refused by");
    repo.remove(".git/hooks/commit-msg.d/10-refuse");
    script(&repo, ".git/steps/10-step", "echo stepped; exit 1");
    commit(&repo, "Two").exits(1).notes("stepped");
    repo.aye(&["hooks", "uninstall", "--pre-commit"]).ok().says("is back");
    assert_eq!(std::fs::read_link(repo.path(".git/hooks/pre-commit")).expect("a link"), link);
    let run = commit(&repo, "Two").exits(1);
    run.notes("stepped");
    repo.remove(".git/steps/10-step");
    commit(&repo, "Two").ok().notes("commit-msg in .git");
    repo.aye(&["hooks", "install"]).ok();
    repo.aye(&["hooks", "uninstall"]).ok();
    assert!(!repo.exists(".git/hooks.aye-chained"));
    assert!(repo.exists(".git/hooks/lib.sh") && repo.exists(".git/hooks/dispatch"));
}

#[test]
fn a_kept_hook_of_a_shared_directory_goes_by_its_own_name_too() {
    let repo = Repo::with(FILES);
    dispatcher(&repo, "../my hooks");
    repo.git(&["config", "core.hooksPath", "../my hooks/"]);
    repo.aye(&["hooks", "install", "--shared"]).ok();
    repo.write("b.txt", "x\n");
    commit(&repo, "One").ok().notes("library").notes("pre-commit in");
    repo.aye(&["hooks", "uninstall"]).ok();
    assert!(!repo.exists("../my hooks.aye-chained"));
    commit(&repo, "Two").exits(1).notes("pre-commit in");
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
    let path = "/usr/local/bin:/usr/bin:/bin";
    let run = repo.program("git").args(&["commit", "-q", "-m", "x"]).env("PATH", path).run();
    let run = run.ok().notes("warning: aye is gone, so this commit was not checked");
    assert_eq!(run.err().matches("warning: aye is gone").count(), 3, "{}", run.err());
    repo.program("git")
        .args(&["push", "-q", bare.to_str().unwrap(), "HEAD"])
        .env("PATH", path)
        .run()
        .ok()
        .notes("this push was not checked");
}

#[test]
fn the_hook_starts_aye_only_where_something_may_be_pending() {
    let repo = Repo::with(FILES);
    let program = repo.outer().join("aye");
    copy_aye(&repo, &program);
    repo.program(&program).args(&["hooks", "install", "--pre-commit"]).run().ok();
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
    asks(false, "no lane");
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
    let url = other.root().to_str().unwrap().to_owned();
    repo.git(&["fetch", "-q", &url, "refs/aye/log/*:refs/aye/remotes/other/*"]);
    asks(true, "a lane of another clone");
    let lane = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/remotes"]);
    repo.git(&["update-ref", "-d", &lane]);
    let _ = std::fs::remove_dir_all(repo.path(".git/refs/aye/remotes"));
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
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    propose(&repo, "a.txt", "one", "eins");
    let lane = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
    repo.write(&format!(".git/{lane}"), format!("{}\n", "1".repeat(40)));
    let _ = std::fs::remove_file(repo.path(".git/aye/cache.sqlite"));
    repo.write("a.txt", "uno\n");
    commit(&repo, "Still possible").ok().notes("warning[").notes("let git go on");
}

#[test]
fn a_push_is_held_to_the_proposals_its_commits_name() {
    let repo = Repo::with(FILES);
    let remote = repo.outer().join("remote.git");
    let url = remote.to_str().unwrap();
    repo.git(&["init", "-q", "--bare", url]);
    repo.git(&["remote", "add", "origin", url]);
    repo.aye(&["hooks", "install", "--pre-push"]).ok().lacks("pre-commit");
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
    // Deleting, pushing lanes, and tags of old commits are no business of it.
    repo.git(&["push", "-q", "origin", "refs/aye/log/*:refs/aye/log/*"]);
    repo.git(&["push", "-q", "origin", "HEAD~1:refs/heads/old"]);
    repo.git(&["push", "-q", "origin", ":refs/heads/old"]);
    // The pre-commit framework says it in variables.
    let range = |run: support::Cmd| {
        run.env("PRE_COMMIT_FROM_REF", repo.git(&["rev-parse", "HEAD~1"]))
            .env("PRE_COMMIT_TO_REF", repo.git(&["rev-parse", "HEAD"]))
            .run()
    };
    stopped(range(repo.cmd(&["hooks", "run", "pre-push"])));
}

/// The pre-commit framework names the first ref alone, and no commit where a whole history is sent.
#[test]
fn what_is_not_for_a_remote_is_refused_under_the_pre_commit_framework_too() {
    let repo = Repo::with(FILES);
    repo.git(&["remote", "add", "origin", "../origin.git"]);
    repo.git(&["remote", "add", "up", "../up.git"]);
    let private = ["propose", "a.txt", "--old", "one", "--new", "eins", "--private"];
    repo.agent("codex", &private).ok();
    let lane = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/private"]);
    let name = lane.rsplit('/').next().expect("a lane");
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
        assert!((run.out() + &run.err()).contains("lane_not_for_remote"), "{run}");
    };
    let there = format!("refs/aye/log/{name}");
    refused(push(&lane, &there, "origin").run());
    refused(push("HEAD", &lane, "origin").run());
    // By its commit alone, too.
    refused(push(&repo.git(&["rev-parse", "--short", &lane]), "refs/heads/x", "origin").run());
    let own = format!("refs/aye/for/up/{name}");
    repo.git(&["update-ref", &own, &lane]);
    refused(push(&own, &there, "origin").run());
    repo.git(&["update-ref", "-d", &own]);
    push("refs/heads/main", "refs/heads/main", "origin").run().ok();
    // The commits of a whole history.
    repo.git(&["commit", "-q", "--allow-empty", "-m", "x\n\nProposal-Id: prop_aaaaaaaaaa"]);
    push("refs/heads/main", "refs/heads/main", "origin").run().exits(1);
}

#[test]
fn an_earlier_push_hook_still_reads_what_is_pushed() {
    let repo = Repo::with(FILES);
    let remote = repo.outer().join("remote.git");
    repo.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    script(&repo, ".git/hooks/pre-push", "cat > pushed; echo \"$@\" >> pushed");
    repo.aye(&["hooks", "install", "--pre-push"]).ok();
    repo.git(&["push", "-q", remote.to_str().unwrap(), "main"]);
    let pushed = repo.text("pushed");
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert!(
        pushed.starts_with(&format!("refs/heads/main {head} refs/heads/main 0000")),
        "{pushed}"
    );
    assert_eq!(pushed.lines().count(), 2, "{pushed}");
}

#[test]
fn core_hooks_path_is_where_git_looks() {
    let repo = Repo::with(FILES);
    repo.git(&["config", "core.hooksPath", ".githooks"]);
    repo.git(&["config", "aye.hookFailOn", "any"]);
    repo.cmd(&["hooks", "install"]).run().ok().notes("inside the work tree");
    assert!(repo.exists(".githooks/pre-commit"));
    assert!(!repo.exists(".git/hooks/pre-commit"));
    propose(&repo, "a.txt", "one", "eins");
    repo.write("a.txt", "uno\n");
    repo.git(&["add", "a.txt"]);
    repo.try_git(&["commit", "-q", "-m", "x"]).exits(1);
    // From a subdirectory the same place.
    std::fs::create_dir(repo.path("sub")).unwrap();
    repo.cmd(&["hooks", "status"]).dir(repo.path("sub")).run().ok().says("/work/.githooks");
}

#[test]
fn a_directory_that_other_repositories_use_is_left_alone() {
    let repo = Repo::with(FILES);
    let global = repo.outer().join("gitconfig");
    let hooks = repo.outer().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    std::fs::write(&global, format!("[core]\n\thooksPath = {}\n", hooks.display())).unwrap();
    let with = |args: &[&str]| repo.cmd(args).env("GIT_CONFIG_GLOBAL", &global).run();
    with(&["hooks", "install"]).fails("hooks_shared", 4);
    assert_eq!(std::fs::read_dir(&hooks).unwrap().count(), 0);
    with(&["hooks", "install", "--shared"]).ok();
    assert_eq!(std::fs::read_dir(&hooks).unwrap().count(), 5);
}

#[test]
fn where_git_runs_no_hooks_nothing_is_installed_and_status_says_so() {
    let repo = Repo::with(FILES);
    repo.write("file", "");
    for nowhere in ["/dev/null", "file", ""] {
        repo.git(&["config", "core.hooksPath", nowhere]);
        let before = repo.snapshot();
        repo.aye(&["hooks", "install"]).fails("hooks_off", 4);
        repo.aye(&["hooks", "status"]).ok().says("pre-commit          not installed");
        repo.aye(&["hooks", "uninstall"]).ok().says("none of ours");
        assert_eq!(repo.snapshot(), before);
    }
}

#[test]
fn a_hooks_directory_that_cannot_be_one_is_named() {
    let repo = Repo::with(FILES);
    assert!(!repo.exists(".git/hooks"));
    for (to, why) in
        [("nowhere", "leads nowhere"), ("hooks", "leads nowhere"), ("config", "not a directory")]
    {
        repo.symlink(to, ".git/hooks");
        repo.aye(&["hooks", "install"]).fails("hooks_off", 4).notes(why).notes(".git/hooks");
        repo.aye(&["hooks", "status"]).ok().says("pre-commit          not installed");
        repo.aye(&["hooks", "uninstall"]).ok().says("none of ours");
        repo.remove(".git/hooks");
    }
    repo.git(&["config", "core.hooksPath", "a.txt/hooks"]);
    repo.aye(&["hooks", "install"]).fails("hooks_off", 4).notes("a.txt");
}

#[test]
fn what_is_no_file_in_the_place_of_a_hook_is_named_and_stays() {
    let repo = Repo::with(FILES);
    let hook = repo.path(".git/hooks/pre-push");
    std::fs::create_dir_all(&hook).expect("a directory");
    repo.aye(&["hooks", "install"]).fails("hook_in_the_way", 5).notes("not a regular file");
    std::fs::remove_dir(&hook).expect("removed");
    repo.program("mkfifo").args(&[hook.to_str().expect("UTF-8")]).run().ok();
    repo.aye(&["hooks", "install"]).fails("hook_in_the_way", 5).notes("not a regular file");
    assert!(!repo.exists(".git/hooks/pre-commit"));
    // A symlink that leads nowhere, or to itself, is somebody's hook, and kept.
    repo.remove(".git/hooks/pre-push");
    for to in ["nowhere", "pre-push"] {
        repo.symlink(to, ".git/hooks/pre-push");
        repo.aye(&["hooks", "install"]).ok();
        assert!(repo.path(".git/hooks.aye-chained/pre-push").is_symlink());
        repo.aye(&["hooks", "uninstall"]).ok();
        repo.remove(".git/hooks/pre-push");
    }
}

#[test]
fn hook_managers_are_explained_not_fought() {
    let husky = Repo::with(&[(".husky/pre-commit", "npm test\n")]);
    husky.git(&["config", "core.hooksPath", ".husky/_"]);
    husky.aye(&["hooks", "install"]).fails("hooks_managed", 4).notes(".husky/pre-commit");
    script(&husky, ".husky/_/pre-commit", "#!/bin/sh\n");
    let run = husky.aye(&["hooks", "status"]).ok().says("husky manages these hooks");
    assert!(!run.out().contains("aye hooks install"), "{}", run.out());
    let lefthook = Repo::with(&[("lefthook.yml", "pre-commit: {}\n")]);
    lefthook.aye(&["hooks", "install"]).fails("hooks_managed", 4).notes("lefthook.yml");
    let framework = Repo::with(FILES);
    script(
        &framework,
        ".git/hooks/pre-commit",
        "# File generated by pre-commit: https://pre-commit.com\nexec true",
    );
    let before = framework.snapshot();
    let run = framework.aye(&["hooks", "install", "--pre-commit"]).fails("hooks_managed", 4);
    run.notes("aye hooks run pre-commit");
    assert_eq!(framework.snapshot(), before);
    assert!(!framework.exists(".git/hooks.aye-chained"));
    framework.aye(&["hooks", "status"]).ok().says("pre-commit manages these hooks");
}

/// Before version 9 of husky git itself runs the files, and passes over those that are not executable.
#[test]
fn what_is_advised_for_an_old_husky_runs() {
    let repo = Repo::with(FILES);
    script(&repo, ".husky/pre-commit", "true");
    repo.git(&["config", "core.hooksPath", ".husky"]);
    let hints = repo.aye(&["hooks", "install"]).fails("hooks_managed", 4).err();
    let lines = hints.lines().map(|line| line.trim().trim_start_matches("hint: "));
    let lines: Vec<&str> = lines
        .filter(|line| ["echo ", "chmod ", "printf ", "{ "].iter().any(|it| line.starts_with(it)))
        .collect();
    repo.program("sh").args(&["-c", &lines.join("\n")]).run().ok();
    for hook in ["pre-commit", "pre-push", "prepare-commit-msg", "commit-msg", "post-commit"] {
        let text = repo.text(&format!(".husky/{hook}"));
        assert!(text.starts_with("#!/bin/sh"), "{hook}: {text}");
        assert_eq!(repo.mode(&format!(".husky/{hook}")) & 0o111, 0o111, "{hook}");
        let said = format!("run by husky (.husky/{hook})");
        repo.aye(&["hooks", "status"]).ok().says(&said).lacks("hint");
    }
    // Those who have no aye go on, and so does what stands below.
    repo.write(".husky/pre-push", repo.text(".husky/pre-push") + "\ncat > pushed; echo below\n");
    repo.git(&["init", "-q", "--bare", "../origin.git"]);
    repo.git(&["remote", "add", "origin", "../origin.git"]);
    let git = |args: &[&str]| repo.program("git").args(args).env("PATH", WITHOUT_AYE).run();
    let run =
        git(&["commit", "-q", "--allow-empty", "-m", "x\n\nProposal-Id: prop_aaaaaaaaaa"]).ok();
    run.notes("warning: aye is not here, so this commit was not checked");
    git(&["push", "-q", "origin", "HEAD~1:refs/heads/main"])
        .ok()
        .notes("this push was not checked");
    assert!(repo.text("pushed").starts_with("HEAD~1 "), "{}", repo.text("pushed"));
    // With it, the push is held to what it was told, which is read below as well.
    let aye = std::path::Path::new(env!("CARGO_BIN_EXE_aye")).parent().expect("a directory");
    let path = format!("{}:{WITHOUT_AYE}", aye.display());
    let git = |args: &[&str]| repo.program("git").args(args).env("PATH", &path).run();
    git(&["push", "-q", "origin", "HEAD~1:refs/heads/other"]).ok().says("below");
    assert!(repo.text("pushed").ends_with(" 0000000000000000000000000000000000000000\n"));
    let run = git(&["push", "-q", "origin", "main"]).exits(1);
    assert!((run.out() + &run.err()).contains("unknown_proposal"), "{run}");
}

/// Where the lines of git were read by another, the hook looks at what is checked out.
#[test]
fn a_push_of_which_nothing_is_told_is_looked_at_all_the_same() {
    let repo = Repo::with(FILES);
    repo.git(&["init", "-q", "--bare", "../origin.git"]);
    repo.git(&["remote", "add", "origin", "../origin.git"]);
    repo.git(&["push", "-q", "origin", "main"]);
    let hook = |url: &str| repo.cmd(&["hooks", "run", "pre-push", "origin", url]).stdin("").run();
    let run = hook("../origin.git").ok();
    assert_eq!(run.out() + &run.err(), "");
    repo.git(&["commit", "-q", "--allow-empty", "-m", "x\n\nProposal-Id: prop_aaaaaaaaaa"]);
    let run = hook("../origin.git").exits(1).notes("nothing told the hook what is pushed");
    assert!((run.out() + &run.err()).contains("unknown_proposal"), "{run}");
}

/// Where aye is not; the programs of the system are.
const WITHOUT_AYE: &str = "/usr/local/bin:/usr/bin:/bin";

/// As the framework writes it, as far as it matters: it runs what it has moved first, with what it was told.
fn framework_hook(repo: &Repo, hook: &str) {
    let path = format!(".git/hooks/{hook}");
    if repo.exists(&path) {
        std::fs::rename(repo.path(&path), repo.path(&format!("{path}.legacy"))).expect("moved");
    }
    let text = "# File generated by pre-commit: https://pre-commit.com\n[ ! -x \"$0.legacy\" ] || exec \"$0.legacy\" \"$@\"";
    script(repo, &path, text);
}

#[test]
fn hooks_that_the_pre_commit_framework_moved_are_known() {
    let repo = Repo::with(FILES);
    repo.aye(&["hooks", "install"]).ok();
    framework_hook(&repo, "pre-commit");
    let status = repo.aye(&["hooks", "status"]).ok().lacks("hint").lacks("another hook");
    status
        .says("pre-commit          run by pre-commit (pre-commit.legacy)")
        .says("pre-push            installed");
    repo.aye(&["hooks", "install"]).ok().says("installed already");
    repo.write(".pre-commit-config.yaml", "- id: aye-check\n- id: aye-check-push\n");
    let status = repo.aye(&["hooks", "status"]).ok();
    status.says("run by pre-commit twice (pre-commit.legacy, .pre-commit-config.yaml)");
    repo.aye(&["hooks", "uninstall"]).ok().says("removed").lacks("none of ours");
    assert!(!repo.exists(".git/hooks/pre-commit.legacy") && repo.exists(".git/hooks/pre-commit"));
}

#[test]
fn aye_stands_beside_the_pre_commit_framework_for_what_that_cannot_see_of_a_push() {
    let repo =
        Repo::with(&[("a.txt", "one\n"), (".pre-commit-config.yaml", "- id: aye-check-push\n")]);
    framework_hook(&repo, "pre-push");
    let own = ".git/hooks/pre-push.legacy";
    repo.aye(&["hooks", "status"]).ok().says("`aye hooks install --pre-push` for all");
    repo.aye(&["hooks", "install"]).fails("hooks_managed", 4);
    script(&repo, own, "cat >was-here");
    repo.aye(&["hooks", "install", "--pre-push"]).ok().says("kept and runs first");
    repo.aye(&["hooks", "install", "--pre-push"]).ok().says("installed already");
    let status = repo.aye(&["hooks", "status"]).ok();
    status.says("run by pre-commit (pre-push.legacy; .pre-commit-config.yaml for the first ref)");
    repo.git(&["init", "-q", "--bare", "../origin.git"]);
    repo.git(&["remote", "add", "origin", "../origin.git"]);
    repo.git(&["branch", "fine"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "x\n\nProposal-Id: prop_aaaaaaaaaa"]);
    repo.try_git(&["push", "-q", "origin", "fine", "main"]).exits(1);
    assert_eq!(repo.text("was-here").lines().count(), 2);
    repo.aye(&["hooks", "uninstall"]).ok().says("is back");
    assert_eq!(repo.text(own), "#!/bin/sh\ncat >was-here\n");
    repo.remove(own);
    repo.aye(&["hooks", "install", "--pre-push"]).ok().says("installed");
    repo.aye(&["hooks", "uninstall"]).ok().says("removed");
    assert!(!repo.exists(own) && repo.exists(".git/hooks/pre-push"));
}

#[test]
fn status_sees_what_a_manager_runs_already() {
    let repo = Repo::with(FILES);
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    script(&repo, ".husky/_/pre-commit", ". h");
    repo.write(".husky/pre-commit", "npm test\naye hooks run pre-commit \"$@\"\n");
    repo.write(".husky/pre-push", "# aye hooks run pre-push\n");
    let status = repo.aye(&["hooks", "status"]).ok();
    status
        .says("pre-commit          run by husky (.husky/pre-commit)")
        .lacks(">> .husky/pre-commit")
        .says("> .husky/pre-push");
    repo.aye(&["hooks", "install"]).fails("hooks_managed", 4).notes("> .husky/pre-push");
    repo.aye(&["hooks", "install", "--pre-commit"]).ok().says("run by husky").lacks("hint");
    let json = repo.aye(&["hooks", "status", "--json"]).ok().json();
    assert_eq!(
        (&json["hooks"][0]["managed"], &json["hooks"][1]["managed"]),
        (&true.into(), &serde_json::Value::Null)
    );
    // Its own scripts are in no commit: in another work tree there are none.
    repo.git(&["add", ".husky/pre-commit"]);
    repo.git(&["commit", "-q", "--no-verify", "-m", "Hooks"]);
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let status = repo.cmd(&["hooks", "status"]).dir(repo.outer().join("linked")).run().ok();
    status.says("in .husky/pre-commit, not installed: npx husky").lacks("run by husky");
    // As husky laid them out before version 9.
    repo.git(&["config", "core.hooksPath", ".husky"]);
    let named = "in .husky/pre-commit, not executable: chmod +x .husky/pre-commit";
    repo.aye(&["hooks", "status"]).ok().says(named).lacks("run by husky");
    let json = repo.aye(&["hooks", "status", "--json"]).ok().json();
    assert_eq!(json["hooks"][0]["managed"], serde_json::Value::Null);
    repo.chmod(".husky/pre-commit", 0o755);
    repo.aye(&["hooks", "status"]).ok().says("run by husky (.husky/pre-commit)");
    let lefthook = Repo::with(&[(
        "lefthook.yml",
        "pre-push:\n  commands:\n    aye: { run: aye hooks run pre-push }\n",
    )]);
    let status = lefthook.aye(&["hooks", "status"]).ok();
    status
        .says("in lefthook.yml, not installed: lefthook install")
        .lacks("aye hooks run pre-push")
        .says("aye hooks run pre-commit");
    script(&lefthook, ".git/hooks/pre-push", "lefthook run pre-push \"$@\"");
    lefthook.aye(&["hooks", "status"]).ok().says("run by lefthook (lefthook.yml)");
    let framework =
        Repo::with(&[(".pre-commit-config.yaml", "- id: aye-check-python\n- id: aye-record\n")]);
    script(&framework, ".git/hooks/pre-commit", "# https://pre-commit.com\nexec true");
    let status = framework.aye(&["hooks", "status"]).ok();
    let status = status.says("run by pre-commit (.pre-commit-config.yaml)");
    status
        .says("not installed: pre-commit install -t post-commit")
        .lacks("id: aye-pre-commit")
        .says("id: aye-pre-push");
}

#[test]
fn linked_work_trees_share_the_hooks() {
    let repo = Repo::with(FILES);
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let linked = repo.outer().join("linked");
    repo.git(&["config", "aye.hookFailOn", "any"]);
    repo.cmd(&["hooks", "install"]).dir(&linked).run().ok();
    assert!(repo.exists(".git/hooks/pre-commit"));
    propose(&repo, "a.txt", "one", "eins");
    std::fs::write(linked.join("a.txt"), "uno\n").unwrap();
    let git = |args: &[&str]| repo.program("git").args(args).dir(&linked).run();
    git(&["commit", "-q", "-a", "-m", "x"]).exits(1);
    std::fs::write(linked.join("a.txt"), "one\ntwo\n").unwrap();
    std::fs::write(linked.join("b.txt"), "x\n").unwrap();
    git(&["commit", "-q", "-a", "-m", "x"]).ok();
}

#[test]
fn a_bare_repository_and_no_repository() {
    let repo = Repo::bare();
    repo.aye(&["hooks", "install", "--pre-push"]).ok();
    assert!(repo.exists("hooks/pre-push"));
    Repo::outside().aye(&["hooks", "status"]).fails("not_a_repository", 3);
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
    repo.agent("robo", &["hooks", "install"]).ok().says("installed");
    repo.agent("robo", &["hooks", "install"]).ok().says("installed already");
    let hook = ".git/hooks/pre-commit";
    let installed = repo.text(hook);
    let refused = |run: Run, what: &str| {
        run.fails("human_approval_required", 4).notes(what).notes("aye hooks install");
    };
    // What a person has added stays.
    let edited = format!("{installed}# my own\n");
    repo.write(hook, &edited);
    repo.agent("robo", &["hooks", "install"]).fails("hook_changed", 5);
    refused(repo.agent("robo", &["hooks", "install", "--force"]), "overwrite hooks");
    assert_eq!(repo.text(hook), edited);
    repo.aye(&["hooks", "install", "--force"]).ok();
    assert_eq!(repo.text(hook), installed);
    // Nor does it have them run what it can write itself.
    let other = repo.outer().join("aye");
    copy_aye(&repo, &other);
    let by = |program: &std::path::Path| repo.program(program).args(&["hooks", "install"]);
    refused(by(&other).env("AYE_AGENT", "robo").run(), "another aye");
    std::fs::remove_file(repo.path(hook)).expect("remove");
    refused(by(&other).env("AYE_AGENT", "robo").run(), "another aye");
    by(&other).run().ok();
    let shared = repo.outer().join("shared");
    let config = repo.user_config(&[("core.hooksPath", &shared.to_string_lossy())]);
    let install = repo.cmd(&["hooks", "install", "--shared"]).env("AYE_AGENT", "robo");
    refused(install.env("GIT_CONFIG_GLOBAL", config).run(), "other repositories");
    assert!(!shared.exists());
}

#[test]
fn from_the_run_of_a_session_no_hook_of_the_checkout_is_written() {
    let repo = Repo::with(FILES);
    script(&repo, ".githooks/pre-commit", "exit 0");
    repo.commit("Hooks");
    let aye = env!("CARGO_BIN_EXE_aye");
    let install = || {
        let words = format!("'{aye}' -C '{}' hooks install", repo.root().display());
        let run = ["run", "--", "sh", "-c", &words];
        repo.cmd(&run).env("AYE_AGENT", "robo").run().exits(4).notes("error[in_session]");
        assert_eq!(repo.git(&["status", "--porcelain"]), "");
    };
    install();
    assert!(!repo.exists(".git/hooks/pre-commit"));
    repo.git(&["config", "core.hooksPath", ".githooks"]);
    install();
    // Those of its own tree are its own.
    let own = format!("'{aye}' hooks install");
    repo.cmd(&["run", "--", "sh", "-c", &own]).env("AYE_AGENT", "robo").run().ok();
    // Outside of one, it writes no files where direct writes are gated.
    repo.write(".agent-memory/policy.toml", "gate = true\n");
    repo.commit("Gate");
    let run = repo.agent("robo", &["hooks", "install"]);
    run.fails("human_approval_required", 4).notes("gated");
    repo.aye(&["hooks", "install"]).ok();
}

/// What was committed before is named again where its change was taken out and comes back.
#[test]
fn what_comes_back_after_a_revert_is_named_again() {
    let trailer = |repo: &Repo, id: &str| {
        repo.git(&["log", "-1", "--format=%B"]).contains(&format!("Proposal-Id: {id}"))
    };
    for is_undone in [true, false] {
        let repo = Repo::with(FILES);
        repo.aye(&["hooks", "install"]).ok();
        let id = propose(&repo, "a.txt", "one", "eins");
        apply(&repo, &id);
        commit(&repo, "First").ok();
        assert!(trailer(&repo, &id));
        if is_undone {
            repo.aye(&["undo", &id, "--yes"]).ok();
            commit(&repo, "Undone").ok();
            apply(&repo, &id);
        } else {
            repo.git(&["revert", "--no-edit", "HEAD"]);
            repo.write("a.txt", "eins\ntwo\n");
        }
        commit(&repo, "Again").ok();
        assert!(trailer(&repo, &id), "{is_undone}");
        let head = repo.git(&["rev-parse", "HEAD"]);
        assert!(proposal(&repo, &id).commits.contains(&head));
        repo.aye(&["check", "--range", "HEAD~1..", "--require-proposal"]).ok();
        // What only passes by there is not.
        let next = propose(&repo, "a.txt", "eins", "uno");
        apply(&repo, &next);
        commit(&repo, "Next").ok();
        repo.write("a.txt", "eins\ntwo\n");
        commit(&repo, "Back").ok();
        assert!(!trailer(&repo, &id), "{is_undone}");
    }
}

const LINES: &str = "one\n2\n3\n4\n5\n6\nseven\n8\n9\n10\n11\n12\nthirteen\n";

fn ids(repo: &Repo) -> Vec<String> {
    let body = repo.git(&["log", "-1", "--format=%B"]);
    let ids = body.lines().filter_map(|line| line.strip_prefix("Proposal-Id: "));
    ids.map(str::to_owned).collect()
}

fn holds_what_was_approved(repo: &Repo) {
    let range = ["check", "--range", "HEAD~1..", "--require-proposal"];
    // What was taken back is pending again, and its file was touched.
    repo.aye(&range).lacks("error[");
}

/// A commit is named after what it brings, whatever was applied and taken back around that.
#[test]
fn a_commit_names_what_it_brings_between_applies_and_undos() {
    let repo = Repo::with(&[("a.txt", LINES)]);
    repo.aye(&["hooks", "install"]).ok();
    let p = propose(&repo, "a.txt", "one", "eins");
    let q = propose(&repo, "a.txt", "seven", "sieben");
    let undo = |id: &str| repo.aye(&["undo", id, "--yes"]).ok();
    // Before anything of it is committed.
    for id in [&p, &q] {
        apply(&repo, id);
    }
    undo(&p);
    commit(&repo, "The second").ok();
    assert_eq!(ids(&repo), [q.as_str()]);
    holds_what_was_approved(&repo);
    apply(&repo, &p);
    commit(&repo, "The first").ok();
    assert_eq!(ids(&repo), [p.as_str()]);
    holds_what_was_approved(&repo);
    // Taken back in the commit of another.
    let r = propose(&repo, "a.txt", "thirteen", "dreizehn");
    apply(&repo, &r);
    undo(&p);
    commit(&repo, "The third").ok();
    assert_eq!(ids(&repo), [r.as_str()]);
    holds_what_was_approved(&repo);
    apply(&repo, &p);
    commit(&repo, "The first again").ok();
    assert_eq!(ids(&repo), [p.as_str()]);
    holds_what_was_approved(&repo);
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert!(proposal(&repo, &p).commits.contains(&head));
    assert_eq!(proposal(&repo, &q).commits.len(), 1);
    // Of three on top of each other the one in the middle goes.
    let last: Vec<String> = [("eins", "uno"), ("sieben", "siete"), ("dreizehn", "trece")]
        .map(|(old, new)| propose(&repo, "a.txt", old, new))
        .into();
    for id in &last {
        apply(&repo, id);
    }
    undo(&last[1]);
    commit(&repo, "Two of three").ok();
    assert_eq!(ids(&repo), [last[0].as_str(), last[2].as_str()]);
    holds_what_was_approved(&repo);
}

/// What was applied again onto other lines, beneath another, is no less new than alone.
#[test]
fn what_is_applied_again_beneath_another_is_named_again() {
    let repo = Repo::with(&[("a.txt", LINES)]);
    repo.aye(&["hooks", "install"]).ok();
    let p = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &p);
    commit(&repo, "First").ok();
    repo.aye(&["undo", &p, "--yes"]).ok();
    commit(&repo, "Undone").ok();
    let q = propose(&repo, "a.txt", "seven", "sieben");
    apply(&repo, &q);
    commit(&repo, "Another").ok();
    let r = propose(&repo, "a.txt", "thirteen", "dreizehn");
    apply(&repo, &p);
    apply(&repo, &r);
    commit(&repo, "Both").ok();
    assert_eq!(ids(&repo), [p.as_str(), r.as_str()]);
    holds_what_was_approved(&repo);
    // Nothing of it is in the next one.
    let s = propose(&repo, "a.txt", "10", "zehn");
    apply(&repo, &s);
    commit(&repo, "Next").ok();
    assert_eq!(ids(&repo), [s.as_str()]);
}

/// What HEAD has all the time is brought by no commit, though it was taken back and applied again in between.
#[test]
fn what_was_never_out_of_head_is_not_named_again() {
    let repo = Repo::with(&[("a.txt", LINES)]);
    repo.aye(&["hooks", "install"]).ok();
    let p = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &p);
    commit(&repo, "First").ok();
    repo.write("a.txt", repo.text("a.txt").replace("thirteen", "mine"));
    repo.aye(&["undo", &p, "--yes"]).ok();
    apply(&repo, &p);
    assert_eq!(commit(&repo, "A line of mine").ok().err(), "");
    assert!(ids(&repo).is_empty());
    assert_eq!(proposal(&repo, &p).commits.len(), 1);
}

/// What a person has put back was approved as what was applied was.
#[test]
fn an_undo_goes_with_what_else_is_committed() {
    for path in ["a.txt", "b.txt"] {
        let repo = Repo::with(&[("a.txt", LINES), ("b.txt", LINES)]);
        repo.aye(&["hooks", "install"]).ok();
        let p = propose(&repo, "a.txt", "one", "eins");
        apply(&repo, &p);
        commit(&repo, "First").ok();
        let q = propose(&repo, path, "seven", "sieben");
        repo.aye(&["undo", &p, "--yes"]).ok();
        apply(&repo, &q);
        let run = commit(&repo, "Both").ok();
        assert!(!run.err().contains("warning"), "{run}");
        assert_eq!(ids(&repo), [q.as_str()]);
        holds_what_was_approved(&repo);
        // What was approved until it was undone is not by that alone.
        repo.write("a.txt", repo.text("a.txt").replace("one", "eins"));
        let r = propose(&repo, "b.txt", "thirteen", "dreizehn");
        apply(&repo, &r);
        let run = commit(&repo, "And by hand what was undone").ok();
        assert!(run.err().contains("warning"), "{run}");
        let range = ["check", "--range", "HEAD~1.."];
        repo.aye(&range).exits(1).says("error[extra_file]: a.txt");
    }
}

/// A person who touches the file up before the commit learns why it has no trailers.
#[test]
fn a_commit_that_has_more_than_was_approved_is_told_why_it_names_nothing() {
    let repo = Repo::with(&[("a.txt", LINES), ("b.txt", LINES)]);
    repo.aye(&["hooks", "install"]).ok();
    let p = propose(&repo, "a.txt", "one", "eins");
    apply(&repo, &p);
    let applied = repo.text("a.txt");
    repo.write("a.txt", applied.replace("thirteen", "mine"));
    let run = commit(&repo, "More").ok();
    let note = format!("note: the commit does not name {p}: a.txt has more than was approved");
    assert!(run.err().contains(&note), "{run}");
    // The next one is not to blame for it.
    repo.write("a.txt", repo.text("a.txt").replace("mine", "ours"));
    assert_eq!(commit(&repo, "Next").ok().err(), "");
    // Its lines alone are what was approved.
    let q = propose(&repo, "b.txt", "one", "eins");
    repo.write("b.txt", LINES.replace("thirteen", "mine"));
    apply(&repo, &q);
    let both = repo.text("b.txt");
    repo.write("b.txt", LINES.replace("one", "eins"));
    commit(&repo, "Alone").ok();
    assert_eq!(ids(&repo), [q.as_str()]);
    holds_what_was_approved(&repo);
    repo.write("b.txt", both);
    assert_eq!(commit(&repo, "The rest").ok().err(), "");
    assert!(ids(&repo).is_empty());
    // Another message has no trailers of the one before.
    let r = propose(&repo, "b.txt", "seven", "sieben");
    apply(&repo, &r);
    commit(&repo, "With it").ok();
    let run = repo.try_git(&["commit", "-q", "--amend", "-m", "Renamed"]).ok();
    let note = format!("note: the commit holds {r} and does not say so (git commit --amend");
    assert!(run.err().contains(&note), "{run}");
    repo.git(&["commit", "-q", "--amend", "--no-edit", "--trailer", &format!("Proposal-Id: {r}")]);
    holds_what_was_approved(&repo);
    // Moved before it is committed.
    let s = propose(&repo, "b.txt", "10", "zehn");
    apply(&repo, &s);
    repo.git(&["mv", "b.txt", "c.txt"]);
    let run = commit(&repo, "Moved").ok();
    assert!(run.err().contains(&format!("{s}: b.txt goes to c.txt with it")), "{run}");
}
