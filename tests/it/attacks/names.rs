//! Names that two things share, modes, and what git substitutes (M1, M3, L6, L7).

use super::*;
use serde_json::json;

#[test]
fn ids_take_four_characters_at_least() {
    let scene = scene();
    let id = &scene.id;
    scene.repo.aye(&["show", &id[.."prop_".len() + 3]]).fails("invalid_id", 6);
    for name in [&id["prop_".len()..][..4], &id[.."prop_".len() + 4], id] {
        let shown = scene.repo.aye(&["show", name, "--json"]).ok().json();
        assert_eq!(shown["proposal_id"], id.as_str());
    }
    let list = scene.repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["proposals"][0]["short_id"].as_str().map(str::len), Some(4));
}

/// Two revisions of the proposal by Mallory whose ids begin with the same five digits.
fn revisions_that_begin_alike(scene: &Scene) -> [String; 2] {
    let changes = json!([{"path": "a.txt", "before": forger::side(&scene.repo, "one\ntwo\nthree\n"),
        "after": forger::side(&scene.repo, "EVIL\n")}]);
    let first = Forged::read(&scene.repo, &scene.thread);
    let first = first.content(&scene.repo, "after", "a.txt", "EVIL\n");
    let data = json!({"reason": "answer", "changes": changes});
    let forged = Forged { tree: first.tree, ..Forged::event("revise", data) }.on(&[&scene.thread]);
    let id = forged.write(&scene.repo);
    let text = scene.repo.git(&["cat-file", "commit", &id]);
    // The message is no part of the event; some 1,200 of them are enough.
    let mut known = std::collections::HashMap::new();
    let (one, two) = (0..)
        .find_map(|number: u32| {
            let text = format!("{text}\n{number}\n");
            let (hash, kind) = (gix::hash::Kind::Sha1, gix::objs::Kind::Commit);
            let id = gix::objs::compute_hash(hash, kind, text.as_bytes()).expect("a hash");
            let other = known.insert(id.to_string()[..5].to_owned(), text.clone())?;
            Some((other, text))
        })
        .expect("two that begin alike");
    [one, two].map(|text| forger::commit(&scene.repo, text))
}

/// A few digits of a revision are soon those of another one as well.
#[test]
fn a_beginning_of_two_revisions_names_neither() {
    let scene = scene();
    let [one, two] = revisions_that_begin_alike(&scene);
    forger::fetched_from(&scene.repo, "1111111111111111", &scene.thread, &one);
    forger::fetched_from(&scene.repo, "2222222222222222", &scene.thread, &two);
    let at = |id: &str, digits: usize| format!("{}@{}", scene.id, &id[..digits]);
    for args in [&["diff", &at(&one, 5)][..], &["apply", &at(&one, 4), "--yes"]] {
        scene.repo.aye(args).fails("ambiguous_id", 2);
    }
    // Which of the two counts last is known to everybody; the other one is not what is decided.
    let now = show(&scene.repo, &scene.id)["revision"].as_str().expect("an id").to_owned();
    let other = if now == one { &two } else { &one };
    for verb in ["apply", "approve", "reject"] {
        scene.repo.aye(&[verb, &at(&now, 11), "--yes"]).fails("revision_required", 4);
        for digits in [4, 11] {
            assert_ne!(scene.repo.aye(&[verb, &at(other, digits), "--yes"]).status, 0);
        }
    }
    scene.is("pending");
    assert_eq!(scene.repo.text("a.txt"), "one\ntwo\nthree\n");
    scene.repo.aye(&["apply", &at(other, 40), "--yes"]).fails("revised_meanwhile", 5);
    scene.repo.aye(&["apply", &at(&now, 12), "--yes"]).ok();
    assert_eq!(scene.repo.text("a.txt"), "EVIL\n");
}

/// A person who looked at one proposal by its staging id decides no other by it.
#[test]
fn a_staging_id_of_two_proposals_names_neither() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.let_flags_decide();
    repo.commit("memory");
    let staged = repo.agent(
        "bot",
        &[
            "memory", "stage", "--intent", "add_pitfall", "-o", "append_to_section", "--path",
            "pitfalls.md", "--section-id", "pitfalls", "--content", "- harmless", "--json",
        ],
    );
    let staged = staged.ok().json();
    let (own, name) = (staged["proposal_id"].clone(), staged["staging_id"].clone());
    let (own, name) = (own.as_str().expect("an id"), name.as_str().expect("an id"));
    let genuine = thread(&repo, own);
    let second = |staging: &str| {
        let forged = Forged::propose(&repo, &genuine, ".agent-memory/x.md", "evil\n", "later");
        fetched_thread(&repo, &forged.data(json!({"memory": {"staging_id": staging}})))
    };
    // Nor does one take the place of a proposal's own id.
    second(own);
    assert_eq!(show(&repo, own)["proposal_id"], own);
    second(name);
    for args in [
        &["show", name][..],
        &["apply", name, "--yes"],
        &["reject", name, "--yes"],
        &["log", name],
        &["approve", name, "--yes"],
    ] {
        repo.aye(args).fails("ambiguous_id", 2);
    }
    repo.aye(&["apply", own, "--yes"]).ok();
    assert!(repo.text(".agent-memory/pitfalls.md").ends_with("- harmless\n"));
}

/// An approved file is one with its mode.
#[test]
fn a_symlink_with_the_approved_blob_is_not_the_approved_file() {
    for (mode, path) in [("120000", "a.txt"), ("100755", "a.txt"), ("120000", "new.txt")] {
        let repo = Repo::with(&[("a.txt", "one\n")]);
        let content = if path == "a.txt" { "../../../etc/passwd" } else { "target" };
        let args = ["propose", path, "--content-file", "-", "-q"];
        let id = repo.cmd(&args).env("AYE_AGENT", "codex").stdin(content).run().ok().id();
        repo.aye(&["apply", &id, "--yes"]).ok();
        repo.git(&["add", "-A"]);
        let honest = repo.copy();
        commit_as(&honest, &id);
        honest.aye(&LAST).ok();
        let blob = forger::blob(&repo, content);
        repo.git(&["update-index", "--cacheinfo", &format!("{mode},{blob},{path}")]);
        repo.git(&["commit", "-q", "-m", &format!("Land it\n\nProposal-Id: {id}")]);
        assert!(repo.git(&["ls-tree", "HEAD", path]).starts_with(mode));
        refuses_the_commit(&repo, &["content_differs"]);
    }
}

#[test]
fn replace_refs_and_grafts_change_no_thread() {
    let scene = scene();
    let apply = scene.apply().write(&scene.repo);
    let comment = Forged::comment("x").on(&[&scene.thread]).write(&scene.repo);
    scene.fetches(&comment);
    // The comment's commit is said to be the apply's, and the apply to be without parents.
    scene.repo.git(&["replace", &comment, &apply]);
    scene.is("pending");
    scene.repo.git(&["replace", "-d", &comment]);
    scene.repo.write(".git/info/grafts", format!("{comment}\n"));
    scene.is("pending");
    assert!(!finds(&scene.repo, DAMAGED));
    scene.repo.write(".git/info/grafts", format!("{comment} {} {apply}\n", scene.thread));
    scene.is("pending");
    // Nor does either take a commit out of a range.
    scene.repo.write("b.txt", "unasked\n");
    let hidden = scene.repo.commit("No proposal");
    scene.repo.write("b.txt", "later\n");
    let last = scene.repo.commit("Nor here");
    let names_both = |range: &str| {
        let run = scene.repo.aye(&["check", "--range", range, "--require-proposal"]);
        run.says("no_proposal").says(&hidden[..7]).says(&last[..7]);
    };
    scene.repo.remove(".git/info/grafts");
    names_both("HEAD~2..HEAD");
    let base = scene.repo.git(&["rev-parse", "HEAD~2"]);
    scene.repo.write(".git/info/grafts", format!("{last} {base}\n"));
    names_both(&format!("{base}..{last}"));
}

/// A hook that moves HEAD while the commit is made does not move the decision to another branch.
#[test]
fn a_decision_names_the_branch_that_it_was_made_on() {
    let scene = scene();
    scene.repo.git(&["branch", "other"]);
    scene.repo.script(".git/hooks/pre-commit", "git symbolic-ref HEAD refs/heads/other");
    let run = scene.repo.aye(&["apply", &scene.id, "--yes", "--commit"]).ok();
    run.notes("is on refs/heads/other");
    // A note names the commit; the decision was made where it was shown.
    let note = Forged::read(&scene.repo, &clones::tip(&scene.repo, &scene.thread));
    assert_eq!(note.event["kind"], "committed");
    let statement = Forged::read(&scene.repo, &note.parents[0]).statement.expect("a decision");
    assert_eq!(statement["target"]["ref"], "refs/heads/main");
}

/// Text in the description cuts nothing off for git, and twins of a name are told apart.
#[test]
fn a_scissors_line_hides_no_trailer_from_git() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let why = "Say it\n\n# ------------------------ >8 ------------------------\nhidden";
    let args = ["propose", "a.txt", "--old", "one", "--new", "ONE", "-m", why, "-q"];
    let id = repo.agent("codex", &args).ok().id();
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    let trailers = repo.git(&["log", "-1", "--format=%(trailers:key=Proposal-Id,valueonly)"]);
    assert_eq!(trailers.trim(), id);
    repo.aye(&LAST).ok();
}

/// Two names that look the same.
#[test]
fn twins_of_a_name_are_told_apart() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let file = |name: &str| {
        format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
        )
    };
    let patch = file("caf\u{e9}") + &file("cafe\u{301}");
    let run = repo.cmd(&["propose", "--patch", "-", "-q"]).env("AYE_AGENT", "codex").stdin(patch);
    let id = run.run().ok().id();
    repo.aye(&["show", &id]).ok().says("collides with");
    let command = repo.cmd(&["review", &id]).env("TERM", "dumb");
    let mut review = crate::support::terminal::Terminal::start(command, 60, 120);
    review.sees("collides with").sees("]?").types("q");
    assert_eq!(review.ends(), 0);
}

#[test]
fn snippets_that_do_not_make_the_shown_content_are_refused() {
    let scene = scene();
    let changes = json!([{"path": "a.txt", "before": forger::side(&scene.repo, "one\ntwo\nthree\n"),
        "after": forger::side(&scene.repo, "one\nTWO\nthree\n"),
        "snippets": [{"old": "three", "new": "EVIL"}]}]);
    let like =
        Forged::propose(&scene.repo, &scene.thread, "a.txt", "one\nTWO\nthree\n", "Harmless");
    let like = like.content(&scene.repo, "before", "a.txt", "one\ntwo\nthree\n");
    let id = fetched_thread(&scene.repo, &like.data(json!({ "changes": changes })));
    for args in [&["diff", &id][..], &["apply", &id, "--yes"]] {
        scene.repo.aye(args).fails("event_contradicts", 6);
    }
    assert_eq!(scene.repo.text("a.txt"), "one\ntwo\nthree\n");
    assert!(finds(&scene.repo, "event_contradicts"));
    scene.repo.aye(&["reject", &id, "--yes"]).ok();
}

/// The SHA-256 of each side holds where git's own hash would not.
#[test]
fn a_side_with_another_sha256_than_its_content_is_refused() {
    let scene = scene();
    let mut after = forger::side(&scene.repo, "evil\n");
    after["sha256"] = forger::sha256("harmless\n").into();
    let like = Forged::propose(&scene.repo, &scene.thread, "new.txt", "evil\n", "Harmless");
    let id = fetched_thread(
        &scene.repo,
        &like.data(json!({"changes": [{"path": "new.txt", "after": after}]})),
    );
    assert_ne!(scene.repo.aye(&["apply", &id, "--yes"]).status, 0);
    assert!(!scene.repo.exists("new.txt"));
}

/// An event shows nothing of this repository that its own tree does not hold.
#[test]
fn content_that_the_event_does_not_carry_is_not_shown() {
    let scene = scene();
    scene.repo.write("secret", "not for this event\n");
    scene.repo.commit("A secret");
    let like = Forged::propose(&scene.repo, &scene.thread, "new.txt", "x\n", "Look");
    let after = forger::side(&scene.repo, "not for this event\n");
    let data = json!({"changes": [{"path": "new.txt", "after": after}]});
    let id = fetched_thread(&scene.repo, &like.data(data));
    let run = scene.repo.aye(&["diff", &id]);
    assert!(!format!("{run}").contains("not for this event"), "{run}");
    assert_ne!(scene.repo.aye(&["apply", &id, "--yes"]).status, 0);
}

/// Two threads whose ids begin with the same 50 bits; it took 2^25 hashes to find the two numbers.
#[test]
fn two_threads_of_one_short_id_are_told_apart_by_whole_ids() {
    let scene = scene();
    let repo = &scene.repo;
    let after =
        forger::tree(repo, &format!("100644 blob {}\ttwin.txt\n", forger::blob(repo, "twin\n")));
    let tree = forger::tree(repo, &format!("040000 tree {after}\tafter\n"));
    let change = json!({"path": "twin.txt", "after": forger::side(repo, "twin\n")});
    let data = json!({"changes": [change], "expires_at": "2999-01-01T00:00:00.000Z",
        "form": "tool", "proposed_by": "mallory", "subject": "code"});
    let (line, _) = Forged::event("propose", data).lines();
    let who = "M <m@x> 1767225600 +0000";
    let [one, two] = ["00000000019c40fa", "0000000004adbee7"].map(|number| {
        let head = format!("tree {tree}\nauthor {who}\ncommitter {who}\naye-event {line}\n");
        forger::commit(repo, format!("{head}\npropose: Twin{number}\n"))
    });
    let id = short(&one);
    assert_eq!((id.as_str(), one == two), (short(&two).as_str(), false));
    forger::fetched(repo, &one, &one);
    is(repo, &id, "pending");
    forger::fetched(repo, &two, &two);
    for args in [
        &["show", &id][..],
        &["apply", &id, "--yes"],
        &["reject", &id, "--yes"],
        &["comment", &id, "-m", "x"],
    ] {
        repo.aye(args).fails("ambiguous_id", 2);
    }
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["count"], 3, "nothing is dropped: {list:#}");
    // More characters name one of them, also once the other is decided and closed.
    let named = aye::proposal::ProposalId::long(&one).to_string();
    repo.aye(&["apply", &named, "--yes"]).ok();
    assert_eq!(show(repo, &named)["status"], "applied");
    repo.aye(&["doctor", "--gc"]).ok();
    repo.aye(&["show", &id]).fails("ambiguous_id", 2);
    let other = aye::proposal::ProposalId::long(&two).to_string();
    assert_eq!(show(repo, &other)["status"], "pending");
}
