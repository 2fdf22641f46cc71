//! Memory that its manifest has staged or committed once it is written: through the same commits as
//! code, with trailers, hooks and nothing beside.

use crate::support::clones::{clone, join, push};
use crate::support::memory::{MANIFEST, ask, request, set, staged};
use crate::support::{EMAIL, NAME, Repo, Run, memory};
use serde_json::{Value, json};

const LAST: [&str; 3] = ["check", "--range", "HEAD~1..HEAD"];

/// A memory that is staged, and with `commit` committed, once it is written.
fn store(commit: bool) -> Repo {
    let repo = memory::store(&[("src/db.rs", "// db\n")]);
    set(&repo, MANIFEST, "auto_stage_changes: false", "auto_stage_changes: true");
    set(&repo, MANIFEST, "auto_commit: false", &format!("auto_commit: {commit}"));
    repo.commit("on its own");
    repo
}

fn decision(repo: &Repo) -> String {
    staged(repo, &memory::decision("A"))
}

/// Is written at once.
fn pitfall(repo: &Repo, content: &str) -> Value {
    ask(repo, &memory::pitfall(content))
}

fn message(repo: &Repo) -> String {
    repo.git(&["log", "-1", "--format=%B"])
}

fn tip(repo: &Repo) -> String {
    repo.git(&["rev-parse", "HEAD"])
}

#[test]
fn a_commit_of_memory_has_the_trailers_of_its_decision() {
    let repo = store(true);
    let id = decision(&repo);
    let other = repo.cmd(&["approve", &id, "--yes"]).env("GIT_COMMITTER_NAME", "Bob");
    other.env("GIT_COMMITTER_EMAIL", "bob@example.com").run().ok();
    repo.aye(&["apply", &id, "--yes"]).ok();
    let message = message(&repo);
    let (subject, trailers) = message.split_once("\n\n").expect("a body");
    assert!(subject.starts_with("chore(memory): "), "{message}");
    let expected = format!(
        "Proposal-Id: {id}\nProposed-by: bot\nReviewed-by: {NAME} <{EMAIL}>\n\
         Reviewed-by: Bob <bob@example.com>"
    );
    assert_eq!(trailers.trim_end(), expected);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.aye(&LAST).ok();
    // It is on record.
    let shown = repo.item(&id);
    assert_eq!(shown["commits"], json!([tip(&repo)]));
}

#[test]
fn what_the_manifest_lets_pass_names_no_reviewer() {
    let repo = store(true);
    let response = pitfall(&repo, "- by rule");
    assert_eq!(response["status"], "applied", "{response:#}");
    assert!(response["warnings"].is_null(), "{response:#}");
    let message = message(&repo);
    let id = response["proposal_id"].as_str().expect("an id");
    assert!(message.contains(&format!("Proposal-Id: {id}\nProposed-by: ")), "{message}");
    assert!(!message.contains("Reviewed-by"), "{message}");
    repo.aye(&LAST).ok();
}

#[test]
fn hooks_run_and_may_refuse() {
    let repo = store(true);
    repo.script(".git/hooks/pre-commit", "exit 0");
    repo.script(".git/hooks/commit-msg", "echo 'Checked: yes' >> \"$1\"");
    pitfall(&repo, "- one");
    assert!(message(&repo).contains("Checked: yes"), "{}", message(&repo));
    repo.script(".git/hooks/pre-commit", "echo no >&2; exit 1");
    let before = tip(&repo);
    let response = pitfall(&repo, "- two");
    assert_eq!(response["status"], "applied");
    let warnings = response["warnings"].to_string();
    assert!(warnings.contains("git refused"), "{warnings}");
    assert_eq!(tip(&repo), before);
    assert!(repo.text(".agent-memory/pitfalls.md").contains("- two"));
}

#[test]
fn changes_of_others_in_the_files_are_not_committed_along() {
    let repo = store(true);
    let path = ".agent-memory/pitfalls.md";
    repo.write(path, repo.text(path) + "\n## Mine\n\nNot committed.\n");
    let before = tip(&repo);
    let response = pitfall(&repo, "- one");
    assert_eq!(response["status"], "applied", "{response:#}");
    let warnings = response["warnings"].to_string();
    assert!(warnings.contains("uncommitted"), "{warnings}");
    assert_eq!(tip(&repo), before);
    // Other files, staged or not, stay as they are.
    repo.git(&["checkout", "-q", "--", ".agent-memory"]);
    repo.write("src/db.rs", "// staged\n");
    repo.git(&["add", "src/db.rs"]);
    pitfall(&repo, "- two");
    assert_ne!(tip(&repo), before);
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "src/db.rs");
    repo.aye(&LAST).ok();
}

#[test]
fn what_git_ignores_is_not_added() {
    let repo = store(true);
    repo.git(&["rm", "-q", "--cached", ".agent-memory/pitfalls.md"]);
    repo.write(".gitignore", "pitfalls.md\n");
    repo.git(&["add", ".gitignore"]);
    repo.git(&["commit", "-q", "-m", "Leave it out"]);
    let before = tip(&repo);
    let warnings = pitfall(&repo, "- one")["warnings"].to_string();
    assert!(warnings.contains(".gitignore"), "{warnings}");
    assert_eq!(tip(&repo), before);
}

#[test]
fn it_may_be_staged_alone() {
    let repo = store(false);
    let before = tip(&repo);
    pitfall(&repo, "- one");
    assert_eq!(tip(&repo), before);
    let staged = repo.git(&["diff", "--cached", "--name-only"]);
    assert!(staged.contains(".agent-memory/pitfalls.md"), "{staged}");
    let run: Run = repo.try_git(&["diff", "--quiet"]);
    assert_eq!(run.status, 0, "{run}");
}

/// A colleague has applied and committed all of it, and the thread in which that stands is not here yet.
#[test]
fn what_came_with_git_is_not_written_again() {
    let (repo, server) = (memory::store(&[("a.txt", "a\n")]), Repo::bare());
    join(&repo, &server);
    repo.git(&["push", "-q", "origin", "main"]);
    let more = json!({"section_id": "conventions", "content": "- use tabs\n"});
    let convention = request("update_conventions", "append_to_section", "conventions.md", more);
    let core = json!({"content": "# Core\n\nThe core.\n"});
    let module = request("refresh_module", "create_file", "modules/core.md", core);
    let [convention, module] = [convention, module].map(|request| staged(&repo, &request));
    let decided = decision(&repo);
    push(&repo);
    let other = clone(&server);
    for id in [&convention, &module, &decided] {
        other.aye(&["apply", id, "--yes"]).ok();
    }
    other.commit("what was reviewed");
    other.git(&["push", "-q", "origin", "HEAD:main"]);
    repo.git(&["pull", "-q", "origin", "main"]);
    for id in [&convention, &module, &decided] {
        let applied = repo.aye(&["apply", id, "--yes", "--json"]).ok().json();
        assert_eq!(applied["proposals"][0]["files"][0]["outcome"], "already", "{applied:#}");
    }
    assert_eq!(repo.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    assert!(repo.aye(&["undo", &decided, "--yes"]).ok().out().contains(&decided));
}

/// What is not in the work tree is not missing where git has it.
#[test]
fn a_store_that_the_work_tree_lacks_is_not_begun_again() {
    let repo = store(false);
    repo.write("src/s", "s\n");
    repo.commit("memory");
    let refused = |hint: &str| {
        for args in
            [&["memory", "context"][..], &["memory", "init"], &["init"], &["memory", "lint"]]
        {
            repo.aye(args).fails("memory_not_initialized", 3).notes(hint);
        }
        assert!(!repo.exists(".agent-memory/pitfalls.md"));
    };
    for sparse in ["--no-sparse-index", "--sparse-index"] {
        repo.git(&["sparse-checkout", "set", sparse, "src"]);
        refused("`git sparse-checkout add .agent-memory`");
    }
    repo.git(&["sparse-checkout", "add", ".agent-memory"]);
    repo.aye(&["memory", "context"]).ok();
    repo.git(&["sparse-checkout", "disable"]);
    std::fs::remove_dir_all(repo.path(".agent-memory")).expect("remove");
    refused("`git restore .agent-memory`");
    repo.git(&["rm", "-rq", "--cached", ".agent-memory"]);
    refused("`git restore --source HEAD .agent-memory`");
    repo.git(&["restore", "--source", "HEAD", ".agent-memory"]);
    repo.remove(".agent-memory/pitfalls.md");
    repo.aye(&["memory", "init"]).fails("memory_not_initialized", 3).notes("pitfalls.md");
    // Where its removal is committed another one may begin.
    std::fs::remove_dir_all(repo.path(".agent-memory")).expect("remove");
    repo.git(&["commit", "-qm", "no memory"]);
    repo.aye(&["memory", "init"]).ok();
}
