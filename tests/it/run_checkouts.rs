//! `aye run` from checkouts that are not just files of a commit: what the agent did not do is not proposed,
//! and nothing keeps its work from being proposed.

use crate::support::sessions::proposed;
use crate::support::{Repo, Run};

fn run(repo: &Repo, name: &str, script: &str) -> Run {
    let args = ["run", "--keep", "--name", name, "--", "sh", "-c", script];
    repo.cmd(&args).env("AYE_AGENT", "robo").run()
}

#[test]
fn what_a_sparse_tree_never_had_is_not_deleted() {
    let repo = Repo::with(&[("in/a", "a\n"), ("out/b", "b\n")]);
    repo.git(&["sparse-checkout", "set", "in"]);
    // As `git add --sparse` leaves it: in the work tree, and outside of what is checked out.
    repo.write("out/new", "mine\n");
    repo.git(&["add", "--sparse", "out/new"]);
    repo.git(&["commit", "-q", "-m", "By hand"]);
    assert_eq!(repo.git(&["ls-files", "-t", "out"]), "S out/b\nH out/new");
    run(&repo, "s", "test ! -e out && echo more >>in/a").ok();
    assert!(!proposed(&repo).contains("out/"), "{}", proposed(&repo));
    // Nor is it once the checkout has everything.
    repo.git(&["sparse-checkout", "disable"]);
    run(&repo, "s", "echo and more >>in/a").ok();
    assert!(!proposed(&repo).contains("out/"), "{}", proposed(&repo));
    // What the agent has removed is.
    run(&repo, "s", "rm in/a").ok();
    assert!(proposed(&repo).contains("deleted file"), "{}", proposed(&repo));
}

#[test]
fn what_git_stash_cannot_hold_is_in_the_tree() {
    let repo = Repo::with(&[("a", "a\n"), ("d/f", "1\n"), ("e/f", "2\n")]);
    repo.write("new", "meant to be added\n");
    repo.git(&["add", "--intent-to-add", "new"]);
    repo.write("a", "changed\n");
    run(&repo, "s", "cat new a && echo more >>a").ok().says("meant to be added\nchanged\n");
    assert_eq!(proposed(&repo).matches("diff --git").count(), 1, "{}", proposed(&repo));
    assert_eq!(repo.git(&["status", "--short"]), " M a\n A new");

    repo.git(&["reset", "-q"]);
    repo.remove("d/f");
    std::fs::remove_dir(repo.path("d")).expect("empty");
    repo.symlink("e", "d");
    run(&repo, "t", "test ! -e d/f").ok();

    repo.git(&["checkout", "-q", "--force", "HEAD"]);
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("a", "other\n");
    repo.commit("Other");
    repo.git(&["checkout", "-q", "-"]);
    repo.write("a", "mine\n");
    repo.commit("Mine");
    repo.try_git(&["merge", "-q", "other"]).exits(1);
    run(&repo, "u", "true").fails("git_failed", 4);
}

#[test]
fn an_encoding_of_the_work_tree_is_no_change() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.u text working-tree-encoding=UTF-16LE-BOM eol=lf\n");
    let utf16: Vec<u8> = "\u{feff}a\nb\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    repo.write("x.u", &utf16);
    repo.write("a", "a\n");
    repo.commit("Encoded");
    run(&repo, "s", "echo more >>a").ok();
    assert_eq!(proposed(&repo).matches("diff --git").count(), 1, "{}", proposed(&repo));
    assert_eq!(std::fs::read(repo.path("x.u")).expect("read"), utf16);
    // What the agent has written there is its work, and is not lost without a word.
    run(&repo, "s", "cat a >>x.u; echo again >>a").notes("x.u");
    assert_eq!(proposed(&repo).matches("diff --git").count(), 1, "{}", proposed(&repo));
    assert!(proposed(&repo).contains("+again"));
    repo.write("a", "mine\n");
    repo.aye(&["propose", "--keep", "--json"]).ok().json();
}

#[test]
fn a_file_that_cannot_be_proposed_does_not_keep_the_others_from_it() {
    let repo =
        Repo::with(&[("a", "a\n"), ("secret.r", "abc\n"), (".gitattributes", "*.r filter=rot\n")]);
    repo.git(&["config", "filter.rot.clean", "tr a-z b-za"]);
    repo.git(&["config", "filter.rot.smudge", "tr b-za a-z"]);
    let made = run(
        &repo,
        "s",
        "echo more >>a; echo x >\"$(printf 'n\\nl')\"; echo x >secret.r
         mkdir -p .agent-memory/proposals; echo x >.agent-memory/proposals/x",
    );
    made.ok().notes("'n\\nl'").notes(".agent-memory/proposals").notes("secret.r");
    assert_eq!(proposed(&repo).matches("diff --git").count(), 1, "{}", proposed(&repo));
}
