//! `aye propose --keep`: what an agent without a gate has done already.

use crate::support::record::apply;
use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] =
    &[("src/a.txt", "one\ntwo\n"), ("b.txt", "bee\n"), (".gitignore", "*.log\n")];

fn diff(repo: &Repo, run: &Run) -> String {
    repo.aye(&["diff", &run.id(), "--no-pager"]).ok().out()
}

#[test]
fn what_is_in_the_files_and_in_commits_since_becomes_a_proposal_and_the_files_stay() {
    let repo = Repo::with(FILES);
    repo.write("src/a.txt", "one\nTWO\n");
    repo.git(&["commit", "-qam", "By an agent"]);
    repo.write("new.txt", "new\n");
    repo.write("noise.log", "x\n");
    repo.remove("b.txt");
    let adopted = repo
        .aye(&["propose", "--keep", "--since", "HEAD~1", "--by", "aider", "-m", "All of it"])
        .ok();
    let text = diff(&repo, &adopted);
    for line in ["+TWO\n", "+new\n", "-bee\n"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("noise"), "{text}");
    assert!(repo.exists("new.txt") && !repo.exists("b.txt"));
    let shown = repo.item(&adopted.id());
    assert_eq!(shown["proposed_by"], "aider");
    // The files have it all already.
    apply(&repo, &adopted.id());
    assert_eq!(repo.text("src/a.txt"), "one\nTWO\n");
    // What is applied and not committed is not adopted again.
    repo.aye(&["propose", "--keep"]).fails("no_change", 6);
}

#[test]
fn files_are_put_back_only_when_that_is_asked_for() {
    let repo = Repo::with(FILES);
    repo.write("src/a.txt", "one\nTWO\n");
    repo.write("d/new.txt", "new\n");
    repo.write("b.txt", "mine\n");
    let adopted = repo.aye(&["propose", "--worktree", "src", "d/new.txt"]).ok();
    assert_eq!(repo.text("src/a.txt"), "one\ntwo\n");
    assert_eq!(repo.text("b.txt"), "mine\n");
    assert!(!repo.exists("d"));
    assert!(!diff(&repo, &adopted).contains("mine"));
    apply(&repo, &adopted.id());
    assert_eq!(repo.text("d/new.txt"), "new\n");
    assert_eq!(repo.text("src/a.txt"), "one\nTWO\n");
    // What was applied and is not committed is nobody's change.
    let adopted = repo.aye(&["propose", "--keep"]).ok();
    let text = diff(&repo, &adopted);
    assert!(text.contains("+mine\n") && !text.contains("TWO") && !text.contains("new"), "{text}");
}

/// A commit can be made of anything, and some files are nobody's but a person's.
#[test]
fn an_agent_puts_back_no_more_than_what_head_has() {
    let files =
        [("AGENTS.md", "be kind\n"), (".agent-memory/notes.md", "n\n"), ("src/a.txt", "one\n")];
    let repo = Repo::with(&files);
    repo.write("src/a.txt", "two\n");
    repo.commit("By a person");
    let back = ["propose", "--worktree", "src/a.txt", "--since", "HEAD~1"];
    let refused = repo.agent("codex", &back).fails("human_approval_required", 4);
    refused.notes("--keep src/a.txt");
    repo.cmd(&back).in_ci("c1c1c1c1c1c1c1c1").run().fails("human_approval_required", 4);
    assert_eq!(repo.text("src/a.txt"), "two\n");
    for path in ["AGENTS.md", ".agent-memory/notes.md"] {
        repo.write(path, "mine\n");
        let back = ["propose", "--worktree", path, "-m", "x"];
        repo.agent("codex", &back).fails("human_approval_required", 4);
        assert_eq!(repo.text(path), "mine\n");
        repo.agent("codex", &["propose", "--keep", path]).ok();
    }
    repo.write("src/a.txt", "its own\n");
    repo.agent("codex", &["propose", "--worktree", "src/a.txt"]).ok();
    assert_eq!(repo.text("src/a.txt"), "two\n");
    // What was applied and is not committed is as good as what HEAD has.
    repo.write("src/a.txt", "applied\n");
    let id = repo.aye(&["propose", "--worktree", "src/a.txt", "-q"]).ok().id();
    apply(&repo, &id);
    repo.write("src/a.txt", "its own\n");
    repo.agent("codex", &["propose", "--worktree", "src/a.txt"]).ok();
    assert_eq!(repo.text("src/a.txt"), "applied\n");
    repo.write("src/a.txt", "mine\n");
    repo.aye(&back).ok();
    assert_eq!(repo.text("src/a.txt"), "one\n");
}

#[test]
fn a_stash_and_a_time_tell_a_persons_edits_from_an_agents() {
    let repo = Repo::with(FILES);
    repo.write("b.txt", "mine\n");
    let stash = repo.git(&["stash", "create"]);
    repo.program("touch").args(&["-d", "2001-01-01T00:00:00Z", "b.txt"]).run().ok();
    repo.write("src/a.txt", "one\nTWO\n");
    let adopted = repo.aye(&["propose", "--keep", "--since", stash.trim()]).ok();
    assert!(!diff(&repo, &adopted).contains("mine"));
    repo.write("src/a.txt", "one\n2\n");
    repo.program("touch").args(&["-d", "2031-01-01T00:00:00Z", "src/a.txt"]).run().ok();
    let adopted = repo.aye(&["propose", "--keep", "--since", "2030-01-01T00:00:00Z"]).ok();
    let text = diff(&repo, &adopted);
    assert!(text.contains("-two\n+2\n") && !text.contains("mine"), "{text}");
    repo.aye(&["propose", "--keep", "--since", "1999-01-01T00:00:00Z"])
        .fails("invalid_argument", 6);
    repo.aye(&["propose", "--keep", "--since", "no-such-branch"]).fails("invalid_argument", 6);
}

#[test]
fn an_agent_names_its_files_and_links_are_not_followed() {
    let repo = Repo::with(FILES);
    repo.write("b.txt", "wasp\n");
    repo.symlink("/etc/passwd", "way");
    repo.agent("robo", &["propose", "--keep"]).fails("pathspec_required", 2);
    let since = ["propose", "--keep", "b.txt", "--since", "HEAD"];
    let adopted = repo.agent("robo", &since).ok().notes("way ");
    let text = diff(&repo, &adopted);
    assert!(text.contains("+wasp\n") && !text.contains("root:"), "{text}");
}

#[test]
fn a_repository_without_a_commit_is_told_what_to_do() {
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    for since in ["HEAD", "2h"] {
        repo.aye(&["propose", "--keep", "--since", since])
            .fails("no_commit", 4)
            .notes("git commit --allow-empty -m first");
    }
}

#[test]
fn a_submodule_at_another_commit_is_named() {
    let library = Repo::with(&[("b.txt", "bee\n")]);
    let repo = Repo::with(FILES);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    repo.git(&[&add[..], &[&library.root().to_string_lossy(), "lib"]].concat());
    repo.commit("Add the library");
    repo.write("src/a.txt", "one\n2\n");
    repo.aye(&["propose", "--keep"]).ok().lacks("submodule");
    let git = ["-C", "lib", "-c", "user.name=L", "-c", "user.email=l@x"];
    repo.git(&[&git[..], &["commit", "-q", "--allow-empty", "-m", "On"]].concat());
    repo.write("src/a.txt", "one\nzwei\n");
    for since in [&[][..], &["--since", "HEAD"]] {
        let args = [&["propose", "--keep"], since].concat();
        repo.aye(&args).ok().notes("lib ");
    }
}
