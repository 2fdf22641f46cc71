//! `aye run` with work that the agent left in the git directory of its tree and not in its files: the tree stays.

use std::path::PathBuf;

use crate::support::record::apply;
use crate::support::terminal::Terminal;
use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "bee\n")];

fn run(repo: &Repo, text: &str) -> Run {
    let args = ["run", "--name", "x", "--", "sh", "-ec", text];
    repo.cmd(&args).env("AYE_AGENT", "robo").run()
}

fn tree(repo: &Repo) -> PathBuf {
    repo.aye(&["session", "path", "x"]).ok().out().trim_end().into()
}

/// The tree is there, its end is refused because of `path`, and names it until it is removed with what it holds.
#[track_caller]
fn stays(repo: &Repo, ended: Run, path: &str, what: &str) {
    let line = format!("aye: not proposed: {path} {what}");
    let ended = ended.ok().notes("the tree is kept, because not all of it is proposed");
    assert!(ended.err().contains(&line), "{ended}");
    let refused = repo.aye(&["session", "end", "x"]).fails("session_unsubmitted", 4);
    assert!(refused.err().contains(&format!("{path}, which {what}")), "{refused}");
    repo.aye(&["deinit", "--yes"]).fails("session_unsubmitted", 4);
    assert!(tree(repo).exists());
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    none_is_left(repo);
}

#[track_caller]
fn none_is_left(repo: &Repo) {
    repo.aye(&["session"]).ok().notes("no sessions");
}

#[test]
fn a_commit_of_another_branch_keeps_the_tree() {
    let fix = "sed -i s/two/zwei/ a.txt; git commit -qam fix; git switch -q -";
    for (text, path, what) in [
        (format!("git switch -qc fix; {fix}"), "refs/heads/fix", "is a branch with commits"),
        (
            format!("git switch -qc feature/fix; {fix}; git pack-refs --all"),
            "refs/heads/feature/fix",
            "is a branch",
        ),
        (
            format!("git switch -q --detach; {fix}; git tag v1 HEAD@{{1}}"),
            "refs/tags/v1",
            "is a tag",
        ),
        (
            format!("git switch -q --detach; {fix}; git tag -am v1 v1 HEAD@{{1}}"),
            "refs/tags/v1",
            "is a tag",
        ),
        (
            format!("git switch -q --detach; {fix}; git update-ref refs/x/y HEAD@{{1}}"),
            "refs/x/y",
            "is a ref",
        ),
        // All in a pack, where nothing of it is read.
        (format!("git switch -qc fix; {fix}; git gc -q"), "refs/heads/fix", "is a branch"),
    ] {
        let repo = Repo::with(FILES);
        stays(&repo, run(&repo, &text), &format!(".git/{path}"), what);
    }
}

#[test]
fn a_commit_of_a_linked_work_tree_keeps_the_tree() {
    let repo = Repo::with(FILES);
    let linked = repo.outer().join("linked");
    let text = |options: &str| {
        format!(
            "git worktree add -q {options} {at}; cd {at}; echo x >>b.txt; git commit -qam x",
            at = linked.display()
        )
    };
    let ended = run(&repo, &text("-b fix"));
    stays(&repo, ended, ".git/refs/heads/fix", "is a branch");
    std::fs::remove_dir_all(&linked).expect("remove");
    let ended = run(&repo, &text("--detach"));
    stays(&repo, ended, ".git/worktrees/linked/HEAD", "is the HEAD of another work tree");
}

#[test]
fn an_operation_that_is_not_finished_keeps_the_tree() {
    let both = "git switch -qc a; sed -i s/two/zwei/ a.txt; git commit -qam a1; echo p >p.txt; git add p.txt
                git commit -qm a2; git switch -q -; sed -i s/two/deux/ a.txt; git commit -qam b";
    for (text, path, what) in [
        ("git switch -q a; ! git rebase -q - 2>&1", "rebase-merge", "is a rebase that"),
        ("git switch -q a; ! git rebase -q --apply - 2>&1", "rebase-apply", "is a rebase that"),
        (
            "git format-patch -q --stdout -2 a >../p; ! git am -q ../p 2>&1",
            "rebase-apply/applying",
            "is a git am",
        ),
        ("! git cherry-pick a~1 a 2>&1", "CHERRY_PICK_HEAD", "is a cherry-pick"),
        (
            "! git cherry-pick a~1 a 2>&1; git checkout -q a -- a.txt; git commit -qm p",
            "sequencer/todo",
            "is a cherry-pick",
        ),
        (
            "sed -i s/deux/dos/ a.txt; git commit -qam c; ! git revert HEAD~1 2>&1",
            "REVERT_HEAD",
            "is a revert",
        ),
        ("! git merge -q a 2>&1", "MERGE_HEAD", "is a merge"),
        (
            "git bisect start -q HEAD HEAD~1 2>&1",
            "BISECT_LOG",
            "is a bisect that is not finished: git bisect reset",
        ),
    ] {
        let repo = Repo::with(FILES);
        let ended = run(&repo, &format!("{{ {both}; }} >/dev/null\n{{ {text}; }} >/dev/null"));
        stays(&repo, ended, &format!(".git/{path}"), what);
    }
    let repo = Repo::with(FILES);
    let ended = run(&repo, "echo x >>b.txt; git stash -q");
    stays(&repo, ended, ".git/refs/stash", "is a stash: git stash pop");
    let ended = run(&repo, "git notes add -m n");
    stays(&repo, ended, ".git/refs/notes/commits", "has notes, which no proposal holds");
}

#[test]
fn a_commit_that_is_proposed_keeps_no_tree() {
    let fix = "git switch -qc fix; sed -i s/two/zwei/ a.txt; git commit -qam fix";
    for (text, notes) in [
        // HEAD leads to it, or has the same files.
        ("git branch old", "nothing changed"),
        (fix, "1 file +1 −1"),
        (
            &format!("{fix}; git branch same; echo x >>b.txt; git commit -qam x; git tag -am v v"),
            "2 files",
        ),
        (&format!("{fix}; git switch -q -; git merge -q fix"), "1 file +1 −1"),
        (
            &format!("{fix}; git switch -q -; git merge -q --squash fix; git commit -qm s"),
            "1 file +1 −1",
        ),
        (&format!("{fix}; git switch -q -; git checkout -q fix -- ."), "1 file +1 −1"),
        (
            &format!("{fix}; git commit -q --amend -m again; git branch b ORIG_HEAD || :"),
            "1 file +1 −1",
        ),
        // Or the repository, and a remote.
        ("git branch x v0; git update-ref refs/remotes/o/x v0", "nothing changed"),
    ] {
        let repo = Repo::with(FILES);
        repo.write("c.txt", "c\n");
        repo.commit("On another branch");
        repo.git(&["tag", "v0"]);
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
        repo.write("b.txt", "bee\nmine\n");
        let ended = run(&repo, text).ok().notes(notes);
        assert!(!ended.err().contains("not proposed"), "{text}: {ended}");
        none_is_left(&repo);
    }
}

/// What the message says to do is enough.
#[test]
fn a_branch_is_proposed_once_it_is_merged() {
    let repo = Repo::with(FILES);
    run(
        &repo,
        "git switch -qc fix; sed -i s/two/zwei/ a.txt; git commit -qam fix; git switch -q -",
    )
    .ok();
    repo.aye(&["list"]).ok().lacks("prop_");
    repo.program("git").args(&["merge", "-q", "fix"]).dir(tree(&repo)).run().ok();
    repo.aye(&["session", "submit", "x"]).ok().notes("1 file +1 −1");
    repo.aye(&["session", "end", "x"]).ok();
    none_is_left(&repo);
}

#[test]
fn a_branch_that_git_has_packed_is_dropped_as_the_message_says() {
    let repo = Repo::with(FILES);
    let text =
        "git switch -qc fix; echo p >p.txt; git add p.txt; git commit -qm fix; git switch -q -
                git merge -q --no-ff --no-edit fix; git gc -q";
    let ended = run(&repo, text).ok();
    assert!(ended.err().contains("or git branch -d fix where HEAD has it"), "{ended}");
    repo.program("git").args(&["branch", "-q", "-d", "fix"]).dir(tree(&repo)).run().ok();
    repo.aye(&["session", "submit", "x"]).ok().lacks("not proposed");
    repo.aye(&["session", "end", "x"]).ok();
    none_is_left(&repo);
}

#[test]
fn a_commit_of_another_branch_of_a_submodule_keeps_the_tree() {
    let library = Repo::with(FILES);
    let repo = Repo::with(FILES);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    repo.git(&[&add[..], &[library.root().to_str().expect("UTF-8"), "lib"]].concat());
    repo.commit("Add the library");
    run(&repo, "cd lib; git branch same").ok().notes("nothing changed");
    none_is_left(&repo);
    let text = "cd lib; git switch -qc fix; echo x >>b.txt
                git -c user.name=L -c user.email=l@x commit -qam x; git switch -q -";
    let ended = run(&repo, text).ok().notes("the tree is kept");
    assert!(ended.err().contains("lib/.git/refs/heads/fix lies in a submodule"), "{ended}");
    repo.aye(&["session", "end", "x"]).fails("session_unsubmitted", 4).notes("lib/.git/");
}

/// It can keep its own tree, and nothing else.
#[test]
fn a_hostile_git_directory_is_read_to_its_end() {
    let repo = Repo::with(FILES);
    let secret = repo.outer().join("secret");
    let text = format!(
        "mkfifo .git/refs/heads/pipe .git/MERGE_MODE; ln -s .. .git/refs/heads/loop; ln -s {secret} .git/refs/tags/t
         printf 'ref: refs/heads/y\\n' >.git/refs/heads/x; printf 'ref: refs/heads/x\\n' >.git/refs/heads/y
         head -c 100000 /dev/zero >.git/refs/heads/big; echo 1111111111111111111111111111111111111111 >.git/refs/heads/gone
         id=2222222222222222222222222222222222222222; echo $id >.git/refs/heads/odd
         mkdir -p .git/objects/22; mkfifo .git/objects/22/22222222222222222222222222222222222222
         echo good >good.txt",
        secret = secret.display(),
    );
    let ended = run(&repo, &text).ok().notes("not proposed: .git/refs/heads/odd is a branch");
    for name in ["pipe", "loop", "big", "gone", "tags/t"] {
        assert!(!ended.err().contains(name), "{ended}");
    }
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    for text in [
        "rm -rf .git",
        "mv .git ../moved; ln -s ../moved .git; rm -rf ../moved",
        "rm -rf .git; mkfifo .git",
    ] {
        run(&repo, text).ok().notes("nothing changed");
        none_is_left(&repo);
    }
}

/// A new file that was applied is the person's as any other one, before it is committed, too.
#[test]
fn what_was_applied_and_not_committed_is_in_the_tree() {
    let repo = Repo::with(FILES);
    let session = |name: &str, script: &str| {
        let args = ["run", "--keep", "--name", name, "--", "sh", "-c", script];
        repo.cmd(&args).env("AYE_AGENT", "robo").run()
    };
    let pending = || {
        let list = repo.aye(&["list", "--json"]).ok().json();
        list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned()
    };
    session("x", "seq 30 >new.txt; git mv b.txt moved.txt").ok();
    repo.write("notes.txt", "mine\n");
    apply(&repo, &pending());
    let tree = std::path::PathBuf::from(repo.aye(&["session", "path", "x"]).ok().out().trim_end());
    let read = |path: &str| std::fs::read_to_string(tree.join(path)).ok();
    // The agent goes on, and so does the person.
    let edited = read("new.txt").expect("the file").replace("20\n", "TWENTY\n");
    std::fs::write(tree.join("new.txt"), &edited).expect("write");
    repo.aye(&["session", "submit", "x"]).ok();
    let text = repo.text("new.txt").replace("\n3\n", "\nTHREE\n");
    repo.write("new.txt", &text);
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!(read("new.txt"), Some(edited.replace("\n3\n", "\nTHREE\n")));
    assert!(read("moved.txt").is_some() && read("b.txt").is_none() && read("notes.txt").is_none());
    repo.aye(&["list"]).ok().says("+1 −1").lacks("conflict");
    // Another session begins with it.
    session(
        "y",
        "test -f moved.txt && ! test -e b.txt && grep -q THREE new.txt && sed -i s/30/X/ new.txt",
    )
    .ok();
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["count"], 2, "{list:#}");
    let apply_all: Vec<&str> = list["proposals"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| item["proposal_id"].as_str().expect("an id"))
        .collect();
    apply_all.iter().for_each(|id| apply(&repo, id));
    assert_eq!(repo.text("new.txt"), edited.replace("\n3\n", "\nTHREE\n").replace("30\n", "X\n"));
    // Of HEAD it is not.
    session("z", "true").ok();
    repo.aye(&["session", "sync", "x", "--onto", "head"]).ok();
    assert!(read("new.txt").is_none() && read("b.txt").is_some());
}

/// What is left out of a proposal is made on the files as they are; the lines of a person in them stay theirs.
#[test]
fn a_persons_lines_beside_what_was_left_out_are_not_the_agents() {
    let lines = |name: &str| (1..=20).map(|n| format!("{name} line {n}\n")).collect::<String>();
    let repo = Repo::with(&[("a.txt", &lines("a")), ("b.txt", &lines("b"))]);
    let script = "sed -i 's/^a line 5$/FIVE/' a.txt; sed -i 's/^b line 15$/B15/' b.txt";
    let args = ["run", "--keep", "--name", "x", "--", "sh", "-c", script];
    repo.cmd(&args).env("AYE_AGENT", "robo").run().ok();
    repo.write("b.txt", lines("b").replace("b line 2\n", "USER\n"));
    let id = repo.aye(&["list", "--json"]).ok().json()["proposals"][0]["proposal_id"].clone();
    let part = ["apply", id.as_str().expect("an id"), "--hunks", "1", "--split-rest"];
    let mut t = Terminal::start(repo.cmd(&part), 60, 120);
    t.sees("Apply ").types("y\r");
    assert_eq!(t.ends(), 0);
    repo.aye(&["session", "submit", "x"]).ok().notes("as before");
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["count"], 1, "{list:#}");
    // Thrown away, they are gone from the tree too.
    repo.git(&["checkout", "b.txt"]);
    repo.aye(&["session", "sync", "x"]).ok();
    let tree = PathBuf::from(repo.aye(&["session", "path", "x"]).ok().out().trim_end());
    let text = std::fs::read_to_string(tree.join("b.txt")).expect("read");
    assert_eq!(text, lines("b").replace("b line 15\n", "B15\n"));
}

#[test]
fn where_the_checkout_cannot_be_followed_nothing_is() {
    let repo = Repo::with(&[("a.txt", "1\n2\n3\n4\n"), ("d.txt", "d\n")]);
    let args = ["run", "--keep", "--name", "x", "--", "sed", "-i", "s/3/three/", "a.txt"];
    repo.cmd(&args).env("AYE_AGENT", "robo").run().ok();
    let main = repo.git(&["symbolic-ref", "--short", "HEAD"]).trim().to_owned();
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("d.txt", "O\n");
    repo.git(&["commit", "-qam", "o"]);
    repo.git(&["checkout", "-q", &main]);
    repo.write("d.txt", "M\n");
    repo.git(&["commit", "-qam", "m"]);
    let id = repo.aye(&["list", "--json"]).ok().json()["proposals"][0]["proposal_id"].clone();
    repo.aye(&["reject", id.as_str().expect("an id"), "--reason", "no", "--yes"]).ok();
    let tree = PathBuf::from(repo.aye(&["session", "path", "x"]).ok().out().trim_end());
    std::fs::write(tree.join("a.txt"), "1\nTWO\nthree\n4\n").expect("write");
    repo.try_git(&["merge", "-q", "other"]).exits(1);
    repo.aye(&["session", "sync", "x"]).fails("git_failed", 4).notes("sync --onto head");
    repo.git(&["merge", "--abort"]);
    let submitted = repo.aye(&["session", "submit", "x"]);
    submitted.ok().notes("a.txt: your edits are kept where they meet");
}
