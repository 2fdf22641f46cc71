//! `aye apply --commit` while somebody else uses git in the same repository.

use crate::support::Repo;

fn repo() -> Repo {
    Repo::with(&[("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("b.txt", "b\n")])
}

fn propose(repo: &Repo) -> String {
    let change = ["propose", "a.txt", "--old", "2\n", "--new", "TWO\n", "-m", "Two", "--json"];
    repo.aye(&change).ok().id()
}

/// Applies and commits `id` with a `git` that first does what `beside` says, where its arguments have a word
/// of `words`.
fn apply_beside(repo: &Repo, id: &str, words: &str, beside: &str) -> crate::support::Run {
    let path = std::env::var("PATH").expect("a PATH");
    let real = std::env::split_paths(&path).map(|directory| directory.join("git"));
    let real = real.into_iter().find(|git| git.is_file()).expect("git");
    let shim = format!(
        "#!/bin/sh\nreal='{}'\ncase \" $* \" in {words}) {beside} ;; esac\nexec \"$real\" \"$@\"\n",
        real.display()
    );
    repo.write(".git/shim/git", &shim);
    repo.chmod(".git/shim/git", 0o755);
    let path = format!("{}:{path}", repo.path(".git/shim").display());
    repo.cmd(&["apply", id, "--yes", "--commit"]).env("PATH", path).run()
}

/// An editor that asks git what has changed, or another `git add`, holds the index for a moment.
#[test]
fn an_index_that_is_held_for_a_moment_is_waited_for() {
    let repo = repo();
    let id = propose(&repo);
    let hold = "[ -e .git/held ] || { : > .git/held; : > .git/index.lock; \
                (sleep 0.3; rm -f .git/index.lock) >/dev/null 2>&1 </dev/null & }";
    apply_beside(&repo, &id, "*\" commit \"*", hold).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Two");
}

/// What could not be committed is not left staged, where the next commit of anything would take it.
#[test]
fn what_could_not_be_committed_is_not_left_staged() {
    let repo = repo();
    let id = propose(&repo);
    let hold = "case \" $* \" in *\" commit \"*) : > .git/index.lock ;; \
                *) [ -e .git/freed ] || { : > .git/freed; \
                (sleep 0.3; rm -f .git/index.lock) >/dev/null 2>&1 </dev/null & } ;; esac";
    apply_beside(&repo, &id, "*\" commit \"*|*\" reset \"*", hold).fails("index_locked", 7);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["diff", "--cached"]), "");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Two");
}

/// Whoever runs `git commit -a` in between has committed it: that is not taken back from under HEAD.
#[test]
fn what_somebody_has_committed_meanwhile_stays() {
    let repo = repo();
    let id = propose(&repo);
    repo.write("b.txt", "mine\n");
    let commit = "env -u GIT_INDEX_FILE \"$real\" commit -qam Mine";
    apply_beside(&repo, &id, "*\" commit \"*", commit).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Mine");
    assert!(repo.text("a.txt").contains("TWO"));
    assert_eq!(repo.item(&id)["status"], "applied");
}

/// A line that a person saves before git reads the file is committed along: nobody approved it, and no hook
/// is to blame.
#[test]
fn what_is_saved_before_git_reads_it_is_told() {
    let repo = repo();
    let id = propose(&repo);
    let save = "sed 's/^8$/EIGHT/' a.txt > .git/saved; cat .git/saved > a.txt";
    let run = apply_beside(&repo, &id, "*\" commit \"*", save).exits(5);
    run.notes("error[commit_differs]");
    assert!(repo.git(&["show", "HEAD:a.txt"]).contains("EIGHT"));
    let pending = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(pending["count"], 1, "{pending:#}");
}

/// At the end of either HEAD is on its branch again.
#[test]
fn a_commit_on_no_branch_is_named_in_a_bisect_and_a_rebase() {
    let begin: [&[&str]; 2] = [
        &["bisect", "start", "HEAD", "HEAD~2"],
        &["-c", "sequence.editor=sed -i.bak s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1"],
    ];
    for (begin, leaves) in begin.into_iter().zip(["`git bisect reset`", "a rebase that is aborted"])
    {
        let repo = repo();
        for text in ["c\n", "d\n"] {
            repo.write("b.txt", text);
            repo.commit("More");
        }
        let id = propose(&repo);
        repo.git(begin);
        let run = repo.aye(&["apply", &id, "--yes", "--commit", "--json"]).ok();
        let made = repo.git(&["rev-parse", "HEAD"]);
        let said = format!("warning: commit {} is on no branch, and {leaves}", &made[..12]);
        run.notes(&said).notes(&format!("git branch NAME {}", &made[..12]));
    }
    // As ever where nothing brings HEAD back.
    let repo = repo();
    let id = propose(&repo);
    repo.git(&["checkout", "-q", "--detach"]);
    let run = repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert!(!run.err().contains("branch"), "{run}");
}
