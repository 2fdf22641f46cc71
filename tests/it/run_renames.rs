//! Files that an agent has renamed in the tree of its session, while somebody decided on them, or edited them in the
//! checkout.

use std::path::PathBuf;

use crate::support::Repo;
use crate::support::record::{apply, reject};
use crate::support::sessions::{kept, nothing_pending, only, read, tree};

fn lines(changed: &[(usize, &str)]) -> String {
    let line = |at: usize| {
        let found = changed.iter().find(|(line, _)| *line == at);
        found.map_or_else(|| format!("line {at}\n"), |(_, text)| format!("{text}\n"))
    };
    (1..=30).map(line).collect()
}

/// A session whose agent has run `script`, with its tree.
fn session(repo: &Repo, script: &str) -> PathBuf {
    kept(repo, script).ok();
    tree(repo, "x")
}

/// The files of the pending proposal and the lines that it adds and removes.
fn proposed(repo: &Repo) -> String {
    let patch = repo.aye(&["diff", &only(repo), "--patch", "--proposed", "--no-pager"]).ok().out();
    let is_said = |line: &&str| {
        let is_file = line.starts_with("+++") || line.starts_with("---");
        !is_file && line.starts_with(['+', '-']) || line.starts_with("rename ")
    };
    patch.lines().filter(is_said).collect::<Vec<_>>().join("\n")
}

const EDIT: &str = "sed -i '20s/.*/AGENT/' b.txt";
const MOVED: &str = "rename from b.txt\nrename to m.txt";

fn repo() -> Repo {
    Repo::with(&[("b.txt", &lines(&[]))])
}

#[test]
fn what_a_person_made_of_a_proposal_goes_into_the_file_that_was_renamed() {
    let repo = repo();
    let tree = session(&repo, EDIT);
    let id = only(&repo);
    std::fs::rename(tree.join("b.txt"), tree.join("m.txt")).expect("rename");
    repo.aye(&["revise", &id, "b.txt", "--old", "line 20", "--new", "PERSON"]).ok();
    apply(&repo, &id);
    repo.aye(&["session", "submit", "x"]).ok();
    assert_eq!(proposed(&repo), MOVED);
    apply(&repo, &only(&repo));
    assert_eq!(repo.text("m.txt"), lines(&[(20, "PERSON")]));
}

#[test]
fn what_was_rejected_is_taken_out_of_the_file_that_was_renamed() {
    let repo = repo();
    let tree = session(&repo, EDIT);
    std::fs::rename(tree.join("b.txt"), tree.join("m.txt")).expect("rename");
    reject(&repo, &only(&repo), "no");
    repo.aye(&["session", "submit", "x"]).ok();
    assert_eq!(proposed(&repo), MOVED);
    // A new file goes as a whole, whatever it is called by then.
    reject(&repo, &only(&repo), "no");
    let tree = session(&repo, "test -e b.txt && test ! -e m.txt && seq 40 >n.txt");
    std::fs::rename(tree.join("n.txt"), tree.join("o.txt")).expect("rename");
    reject(&repo, &only(&repo), "no");
    kept(&repo, "test ! -e n.txt && test ! -e o.txt").ok();
    nothing_pending(&repo);
}

/// Where the rename was rejected, what the agent has edited since is in the file that is back.
#[test]
fn edits_of_a_file_whose_rename_was_rejected_are_of_the_file_that_is_back() {
    let repo = repo();
    let tree = session(&repo, "mv b.txt m.txt && sed -i '20s/.*/AGENT/' m.txt");
    std::fs::write(tree.join("m.txt"), lines(&[(3, "LATER"), (20, "AGENT")])).expect("write");
    reject(&repo, &only(&repo), "no");
    repo.aye(&["session", "submit", "x"]).ok();
    assert_eq!(proposed(&repo), "-line 3\n+LATER");
    assert!(!tree.join("m.txt").exists());
}

/// Nor does a new file of that name become the one that is back.
#[test]
fn a_new_file_under_a_rejected_name_stays_what_it_is() {
    let edit = "mv b.txt m.txt && sed -i '20s/.*/AGENT/' m.txt";
    let repo = repo();
    let tree = session(&repo, edit);
    std::fs::write(tree.join("m.txt"), "key notes\n").expect("write");
    reject(&repo, &only(&repo), "no");
    repo.aye(&["session", "submit", "x"]).ok().notes("m.txt");
    assert_eq!((read(&tree, "b.txt"), read(&tree, "m.txt")), (lines(&[]), "key notes\n".into()));
    assert_eq!(proposed(&repo), "+key notes");
}

#[test]
fn what_a_person_edits_in_the_checkout_goes_into_the_file_that_was_renamed() {
    let repo = repo();
    let tree = session(&repo, "mv b.txt m.txt && sed -i '20s/.*/AGENT/' m.txt");
    let edit = format!("{MOVED}\n-line 20\n+AGENT");
    repo.write("b.txt", lines(&[(10, "PERSON")]));
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!(read(&tree, "m.txt"), lines(&[(10, "PERSON"), (20, "AGENT")]));
    assert_eq!(proposed(&repo), edit);
    // And out of it.
    repo.aye(&["session", "sync", "x", "--onto", "head"]).ok();
    assert_eq!(read(&tree, "m.txt"), lines(&[(20, "AGENT")]));
    assert_eq!(proposed(&repo), edit);
    // Where both meet, it is said of the file as it is called now.
    repo.write("b.txt", lines(&[(20, "PERSON")]));
    repo.aye(&["session", "sync", "x"]).exits(5).notes("m.txt");
    assert_eq!(read(&tree, "m.txt"), lines(&[(20, "AGENT")]));
}

#[test]
fn a_file_that_was_renamed_here_and_there_has_the_edits_of_both() {
    let repo = repo();
    let tree = session(&repo, "mv b.txt m.txt && sed -i '20s/.*/AGENT/' m.txt");
    repo.git(&["mv", "b.txt", "n.txt"]);
    repo.write("n.txt", lines(&[(10, "PERSON")]));
    repo.commit("Renamed");
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!(proposed(&repo), "rename from n.txt\nrename to m.txt\n-line 20\n+AGENT");
    repo.git(&["mv", "n.txt", "m.txt"]);
    repo.commit("Renamed again");
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!(proposed(&repo), "-line 20\n+AGENT");
    // Only there.
    repo.git(&["mv", "m.txt", "o.txt"]);
    repo.commit("Renamed once more");
    repo.aye(&["session", "sync", "x"]).ok();
    assert_eq!(proposed(&repo), "-line 20\n+AGENT");
    assert_eq!(read(&tree, "o.txt"), lines(&[(10, "PERSON"), (20, "AGENT")]));
}
