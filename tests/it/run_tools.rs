//! Patches and tools that an agent uses in the tree of its session.

use crate::support::sessions::{no_session_is_left, nothing_pending, only};
use crate::support::{Repo, Run, tested};

fn run(repo: &Repo, text: &str) -> Run {
    let args = ["run", "--name", "x", "--", "sh", "-c", text];
    repo.cmd(&args).env("AYE_AGENT", "robo").env("AYE", tested()).run()
}

fn repo() -> Repo {
    Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("AGENTS.md", "rules\n")])
}

const PATCH: &str =
    r#"'{"patch":"*** Begin Patch\n*** Update File: FILE\n@@\n-OLD\n+new\n*** End Patch\n"}'"#;

fn patch(file: &str, old: &str) -> String {
    PATCH.replace("FILE", file).replace("OLD", old)
}

/// What was left is one proposal, and nothing keeps the tree.
#[track_caller]
fn is_proposed(repo: &Repo, ended: Run, files: &str) {
    ended.ok();
    no_session_is_left(repo);
    let changed = repo.aye(&["diff", &only(repo), "--no-pager", "--name-only"]).ok().out();
    assert_eq!(changed, files);
}

#[test]
fn a_patch_in_the_tree_of_a_session_only_writes_the_files() {
    let call = format!("$AYE call apply_patch {}", patch("a.txt", "two"));
    let command = "printf '*** Begin Patch\\n*** Update File: a.txt\\n@@\\n-two\\n+new\\n*** End Patch\\n' | $AYE patch -";
    for text in [call.as_str(), command] {
        let repo = repo();
        let text = format!("{text}; test -z \"$(git for-each-ref refs/aye)\" || exit 9");
        is_proposed(&repo, run(&repo, &text), "a.txt\n");
        assert_eq!(repo.text("a.txt"), "one\ntwo\nthree\n");
    }
}

/// Gates are for the checkout: what is written in the tree is proposed anyway.
#[test]
fn a_patch_of_what_instructs_agents_is_written_in_the_tree() {
    let repo = repo();
    let text = format!("$AYE call apply_patch {}", patch("AGENTS.md", "rules"));
    is_proposed(&repo, run(&repo, &text), "AGENTS.md\n");
}

/// What waits is the repository's, whatever the git directory of the tree says.
#[test]
fn what_waits_is_the_same_in_the_tree_after_a_check() {
    let repo = Repo::with(&[("d/a.txt", "one\n"), ("b.txt", "b\n")]);
    let id = repo.aye(&["propose", "d/a.txt", "--old", "one", "--new", "two", "-q"]).ok().id();
    let look = "$AYE list; $AYE list --count";
    let check = "$AYE check; echo check $?; $AYE check --staged; echo staged $?";
    let forge = "mkdir .git/aye; printf 'aye idle 3\\nlooked 1\\npacked none' >.git/aye/idle";
    let paths =
        "cd d; $AYE check --paths a.txt; echo paths $?; $AYE check --paths ../b.txt; echo none $?";
    let text = format!(
        "{look}; {check}; {look}; test ! -e .git/aye || exit 9; {forge}; {look}; $AYE check; {paths}"
    );
    let ended = run(&repo, &text).ok();
    let said = ["check 0\n", "staged 0\n", "paths 0\n", "none 0\n"];
    for said in said {
        assert!(ended.out().contains(said), "{ended}");
    }
    assert_eq!(ended.out().matches("1 pending").count(), 3, "{ended}");
    // Three lists and three checks.
    let lines = ended.out().lines().filter(|line| line.contains(&id[..9])).count();
    assert!(lines >= 6, "{ended}");
    // Where nothing waits, the tree's git directory is left alone as well.
    repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    let quiet = "$AYE check && $AYE list && $AYE check --staged && test ! -e .git/aye || exit 9";
    run(&repo, quiet).ok();
}

#[test]
fn a_patch_to_be_proposed_is_refused_in_the_tree() {
    let repo = repo();
    let call = patch("a.txt", "two").replace("\"}", "\",\"propose\":true}");
    run(&repo, &format!("$AYE call apply_patch {call}")).exits(4).says("in_session");
    run(&repo, "git diff | $AYE patch --propose -").exits(4).says("in_session");
    nothing_pending(&repo);
}

/// Records that an aye to which the tree is a repository like any other has made there.
#[test]
fn a_thread_in_the_tree_is_nothing_to_merge() {
    let repo = repo();
    let call = patch("a.txt", "two");
    let text = format!("git config --unset aye.session; $AYE call apply_patch {call}");
    run(&repo, &text).ok().notes("git update-ref -d refs/aye/p/");
}

#[test]
fn memory_is_not_proposed_from_the_tree_of_a_session() {
    let repo = repo();
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    let request = r#"'{"intent":"add_pitfall","rationale":"p","operations":[{"operation":"append_to_section","path":"pitfalls.md","section_id":"pitfalls","content":"- from session"}],"sources":[{"type":"user"}]}'"#;
    for tool in ["memory.propose_update", "memory_propose_update"] {
        run(&repo, &format!("$AYE call {tool} {request}")).exits(4).says("in_session");
    }
    for command in ["propose", "stage"] {
        let text = format!("echo {request} | $AYE memory {command} --from-json -");
        run(&repo, &text).exits(4).notes("in_session");
    }
    assert_eq!(repo.git(&["status", "--short"]), "");
    nothing_pending(&repo);
    let append = "printf '\\n## Pools\\n\\nNever drop.\\n' >>.agent-memory/pitfalls.md";
    is_proposed(&repo, run(&repo, append), ".agent-memory/pitfalls.md\n");
}
