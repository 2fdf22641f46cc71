//! A proposal that stands on several others: one for each file that it starts from as they make it.

use crate::support::terminal::Terminal;
use crate::support::{Repo, Run};

/// Two proposals, one of `a` and one of `b`, and one of both that starts from what these make; on the line that the
/// lower one of `b` writes if `meets`.
struct Scene {
    repo: Repo,
    a: String,
    b: String,
    both: String,
}

fn proposed(repo: &Repo, path: &str, old: &str, new: &str) -> String {
    repo.agent("codex", &["propose", path, "--old", old, "--new", new, "-q"]).ok().id()
}

fn scene(meets: bool) -> Scene {
    let lines: String = (1..=30).map(|n| format!("line {n}.\n")).collect();
    let repo = Repo::with(&[("a", lines.as_str()), ("b", lines.as_str()), ("c", "c\n")]);
    let a = proposed(&repo, "a", "line 3.", "three");
    let b = proposed(&repo, "b", "line 5.", "five");
    let main = repo.git(&["symbolic-ref", "--short", "HEAD"]).trim().to_owned();
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write("a", lines.replace("line 3.", "three"));
    repo.write("b", lines.replace("line 5.", "five"));
    repo.commit("What both make");
    repo.write("a", repo.text("a").replace("line 20.", "twenty"));
    let old = if meets { "five" } else { "line 20." };
    repo.write("b", repo.text("b").replace(old, "TWENTY"));
    repo.commit("On top");
    repo.git(&["checkout", "-q", &main]);
    let both = repo.agent("codex", &["propose", "--commit", "topic", "-q"]).ok().id();
    Scene { repo, a, b, both }
}

impl Scene {
    fn stands_on(&self, id: &str) -> Vec<String> {
        below(&self.repo, id)
    }

    fn has_all(&self) {
        let (a, b) = (self.repo.text("a"), self.repo.text("b"));
        assert!(a.contains("three") && a.contains("twenty") && b.contains("TWENTY"), "{a}{b}");
    }

    /// Applies it on top of the others, at the revisions that they have now.
    fn apply_all(&self) {
        let [both, a, b] = [&self.both, &self.a, &self.b].map(|id| named(&self.repo, id));
        self.repo.aye(&["apply", "--yes", &both, &a, &b]).ok();
    }

    fn revised(&self, id: &str, args: &[&str]) -> Run {
        self.repo.agent("codex", &[&["revise", id], args].concat())
    }
}

#[test]
fn all_of_them_are_taken_along_and_none_is_left_out_unsaid() {
    let scene = scene(false);
    assert_eq!(scene.stands_on(&scene.both), [scene.a.as_str(), &scene.b]);
    let before = scene.repo.snapshot();
    let run = scene.repo.aye(&["apply", &scene.a, &scene.both, "--yes"]).fails("stands_on", 5);
    run.notes(&scene.b);
    assert_eq!(scene.repo.snapshot(), before);
    scene.repo.aye(&["apply", &scene.both, "--with-lower", "--yes"]).ok();
    scene.has_all();
    assert!(scene.repo.text("b").contains("five"));
    assert_eq!(scene.repo.aye(&["list", "-q"]).ok().out(), "");
}

#[test]
fn in_whatever_order_they_are_named() {
    let scene = scene(true);
    let (a, b, both) = (&*scene.a, &*scene.b, &*scene.both);
    for args in [&[both, "--with-lower"][..], &[a, both, b], &[both, b, a], &[b, a, both]] {
        scene.repo.aye(&[&["apply", "--yes"], args].concat()).ok();
        scene.has_all();
        for id in [both, a, b] {
            scene.repo.aye(&["undo", id, "--yes"]).ok();
        }
    }
}

#[test]
fn edits_are_matched_in_what_all_of_them_make() {
    let scene = scene(false);
    let on_top = |path: &str, old: &str, new: &str| {
        let args = ["propose", "--on", &scene.both, path, "--old", old, "--new", new, "-q"];
        scene.repo.agent("codex", &args).ok().id()
    };
    on_top("b", "five", "FIVE");
    on_top("a", "three", "THREE");
    let edits = scene.repo.edits(&[["a", "three", "tres"], ["b", "five", "cinco"]]);
    scene.revised(&scene.both, &["--from-json", &edits]).ok();
    assert_eq!(scene.stands_on(&scene.both), [scene.a.as_str(), &scene.b]);
    scene.apply_all();
    assert!(scene.repo.text("a").contains("tres") && scene.repo.text("b").contains("cinco"));
}

#[test]
fn a_revision_of_one_leaves_the_others_below() {
    let scene = scene(false);
    scene.revised(&scene.a, &["a", "--old", "line 3.", "--new", "drei"]).ok();
    assert_eq!(scene.stands_on(&scene.both), [scene.a.as_str(), &scene.b]);
    scene.revised(&scene.b, &["b", "--old", "line 5.", "--new", "funf"]).ok();
    assert_eq!(scene.stands_on(&scene.both), [scene.a.as_str(), &scene.b]);
    scene.apply_all();
    let (a, b) = (scene.repo.text("a"), scene.repo.text("b"));
    assert!(a.contains("drei") && a.contains("twenty"), "{a}");
    assert!(b.contains("funf") && b.contains("TWENTY"), "{b}");
}

#[test]
fn a_review_shows_it_on_top_of_all_of_them() {
    let scene = scene(true);
    let args = ["review", &scene.a, &scene.b, &scene.both];
    let mut t = Terminal::start(scene.repo.cmd(&args), 50, 130);
    t.sees("]? ").types("y").sees("]? ").types("y");
    t.sees(&format!("{} and {}", scene.a, scene.b));
    t.sees("]? ").types("y").sees("]? ").types("y").sees("Write").types("y");
    assert_eq!(t.ends(), 0);
    scene.has_all();
}

/// A of `f` and `h`; on it B of `f` and C of `h` and `g`; U of `f` and `g` on those two.
fn diamond(over: &str) -> (Repo, [String; 4]) {
    let lines: String = (1..=40).map(|n| format!("line {n}.\n")).collect();
    let repo = Repo::with(&[("f", lines.as_str()), ("g", lines.as_str()), ("h", lines.as_str())]);
    let main = repo.git(&["symbolic-ref", "--short", "HEAD"]).trim().to_owned();
    repo.git(&["checkout", "-q", "-b", "topic"]);
    let steps: [&[(&str, &str, &str)]; 4] = [
        &[("f", "line 3.", "f of A"), ("h", "line 3.", "h of A")],
        &[("f", "line 20.", "f of B")],
        &[("h", "line 20.", "h of C"), ("g", "line 3.", "g of C")],
        &[("f", over, "f of U"), ("g", "line 35.", "g of U")],
    ];
    for step in steps {
        for (path, old, new) in step {
            repo.write(path, repo.text(path).replace(old, new));
        }
        repo.commit("Step");
    }
    repo.git(&["checkout", "-q", &main]);
    let ids = ["topic~3", "topic~2", "topic~1", "topic"]
        .map(|rev| repo.agent("codex", &["propose", "--commit", rev, "-q"]).ok().id());
    (repo, ids)
}

fn named(repo: &Repo, id: &str) -> String {
    let shown = repo.item(id);
    format!("{id}@{}", &shown["revision"].as_str().expect("one")[..12])
}

fn below(repo: &Repo, id: &str) -> Vec<String> {
    let list = repo.aye(&["list", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list").clone();
    let item = all.into_iter().find(|item| item["proposal_id"] == id).expect("listed");
    let ids = item["stands_on"].as_array().cloned().unwrap_or_default();
    ids.iter().map(|id| id.as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_revision_at_the_bottom_is_followed_on_both_sides() {
    for over in ["line 35.", "f of B"] {
        let (repo, [a, b, c, u]) = diamond(over);
        let edits = [["f", "line 3.", "f of A again"], ["h", "line 3.", "h of A"]];
        let revise = ["revise", &a, "--from-json", &repo.edits(&edits), "--json"];
        let answer = repo.agent("codex", &revise).ok().json();
        assert_eq!(answer["rebased"].as_array().map(Vec::len), Some(3), "{answer:#}");
        assert_eq!(below(&repo, &u).len(), 2);
        let all = [&u, &a, &c, &b].map(|id| named(&repo, id));
        let some: Vec<&str> = all[..3].iter().map(String::as_str).collect();
        let run = repo.aye(&[&["apply", "--yes"], &some[..]].concat()).fails("stands_on", 5);
        run.notes(&b);
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        repo.aye(&[&["apply", "--yes"], &all[..]].concat()).ok();
        let files = ["f", "g", "h"].map(|path| repo.text(path)).concat();
        for text in ["f of A again", "h of C", "g of C", "f of U", "g of U"] {
            assert!(files.contains(text), "{text}: {files}");
        }
    }
}

#[test]
fn show_and_diff_name_what_a_proposal_stands_on() {
    let Scene { repo, a, b, both } = scene(true);
    let shown = repo.aye(&["show", &both]).ok();
    shown.says(&a).says(" --with-lower\n");
    let json = repo.item(&both);
    assert_eq!(json["stands_on"], serde_json::json!([a, b]));
    repo.aye(&["diff", &both]).ok().notes(&a);
    repo.aye(&["show", &a]).ok().lacks("--with-lower");
    // Two beside each other are no reason for the third.
    let dry = ["apply", &a, &both, "--dry-run", "--json"];
    let items = repo.aye(&dry).exits(5).json()["proposals"].clone();
    assert_eq!(items[1]["proposal_id"], both.as_str(), "{items:#}");
    assert!(items[1].get("collides_with").is_none(), "{items:#}");
}
