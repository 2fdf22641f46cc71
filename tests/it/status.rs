//! `aye list --count`, `aye` alone, and what a shell prompt shows.

use crate::support::Repo;

fn propose(repo: &Repo, agent: &str, old: &str, new: &str) -> String {
    repo.agent(agent, &["propose", "a", "--old", old, "--new", new, "-q"]).ok().id()
}

fn scene() -> Repo {
    Repo::with(&[("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")])
}

#[test]
fn what_waits_is_counted_for_whom_it_waits() {
    let repo = scene();
    repo.aye(&["list", "--count"]).ok().shown("count_of_nothing");
    repo.aye(&["list", "--prompt"]).ok().says("");
    let first = propose(&repo, "codex", "2\n", "two\n");
    propose(&repo, "codex", "4\n", "four\n");
    let third = propose(&repo, "claude", "6\n", "six\n");
    let soon = ["propose", "a", "--old", "8\n", "--new", "8!\n", "--expires-in", "2h", "-q"];
    repo.agent("claude", &soon).ok();
    assert_eq!(repo.aye(&["list", "--count"]).ok().out(), "4 pending (1 expiring)\n");
    repo.aye(&["comment", &first, "--request-changes", "-m", "why?"]).ok();
    repo.write("a", "1\n2\n3\n4\n5\nSIX\n7\n8\n9\n");
    let line = "3 pending (1 conflict, 1 expiring), 1 sent back\n";
    assert_eq!(repo.aye(&["list", "--count"]).ok().out(), line);
    assert_eq!(repo.aye(&["list", "--prompt"]).ok().out(), "aye 3\n");
    let counts = repo.aye(&["list", "--count", "--json"]).ok().json();
    let names = ["pending", "conflicts", "expiring", "sent_back", "contested"];
    assert_eq!(names.map(|name| counts[name].clone()), [3, 1, 1, 1, 0]);
    // The agents one after the other; last, what waits for nobody here.
    let long = repo.aye::<&str>(&[]).ok().notes("aye review").out();
    assert!(long.starts_with(line), "{long}");
    let at = |id: &str| long.find(&id[5..9]).unwrap_or_else(|| panic!("{id}: {long}"));
    assert!(at(&third) < at(&first), "{long}");
    let heads: Vec<&str> = long.lines().filter(|line| !line.starts_with(' ')).skip(1).collect();
    let (codex, claude) = ("codex  1 proposal, +1 −1", "claude  2 proposals, +2 −2");
    let back = "sent back, and waiting for their agents  1 proposal, +1 −1";
    assert_eq!(heads, [codex, claude, back]);
    assert!(long.contains("expires 2h") || long.contains("expires 1h"), "{long}");
}

#[test]
fn a_prompt_never_complains() {
    let outside = Repo::outside();
    let run = outside.aye(&["list", "--prompt"]).ok();
    assert_eq!((run.out(), run.err()), (String::new(), String::new()));
    outside.aye(&["list", "--count"]).fails("not_a_repository", 3);
    let short = outside.aye::<&str>(&[]).ok().out();
    assert!(short.contains("demo") && short.lines().count() < 12, "{short}");
    let repo = scene();
    propose(&repo, "codex", "2\n", "two\n");
    std::fs::write(repo.path(".git/config"), "[core\n").expect("written");
    let run = repo.aye(&["list", "--prompt"]).ok();
    assert_eq!((run.out(), run.err()), (String::new(), String::new()));
}
