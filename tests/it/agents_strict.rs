//! `aye agents install --mode strict`: edits of the checkout are refused, and commands run in it.

use crate::support::Repo;
use crate::support::agents::{Client, FILES, pending, trees};

/// Codex with its hooks as they are installed.
fn codex(repo: &Repo) -> Client<'_> {
    Client { options: &["--strict"], ..Client::new(repo, "codex") }
}

#[test]
fn an_edit_is_refused_and_nothing_is_made_for_it() {
    let repo = Repo::with(FILES);
    assert!(codex(&repo).edit("b.txt").refused().contains("aye propose PATH"));
    assert!(trees(&repo).is_empty());
    // It proposes by itself, and that is all that is proposed.
    repo.agent("codex", &["propose", "b.txt", "--old", "bee", "--new", "ant", "-m", "ant"]).ok();
    codex(&repo).stop();
    pending(&repo);
}

#[test]
fn a_command_runs_in_the_checkout_and_what_it_writes_stays() {
    let repo = Repo::with(FILES);
    let command = format!("echo wasp >>{}", repo.path("b.txt").display());
    for directory in [repo.root(), repo.outer()] {
        assert!(codex(&repo).at(directory).shell(&command).is_nothing());
    }
    repo.program("sh").args(&["-c", &command]).run().ok();
    codex(&repo).stop();
    assert_eq!(repo.text("b.txt"), "bee\nwasp\n");
    assert!(trees(&repo).is_empty());
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 0);
}
