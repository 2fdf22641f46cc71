//! `aye status`, `aye` alone, and what a shell prompt shows.

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
    repo.aye(&["status"]).ok().says("nothing pending\n");
    repo.aye(&["status", "--prompt"]).ok().says("");
    let first = propose(&repo, "codex", "2\n", "two\n");
    propose(&repo, "codex", "4\n", "four\n");
    let third = propose(&repo, "claude", "6\n", "six\n");
    let soon = ["propose", "a", "--old", "8\n", "--new", "8!\n", "--expires-in", "2h", "-q"];
    repo.agent("claude", &soon).ok();
    assert_eq!(repo.aye(&["status"]).ok().out(), "4 pending (1 expiring)\n");
    repo.aye(&["comment", &first, "--request-changes", "-m", "why?"]).ok();
    repo.write("a", "1\n2\n3\n4\n5\nSIX\n7\n8\n9\n");
    let line = "3 pending (1 conflict, 1 expiring), 1 sent back\n";
    assert_eq!(repo.aye(&["status"]).ok().out(), line);
    assert_eq!(repo.aye(&["status", "--prompt"]).ok().out(), "aye 3\n");
    let porcelain = "3 pending\n1 conflict\n1 expiring\n1 sent_back\n0 contested\n";
    assert_eq!(repo.aye(&["status", "--porcelain"]).ok().out(), porcelain);
    repo.aye(&["status", "--json"]).exits(2);
    // The agents one after the other; last, what waits for nobody here.
    let long = repo.aye(&["status", "--long"]).ok().notes("aye review").out();
    assert!(long.starts_with(line), "{long}");
    let at = |id: &str| long.find(&id[5..9]).unwrap_or_else(|| panic!("{id}: {long}"));
    assert!(at(&third) < at(&first), "{long}");
    let heads: Vec<&str> = long.lines().filter(|line| !line.starts_with(' ')).skip(1).collect();
    let (codex, claude) = ("codex  1 proposal, +1 −1", "claude  2 proposals, +2 −2");
    let back = "sent back, and waiting for their agents  1 proposal, +1 −1";
    assert_eq!(heads, [codex, claude, back]);
    assert!(long.contains("expires 2h") || long.contains("expires 1h"), "{long}");
    let alone = repo.aye::<&str>(&[]).ok().says(line).out();
    assert_eq!(alone, long);
}

#[test]
fn a_prompt_never_complains() {
    let outside = Repo::outside();
    let run = outside.aye(&["status", "--prompt"]).ok();
    assert_eq!((run.out(), run.err()), (String::new(), String::new()));
    outside.aye(&["status"]).fails("not_a_repository", 3);
    let short = outside.aye::<&str>(&[]).ok().out();
    assert!(short.contains("aye demo") && short.lines().count() < 12, "{short}");
    let repo = scene();
    propose(&repo, "codex", "2\n", "two\n");
    std::fs::write(repo.path(".git/config"), "[core\n").expect("written");
    let run = repo.aye(&["status", "--prompt"]).ok();
    assert_eq!((run.out(), run.err()), (String::new(), String::new()));
}

#[test]
fn a_conflict_is_marked_where_few_files_are_compared() {
    let repo = scene();
    let unfit = propose(&repo, "codex", "6\n", "six\n");
    let fits = propose(&repo, "codex", "2\n", "two\n");
    let conflicts = |list: &serde_json::Value| -> Vec<String> {
        let all = list["proposals"].as_array().expect("a list").iter();
        let some = all.filter(|item| item["conflict"] == true);
        some.map(|item| item["proposal_id"].as_str().expect("an id").to_owned()).collect()
    };
    assert!(conflicts(&repo.aye(&["list", "--json"]).ok().json()).is_empty());
    repo.write("a", "1\n2\n3\n4\n5\nSIX\n7\n8\n9\n");
    assert_eq!(conflicts(&repo.aye(&["list", "--json"]).ok().json()), [unfit.as_str()]);
    let list = repo.aye(&["list"]).ok().out();
    let row = |id: &str| list.lines().find(|line| line.contains(id)).expect("a row");
    assert!(row(&unfit).ends_with("conflict") && !row(&fits).contains("conflict"), "{list}");
    let long = repo.aye(&["status", "--long"]).ok().out();
    assert!(long.lines().any(|line| line.contains(&unfit[5..9]) && line.ends_with("conflict")));
    // A list that is about many files does not read them; the count does.
    for n in 0..100 {
        repo.write(&format!("new/{n}"), "new\n");
    }
    repo.agent("claude", &["propose", "--worktree", "new", "-q"]).ok();
    assert!(conflicts(&repo.aye(&["list", "--json"]).ok().json()).is_empty());
    repo.aye(&["status"]).ok().says("3 pending (1 conflict)");
}
