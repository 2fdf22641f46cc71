//! Private text that stands in the files and is read from there.

use super::*;

/// Twenty lines, with `line` in the place of the fourth.
fn with(line: &str) -> String {
    (1..=20).map(|n| if n == 4 { format!("{line}\n") } else { format!("{n}\n") }).collect()
}

/// A repository with twenty lines in `a.txt`, and a private proposal that writes `hush` there.
fn hushed() -> (Scene, String) {
    let scene = scene();
    scene.here.write("a.txt", with("4"));
    scene.here.git(&["commit", "-qam", "Lines"]);
    let id = propose(&scene.here, "a.txt", &with("hush"), &["--private"]);
    (scene, id)
}

/// Brings the text of `id` into the files without a decision on it.
fn restore(repo: &Repo, id: &str) {
    repo.aye(&["reject", id, "--yes", "-m", "later"]).ok();
    repo.bring_back(id);
}

#[track_caller]
fn stays_here(scene: &Scene) {
    push(&scene.here);
    assert!(!objects(&scene.origin).contains("hush"));
}

#[test]
fn restored_private_text_is_private_when_read_from_the_files() {
    let captures: [&[&str]; 2] = [
        &["propose", "--worktree", "a.txt", "-q", "-m", "w"],
        &["propose", "--keep", "a.txt", "-q", "-m", "w"],
    ];
    for capture in captures {
        let (scene, hidden) = hushed();
        restore(&scene.here, &hidden);
        let read = scene.here.aye(capture).ok().id();
        is(&scene.here, &read, "pending", "private");
        // Beside it, lines that somebody has typed.
        let text = with("hush").replace("15\n", "mine\n");
        scene.here.write("a.txt", text);
        let read = scene.here.aye(capture).ok().id();
        is(&scene.here, &read, "pending", "private");
        stays_here(&scene);
    }
}

#[test]
fn private_text_that_git_or_an_editor_has_put_there_is_private() {
    let (scene, hidden) = hushed();
    let here = &scene.here;
    here.git(&["cherry-pick", "-n", &format!("refs/aye/pending/{hidden}")]);
    let capture = ["propose", "--worktree", "a.txt", "-q", "-m", "w"];
    here.write("a.txt", with("hush").replace("15\n", "mine\n"));
    is(here, &here.aye(&capture).ok().id(), "pending", "private");
    here.git(&["reset", "-q", "--hard"]);
    // Conflict markers, settled by hand.
    here.write("a.txt", with("four"));
    here.aye(&["apply", &hidden, "--yes", "--conflict-markers"]).exits(5);
    let markers = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
    let text = here.text("a.txt");
    let settled = text.lines().filter(|line| !markers.iter().any(|mark| line.starts_with(mark)));
    let settled: String = settled.map(|line| format!("{line}\n")).collect();
    assert!(settled.contains("hush") && settled.contains("four"), "{settled}");
    here.write("a.txt", settled);
    is(here, &here.aye(&capture).ok().id(), "pending", "private");
    here.git(&["reset", "-q", "--hard"]);
    // The commit itself, and a file that has moved.
    let commit = ["propose", "--commit", &format!("refs/aye/pending/{hidden}"), "-q", "-m", "w"];
    is(here, &here.aye(&commit).ok().id(), "pending", "private");
    here.write("a.txt", with("hush"));
    here.git(&["mv", "a.txt", "c.txt"]);
    let moved = ["propose", "--worktree", "a.txt", "c.txt", "-q", "-m", "w"];
    is(here, &here.aye(&moved).ok().id(), "pending", "private");
    stays_here(&scene);
}

#[test]
fn private_text_in_the_tree_of_a_session_is_private() {
    let (scene, hidden) = hushed();
    let here = &scene.here;
    let patch = here.outer().join("hidden.diff");
    std::fs::write(&patch, here.aye(&["diff", &hidden, "--patch"]).ok().out()).unwrap();
    let script = format!("git apply {} && sed -i s/^15$/mine/ a.txt", patch.display());
    here.aye(&["run", "--name", "s", "--", "sh", "-c", &script]).ok();
    let list = here.aye(&["list", "--json"]).ok().json();
    let items = list["proposals"].as_array().expect("a list");
    assert!(items.len() == 2 && items.iter().all(is_private), "{list:#}");
    stays_here(&scene);
}

#[test]
fn a_public_proposal_is_not_revised_with_private_text_from_the_files() {
    let (scene, hidden) = hushed();
    let here = &scene.here;
    let mine = |line: &str| with(line).replace("15\n", "mine\n");
    let public = propose(here, "a.txt", &mine("4"), &[]);
    restore(here, &hidden);
    here.write("a.txt", mine("hush"));
    here.aye(&["revise", &public, "--worktree", "a.txt"]).fails("private_path", 4);
    is(here, &public, "pending", "shared");
    stays_here(&scene);
    // Without that line it goes through.
    here.write("a.txt", mine("4").replace("16\n", "more\n"));
    here.aye(&["revise", &public, "--worktree", "a.txt"]).ok();
    is(here, &public, "pending", "shared");
}

#[test]
fn what_is_typed_or_committed_or_signs_alone_is_public() {
    let scene = scene();
    let here = &scene.here;
    here.write("a.txt", with("4"));
    here.git(&["commit", "-qam", "Lines"]);
    propose(here, "a.txt", &with("common\n}"), &["--private"]);
    let capture = |text: String| {
        here.write("a.txt", text);
        here.aye(&["propose", "--worktree", "a.txt", "-q", "-m", "w"]).ok().id()
    };
    // Two people close a block in the same way.
    let public = capture(with("mine {\n}"));
    is(here, &public, "pending", "shared");
    here.git(&["checkout", "-q", "a.txt"]);
    // Somebody who types the same has not taken it from there, and goes on with it.
    let typed = propose(here, "a.txt", &with("common"), &[]);
    is(here, &typed, "pending", "shared");
    here.write("a.txt", with("common").replace("15\n", "mine\n"));
    here.aye(&["revise", &typed, "--worktree", "a.txt"]).ok();
    is(here, &typed, "pending", "shared");
    // Once it is in a commit, it is everybody's.
    here.write("a.txt", with("common\n}"));
    here.git(&["commit", "-qam", "All"]);
    let public = capture(with("common\n}").replace("15\n", "mine\n"));
    is(here, &public, "pending", "shared");
}

/// SHA-256 of a file is no secret where little of the file is one.
#[test]
fn no_hash_of_private_lines_is_published_with_an_approval() {
    let (scene, hidden) = hushed();
    let here = &scene.here;
    let public = propose(here, "a.txt", &with("4").replace("15\n", "mine\n"), &[]);
    here.aye(&["apply", &hidden, "--yes"]).ok();
    here.aye(&["apply", &public, "--yes"]).fails("private_path", 4);
    here.aye(&["approve", &public, "--yes"]).fails("private_path", 4);
    let events = here.git(&["rev-list", "--objects", "--glob=refs/aye/p/*"]);
    assert!(!events.contains("manifest"), "{events}");
    here.aye(&["undo", &hidden, "--yes"]).ok();
    here.aye(&["approve", &public, "--yes"]).ok();
}
