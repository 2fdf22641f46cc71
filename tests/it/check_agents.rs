//! `aye check --require-proposal=agents`: agents' changes need a proposal, a person's own lines nothing.

use crate::support::Repo;
use crate::support::record::{apply, propose, reject};

const NUMBERS: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
const AGENT: &str = "--author=Claude <noreply@anthropic.com>";

fn repo() -> Repo {
    Repo::with(&[("n.txt", NUMBERS), ("a.txt", "a\n"), ("src/b.txt", "b\n")])
}

fn check<'a>(range: &'a str, whose: &'a str) -> Vec<&'a str> {
    vec!["check", "--range", range, whose]
}

fn commit_as(repo: &Repo, file: &str, text: &str, more: &[&str]) {
    repo.write(file, text);
    repo.git(&["add", "-A"]);
    repo.git(&[&["commit", "-q", "-m", "By hand"], more].concat());
}

#[test]
fn an_agents_commit_needs_a_proposal_and_a_persons_none() {
    let repo = repo();
    let agents = check("HEAD~1..HEAD", "--require-proposal=agents");
    let all = check("HEAD~1..HEAD", "--require-proposal");
    for signs in [
        &[AGENT][..],
        &["-m", "Co-Authored-By: Claude <noreply@anthropic.com>"],
        &["-m", "Assisted-by: codex:gpt-5"],
        &["-m", "🤖 Generated with [Claude Code](https://claude.com/claude-code)"],
    ] {
        commit_as(&repo, "a.txt", &format!("{signs:?}\n"), signs);
        repo.aye(&agents).exits(1).says("error[no_proposal]").says("by the agent");
        repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    }
    commit_as(&repo, "a.txt", "mine\n", &[]);
    repo.aye(&agents).ok();
    repo.aye(&all).exits(1).says("error[no_proposal]");
    // As the hint says.
    let commit = repo.git(&["rev-parse", "--short=7", "HEAD"]);
    repo.aye(&all).says(&format!("aye propose --commit {commit}, then aye apply ID --mark-only"));
    let id = repo.aye(&["propose", "--commit", &commit, "-q"]).ok().id();
    repo.aye(&["apply", &id, "--mark-only", "--yes"]).ok();
    repo.aye(&all).ok();
    // Approved content needs no trailer, whoever commits it.
    let id = propose(&repo, "a.txt", "mine", "theirs");
    apply(&repo, &id);
    repo.git(&["commit", "-qam", "Theirs", AGENT]);
    repo.aye(&agents).ok();
    repo.aye(&all).ok();
}

/// An agent that leaves no other sign is known by what it has proposed.
#[test]
fn lines_of_a_proposal_that_nobody_approved_are_an_agents() {
    let repo = repo();
    let agents = check("HEAD~1..HEAD", "--require-proposal=agents");
    let id = propose(&repo, "n.txt", "3\n", "three\n");
    commit_as(&repo, "n.txt", &NUMBERS.replace("3\n", "three\n").replace("12", "twelve"), &[]);
    repo.aye(&agents).exits(1).says("error[no_proposal]").says(&id).says("aye review prop");
    reject(&repo, &id, "no");
    repo.aye(&agents).exits(1).says("rejected").says(&format!("hint: aye undo {id}, then"));
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.item(&id)["status"], "pending");
    // The next commit has them, too, and has not brought them.
    commit_as(&repo, "n.txt", &NUMBERS.replace("3\n", "three\n"), &[]);
    repo.aye(&agents).ok();
}

/// A branch of a person's commits and an approved one, as it is, squashed, and in a merge queue.
#[test]
fn a_persons_own_lines_need_nothing_apart_or_squashed() {
    let repo = repo();
    let main = repo.git(&["symbolic-ref", "--short", "HEAD"]);
    repo.git(&["switch", "-q", "-c", "mixed"]);
    commit_as(&repo, "a.txt", "mine\n", &[]);
    commit_as(&repo, "n.txt", &NUMBERS.replace("12", "twelve"), &[]);
    let id = propose(&repo, "n.txt", "3\n", "three\n");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    commit_as(&repo, "n.txt", &repo.text("n.txt").replace("three\n", "three!\n"), &[]);
    let range = format!("{main}..mixed");
    repo.aye(&check(&range, "--require-proposal=agents")).ok();
    // As a forge does it: one commit, with the messages of all.
    let squash = |branch: &str, more: &str| {
        repo.git(&["switch", "-q", "-c", branch, &main]);
        repo.git(&["merge", "-q", "--squash", "mixed"]);
        let messages = repo.git(&["log", "--format=%B", &range]);
        repo.git(&["commit", "-q", "-m", &format!("Mixed\n\n{messages}\n\n{more}")]);
        format!("{main}..{branch}")
    };
    let queue = squash("queue", "");
    let run = repo.aye(&check(&queue, "--require-proposal=agents")).ok();
    assert!(run.out().contains("note[extra_file]"), "{run}");
    repo.aye(&["check", "--range", &queue]).exits(1).says("error[extra_file]");
    // An agent that is named as an author has no lines of its own.
    let marked = squash("marked", "Co-Authored-By: Claude <noreply@anthropic.com>");
    repo.aye(&check(&marked, "--require-proposal=agents")).exits(1).says("error[extra_file]");
}

#[test]
fn the_policy_asks_for_proposals_by_path() {
    let repo = repo();
    let policy = "[require_proposal]\nagents = [\"*.txt\"]\nall = [\"src/**\"]\n";
    repo.write(".agent-memory/policy.toml", policy);
    repo.commit("Policy");
    let last = ["check", "--range", "HEAD~1..HEAD"];
    commit_as(&repo, "a.txt", "mine\n", &[]);
    repo.aye(&last).ok();
    commit_as(&repo, "a.txt", "theirs\n", &[AGENT]);
    repo.aye(&last).exits(1).says("by the agent 'claude'");
    commit_as(&repo, "other.md", "theirs\n", &[AGENT]);
    repo.aye(&last).ok();
    commit_as(&repo, "src/b.txt", "mine\n", &[]);
    repo.aye(&last).exits(1).says("src/b.txt").says("policy");
    repo.write("src/b.txt", "b\n");
    repo.commit("Back");
    let id = propose(&repo, "src/b.txt", "b", "c");
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    repo.aye(&last).ok();
}
