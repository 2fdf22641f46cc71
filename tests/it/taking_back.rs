//! `aye undo` without an id, requests for changes that are taken back, and commands that do without an
//! id.

use crate::support::Repo;
use crate::support::terminal::Terminal;

fn scene() -> Repo {
    Repo::with(&[("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")])
}

fn propose(repo: &Repo, old: &str, new: &str) -> String {
    repo.agent("codex", &["propose", "a", "--old", old, "--new", new, "-q"]).ok().id()
}

fn sent_back(repo: &Repo, id: &str) -> bool {
    let shown = repo.item(id);
    !shown["changes_requested"].is_null()
}

#[test]
fn a_request_for_changes_is_taken_back() {
    let repo = scene();
    let id = propose(&repo, "2\n", "two\n");
    repo.aye(&["comment", &id, "--request-changes", "-m", "no"]).ok();
    repo.agent("codex", &["undo", &id, "--yes"]).exits(4);
    assert!(sent_back(&repo, &id));
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!sent_back(&repo, &id));
    repo.aye(&["undo", &id, "--yes"]).fails("not_applied", 5);
    // A rejection that is taken back leaves the request that came before it.
    repo.aye(&["comment", &id, "--request-changes", "-m", "no"]).ok();
    repo.aye(&["reject", &id, "--yes", "-m", "no"]).ok();
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(sent_back(&repo, &id));
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert!(!sent_back(&repo, &id));
    let _ = std::fs::remove_file(repo.path(".git/aye/open"));
    assert!(!sent_back(&repo, &id));
}

#[test]
fn what_was_decided_in_one_go_is_taken_back_together() {
    let repo = scene();
    let before = repo.text("a");
    let [one, two, three] = [("2\n", "two\n"), ("5\n", "five\n"), ("8\n", "eight\n")]
        .map(|(old, new)| propose(&repo, old, new));
    repo.aye(&["apply", &one, "--yes"]).ok();
    repo.aye(&["reject", &two, "--yes", "-m", "no"]).ok();
    repo.aye(&["comment", &three, "--request-changes", "-m", "no"]).ok();
    let mut terminal = Terminal::start(repo.cmd(&["undo"]), 24, 100);
    terminal.sees("Undo").types("a");
    assert_eq!(terminal.ends(), 0);
    let screen = terminal.text();
    assert!(screen.contains("sent") && screen.contains("rejected"), "{screen}");
    assert_eq!(repo.text("a"), before);
    assert_eq!(repo.aye(&["list", "--count", "--json"]).ok().json()["pending"], 3);
}

#[test]
fn the_id_may_be_left_out_where_one_is_pending() {
    let repo = scene();
    let id = propose(&repo, "2\n", "two\n");
    repo.aye(&["show"]).ok().says(&id);
    for command in [&["show"][..], &["diff"], &["revise", "--rebase"]] {
        repo.aye(&[command, &["--latest"]].concat()).ok();
    }
    repo.aye(&["comment", "--latest", "-m", "hm"]).ok();
    repo.aye(&["wait", "--latest", "--timeout", "0"]).exits(124);
    repo.aye(&["try", "--latest", "--", "true"]).ok();
    repo.aye(&["review", "--latest"]).says(&id);
    let shown = || {
        let mut terminal = Terminal::start(repo.cmd(&["--no-pager", "show"]), 24, 100);
        (terminal.ends(), terminal.text())
    };
    let (status, text) = shown();
    assert!(status == 0 && text.contains(&id), "{text}");
    let newer = propose(&repo, "5\n", "five\n");
    repo.aye(&["show"]).fails("usage", 2);
    let picks = |keys: &str| {
        let mut terminal = Terminal::start(repo.cmd(&["--no-pager", "show"]), 24, 100);
        terminal.sees("Which").types(keys);
        (terminal.ends(), terminal.text())
    };
    // The newest is on top; what is pasted picks nothing.
    let (status, text) = picks("\r");
    assert!(status == 0 && text.contains(&format!("proposal {newer}")), "{text}");
    let (status, text) = picks("\u{1b}[B\r");
    assert!(status == 0 && text.contains(&format!("proposal {id}")), "{text}");
    let (status, text) = picks("\u{1b}");
    assert!(status == 1 && text.ends_with("nothing shown\n"), "{text}");
    for (verb, done) in [("apply", "applied"), ("reject", "rejected"), ("approve", "approved")] {
        let mut terminal = Terminal::start(repo.cmd(&[verb]), 24, 100);
        terminal.sees("Which").types("\u{1b}");
        assert_eq!(terminal.ends(), 1);
        let text = terminal.text();
        assert!(text.ends_with(&format!("nothing {done}\n")), "{text}");
    }
}

#[test]
fn the_list_to_pick_from_fits_a_narrow_terminal() {
    let repo = scene();
    for n in 0..14 {
        let why = format!("Number {n} has a title that is too long for a narrow terminal");
        let (path, new) = (format!("file{n}.txt"), format!("{n}\n"));
        repo.agent("codex", &["propose", &path, "--old", "", "--new", &new, "-m", &why, "-q"]).ok();
    }
    let mut terminal = Terminal::start(repo.cmd(&["--no-pager", "show"]), 20, 60);
    terminal.sees("Which").sees("file2.txt");
    for _ in 0..5 {
        terminal.listens().types("\u{1b}[B").sees("> prop_").sees("file2.txt");
    }
    let rows = terminal.rows();
    assert!(rows[0].starts_with("Which proposal?"), "{rows:#?}");
    let items: Vec<_> = rows[1..].iter().filter(|row| !row.is_empty()).collect();
    assert_eq!(items.len(), 12, "{rows:#?}");
    assert!(items.iter().all(|row| row[2..].starts_with("prop_")), "{rows:#?}");
    terminal.listens().types("\r");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.text().contains("Number 8 has a title"), "{}", terminal.text());
}

#[test]
fn lines_at_the_terminal_break_between_words() {
    let repo = scene();
    let why = "A title that goes on and on, longer than a person reads in a question, and on";
    let made = [("2\n", "two\n"), ("5\n", "five\n")].map(|(old, new)| {
        repo.agent("codex", &["propose", "a", "--old", old, "--new", new, "-m", why, "-q"])
            .ok()
            .id()
    });
    repo.write("a", format!("0\n{}", repo.text("a")));
    for columns in 60..90 {
        let show = ["--no-pager", "show", &made[0]];
        let mut terminal = Terminal::start(repo.cmd(&show), 60, columns);
        assert_eq!(terminal.ends(), 0);
        terminal.shows_words("note: since; this is what to them now (aye diff shows");
    }
    repo.aye(&["reject", &made[0], &made[1], "--yes", "-m", "no"]).ok();
    for columns in 60..90 {
        let mut terminal = Terminal::start(repo.cmd(&["undo"]), 60, columns);
        terminal.sees("Undo").sees("]? ");
        terminal.shows_words("(a, “A title that goes …”), rejected by Ada Reviewer");
        terminal.types("n");
        terminal.ends();
    }
}

#[test]
fn anything_new_ends_the_wait() {
    let repo = scene();
    propose(&repo, "2\n", "two\n");
    repo.aye(&["wait", "--any", "--timeout", "0"]).exits(124);
    let waiting = repo.cmd(&["wait", "--any", "--json", "--timeout", "60s"]).spawn();
    // It may look for the first time only after some of these.
    let new: Vec<String> = (0..15)
        .map(|n| {
            let args = ["propose", &format!("n{n}"), "--old", "", "--new", "x\n", "-q"];
            repo.agent("codex", &args).ok().id()
        })
        .collect();
    let answer = waiting.wait().ok().json();
    let first = answer["proposals"][0]["proposal_id"].as_str().expect("one").to_owned();
    assert!(new.contains(&first), "{answer}");
}

#[test]
fn a_difftool_is_the_users_own() {
    let repo = scene();
    let id = propose(&repo, "2\n", "two\n");
    repo.aye(&["diff", &id, "--tool"]).fails("usage", 2).notes("diff.tool");
    repo.git(&["config", "difftool.mine.cmd", "echo hostile"]);
    let tool = |cmd: &str| {
        let cmd = repo
            .cmd(&["diff", &id, "--tool=mine"])
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_VALUE_0", cmd);
        cmd.env("GIT_CONFIG_KEY_0", "difftool.mine.cmd").run()
    };
    let run = tool("diff $LOCAL $REMOTE");
    assert!(run.out().contains("> two"), "{}", run.out());
    let run = repo.aye(&["diff", &id, "--tool=mine"]);
    assert!(!run.out().contains("hostile"), "{}", run.out());
}

#[test]
fn init_keeps_git_log_readable() {
    let repo = scene();
    propose(&repo, "2\n", "two\n");
    repo.aye(&["init"]).ok().says("aye init --git-log");
    repo.aye(&["init", "--git-log"]).ok().lacks("aye init --git-log");
    repo.aye(&["init", "--git-log"]).ok();
    assert_eq!(repo.git(&["config", "--get-all", "log.excludeDecoration"]).trim(), "refs/aye/");
    assert_eq!(repo.git(&["la"]).lines().count(), 1);
}

/// A file that was moved since still has what was applied: it is not taken back by being gone.
#[test]
fn what_was_moved_since_is_not_taken_back() {
    let repo = scene();
    let new =
        repo.agent("codex", &["propose", "new.txt", "--old", "", "--new", "n\n", "-q"]).ok().id();
    repo.git(&["mv", "a", "b"]);
    repo.git(&["commit", "-qm", "As it was"]);
    repo.git(&["mv", "b", "a"]);
    let renames = repo.program("git").args(&["diff", "-M", "HEAD"]).run().ok().out();
    let patch = repo.outer().join("renames.patch");
    std::fs::write(&patch, renames).expect("a file");
    repo.git(&["reset", "-q", "--hard"]);
    let patch = patch.to_str().expect("UTF-8");
    let renamed = repo.agent("codex", &["propose", "--patch", patch, "-q"]).ok().id();
    for (id, from, to) in [(&new, "new.txt", "other.txt"), (&renamed, "a", "c")] {
        repo.aye(&["apply", id, "--yes", "--commit"]).ok();
        repo.git(&["mv", from, to]);
        repo.git(&["commit", "-qm", "Moved"]);
        for args in [&["undo", id.as_str(), "--yes"][..], &["undo", id, "--dry-run"]] {
            repo.aye(args).fails("conflict", 5);
        }
        assert!(repo.exists(to) && (id == &new || !repo.exists("b")));
        repo.git(&["mv", to, from]);
        repo.git(&["commit", "-qm", "Back"]);
        repo.aye(&["undo", id, "--yes"]).ok();
        assert!(!repo.exists(from));
    }
}
