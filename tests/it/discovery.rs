//! Which repository is opened, and which directory is the top of its work tree: the ones git takes.

use crate::support::Repo;

const PATCH: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";

/// gix goes on to the repository around, which would have got the patch.
#[test]
fn a_linked_work_tree_that_was_removed_is_not_the_repository_around_it() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.git(&["worktree", "add", "-q", "--detach", "trees/linked"]);
    std::fs::remove_dir_all(repo.path(".git/worktrees")).unwrap();
    repo.write("trees/linked/sub/x", "x\n");
    for directory in ["trees/linked", "trees/linked/sub"] {
        let patch = repo.cmd(&["patch", "--format", "text"]).dir(repo.path(directory)).stdin(PATCH);
        patch.run().exits(3).notes("trees/linked/.git'");
        let list = repo.cmd(&["list"]).dir(repo.path(directory)).run();
        list.fails("not_a_repository", 3).notes("git worktree repair");
    }
    assert_eq!(repo.text("f"), "a\n");
    // An empty directory of that name is no repository for git either.
    std::fs::create_dir_all(repo.path("empty/.git")).unwrap();
    repo.cmd(&["list"]).dir(repo.path("empty")).run().ok();
}

/// Whoever can write one line of `.git/config` would choose which directory is written to.
#[test]
fn a_work_tree_that_the_repository_puts_elsewhere_is_refused() {
    let repo = Repo::with(&[("f", "a\n"), ("sub/g", "a\n")]);
    let id = repo.aye(&["propose", "f", "--old", "a", "--new", "b", "-q"]).ok().id();
    let victim = repo.outer().join("victim");
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(victim.join("f"), "a\n").unwrap();
    for elsewhere in [victim.as_path(), repo.outer(), std::path::Path::new("../sub")] {
        repo.git(&["config", "core.worktree", &elsewhere.display().to_string()]);
        for directory in ["", "sub"] {
            let here = |args: &[&str]| repo.cmd(args).dir(repo.path(directory));
            let refused = here(&["apply", &id, "--yes"]).run().fails("unsupported_repository", 6);
            refused.notes("core.worktree");
            here(&["patch", "--format", "text"]).stdin(PATCH).run().exits(6);
        }
    }
    assert_eq!(std::fs::read_to_string(victim.join("f")).unwrap(), "a\n");
    // What the caller says, and where it is anyway, counts.
    let list = repo.cmd(&["list"]).env("GIT_DIR", repo.path(".git"));
    list.env("GIT_WORK_TREE", repo.root()).run().ok().says(&id);
    for here in ["..", &repo.root().display().to_string()] {
        repo.git(&["config", "core.worktree", here]);
        repo.aye(&["list"]).ok().says(&id);
        repo.cmd(&["list"]).dir(repo.path("sub")).run().ok().says(&id);
    }
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("f"), "b\n");
    // As in a submodule, and in a linked work tree of one.
    let whole = Repo::with(&[("x", "x\n")]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    repo.git(&["config", "--unset", "core.worktree"]);
    let from = repo.root().display().to_string();
    whole.git(&[&add[..], &[&from, "lib"]].concat());
    whole.git(&["-C", "lib", "worktree", "add", "-q", "../../linked"]);
    for directory in [whole.path("lib"), whole.outer().join("linked")] {
        let propose = ["propose", "f", "--old", "a", "--new", "b", "-q"];
        whole.cmd(&propose).dir(&directory).run().ok();
        whole.cmd(&["apply", "--latest", "--yes"]).dir(&directory).run().ok();
        assert_eq!(std::fs::read_to_string(directory.join("f")).unwrap(), "b\n");
    }
}

/// Git starts the hooks of a push inside the repository, and calls it `.`.
#[test]
fn inside_the_repository_itself() {
    let repo = Repo::with(&[("f", "a\n")]);
    let id = repo.aye(&["propose", "f", "--old", "a", "--new", "b", "-q"]).ok().id();
    for (directory, git_dir) in
        [(".git", "."), (".git", ""), (".git/refs", ".."), (".git/refs", "")]
    {
        let list = repo.cmd(&["list"]).dir(repo.path(directory));
        let list = if git_dir.is_empty() { list } else { list.env("GIT_DIR", git_dir) };
        list.run().ok().says(&id);
    }
    let apply = repo.cmd(&["apply", &id, "--yes", "--index"]).dir(repo.path(".git"));
    apply.env("GIT_DIR", ".").run().ok();
    assert_eq!(repo.git(&["status", "--short"]), "M  f");
}

#[test]
fn what_the_environment_names_is_relative_to_the_directory_of_c() {
    let (here, there) = (Repo::with(&[("f", "a\n")]), Repo::with(&[("f", "a\n")]));
    let directory = there.root().display().to_string();
    let patch =
        here.cmd(&["-C", &directory, "patch", "--index"]).env("GIT_DIR", ".git").stdin(PATCH);
    patch.run().ok();
    assert_eq!(there.git(&["status", "--short"]), "M  f");
    assert_eq!(here.git(&["status", "--short"]), "");
}

/// As git has it, but for directories that are known to be only a part of the files.
#[test]
fn where_only_the_repository_is_named_the_files_are_in_the_current_directory() {
    let repo = Repo::with(&[("f", "a\n"), ("sub/g", "a\n")]);
    let git_dir = repo.outer().join("store.git");
    std::fs::rename(repo.path(".git"), &git_dir).unwrap();
    let run = |args: &[&str]| repo.cmd(args).env("GIT_DIR", &git_dir);
    run(&["patch", "--index"]).stdin(PATCH).run().ok();
    assert_eq!(repo.text("f"), "b\n");
    let git = ["status", "--short"];
    let status = || repo.program("git").args(&git).env("GIT_DIR", &git_dir).run().ok().out();
    assert_eq!(status(), "M  f\n");
    std::fs::rename(&git_dir, repo.path(".git")).unwrap();
    let below = repo.cmd(&["propose", "g", "--old", "a", "--new", "b"]).dir(repo.path("sub"));
    below.env("GIT_DIR", "../.git").run().ok().says("sub/g");
}

#[test]
fn the_reason_why_there_is_no_repository_is_told() {
    let repo = Repo::with(&[("f", "a\n")]);
    repo.cmd(&["list"]).env("GIT_DIR", "/nowhere").run().fails("not_a_repository", 3);
    repo.write(".git/config", "[core\n");
    repo.aye(&["list"]).fails("invalid_config", 2);
}
