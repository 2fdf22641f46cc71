//! Renames and copies as such: in diff, list, show and review; and edits that follow a file that has moved.

use std::collections::BTreeMap;
use std::path::Path;

use aye::changeset::{Changeset, File, FileChange, Mode, RepoPath, emit, moves};
use aye::review::model::{Decision, Review, Unit, UnitKind};
use proptest::prelude::*;

use crate::support::Repo;
use crate::support::terminal::Terminal;

fn lines(edit: impl Fn(usize) -> bool) -> String {
    (0..50).map(|n| if edit(n) { format!("new {n}\n") } else { format!("line {n}\n") }).collect()
}

fn scene() -> Repo {
    Repo::with(&[("f.txt", lines(|_| false)), ("other.txt", "other\n".to_owned())])
}

/// Proposes that f.txt becomes g.txt, with what `edit` says.
fn propose_move(repo: &Repo, edit: impl Fn(usize) -> bool) -> String {
    repo.remove("f.txt");
    repo.write("g.txt", lines(edit));
    let args = ["propose", "--worktree", "f.txt", "g.txt", "-m", "Move", "-q"];
    repo.agent("mover", &args).ok().id()
}

fn propose_edit(repo: &Repo, by: &str, old: &str, new: &str) -> String {
    let args = ["propose", "f.txt", "--old", old, "--new", new, "-m", "Edit", "-q"];
    repo.agent(by, &args).ok().id()
}

#[test]
fn a_file_that_moves_is_one_entry_with_the_lines_that_differ() {
    let repo = scene();
    let id = propose_move(&repo, |n| n == 30);
    repo.aye(&["diff", &id]).ok().shown("diff_of_a_rename");
    repo.aye(&["diff", &id, "--stat"]).ok().shown("stat_of_a_rename");
    repo.aye(&["diff", &id, "--name-only"]).ok().says("g.txt\n").lacks("f.txt");
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(
        (&list["proposals"][0]["added"], &list["proposals"][0]["removed"]),
        (&1.into(), &1.into()),
        "{list}"
    );
    let shown = repo.item(&id);
    let change = &shown["changes"][1];
    assert_eq!(change["action"], "rename");
    assert_eq!(change["origin"], "f.txt");
    assert_eq!(change["similarity"], 97);
}

#[test]
fn commits_and_ranges_carry_renames_and_copies() {
    let repo = scene();
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.git(&["mv", "f.txt", "g.txt"]);
    repo.commit("Move");
    repo.write("other.txt", lines(|n| n == 3) + "more\n");
    repo.write("g.txt", lines(|n| n == 30));
    repo.commit("Other");
    repo.write("copy.txt", lines(|n| n == 3));
    repo.write("other.txt", lines(|n| n == 3));
    repo.commit("Copy");
    repo.git(&["switch", "-q", "main"]);
    let id = repo.aye(&["propose", "--commit", "topic", "-q"]).ok().id();
    let origins = |id: &str| -> Vec<String> {
        let shown = repo.item(id);
        let all = shown["changes"].as_array().expect("changes").iter();
        let moved = all.filter(|change| !change["origin"].is_null());
        let line = |it: &serde_json::Value| {
            format!("{} {} {} {}", it["action"], it["origin"], it["path"], it["similarity"])
        };
        moved.map(line).map(|line| line.replace('"', "")).collect()
    };
    assert_eq!(origins(&id), ["copy other.txt copy.txt 98"]);
    let id = repo.aye(&["propose", "--commit", "topic~2", "-q"]).ok().id();
    assert_eq!(origins(&id), ["rename f.txt g.txt 100"]);
    let id = repo.aye(&["propose", "--range", "main..topic~1", "-m", "All", "-q"]).ok().id();
    assert_eq!(origins(&id), ["rename f.txt g.txt 97"]);
}

#[test]
fn the_move_is_one_decision_in_a_review() {
    let repo = scene();
    propose_move(&repo, |n| n == 30);
    let mut t = Terminal::review(&repo, &[]);
    t.sees("f.txt → g.txt");
    t.sees("(1/2)").sees("]? ").types("y").sees("+new 30").sees("(2/2)").sees("]? ").types("n");
    t.sees("write").sees("]? ").types("y").sees("partially");
    assert_eq!(t.ends(), 0);
    assert!(!repo.exists("f.txt"));
    assert_eq!(repo.text("g.txt"), lines(|_| false));
}

#[test]
fn a_copy_of_what_is_not_edited_shows_what_differs() {
    let repo = scene();
    let patch = "diff --git a/f.txt b/g.txt\nsimilarity index 97%\ncopy from f.txt\ncopy to g.txt\n\
                 --- a/f.txt\n+++ b/g.txt\n@@ -30,3 +30,3 @@\n line 29\n-line 30\n+new 30\n line 31\n";
    let propose = ["propose", "--patch", "-", "-m", "Copy", "-q"];
    let named = repo.cmd(&propose).env("AYE_AGENT", "one").stdin(patch).run().ok().id();
    // And one of which nobody has said that it is a copy.
    let arguments = ["propose", "sub/h.txt", "--content-file", "-", "-m", "Copy too", "-q"];
    let like = repo.cmd(&arguments).env("AYE_AGENT", "two").stdin(lines(|n| n == 40)).run();
    let like = like.ok().id();
    for (id, path, line) in [(&named, "g.txt", "new 30"), (&like, "sub/h.txt", "new 40")] {
        let diff = repo.aye(&["diff", id]).ok().says(&format!("\ncopy to {path}\n"));
        diff.says(&format!("+{line}\n")).lacks("line 5\n").lacks("/dev/null");
        let mut t = Terminal::review(&repo, &[id]);
        t.sees(&format!("f.txt → {path}")).sees(&format!("+{line}")).sees("]? ").types("y");
        t.sees(&format!("f.txt → {path}")).sees("]? ").types("y").sees("applied");
        assert_eq!(t.ends(), 0);
        assert!(!t.text().contains("line 5\n"));
    }
    assert_eq!(repo.text("g.txt"), lines(|n| n == 30));
    assert_eq!(repo.text("sub/h.txt"), lines(|n| n == 40));
    assert_eq!(repo.text("f.txt"), lines(|_| false));
    // A patch for other programs is whole: what it copies may be other there.
    repo.aye(&["diff", &like, "-p"]).ok().says("+line 5\n");
}

#[test]
fn an_edit_follows_an_applied_rename_that_is_not_committed() {
    let repo = scene();
    let edit = propose_edit(&repo, "one", "line 10\n", "ten\n");
    let again = propose_edit(&repo, "two", "line 40\n", "forty\n");
    let moving = propose_move(&repo, |n| n == 30);
    repo.aye(&["apply", &moving, "--yes"]).ok();
    repo.aye(&["diff", &edit]).ok().says("b/g.txt").says("+ten");
    repo.aye(&["check", "--fail-on", "conflict"]).ok();
    repo.aye(&["apply", &repo.at_revision(&edit), "--yes"]).ok().says("g.txt");
    repo.aye(&["apply", &repo.at_revision(&again), "--yes"]).ok().says("g.txt");
    let text = lines(|n| n == 30).replace("line 10\n", "ten\n").replace("line 40\n", "forty\n");
    assert_eq!(repo.text("g.txt"), text);
    assert!(!repo.exists("f.txt"));
    let shown = repo.item(&edit);
    assert_eq!((&shown["status"], &shown["revisions"]), (&"applied".into(), &2.into()));
    assert_eq!(shown["changes"][0]["path"], "g.txt");
    // Other readers count the decision: it names files of its own revision alone.
    repo.aye(&["doctor", "--full"]).ok();
    repo.aye(&["undo", &again, "--yes"]).ok();
    assert_eq!(repo.text("g.txt"), text.replace("forty\n", "line 40\n"));
}

#[test]
fn an_edit_follows_a_rename_in_a_commit_and_in_the_index() {
    let repo = scene();
    let edit = propose_edit(&repo, "one", "line 10\n", "ten\n");
    let again = propose_edit(&repo, "two", "line 40\n", "forty\n");
    repo.git(&["mv", "f.txt", "g.txt"]);
    repo.commit("Move");
    repo.write("g.txt", lines(|n| n == 20));
    repo.commit("Edit");
    repo.git(&["mv", "g.txt", "h.txt"]);
    repo.aye(&["try", &edit, "--", "grep", "-q", "ten", "g.txt"]).ok();
    let mut t = Terminal::review(&repo, &[&edit]);
    t.sees("follows f.txt → h.txt").sees("+ten").sees("]? ").types("y");
    t.sees("write").sees("]? ").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("h.txt"), lines(|n| n == 20).replace("line 10\n", "ten\n"));
    repo.aye(&["approve", &again, "--yes"]).fails("conflict", 5);
    repo.aye(&["revise", "--rebase", &again]).ok().says("h.txt");
    repo.aye(&["apply", &repo.at_revision(&again), "--yes"]).ok();
    assert!(repo.text("h.txt").contains("forty"));
}

/// The commits since the base are all that says where the file went.
#[test]
fn a_revision_of_an_edit_follows_a_rename_in_a_commit_as_well() {
    let revisions: [&[&str]; 3] = [
        &["-m", "Other words"],
        &["f.txt", "--old", "new 40", "--new", "newer 40"],
        &["--take", "COMMENT"],
    ];
    for more in revisions {
        let repo = scene();
        let id = propose_edit(&repo, "editor", "line 40", "new 40");
        let suggest =
            ["comment", &id, "--path", "f.txt", "--line", "41", "--suggest", "forty", "-m", "s"];
        repo.aye(&suggest).ok();
        let shown = repo.item(&id);
        let comment = shown["comments"][0]["id"].as_str().expect("an id").to_owned();
        repo.git(&["mv", "f.txt", "g.txt"]);
        repo.git(&["commit", "-qm", "Move"]);
        let more: Vec<&str> =
            more.iter().map(|arg| if *arg == "COMMENT" { &comment } else { *arg }).collect();
        repo.agent("editor", &[&["revise", &id], &more[..]].concat()).ok();
        repo.aye(&["apply", &repo.at_revision(&id), "--yes"]).ok();
        assert!(!repo.exists("f.txt") && repo.text("g.txt") != lines(|_| false), "{more:?}");
    }
}

#[test]
fn empty_files_are_never_taken_for_moved() {
    let repo = Repo::with(&[("a/init", ""), ("a/core", "x\n"), ("other", "o\n")]);
    let args = ["propose", "a/init", "--content-file", "-", "-m", "Edit", "-q"];
    let edit = repo.cmd(&args).env("AYE_AGENT", "one").stdin("import\n").run().ok().id();
    let drop = ["propose", "a/init", "--delete", "-m", "Drop", "-q"];
    let drop = repo.agent("two", &drop).ok().id();
    let new = "diff --git a/new b/new\nnew file mode 100644\nindex 0000000..e69de29\n";
    let args = ["propose", "--patch", "-", "-m", "New", "-q"];
    let new = repo.cmd(&args).env("AYE_AGENT", "three").stdin(new).run().ok().id();
    repo.aye(&["apply", &new, "--yes", "--commit"]).ok();
    repo.git(&["rm", "-rq", "a", "new"]);
    repo.write("b/init", "");
    repo.git(&["add", "--all"]);
    for _ in 0..2 {
        repo.aye(&["apply", &edit, "--yes"]).fails("conflict", 5);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "Another package"]);
    }
    assert_eq!(repo.text("b/init"), "");
    repo.aye(&["apply", &drop, "--yes"]).ok();
    assert_eq!(repo.text("b/init"), "");
}

#[test]
fn a_deletion_of_a_file_that_has_moved_is_a_conflict() {
    let repo = scene();
    let drop = ["propose", "f.txt", "--delete", "-m", "Drop", "-q"];
    let id = repo.agent("one", &drop).ok().id();
    let moving = propose_move(&repo, |_| false);
    repo.git(&["mv", "f.txt", "h.txt"]);
    repo.aye(&["apply", &id, "--yes"]).fails("conflict", 5).notes("h.txt");
    repo.commit("Move");
    repo.write("h.txt", lines(|n| n == 20));
    repo.commit("Edit");
    repo.aye(&["apply", &id, "--yes"]).fails("conflict", 5).notes("h.txt");
    repo.aye(&["revise", "--rebase", &id]).fails("conflict", 5).notes("h.txt");
    repo.aye(&["check", "--fail-on", "conflict"]).exits(1).says("h.txt");
    let mut t = Terminal::review(&repo, &[&id]);
    t.sees("f.txt").sees("]? ").types("y").sees("h.txt").sees("]? ").types("q");
    t.sees("[w,k,d").types("d").ends();
    assert_eq!(repo.text("h.txt"), lines(|n| n == 20));
    // What moves it elsewhere is a conflict as before, and no deletion once it is there.
    repo.aye(&["apply", &moving, "--yes"]).fails("conflict", 5);
    repo.git(&["mv", "h.txt", "g.txt"]);
    repo.write("g.txt", lines(|_| false));
    repo.aye(&["apply", &moving, "--yes"]).ok();
    repo.git(&["rm", "-qf", "g.txt"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
}

/// What was asked for an ordinary file is not granted for one that agents read, nor for one that runs in builds.
#[test]
fn an_edit_does_not_follow_a_file_to_a_place_that_deserves_a_second_look() {
    for (place, mark, is_committed) in [
        ("AGENTS.md", "instructions", true),
        (".github/workflows/a.yml", "build", false),
        (".agent-memory/decisions.md", "memory", true),
        (".agent-memory/meta/m.yml", "memory", false),
    ] {
        let repo = scene();
        let id = propose_edit(&repo, "codex", "line 3\n", "odd\n");
        std::fs::create_dir_all(repo.path(place).parent().unwrap()).unwrap();
        repo.git(&["mv", "f.txt", place]);
        if is_committed {
            repo.git(&["commit", "-qm", "Move"]);
        }
        for last in ["--yes", "--dry-run"] {
            let run = repo.aye(&["apply", &id, last]).fails("conflict", 5);
            run.notes(place).notes(&format!("`aye revise {id} --rebase`"));
        }
        let mut t = Terminal::review(&repo, &[&id]);
        t.sees("f.txt").sees("]? ").types("y").sees(place);
        // There it is what it is.
        repo.agent("codex", &["revise", "--rebase", &id]).ok();
        let shown = repo.item(&id);
        assert_eq!(crate::marks::words(&shown), [mark], "{place}");
        repo.aye(&["apply", &repo.at_revision(&id), "--yes"]).fails("terminal_required", 4);
        assert_eq!(repo.text(place), lines(|_| false));
    }
}

/// What one file of a scene becomes.
#[derive(Clone, Debug)]
enum Fate {
    Stays,
    Edited(Vec<u8>),
    Moved(Vec<u8>, bool),
    Copied(Vec<u8>, Vec<u8>),
}

fn text(lines: &[u8]) -> Vec<u8> {
    lines.iter().flat_map(|n| format!("this is line {n}\n").into_bytes()).collect()
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0..9_u8, 1..14)
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        Just(Fate::Stays),
        content().prop_map(Fate::Edited),
        (content(), any::<bool>()).prop_map(|(text, executable)| Fate::Moved(text, executable)),
        (content(), content()).prop_map(|(text, copy)| Fate::Copied(text, copy)),
    ]
}

fn tree(directory: &Path) -> BTreeMap<String, (Vec<u8>, bool)> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("a file").flatten() {
        let name = entry.file_name().into_string().expect("a file");
        if name != ".patch" {
            let mode = entry.metadata().expect("a file").permissions().mode();
            found.insert(name, (std::fs::read(entry.path()).expect("a file"), mode & 0o100 != 0));
        }
    }
    found
}

/// Makes `directory` hold `files` and nothing else.
fn restore(directory: &Path, files: &BTreeMap<String, (Vec<u8>, bool)>) {
    use std::os::unix::fs::PermissionsExt as _;
    for name in tree(directory).into_keys() {
        std::fs::remove_file(directory.join(name)).expect("a file");
    }
    for (name, (bytes, executable)) in files {
        std::fs::write(directory.join(name), bytes).expect("a file");
        let mode = if *executable { 0o755 } else { 0o644 };
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(directory.join(name), permissions).expect("a file");
    }
}

/// The patch that holds what was taken of `review` and nothing else, in git's format.
fn selection(review: &Review) -> String {
    let mut patch = String::new();
    for (at, file) in review.files().iter().enumerate() {
        let units = &review.units()[review.units_of(at)];
        let taken = |unit: &&Unit| unit.decision == Some(Decision::Take);
        let (old, new) = (file.old_path.display(), file.path.display());
        if units.iter().filter(taken).any(|unit| unit.part == UnitKind::Whole) {
            let text = |file: &File, sign: &str| -> String {
                let text = String::from_utf8(file.bytes.clone()).expect("text");
                text.lines().map(|line| format!("{sign}{line}\n")).collect()
            };
            let count = |text: &str| text.lines().count();
            patch += &match (&file.before, &file.after) {
                (Some(before), None) => {
                    let (mode, body) = (before.mode.as_str(), text(before, "-"));
                    format!(
                        "diff --git a/{old} b/{old}\ndeleted file mode {mode}\n--- a/{old}\n+++ /dev/null\n\
                         @@ -1,{} +0,0 @@\n{body}",
                        count(&body)
                    )
                }
                (_, after) => {
                    let after = after.as_ref().expect("a file that is there afterwards");
                    let (mode, body) = (after.mode.as_str(), text(after, "+"));
                    format!(
                        "diff --git a/{new} b/{new}\nnew file mode {mode}\n--- /dev/null\n+++ b/{new}\n\
                         @@ -0,0 +1,{} @@\n{body}",
                        count(&body)
                    )
                }
            };
            continue;
        }
        let is_placed = units.iter().filter(taken).any(|unit| unit.part == UnitKind::Place);
        let to = if is_placed { &new } else { &old };
        let (mut head, mut body, mut moved) = (String::new(), String::new(), 0_isize);
        let modes = [&file.before, &file.after].map(|file| file.as_ref().map(|file| file.mode));
        if let ([Some(before), Some(after)], true) = (modes, is_placed && modes[0] != modes[1]) {
            head += &format!("old mode {}\nnew mode {}\n", before.as_str(), after.as_str());
        }
        if is_placed && file.old_path != file.path {
            head += &format!("rename from {old}\nrename to {new}\n");
        }
        for unit in units.iter().filter(taken) {
            let UnitKind::Hunk(hunk) = &unit.part else { continue };
            let (before, after) = (hunk.before.len(), hunk.after.len());
            let start = |at: isize, count: usize| if count == 0 { at } else { at + 1 };
            let from = hunk.before.start as isize;
            body += &format!(
                "@@ -{},{before} +{},{after} @@\n",
                start(from, before),
                start(from + moved, after)
            );
            for line in file.diff.lines(hunk) {
                body += &format!("{}{}", line.side.sign(), String::from_utf8_lossy(line.bytes));
            }
            moved += after as isize - before as isize;
        }
        if !body.is_empty() {
            body = format!("--- a/{old}\n+++ b/{to}\n{body}");
        }
        if !head.is_empty() || !body.is_empty() {
            patch += &format!("diff --git a/{old} b/{to}\n{head}{body}");
        }
    }
    patch
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is taken of renames and copies composes to the bytes and modes that `git apply` of the same
    /// difference gives.
    #[test]
    fn what_is_taken_of_renames_is_what_git_applies(
        olds in prop::collection::vec(content(), 1..4),
        fates in prop::collection::vec(fate(), 4),
        answers in any::<u64>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut changes = Vec::new();
        let path = |name: String| RepoPath::new(name).unwrap();
        let change = |path, before: Option<File>, after: Option<File>| {
            FileChange { path, before, after, origin: None, snippets: Vec::new() }
        };
        for (at, (old, fate)) in olds.iter().zip(&fates).enumerate() {
            let (name, old) = (format!("f{at}"), File::regular(text(old)));
            std::fs::write(directory.path().join(&name), &old.bytes).unwrap();
            // Near the old text, so that many are renames: every other line is the old one.
            let near = |new: &[u8]| {
                let mut bytes = old.bytes.clone();
                bytes.extend(text(&new[..new.len() / 2]));
                bytes
            };
            match fate {
                Fate::Stays => {}
                Fate::Edited(new) => {
                    changes.push(change(path(name), Some(old), Some(File::regular(text(new)))));
                }
                Fate::Moved(new, executable) => {
                    let mode = if *executable { Mode::Executable } else { Mode::Regular };
                    let after = File { bytes: near(new), mode };
                    changes.push(change(path(format!("g{at}")), None, Some(after)));
                    changes.push(change(path(name), Some(old), None));
                }
                Fate::Copied(new, copy) => {
                    let (after, copied) = (near(new), near(copy));
                    changes.push(change(path(format!("h{at}")), None, Some(File::regular(copied))));
                    changes.push(change(path(name), Some(old), Some(File::regular(after))));
                }
            }
        }
        let Ok(changeset) = Changeset::new(changes) else { return Ok(()) };
        let mut changes = changeset.into_changes();
        moves::name_origins(&mut changes);
        let mut review = Review::new(&changes, 3);
        for unit in 0..review.units().len() {
            let take = answers >> (unit % 64) & 1 == 1;
            review.decide(unit, Some(if take { Decision::Take } else { Decision::Leave }));
        }
        let first = tree(directory.path());
        let mut composed = first.clone();
        let taken = review.changes();
        for change in &taken {
            let name = change.path.display().to_string();
            match &change.after {
                Some(file) => composed.insert(name, (file.bytes.clone(), file.mode == Mode::Executable)),
                None => composed.remove(&name),
            };
        }
        // The patch of what was answered, written by hand, and that of what it composes to.
        let taken_nothing = taken.is_empty();
        let Ok(changeset) = Changeset::new(taken) else { return Ok(()) };
        let emitted = emit::git_patch(&changeset, emit::Kind::Sha1);
        for patch in [selection(&review), String::from_utf8(emitted).unwrap()] {
            restore(directory.path(), &first);
            std::fs::write(directory.path().join(".patch"), &patch).unwrap();
            let git = std::process::Command::new("git").args(["apply", ".patch"])
                .current_dir(directory.path())
                .env("GIT_CEILING_DIRECTORIES", directory.path().parent().unwrap()).output().unwrap();
            // Of nothing there is no patch.
            let is_empty = patch.is_empty() && taken_nothing;
            prop_assert!(is_empty || git.status.success(), "{}\n{patch}", String::from_utf8_lossy(&git.stderr));
            prop_assert_eq!(&tree(directory.path()), &composed, "{}", patch);
        }
    }
}
