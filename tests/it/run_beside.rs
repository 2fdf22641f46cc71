//! `aye run` with work that the agent left in the git directory of its tree and not in its files: the tree stays.

use crate::support::record::apply;
use crate::support::sessions::{
    kept, no_session_is_left, only, pending, proposed, read, script, tree,
};
use crate::support::terminal::Terminal;
use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "bee\n")];

fn run(repo: &Repo, text: &str) -> Run {
    let args = ["run", "--name", "x", "--", "sh", "-ec", text];
    repo.cmd(&args).env("AYE_AGENT", "robo").run()
}

/// The tree is there, and its end is refused because of `path`, until it is removed with what it holds.
#[track_caller]
fn stays(repo: &Repo, ended: Run, path: &str) {
    ended.ok().notes(path);
    repo.aye(&["session", "end", "x"]).fails("session_unsubmitted", 4).notes(path);
    assert!(tree(repo, "x").exists());
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    no_session_is_left(repo);
}

#[test]
fn a_commit_of_another_branch_keeps_the_tree() {
    let fix = "sed -i s/two/zwei/ a.txt; git commit -qam fix; git switch -q -";
    for (text, path) in [
        (format!("git switch -qc fix; {fix}"), "refs/heads/fix"),
        // In a pack.
        (format!("git switch -qc feature/fix; {fix}; git gc -q"), "refs/heads/feature/fix"),
        (format!("git switch -q --detach; {fix}; git tag -am v1 v1 HEAD@{{1}}"), "refs/tags/v1"),
        (format!("git switch -q --detach; {fix}; git update-ref refs/x/y HEAD@{{1}}"), "refs/x/y"),
        ("echo x >>b.txt; git stash -q".to_owned(), "refs/stash"),
        ("git notes add -m n".to_owned(), "refs/notes/commits"),
    ] {
        let repo = Repo::with(FILES);
        stays(&repo, run(&repo, &text), &format!(".git/{path}"));
    }
    let repo = Repo::with(FILES);
    let linked = repo.outer().join("linked");
    let text = format!(
        "git worktree add -q --detach {at}; cd {at}; echo x >>b.txt; git commit -qam x",
        at = linked.display()
    );
    stays(&repo, run(&repo, &text), ".git/worktrees/linked/HEAD");
}

#[test]
fn an_operation_that_is_not_finished_keeps_the_tree() {
    let both = "git switch -qc a; sed -i s/two/zwei/ a.txt; git commit -qam a1; echo p >p.txt; git add p.txt
                git commit -qm a2; git switch -q -; sed -i s/two/deux/ a.txt; git commit -qam b";
    for (text, path) in [
        ("git switch -q a; ! git rebase -q - 2>&1", "rebase-merge"),
        ("git format-patch -q --stdout -2 a >../p; ! git am -q ../p 2>&1", "rebase-apply/applying"),
        ("! git cherry-pick a~1 a 2>&1", "CHERRY_PICK_HEAD"),
        ("sed -i s/deux/dos/ a.txt; git commit -qam c; ! git revert HEAD~1 2>&1", "REVERT_HEAD"),
        ("! git merge -q a 2>&1", "MERGE_HEAD"),
        ("git bisect start -q HEAD HEAD~1 2>&1", "BISECT_LOG"),
    ] {
        let repo = Repo::with(FILES);
        let ended = run(&repo, &format!("{{ {both}; }} >/dev/null\n{{ {text}; }} >/dev/null"));
        stays(&repo, ended, &format!(".git/{path}"));
    }
}

#[test]
fn a_commit_that_is_proposed_keeps_no_tree() {
    let fix = "git switch -qc fix; sed -i s/two/zwei/ a.txt; git commit -qam fix";
    for text in [
        // HEAD is it.
        "git branch old",
        fix,
        // Or the repository, and a remote.
        "git branch x v0; git update-ref refs/remotes/o/x v0",
    ] {
        let repo = Repo::with(FILES);
        repo.write("c.txt", "c\n");
        repo.commit("On another branch");
        repo.git(&["tag", "v0"]);
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
        repo.write("b.txt", "bee\nmine\n");
        run(&repo, text).ok();
        assert_eq!(pending(&repo).len(), usize::from(text.contains("zwei")), "{text}");
        no_session_is_left(&repo);
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
    assert_eq!(pending(&repo), [] as [String; 0]);
    repo.program("git").args(&["merge", "-q", "fix"]).dir(tree(&repo, "x")).run().ok();
    repo.aye(&["session", "submit", "x"]).ok();
    assert!(proposed(&repo).contains("+zwei"));
    repo.aye(&["session", "end", "x"]).ok();
    no_session_is_left(&repo);
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
    let ended = run(&repo, &text).ok().notes(".git/refs/heads/odd");
    for name in ["pipe", "loop", "big", "tags/t"] {
        assert!(!ended.err().contains(name), "{ended}");
    }
    repo.aye(&["session", "end", "x", "--discard"]).ok();
    for text in [
        "rm -rf .git",
        "mv .git ../moved; ln -s ../moved .git; rm -rf ../moved",
        "rm -rf .git; mkfifo .git",
    ] {
        run(&repo, text).ok();
        no_session_is_left(&repo);
    }
}

/// A new file that was applied is the person's as any other one, before it is committed, too.
#[test]
fn what_was_applied_and_not_committed_is_in_the_tree() {
    let repo = Repo::with(FILES);
    let session = |name: &str, text: &str| script(&repo, &["--keep", "--name", name], text).run();
    session("x", "seq 30 >new.txt; git mv b.txt moved.txt").ok();
    repo.write("notes.txt", "mine\n");
    apply(&repo, &only(&repo));
    let tree = tree(&repo, "x");
    let read = |path: &str| std::fs::read_to_string(tree.join(path)).ok();
    // The agent goes on, and so does the person.
    let edited = read("new.txt").expect("the file").replace("20\n", "TWENTY\n");
    std::fs::write(tree.join("new.txt"), &edited).expect("write");
    repo.aye(&["session", "submit", "x"]).ok();
    let text = repo.text("new.txt").replace("\n3\n", "\nTHREE\n");
    repo.write("new.txt", &text);
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!(read("new.txt"), Some(edited.replace("\n3\n", "\nTHREE\n")));
    assert!(read("moved.txt").is_some() && read("b.txt").is_none() && read("notes.txt").is_some());
    let text = proposed(&repo);
    assert!(text.contains("-20\n+TWENTY\n") && !text.contains("THREE\n+"), "{text}");
    // Another session begins with it.
    session(
        "y",
        "test -f moved.txt && ! test -e b.txt && grep -q THREE new.txt && sed -i s/30/X/ new.txt",
    )
    .ok();
    let both = pending(&repo);
    assert_eq!(both.len(), 2);
    both.iter().for_each(|id| apply(&repo, id));
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
    kept(&repo, "sed -i 's/^a line 5$/FIVE/' a.txt; sed -i 's/^b line 15$/B15/' b.txt").ok();
    repo.write("b.txt", lines("b").replace("b line 2\n", "USER\n"));
    let id = only(&repo);
    let part = ["apply", id.as_str(), "--hunks", "1", "--split-rest"];
    let mut t = Terminal::start(repo.cmd(&part), 60, 120);
    t.sees("Apply ").types("y");
    assert_eq!(t.ends(), 0);
    let rest = proposed(&repo);
    repo.aye(&["session", "submit", "x"]).ok();
    assert_eq!(proposed(&repo), rest);
    // Thrown away, they are gone from the tree too.
    repo.git(&["checkout", "b.txt"]);
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!(read(&tree(&repo, "x"), "b.txt"), lines("b").replace("b line 15\n", "B15\n"));
}
