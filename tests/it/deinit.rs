//! `aye init --remove`: everything of aye's goes, and nothing else.

use std::path::Path;

use crate::support::Repo;
use crate::support::clones::exchange;
use crate::support::record::{apply, propose};
use crate::support::terminal::Terminal;

/// A repository that has everything: pending and applied proposals, a plan, hooks, a comment.
fn used() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let pending = propose(&repo, "a.txt", "one", "eins");
    let applied = propose(&repo, "b.txt", "two", "zwei");
    apply(&repo, &applied);
    repo.plan(&["Look at it"]);
    repo.aye(&["hooks", "install"]).ok();
    (repo, pending)
}

fn refs(repo: &Repo) -> String {
    repo.git(&["for-each-ref", "refs/aye"])
}

fn is_gone(repo: &Repo) {
    assert_eq!(refs(repo), "");
    for path in [".git/aye", ".git/hooks/pre-commit", ".agent-memory/proposals/"] {
        assert!(!repo.exists(path), "{path}");
    }
    assert!(!repo.exists(".agent-memory/plan.yaml"));
    assert!(!repo.text(".git/info/exclude").contains("aye"), "its lines are gone");
}

#[test]
fn everything_goes_and_files_stay() {
    let (repo, pending) = used();
    let before = repo.git(&["status", "--porcelain"]);
    let had = refs(&repo);
    repo.aye(&["init", "--remove", "--dry-run"]).ok().shown("init_remove_dry_run");
    assert_eq!(refs(&repo), had);
    repo.aye(&["init", "--remove", "--yes"])
        .ok()
        .says(&format!("removed {} refs", had.lines().count()));
    is_gone(&repo);
    assert_eq!((repo.text("a.txt").as_str(), repo.text("b.txt").as_str()), ("one\n", "zwei\n"));
    assert_eq!(repo.git(&["status", "--porcelain"]), before);
    repo.git(&["fsck", "--strict"]);
    // There is nothing left, and a second time is a no-op.
    repo.aye(&["show", &pending]).fails("proposal_not_found", 3);
    repo.aye(&["init", "--remove", "--yes"]).ok();
    assert!(!repo.exists(".git/aye"), "it makes nothing either");
    // It begins again.
    propose(&repo, "a.txt", "one", "eins");
}

#[test]
fn packed_refs_and_fetched_threads_go_too() {
    let (repo, _) = used();
    let other = repo.copy();
    exchange(&repo, &other);
    repo.aye(&["list"]).ok();
    repo.git(&["pack-refs", "--all"]);
    repo.aye(&["init", "--remove", "--yes"]).ok();
    is_gone(&repo);
}

#[test]
fn only_people_remove_it_and_they_are_asked() {
    let (repo, _) = used();
    let had = refs(&repo);
    repo.agent("codex", &["init", "--remove", "--yes"]).fails("human_approval_required", 4);
    repo.aye(&["init", "--remove"]).fails("confirmation_required", 4);
    let mut t = Terminal::dumb(repo.cmd(&["init", "--remove"]));
    t.sees("[y,n,?]").listens().types("n");
    assert_eq!(t.ends(), 1);
    assert_eq!(refs(&repo), had);
    let mut t = Terminal::dumb(repo.cmd(&["init", "--remove"]));
    t.sees("[y,n,?]").listens().types("y").sees("removed");
    assert_eq!(t.ends(), 0);
    is_gone(&repo);
}

#[test]
fn a_hook_that_was_edited_stays() {
    let (repo, _) = used();
    let hook = repo.text(".git/hooks/pre-commit") + "echo mine\n";
    repo.write(".git/hooks/pre-commit", &hook);
    repo.aye(&["init", "--remove", "--yes"]).ok();
    assert_eq!(repo.text(".git/hooks/pre-commit"), hook);
    assert_eq!((refs(&repo).as_str(), repo.exists(".git/hooks/pre-push")), ("", false));
}

/// A planted link leads nowhere.
#[test]
fn a_link_in_place_of_its_directory_is_not_followed() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let victim = repo.outer().join("victim");
    std::fs::create_dir(&victim).expect("a directory");
    std::fs::write(victim.join("open"), "x").expect("a file");
    std::os::unix::fs::symlink(&victim, repo.path(".git/aye")).expect("a link");
    repo.aye(&["init", "--remove", "--yes"]).fails("private_dir_unsafe", 4);
    assert!(Path::new(&victim).join("open").exists());
}

#[test]
fn sessions_end_and_settings_of_agents_are_as_before() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.write(".claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    repo.aye(&["agents", "install", "claude-code"]).ok();
    repo.aye(&["run", "--keep", "--name", "work", "--", "sh", "-c", "echo b >>f"]).ok();
    let tree = crate::support::sessions::tree(&repo, "work");
    std::fs::write(tree.join("late"), "late\n").expect("write");
    repo.aye(&["init", "--remove", "--yes"]).fails("session_unsubmitted", 4);
    repo.aye::<&str>(&[]).ok();
    repo.aye(&["session", "submit", "work"]).ok();
    repo.aye(&["init", "--remove", "--dry-run"]).ok().says(".claude/settings.json");
    repo.aye(&["init", "--remove", "--yes"]).ok();
    assert!(!tree.exists());
    assert_eq!(repo.text(".claude/settings.json"), "{\n  \"model\": \"x\"\n}\n");
    assert_eq!(repo.git(&["for-each-ref", "refs/aye"]), "");
}

#[test]
fn what_it_has_set_in_the_configuration_goes_and_the_rest_stays() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.git(&["config", "log.excludeDecoration", "refs/notes/*"]);
    let before = repo.text(".git/config");
    repo.aye(&["init", "--git-log"]).ok();
    // Only an own value of the same key keeps its place.
    repo.git(&["config", "--add", "log.excludeDecoration", "refs/aye/"]);
    let dry = repo.aye(&["init", "--remove", "--dry-run"]).ok();
    dry.says("log.excludeDecoration").says("alias.la").says("aye.gate");
    assert!(repo.text(".git/config").contains("alias"));
    repo.aye(&["init", "--remove", "--yes"]).ok();
    assert_eq!(repo.text(".git/config"), before);
    repo.git(&["config", "alias.la", "log --all"]);
    repo.aye(&["init", "--remove", "--yes"]).ok().lacks("configuration");
    assert_eq!(repo.git(&["config", "alias.la"]).trim(), "log --all");
}

/// What `init --agents` has put in goes, and nothing that somebody else has written.
#[test]
fn the_block_for_agents_goes_out_of_the_files_of_instructions() {
    let repo = Repo::with(&[("f", "a\n"), ("CLAUDE.md", "# Mine\n")]);
    repo.aye(&["init", "--agents"]).ok();
    assert!(repo.text("AGENTS.md").contains("aye") && repo.text("CLAUDE.md").contains("aye"));
    repo.aye(&["init", "--remove", "--dry-run"]).ok().says("AGENTS.md").says("CLAUDE.md");
    assert!(repo.text("CLAUDE.md").contains("aye"));
    repo.aye(&["init", "--remove", "--yes"]).ok();
    assert!(!repo.exists("AGENTS.md"), "it held nothing else");
    assert_eq!(repo.text("CLAUDE.md"), "# Mine\n");
    repo.aye(&["init", "--remove", "--yes"]).ok().lacks("block");

    // Git tracks it: it is not removed. Somebody has edited it: it stays as it is.
    repo.aye(&["init", "--agents"]).ok();
    repo.git(&["add", "AGENTS.md"]);
    let edited = repo.text("CLAUDE.md").replace("## Project memory", "## Our memory");
    repo.write("CLAUDE.md", &edited);
    let whole = repo.text("AGENTS.md");
    repo.aye(&["init", "--remove", "--dry-run"]).ok().says("AGENTS.md").says("CLAUDE.md");
    repo.aye(&["init", "--remove", "--yes"]).ok();
    assert_eq!((repo.text("AGENTS.md"), repo.text("CLAUDE.md")), (whole, edited));
}

#[test]
fn settings_that_git_tracks_stay_without_the_hooks() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.aye(&["agents", "install", "claude-code"]).ok();
    repo.aye(&["agents", "install", "opencode", "--project"]).ok();
    let whole = ".opencode/plugin/aye.js";
    let text = repo.read(whole);
    repo.git(&["add", "--all", "--force"]);
    repo.commit("hooks for everybody");
    repo.aye(&["init", "--remove", "--dry-run"]).ok().says(whole);
    repo.aye(&["init", "--remove", "--yes"]).ok();
    assert_eq!(repo.read(whole), text);
    assert!(!repo.text(".claude/settings.json").contains("aye"));
    assert_eq!(repo.git(&["status", "--porcelain"]).trim(), "M .claude/settings.json");
}
