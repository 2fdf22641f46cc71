//! Files that git ignores by now, or did until somebody loosened its rules.

use super::*;

fn lines(ninth: &str) -> String {
    (1..=20).map(|n| if n == 9 { format!("{ninth}\n") } else { format!("{n}\n") }).collect()
}

/// A public proposal about `w.txt`, which git ignores since, and which has other lines by now.
fn ignored_since() -> (Scene, String) {
    let scene = scene();
    let here = &scene.here;
    here.write("w.txt", lines("9"));
    let id = propose(here, "w.txt", &lines("9").replace("15\n", "new\n"), &["-m", "x"]);
    is(here, &id, "pending", "shared");
    here.write(".git/info/exclude", "w.txt\n");
    here.write("w.txt", lines("hush"));
    (scene, id)
}

fn stays_here(scene: &Scene) {
    let log = scene.here.git(&["rev-list", "--objects", "--glob=refs/aye/p/*"]);
    for line in log.lines() {
        let id = line.split(' ').next().expect("an id");
        let text = scene.here.git(&["cat-file", "-p", id]);
        assert!(!text.contains("hush"), "{line}");
    }
}

#[test]
fn what_has_become_private_is_not_revised_for_others() {
    let (scene, id) = ignored_since();
    let here = &scene.here;
    let edit = ["revise", &id, "w.txt", "--old", "hush", "--new", "more hush"];
    here.aye(&edit).fails("private_path", 4).notes("aye propose --private");
    here.agent("codex", &edit).fails("human_approval_required", 4);
    here.aye(&["revise", "--rebase", &id]).fails("private_path", 4);
    // What they have already they may have once more, and nothing is said that is not so.
    here.aye(&["revise", &id, "-m", "words"]).ok().lacks("private");
    is(here, &id, "pending", "shared");
    stays_here(&scene);
    let again = here.aye(&["propose", "w.txt", "--old", "hush", "--new", "more hush", "-q"]).ok();
    is(here, &again.id(), "pending", "private");
    // Nor is what a person has published.
    here.aye(&["revise", "--public", &again.id(), "--yes"]).ok();
    here.aye(&["revise", &again.id(), "w.txt", "--old", "20", "--new", "21"])
        .fails("private_path", 4);
}

/// What is in HEAD is where its commits go, whatever `aye.private` names since, here or at a colleague's.
#[test]
fn what_head_has_is_revised_and_merged_for_others() {
    let scene = scene();
    let here = &scene.here;
    here.write("b.txt", lines("9"));
    here.git(&["commit", "-qam", "Lines"]);
    let id = propose(here, "b.txt", &lines("neun"), &["-m", "x"]);
    here.git(&["config", "aye.private", "b.txt"]);
    here.aye(&["revise", &id, "b.txt", "--old", "neun", "--new", "nine"]).ok();
    here.write("b.txt", lines("9").replace("15\n", "fifteen\n"));
    here.git(&["commit", "-qam", "More"]);
    here.aye(&["revise", "--rebase", &id]).ok();
    here.write("b.txt", lines("9").replace("15\n", "fifteen\n").replace("20\n", "twenty\n"));
    here.git(&["commit", "-qam", "And more"]);
    here.aye(&["apply", &here.at_revision(&id), "--yes"]).ok().says("merged");
    here.git(&["commit", "-qam", "It"]);
    here.write("b.txt", here.text("b.txt").replace("2\n3\n", "two\n3\n"));
    here.git(&["commit", "-qam", "Later"]);
    here.aye(&["undo", &id, "--yes"]).ok();
    is(here, &id, "pending", "shared");
}

#[test]
fn what_has_become_private_is_not_merged_into_the_record_for_others() {
    let (scene, id) = ignored_since();
    let here = &scene.here;
    here.aye(&["apply", &id, "--yes"]).fails("private_path", 4).notes("--mark-only");
    here.aye(&["approve", &id, "--yes"]).fails("private_path", 4);
    assert_eq!(here.text("w.txt"), lines("hush"));
    is(here, &id, "pending", "shared");
    // As it was proposed it fits.
    here.write("w.txt", lines("9"));
    here.aye(&["apply", &id, "--yes"]).ok();
    here.write("w.txt", lines("hush").replace("15\n", "new\n"));
    here.aye(&["undo", &id, "--yes"]).fails("private_path", 4);
    here.write("w.txt", lines("9").replace("15\n", "new\n"));
    here.aye(&["undo", &id, "--yes"]).ok();
    stays_here(&scene);
}

/// A part that cannot be recorded for others is refused before anything is written.
#[test]
fn a_part_of_what_has_become_private_is_not_taken_for_others() {
    let scene = scene();
    let here = &scene.here;
    here.write("w.txt", lines("9"));
    let id = propose(here, "w.txt", &lines("hush").replace("20\n", "twenty\n"), &["-m", "x"]);
    is(here, &id, "pending", "shared");
    here.write(".git/info/exclude", "w.txt\n");
    for how in [&["--index"][..], &[]] {
        here.aye(&[&["apply", &id, "--hunks", "2", "--yes"], how].concat())
            .fails("private_path", 4);
        assert_eq!(here.text("w.txt"), lines("9"), "{how:?}");
        assert_eq!(here.git(&["diff", "--cached", "--name-only"]), "");
    }
}

/// Whoever proposes may just have loosened the rules, or staged the file.
#[test]
fn what_head_ignores_is_private_whatever_lies_there() {
    let Scene { here, origin } = scene();
    let rules = ".env\nsub/*.key\n";
    here.write(".gitignore", rules);
    here.write("in/.gitignore", "/deep/\n");
    here.git(&["add", "-A"]);
    here.commit("rules");
    here.write(".env", "A=1\nKEY=hush\n");
    here.write("in/deep/x.txt", "A=1\nKEY=hush\n");
    let private = |path: &str| {
        let args = ["propose", path, "--old", "A=1", "--new", "A=2", "-m", "x"];
        let run = here.agent("codex", &args).ok().notes("git ignores it");
        is(&here, &run.id(), "pending", "private");
        here.aye(&["reject", &run.id(), "--yes"]).ok();
    };
    for added in ["-f", "-Nf"] {
        here.git(&["add", added, ".env"]);
        private(".env");
        here.git(&["rm", "-q", "--cached", "-f", ".env"]);
    }
    here.write(".gitignore", "sub/*.key\n");
    private(".env");
    here.remove(".gitignore");
    here.write("in/.gitignore", "!deep/\n");
    private(".env");
    private("in/deep/x.txt");
    is(&here, &propose(&here, "in/other", "x\n", &[]), "pending", "shared");
    // What HEAD does not ignore any more is everybody's.
    here.git(&["commit", "-qam", "loose"]);
    is(&here, &propose(&here, "in/deep/y.txt", "x\n", &[]), "pending", "shared");
    push(&here);
    assert!(!objects(&origin).contains("hush"));
}

/// It cannot be taken back.
#[test]
fn what_goes_out_with_a_publication_is_named() {
    let Scene { here, .. } = scene();
    here.write(".gitignore", ".env\n");
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).split_at(36).0);
    here.write(".env", format!("A=1\nB=2\nTOKEN={token}\n"));
    let id =
        here.aye(&["propose", ".env", "--old", "A=1", "--new", "A=2", "-m", "x", "-q"]).ok().id();
    let says = |run: Run| run.notes("warning: .env:3:");
    says(here.aye(&["revise", "--public", &id, "--yes"]).ok().lacks(&token));
}
