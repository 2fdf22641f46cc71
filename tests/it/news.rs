//! What came in while somebody was reviewing, and the user's own command that is told of it; single commands
//! of the day that ask for no id.

use std::path::{Path, PathBuf};

use crate::support::terminal::Terminal;
use crate::support::{Repo, until};

fn scene() -> Repo {
    let files = ["a.txt", "b.txt", "c.txt"].map(|name| (name, "one\ntwo\nthree\n"));
    Repo::with(&files)
}

fn propose(repo: &Repo, by: &str, file: &str) -> String {
    let args = ["propose", file, "--old", "two", "--new", "2", "-m", "Count", "-q"];
    repo.agent(by, &args).ok().id()
}

fn review(repo: &Repo, env: &[(&str, &str)]) -> Terminal {
    let cmd = repo.cmd(&["review"]);
    Terminal::dumb(env.iter().fold(cmd, |cmd, (name, value)| cmd.env(name, value)))
}

#[test]
fn a_review_ends_with_what_came_in_meanwhile() {
    let repo = scene();
    let first = propose(&repo, "one", "a.txt");
    let revised = propose(&repo, "one", "b.txt");
    let mut t = review(&repo, &[]);
    t.sees("]? ");
    let new = propose(&repo, "two", "c.txt");
    let args = ["revise", &revised, "b.txt", "--old", "two", "--new", "deux", "-q"];
    repo.agent("one", &args).ok();
    t.types("R").sees("because").types("no\r").sees("]? ").types("qw");
    t.sees("Decided:").sees("Write").types("y").sees("rejected");
    t.sees("meanwhile: ").sees("two").sees("meanwhile: ").sees("one");
    assert_eq!(t.ends(), 0);
    let pending = repo.aye(&["list", "--json"]).ok().json();
    let left = pending["proposals"].as_array().unwrap().iter().map(|p| p["proposal_id"].clone());
    let left: Vec<_> = left.collect();
    assert!(left.contains(&new.into()) && !left.contains(&first.into()), "{left:?}");
}

/// A file that a command adds a line to when it is run, and the user's configuration that names that command.
fn told(repo: &Repo) -> (PathBuf, String) {
    let file = repo.outer().join("told");
    let line = format!(
        "tell() {{ echo \"$1 $AYE_NEWS $AYE_BY: $AYE_DESCRIPTION\" >> '{}'; }}; tell",
        file.display()
    );
    let config = repo.user_config(&[("aye.notifyCommand", &line)]);
    (file, config.to_string_lossy().into_owned())
}

/// Line `number`, counted from 0, that the command has added to `file`: nobody waits for it but the test.
#[track_caller]
fn heard(file: &Path, number: usize) -> String {
    let mut line = None;
    until("the command is told", || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        line = text.split_inclusive('\n').nth(number).map(str::to_owned);
        line.as_ref().is_some_and(|line| line.ends_with('\n'))
    });
    line.expect("a line")
}

#[test]
fn the_users_own_command_is_told_of_each_new_proposal_and_revision() {
    let repo = scene();
    let (file, config) = told(&repo);
    // The repository's own configuration may be an agent's work.
    let bad = repo.outer().join("bad");
    repo.git(&["config", "aye.notifyCommand", &format!("touch '{}'; true", bad.display())]);
    let run = |args: &[&str]| {
        let command = repo.cmd(args).env("AYE_AGENT", "bot").env("GIT_CONFIG_GLOBAL", &config);
        command.run().ok().id()
    };
    // What no terminal shows is as it was written.
    let text = "می\u{200c}خواهم";
    let id = run(&["propose", "a.txt", "--old", "two", "--new", "2", "-m", text, "-q"]);
    let said = heard(&file, 0);
    assert!(said.starts_with(&format!("{id} proposed bot: {text}")), "{said}");
    run(&["revise", &id, "a.txt", "--old", "two", "--new", "two!", "-q"]);
    let said = heard(&file, 1);
    assert!(said.starts_with(&format!("{id} revised bot: ")), "{said}");
    assert!(!bad.exists());
}

#[test]
fn a_key_opens_the_difftool_that_the_user_has_configured() {
    let repo = scene();
    propose(&repo, "bot", "a.txt");
    let mut t = review(&repo, &[]);
    t.sees("]? ").types("D").sees("'D'").sees("]? ").types("q");
    t.ends();
    let config = repo.user_config(&[
        ("diff.tool", "mine"),
        ("difftool.mine.cmd", "echo \"tool: $(cat \"$LOCAL\" \"$REMOTE\" | tr '\\n' ' ')\""),
    ]);
    repo.git(&["config", "difftool.mine.cmd", "echo not this"]);
    let mut t = review(&repo, &[("GIT_CONFIG_GLOBAL", &config.to_string_lossy())]);
    t.sees("]? ").types("D").sees("tool: one two three one 2 three").sees("]? ").types("?");
    t.sees("difftool").sees("]? ").types("q");
    assert!(!t.text().contains("not this"));
    t.ends();
}

#[test]
fn revise_takes_the_newest_of_ones_own() {
    let repo = scene();
    let mine = propose(&repo, "one", "a.txt");
    propose(&repo, "two", "b.txt");
    let args = ["revise", "--latest", "a.txt", "--old", "two", "--new", "deux"];
    repo.agent("one", &args).ok().says(&format!("{mine}  revision 2"));
    let args = ["revise", "--latest", "-m", "Why"];
    repo.agent("one", &args).ok().says(&format!("{mine}  revision 3"));
    repo.agent("three", &args).fails("proposal_not_found", 3);
    repo.agent("one", &["revise", "-m", "Why"]).exits(2);
    let args = ["propose", "--old", "two", "--new", "2"];
    repo.agent("one", &args).fails("usage", 2);
}
