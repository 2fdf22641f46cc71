//! Nothing under `.git/aye` is believed: an agent that can write the git directory, and nothing
//! outside the repository, gains nothing when a person runs aye there.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::support::record::{proposal, propose, store};
use crate::support::terminal::Terminal;
use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("d/b.txt", "three\n")];
const TRANSACTION: &str = "00112233aabbccdd";
/// Of everything that needs what a symlink stands in the place of.
const CODE: &str = "private_dir_unsafe";

/// A repository beside a directory that nobody may touch.
struct Scene {
    repo: Repo,
    canaries: PathBuf,
    before: BTreeMap<PathBuf, String>,
}

impl Scene {
    fn new() -> Self {
        Self::on(Repo::with(FILES))
    }

    fn on(repo: Repo) -> Self {
        let canaries = repo.outer().join("home");
        for (path, text) in [
            (".bashrc", "alias ll=ls\n"),
            ("aye/open", "0123456789abcdef\n"),
            ("aye/lock", "not a lock\n"),
            ("aye/idle", "not a stamp\n"),
            ("aye/journal/lock", ""),
            ("aye/review/keep.json", "{}\n"),
            ("0123456789ab/work.txt", "the only copy\n"),
            ("name/work.txt", "the only copy\n"),
            ("name.lock", ""),
            ("0123456789ac.lock", ""),
            ("0123456789ac/work.txt", "the only copy\n"),
            (".agent-memory/proposals/x", "x\n"),
        ] {
            let file = canaries.join(path);
            std::fs::create_dir_all(file.parent().expect("the scene is set"))
                .expect("the scene is set");
            std::fs::write(file, text).expect("the scene is set");
        }
        let before = picture(&canaries);
        Self { repo, canaries, before }
    }

    #[track_caller]
    fn untouched(&self) {
        let now = picture(&self.canaries);
        let changed = |(path, what): (&PathBuf, &String)| {
            (self.before.get(path) != Some(what)).then(|| format!("{path:?}: {what}"))
        };
        let changed: Vec<_> = now.iter().filter_map(changed).collect();
        let gone: Vec<_> = self.before.keys().filter(|path| !now.contains_key(*path)).collect();
        assert!(changed.is_empty() && gone.is_empty(), "changed {changed:?}, gone {gone:?}");
    }

    fn outside(&self, path: &str) -> String {
        self.canaries.join(path).to_str().expect("the scene is set").to_owned()
    }

    /// Puts a symlink to `target` (outside) in the place of `name` under `.git/aye`.
    fn link(&self, name: &str, target: &str) {
        let path = self.repo.path(".git").join(name);
        clear(&path);
        std::fs::create_dir_all(path.parent().expect("the scene is set"))
            .expect("the scene is set");
        std::os::unix::fs::symlink(self.outside(target), path).expect("the scene is set");
    }

    fn journal(&self, journal: &Planted<'_>) -> PathBuf {
        let path = self.repo.path(&format!(".git/aye/journal/{TRANSACTION}.journal"));
        std::fs::create_dir_all(path.parent().expect("the scene is set"))
            .expect("the scene is set");
        std::fs::write(&path, journal.text(&self.repo)).expect("the scene is set");
        path
    }
}

fn clear(path: &Path) {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path).expect("the scene is set"),
        Ok(_) => std::fs::remove_file(path).expect("the scene is set"),
        Err(_) => {}
    }
}

/// Everything below a directory: content, permissions and times, but for directories' own times of
/// access.
fn picture(top: &Path) -> BTreeMap<PathBuf, String> {
    let entry = |entry: walkdir::DirEntry| {
        let facts = entry.path().symlink_metadata().expect("the scene is set");
        let content = match facts.is_file() {
            true => std::fs::read(entry.path()).expect("the scene is set"),
            false => Vec::new(),
        };
        let what = format!(
            "{:o} {}.{} {} {content:?}",
            facts.mode(),
            facts.mtime(),
            facts.mtime_nsec(),
            facts.nlink()
        );
        (entry.path().to_owned(), what)
    };
    walkdir::WalkDir::new(top)
        .into_iter()
        .map(|found| entry(found.expect("the scene is set")))
        .collect()
}

/// A journal for one file, as honest as it is told to be.
#[derive(Clone)]
struct Planted<'a> {
    root: String,
    subject: Option<&'a str>,
    sums: bool,
    path: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
    home: &'a str,
}

impl<'a> Planted<'a> {
    /// Would write `before` where `after` is.
    fn new(root: impl AsRef<Path>, path: &'a str, before: &'a str, after: &'a str) -> Self {
        Self {
            root: root.as_ref().to_str().expect("the scene is set").to_owned(),
            subject: Some("apply prop_aaaaaaaaaa 2026-01-01T00:00:00.000Z"),
            sums: false,
            path,
            before: Some(before),
            after: Some(after),
            home: path.rsplit_once('/').map_or("", |(home, _)| home),
        }
    }

    fn text(&self, repo: &Repo) -> String {
        let blob = |text: Option<&str>| {
            let text = text?;
            let run = repo.program("git").args(&["hash-object", "-w", "--stdin"]).stdin(text);
            let id = run.run().ok().out().trim().to_owned();
            Some(serde_json::json!({"id": id, "mode": "100644"}))
        };
        let entry = serde_json::json!({
            "path": self.path, "home": self.home,
            "before": blob(self.before), "after": blob(self.after),
        });
        let record = serde_json::json!({
            "version": 1, "transaction": TRANSACTION, "root": self.root, "subject": self.subject,
            "sums": self.sums, "flushed": true, "entries": [entry],
        });
        format!("{record}\n")
    }
}

#[track_caller]
fn sound_end(run: &Run) {
    assert!(![101, 70, 134, 137, 139].contains(&run.status), "{run}");
    assert!(!run.err().contains("panicked"), "{run}");
}

// A4 as it was found: the root is a directory outside the repository.
#[test]
fn a_journal_for_a_directory_outside_is_reported_and_left() {
    let scene = Scene::new();
    let bashrc = "alias ll=ls\n";
    for planted in [
        Planted::new(&scene.canaries, ".bashrc", "evil\n", bashrc),
        Planted { subject: None, ..Planted::new(&scene.canaries, ".bashrc", "evil\n", bashrc) },
    ] {
        let path = scene.journal(&planted);
        for _ in 0..2 {
            let run = scene.repo.aye(&["list"]).ok();
            run.clone()
                .notes("warning[journal_foreign]")
                .notes(path.to_str().expect("the scene is set"));
            assert_eq!(run.err().matches("warning").count(), 1, "{run}");
            run.notes("aye doctor --repair");
        }
        scene.untouched();
        scene.repo.aye(&["doctor"]).exits(1).says("journal_foreign: ").says("aye doctor --repair");
        assert!(path.exists());
        scene.repo.aye(&["doctor", "--repair"]).ok().says("journal");
        assert!(!path.exists());
        scene.repo.aye(&["list"]).ok();
        scene.untouched();
    }
}

#[test]
fn a_foreign_journal_does_not_stop_an_apply() {
    let scene = Scene::new();
    let id = propose(&scene.repo, "a.txt", "one", "eins");
    scene.journal(&Planted::new(&scene.canaries, ".bashrc", "evil\n", "alias ll=ls\n"));
    scene.repo.aye(&["apply", &id, "--yes"]).ok().notes("journal_foreign");
    assert_eq!(scene.repo.text("a.txt"), "eins\ntwo\n");
    scene.untouched();
}

// `worktrees/*/gitdir` lies in the git directory, so that it proves nothing by itself.
#[test]
fn a_planted_list_of_work_trees_makes_no_work_tree() {
    let scene = Scene::new();
    let record = ".git/worktrees/evil";
    scene.repo.write(&format!("{record}/gitdir"), format!("{}\n", scene.outside(".git")));
    scene.repo.write(&format!("{record}/commondir"), "../..\n");
    scene.repo.write(&format!("{record}/HEAD"), "ref: refs/heads/evil\n");
    assert!(scene.repo.git(&["worktree", "list"]).contains("home"));
    scene.journal(&Planted::new(&scene.canaries, ".bashrc", "evil\n", "alias ll=ls\n"));
    scene.repo.aye(&["list"]).ok().notes("journal_foreign");
    // Nor are projections looked for there.
    let id = propose(&scene.repo, "a.txt", "one", "eins");
    let projection = scene.canaries.join(format!(".agent-memory/proposals/{id}"));
    std::fs::create_dir(&projection).expect("the scene is set");
    scene.repo.aye(&["reject", &id, "--yes"]).ok();
    assert!(projection.exists());
}

#[test]
fn a_journal_never_writes_into_the_git_directory() {
    let scene = Scene::new();
    let repo = &scene.repo;
    let config = repo.text(".git/config");
    // The git directory made a "linked work tree" of itself.
    repo.write(
        ".git/worktrees/evil/gitdir",
        repo.path(".git/.git").to_str().expect("the scene is set"),
    );
    repo.write(".git/worktrees/evil/commondir", "../..\n");
    repo.write(".git/worktrees/evil/HEAD", "ref: refs/heads/evil\n");
    let link = format!("gitdir: {}\n", repo.path(".git/worktrees/evil").display());
    repo.write(".git/.git", link);
    for (root, path) in [
        (repo.path(".git"), "config"),
        (repo.root().to_owned(), ".git/config"),
        (repo.root().to_owned(), ".GIT/config"),
        (repo.root().to_owned(), "git~1/config"),
        (repo.root().to_owned(), "../home/.bashrc"),
        (repo.path(".git/aye/try"), "x"),
    ] {
        std::fs::create_dir_all(repo.path(".git/aye/try")).expect("the scene is set");
        let path = scene.journal(&Planted::new(&root, path, "evil\n", &config));
        let run = repo.aye(&["list"]).ok();
        assert!(run.err().contains("warning[journal_"), "{run}");
        assert_eq!(repo.text(".git/config"), config);
        std::fs::remove_file(path).expect("the scene is set");
    }
    scene.untouched();
}

#[test]
fn a_git_directory_of_another_name_is_not_written_either() {
    let repo = Repo::outside();
    repo.git(&["init", "-q", "--initial-branch=main", "--separate-git-dir=store.git", "."]);
    let config = repo.text("store.git/config");
    let planted = Planted::new(repo.root(), "store.git/config", "evil\n", &config);
    repo.write(&format!("store.git/aye/journal/{TRANSACTION}.journal"), planted.text(&repo));
    repo.write(&format!("store.git/.aye-{TRANSACTION}-0"), "evil\n");
    repo.aye(&["list"]).ok().notes("journal_foreign");
    assert_eq!(repo.text("store.git/config"), config);
}

/// The journal itself is evidence of nothing: where no temporary file of the transaction lies in the
/// work tree, recovery changes no file.
#[test]
fn a_journal_for_this_work_tree_brings_no_content() {
    let scene = Scene::new();
    let repo = &scene.repo;
    let id = propose(repo, "a.txt", "one", "eins");
    let real = format!("apply {id} 2026-01-01T00:00:00.000Z");
    let honest = Planted::new(repo.root(), "a.txt", "evil\n", "one\ntwo\n");
    for planted in [
        honest.clone(),
        Planted { subject: Some(&real), ..honest.clone() },
        Planted { before: None, ..honest.clone() },
        Planted { after: None, ..honest.clone() },
    ] {
        let path = scene.journal(&planted);
        repo.aye(&["list"]).ok();
        assert_eq!(repo.text("a.txt"), "one\ntwo\n");
        assert!(!path.exists(), "settled: there was nothing to do");
    }
    // An old decision does not stand for new content.
    repo.aye(&["apply", &id, "--yes"]).ok();
    let known = proposal(repo, &id).id;
    let log = store(repo)
        .view()
        .expect("the scene is set")
        .log(Some(&known), None)
        .expect("the scene is set");
    let applied = log.iter().map(|entry| entry.stamped.event.time).max().expect("the scene is set");
    let at = applied.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    let real = format!("apply {id} {at}");
    scene.journal(&Planted {
        subject: Some(&real),
        ..Planted::new(repo.root(), "d/b.txt", "three\n", "evil\n")
    });
    repo.aye(&["list"]).ok().notes("event");
    assert_eq!(repo.text("d/b.txt"), "three\n");
    scene.journal(&Planted {
        subject: Some(&real),
        after: None,
        ..Planted::new(repo.root(), "d/b.txt", "three\n", "")
    });
    repo.aye(&["list"]).ok().notes("event");
    assert_eq!(repo.text("d/b.txt"), "three\n");
}

#[test]
fn what_is_undone_is_named() {
    let scene = Scene::new();
    let repo = &scene.repo;
    scene.journal(&Planted::new(repo.root(), "a.txt", "before\n", "one\ntwo\n"));
    repo.write(&format!(".aye-{TRANSACTION}-0"), "before\n");
    repo.aye(&["list"]).ok().notes("changed a.txt");
    assert_eq!(repo.text("a.txt"), "before\n");
}

#[test]
fn a_symlink_in_the_way_of_a_journal_is_not_followed() {
    let scene = Scene::new();
    let repo = &scene.repo;
    repo.symlink(scene.canaries.to_str().expect("the scene is set"), "out");
    std::fs::write(scene.canaries.join("x"), "").expect("the scene is set");
    std::fs::remove_file(scene.canaries.join("x")).expect("the scene is set");
    let scene = Scene { before: picture(&scene.canaries), ..scene };
    let repo = &scene.repo;
    for path in ["out/.bashrc", "out/new"] {
        for before in [Some("evil\n"), None] {
            scene.journal(&Planted {
                before,
                ..Planted::new(repo.root(), path, "", "alias ll=ls\n")
            });
            sound_end(&repo.aye(&["list"]));
            scene.untouched();
        }
    }
}

#[test]
fn a_journal_that_is_no_file_of_this_user_is_not_read() {
    let scene = Scene::new();
    let repo = &scene.repo;
    let name = format!(".git/aye/journal/{TRANSACTION}.journal");
    let text = Planted::new(repo.root(), "a.txt", "evil\n", "one\ntwo\n").text(repo);
    repo.write(&format!(".aye-{TRANSACTION}-0"), "evil\n");
    repo.write("planted", text);
    std::fs::create_dir_all(repo.path(".git/aye/journal")).expect("the scene is set");
    type Make<'a> = (&'a str, &'a dyn Fn(&Path));
    let makes: [Make<'_>; 3] = [
        ("symlink", &|path| {
            std::os::unix::fs::symlink(repo.path("planted"), path).expect("the scene is set");
        }),
        ("directory", &|path| std::fs::create_dir(path).expect("the scene is set")),
        ("pipe", &|path| {
            assert!(
                std::process::Command::new("mkfifo")
                    .arg(path)
                    .status()
                    .expect("the scene is set")
                    .success()
            );
        }),
    ];
    for (what, make) in makes {
        make(&repo.path(&name));
        repo.aye(&["list"]).ok().notes("journal_foreign");
        assert_eq!(repo.text("a.txt"), "one\ntwo\n", "{what}");
        repo.aye(&["doctor"]).exits(1).says("journal_foreign");
        repo.aye(&["doctor", "--repair"]).ok();
        assert!(!repo.exists(&name), "{what}");
        assert!(repo.exists("planted"));
    }
}

#[test]
fn another_users_journal_is_not_read() {
    let scene = Scene::new();
    let path = scene.journal(&Planted::new(scene.repo.root(), "a.txt", "evil\n", "one\ntwo\n"));
    scene.repo.write(&format!(".aye-{TRANSACTION}-0"), "evil\n");
    if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
        return; // Only the superuser can give files away.
    }
    scene.repo.aye(&["list"]).ok().notes("user");
    assert_eq!(scene.repo.text("a.txt"), "one\ntwo\n");
}

/// As it was found: `list` removed every directory with a name like a trial's.
#[test]
fn trial_directory_is_a_symlink() {
    let scene = Scene::new();
    scene.link("aye/try", ".");
    scene.repo.aye(&["list"]).ok().notes(&format!("warning[{CODE}]"));
    scene.repo.aye(&["doctor"]).exits(1).says(CODE);
    let id = propose(&scene.repo, "a.txt", "one", "eins");
    scene.repo.aye(&["try", &id, "--", "true"]).fails(CODE, 4);
    scene.untouched();
}

#[test]
fn symlinks_in_the_place_of_trials_are_not_followed() {
    let scene = Scene::new();
    let repo = &scene.repo;
    // Where nothing is pending, the second list opens no repository.
    propose(repo, "a.txt", "one", "eins");
    for name in ["0123456789ab", "0123456789ac", "0123456789ad.lock", "name", "0123456789ac.lock"] {
        scene.link(&format!("aye/try/{name}"), name.strip_suffix(".lock").unwrap_or(name));
    }
    repo.write(".git/aye/try/0123456789af.lock", "");
    scene.link("aye/try/0123456789af", "0123456789ab");
    repo.write(".git/aye/try/mine/notes.txt", "not a trial\n");
    repo.write(".git/aye/try/mine.lock", "");
    repo.aye(&["list"]).ok();
    scene.untouched();
    assert_eq!(repo.text(".git/aye/try/mine/notes.txt"), "not a trial\n");
    assert!(!repo.exists(".git/aye/try/0123456789af.lock"), "a trial that is gone");
    // What aye made goes, with everything that it holds.
    repo.write(".git/aye/try/0123456789ae/deep/er/file", "x");
    scene.link("aye/try/0123456789ae/deep/link", ".");
    repo.chmod(".git/aye/try/0123456789ae/deep/er", 0o555);
    repo.chmod(".git/aye/try/0123456789ae/deep", 0o000);
    repo.aye(&["list"]).ok();
    assert!(!repo.exists(".git/aye/try/0123456789ae"));
    scene.untouched();
}

#[test]
fn a_trial_that_replaces_itself_by_a_symlink_removes_nothing_else() {
    let scene = Scene::new();
    let id = propose(&scene.repo, "a.txt", "one", "eins");
    let script = format!("d=$PWD; cd /; rm -rf \"$d\"; ln -s '{}' \"$d\"", scene.outside("."));
    scene.repo.aye(&["try", &id, "--", "sh", "-c", &script]).ok();
    scene.untouched();
    let left =
        std::fs::read_dir(scene.repo.path(".git/aye/try")).expect("the scene is set").count();
    assert_eq!(left, 0);
}

#[test]
fn a_trial_as_deep_as_nobody_digs_is_removed() {
    let scene = Scene::new();
    let top = scene.repo.path(".git/aye/try/0123456789ae");
    std::fs::create_dir_all(&top).expect("the scene is set");
    let mut here = top.clone();
    for _ in 0..600 {
        here.push("deep");
    }
    std::fs::create_dir_all(&here).expect("the scene is set");
    scene.repo.aye(&["list"]).ok();
    assert_eq!(
        std::fs::read_dir(top.parent().expect("the scene is set"))
            .expect("the scene is set")
            .count(),
        0
    );
}

#[test]
fn the_private_directory_as_a_symlink_is_refused() {
    let scene = Scene::new();
    let id = propose(&scene.repo, "a.txt", "one", "eins");
    scene.link("aye", "aye");
    let run = scene.repo.aye(&["list"]).ok();
    run.says(&id).notes(&format!("warning[{CODE}]"));
    for args in [
        &["propose", "a.txt", "--old", "two", "--new", "zwei"][..],
        &["apply", &id, "--yes"],
        &["reject", &id, "--yes"],
        &["comment", &id, "-m", "text"],
        &["try", &id, "--no-record", "--", "true"],
    ] {
        scene.repo.aye(args).fails(CODE, 4);
    }
    scene.repo.aye(&["check"]);
    scene.repo.aye(&["doctor"]).exits(1).says(CODE);
    scene.repo.aye(&["doctor", "--repair"]).exits(1).says(CODE);
    scene.repo.aye(&["review"]).exits(4);
    assert_eq!(scene.repo.text("a.txt"), "one\ntwo\n");
    scene.untouched();
    std::fs::remove_file(scene.repo.path(".git/aye")).expect("the scene is set");
    scene.repo.aye(&["apply", &id, "--yes"]).ok();
}

/// The git directory itself may be anywhere.
#[test]
fn a_symlinked_git_directory_works() {
    let scene = Scene::new();
    let repo = &scene.repo;
    std::fs::rename(repo.path(".git"), repo.outer().join("elsewhere.git"))
        .expect("the scene is set");
    repo.symlink("../elsewhere.git", ".git");
    let id = propose(repo, "a.txt", "one", "eins");
    let run = repo.aye(&["list"]).ok().says(&id);
    assert_eq!(run.err(), "");
    assert!(repo.exists(".git/aye"));
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.aye(&["doctor"]).ok();
}

/// A stamp spares a look; who decides looks.
#[test]
fn a_forged_stamp_changes_no_decision() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.aye(&["reject", &id, "--yes"]).ok();
    repo.later(&["check"]).run().ok();
    let stamp = repo.text(".git/aye/idle");
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.write(".git/aye/idle", &stamp);
    repo.aye(&["show", &id]).ok().says("eins");
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.item(&id)["status"], "applied");
}

/// Git's own list of what it ignores.
#[test]
fn no_note_is_written_through_a_symlink() {
    let repo = Repo::with(FILES);
    let outside = repo.outer().join("outside");
    std::fs::write(&outside, "mine\n").expect("write");
    std::fs::create_dir_all(repo.path(".git/info")).expect("make");
    std::os::unix::fs::symlink(&outside, repo.path(".git/info/exclude")).expect("link");
    repo.aye_stdin(&["plan", "update", "-"], "plan: [{ step: one, status: pending }]\n");
    repo.aye(&["init", "--remove", "--yes"]);
    assert_eq!(std::fs::read_to_string(&outside).expect("read"), "mine\n");
}

#[test]
fn each_entry_as_a_symlink_is_not_followed() {
    for (name, target) in [
        ("lock", "aye/lock"),
        ("idle", "aye/idle"),
        ("journal", "aye/journal"),
        ("answers", "aye/open"),
        ("try", "."),
        ("open", "aye/open"),
        ("open", ".bashrc"),
        ("decided", "aye/open"),
        ("checked", "aye/open"),
        ("linked", "aye/open"),
        ("staged", "nothing"),
        ("unknown", "aye/journal"),
        ("lock", "nothing"),
        ("idle", "nothing"),
        ("journal", "nothing"),
        ("open", "nothing"),
    ] {
        let scene = Scene::new();
        let repo = &scene.repo;
        let id = propose(repo, "a.txt", "one", "eins");
        scene.link(&format!("aye/{name}"), target);
        let run = repo.aye(&["list"]).ok().says(&id);
        run.notes(&format!("warning[{CODE}]")).notes(&format!("aye/{name} is a symlink"));
        let doctor = repo.aye(&["doctor"]);
        match name {
            // Written anew in the place of the symlink.
            "open" => assert!(!repo.path(".git/aye/open").is_symlink(), "{doctor}"),
            _ => _ = doctor.exits(1).says(CODE).says(&format!("aye/{name} ")),
        }
        scene.untouched();
        let needed = name == "lock";
        let writes = repo.aye(&["propose", "a.txt", "--old", "two", "--new", "zwei"]);
        if needed {
            writes.fails(CODE, 4)
        } else {
            writes.ok()
        };
        let applies = repo.aye(&["apply", &id, "--yes"]);
        if needed || name == "journal" {
            applies.fails(CODE, 4)
        } else {
            applies.ok()
        };
        repo.aye(&["list"]).ok();
        repo.aye(&["check"]);
        sound_end(&repo.aye(&["doctor", "--repair"]));
        scene.untouched();
    }
}

/// Also below the directories there; a trial has the symlinks of the project.
#[test]
fn symlinks_further_down_are_named() {
    let scene = Scene::new();
    propose(&scene.repo, "a.txt", "one", "eins");
    scene.link("aye/edited/x.json", ".bashrc");
    scene.link("aye/sessions/x", "aye");
    let run = scene.repo.aye(&["doctor"]).exits(1);
    run.says(CODE).says("aye/edited/x.json").says("aye/sessions/x");
    scene.untouched();
}

/// Decisions that an earlier session has kept are neither read nor written through a symlink.
#[test]
fn kept_decisions_are_not_followed() {
    let numbered = |edit: &str| -> String { (0..40).map(|n| format!("{n}{edit}\n")).collect() };
    let mut scene = Scene::on(Repo::with(&[("a.txt", numbered(""))]));
    let repo = scene.repo;
    let new = numbered("").replacen("\n5\n", "\nfive\n", 1).replacen("\n30\n", "\nthirty\n", 1);
    let args = ["propose", "a.txt", "--content-file", "-", "--json"];
    repo.aye_stdin(&args, new).ok();
    let review =
        |repo: &Repo| Terminal::start(repo.cmd(&["review"]).env("TERM", "xterm-256color"), 30, 100);
    let quit = |terminal: &mut Terminal| {
        terminal.sees("(1/2)").types("n").sees("(2/2)").types("qk");
        terminal.ends()
    };
    assert_eq!(quit(&mut review(&repo)), 0);
    let kept = repo.path(".git/aye/answers");
    let outside = scene.canaries.join("aye/answers");
    std::fs::rename(&kept, &outside).expect("the scene is set");
    scene = Scene { before: picture(&scene.canaries), repo, ..scene };
    // The file: it is not read, and its name is replaced.
    std::os::unix::fs::symlink(&outside, &kept).expect("the scene is set");
    assert_eq!(quit(&mut review(&scene.repo)), 0);
    assert!(!kept.is_symlink());
    scene.untouched();
}
