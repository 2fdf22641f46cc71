//! A day of reviewing from end to end: agents propose by patch and through the tool contract, a
//! person takes one in part, edits one, sends one back and rejects one; the agent revises; all of
//! it is committed under the hooks, and the checks find nothing in the result.

use crate::support::Repo;
use crate::support::terminal::Terminal;
use serde_json::json;

/// Sixty numbered lines, some replaced.
fn lines(edits: &[(usize, &str)]) -> String {
    let line = |n: usize| match edits.iter().find(|(at, _)| *at == n) {
        Some((_, text)) => format!("{text}\n"),
        None => format!("line {n}\n"),
    };
    (0..60).map(line).collect()
}

/// A proposal made of what `git diff` says of the work tree, as an agent's patch.
fn by_patch(repo: &Repo, path: &str, content: &str, why: &str) -> String {
    repo.write(path, content);
    repo.git(&["add", "--intent-to-add", path]);
    let patch = repo.git(&["diff"]) + "\n";
    repo.git(&["reset", "--quiet", "--hard"]);
    if repo.exists(path) && repo.git(&["ls-files", path]).is_empty() {
        repo.remove(path);
    }
    let args = ["propose", "--patch", "-", "-m", why, "--json"];
    repo.cmd(&args).env("AYE_AGENT", "codex").stdin(patch).run().ok().id()
}

/// A proposal through the tool contract.
fn by_call(repo: &Repo, path: &str, old: &str, new: &str, why: &str) -> String {
    let request = json!({"action": "propose", "file_path": path, "old_content": old,
        "new_content": new, "description": why});
    repo.agent("claude", &["call", "changes", &request.to_string()]).ok().id()
}

fn review(repo: &Repo) -> Terminal {
    let editor = repo.editor("sed -i 's/milk/oat milk/' \"$1\"");
    let cmd = repo.cmd(&["review"]).env("TERM", "xterm-256color").env("PAGER", "cat");
    Terminal::start(cmd.env("GIT_EDITOR", editor), 30, 80)
}

#[test]
fn from_proposals_to_a_commit_that_the_checks_find_clean() {
    let repo = Repo::with(&[
        ("lib.txt", lines(&[])),
        ("title.txt", "# The short map\n\ntext\n".into()),
        ("licence.txt", "MIT licence\n".into()),
    ]);
    let base = repo.git(&["rev-parse", "HEAD"]);
    repo.aye(&["hooks", "install"]).ok();
    let part = by_patch(&repo, "lib.txt", &lines(&[(5, "five"), (40, "forty")]), "Name numbers");
    let sent = by_call(&repo, "title.txt", "# The short map", "# Map", "Shorten the title");
    let rejected = by_call(&repo, "licence.txt", "licence", "license", "Spell it otherwise");
    let edited = by_patch(&repo, "notes.txt", "milk\nbread\n", "Notes");

    let mut t = review(&repo);
    t.sees("4 pending").sees("]? ").types("\r").sees("(1/4)").sees("(1/2)").types("n");
    // Both of one agent come first.
    t.sees("(2/2)").types("y").sees("(2/4)").sees("(1/1)").types("e").sees("+oat milk");
    t.sees("(3/4)").sees("(1/1)").types("c").sees("none): ");
    t.types("why not all of it?\r").sees("title.txt:1").sees("]?");
    t.types("x").sees("nothing): ").types("keep the word short\r");
    t.sees("(4/4)").sees("]?").types("R").sees("because").types("we spell it so\r");
    t.sees("Decided:");
    t.sees("]?").types("y").sees("partially").sees("sent").sees("rejected").sees("applied");
    assert_eq!(t.ends(), 0);

    // The agent waits for its answer, reads it and revises.
    let wait = repo.agent("claude", &["wait", &sent, "--timeout", "30s", "--json"]).exits(4).json();
    assert_eq!(wait["reason"], "keep the word short");
    assert_eq!(wait["comments"][0]["body"], "why not all of it?");
    let wait = repo.agent("claude", &["wait", &rejected, "--json"]).exits(1).json();
    assert_eq!(wait["reason"], "we spell it so");
    let new = "# The short map of it";
    let args = ["revise", &sent, "title.txt", "--old", "# The short map", "--new", new];
    repo.agent("claude", &args).ok();
    let mut t = review(&repo);
    t.sees("revision 2").sees("-# Map").sees("]?").types("y").sees("]?").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    repo.agent("claude", &["wait", &sent]).exits(0);

    assert_eq!(repo.text("lib.txt"), lines(&[(40, "forty")]));
    assert_eq!(repo.text("notes.txt"), "oat milk\nbread\n");
    assert_eq!(repo.text("licence.txt"), "MIT licence\n");
    let commit = repo.commit("The day's review");
    let message = repo.git(&["log", "-1", "--format=%B"]);
    for id in [&part, &sent, &edited] {
        assert!(message.contains(&format!("Proposal-Id: {id}\n")), "{message}");
        let shown = repo.item(id);
        assert!(shown["commits"].to_string().contains(&commit), "{shown}");
    }
    assert!(!message.contains(&rejected), "{message}");
    let by: Vec<&str> = message.lines().filter(|line| line.starts_with("Proposed-by:")).collect();
    assert_eq!(by, ["Proposed-by: codex", "Proposed-by: claude"]);
    let range = format!("{base}..HEAD");
    repo.aye(&["check", "--range", &range]).ok();
    repo.aye(&["check"]).ok();
    // Other content under the same trailers is found.
    repo.write("notes.txt", "something else\n");
    repo.git(&["commit", "--quiet", "--all", "--amend", "--no-edit", "--no-verify"]);
    repo.aye(&["check", "--range", &range]).exits(1).says("content_differs").says(&edited);
}
