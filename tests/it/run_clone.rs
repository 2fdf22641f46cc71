//! The tree of a session is a clone for its tools: remotes, hooks, untracked files, environments.

use crate::support::agents::{Client, FILES, write};
use crate::support::record::{apply, reject};
use crate::support::sessions::{
    diff, kept, no_session_is_left, nothing_pending, only, proposed, script,
};
use crate::support::{Repo, Run};

fn run(repo: &Repo, text: &str) -> Run {
    script(repo, &[], text).run()
}

#[test]
fn remote_branches_are_there_and_a_push_says_what_happens_instead() {
    let server = Repo::bare();
    let repo = Repo::with(FILES);
    repo.git(&["remote", "add", "origin", &server.root().to_string_lossy()]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    repo.git(&["remote", "set-head", "origin", "main"]);
    repo.git(&["tag", "-a", "v1", "-m", "v1"]);
    repo.write("b.txt", "ahead\n");
    repo.commit("Ahead");
    let text = "git log --oneline @{u}.. && git diff --stat origin/main... && git rev-parse origin/HEAD &&
                git describe --tags && git fetch -q && git fsck --connectivity-only && git status -sb";
    let seen = run(&repo, text).ok();
    seen.says("Ahead").says("b.txt").says("v1-1-g").says("main...origin/main [ahead 1]");
    for push in ["git push", "git push origin HEAD:x", "git push --all origin"] {
        run(&repo, &format!("{push} 2>&1")).says("what you leave is proposed");
    }
    assert_eq!(server.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn the_repositorys_hooks_run_on_commits_in_the_tree() {
    let hook = "#!/bin/sh\necho linted\ngrep -q wasp b.txt && exit 1\nexit 0\n";
    let text = "git commit -q --allow-empty -m fine && echo done >>c.txt; echo wasp >b.txt; git commit -qam no";
    for at in [".git/hooks", ".githooks", "generated/hooks"] {
        let repo = Repo::with(&[("b.txt", "bee\n"), (".gitignore", "generated\n")]);
        repo.write(&format!("{at}/pre-commit"), hook);
        repo.chmod(&format!("{at}/pre-commit"), 0o755);
        if at != ".git/hooks" {
            repo.git(&["config", "core.hooksPath", at]);
        }
        if at == ".githooks" {
            repo.git(&["add", ".githooks"]);
            repo.git(&["commit", "-qnm", "Hooks"]);
        }
        let ended = run(&repo, text).exits(1);
        assert_eq!(
            ended.out().matches("linted").count() + ended.err().matches("linted").count(),
            2,
            "{at}: {ended}"
        );
        assert!(proposed(&repo).contains("+done"), "{at}");
        no_session_is_left(&repo);
        // A tool that installs hooks does it in the tree.
        let repo_hooks =
            std::fs::read_to_string(repo.path(&format!("{at}/pre-commit"))).expect("it");
        assert_eq!(repo_hooks, hook);
    }
    // aye's own stay in the checkout, and the earlier one runs.
    let repo = Repo::with(FILES);
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho linted\n");
    repo.chmod(".git/hooks/pre-commit", 0o755);
    repo.aye(&["hooks", "install"]).ok();
    let ended = run(&repo, "echo x >>b.txt; git commit -qam x; ls .git/hooks").ok();
    assert_eq!(ended.out(), "pre-commit\n", "{ended}");
    assert!(ended.err().contains("linted"), "{ended}");
}

#[test]
fn untracked_files_are_the_base_within_limits() {
    let repo = Repo::with(FILES);
    repo.write("mine.py", "1\n");
    repo.write("new/deep.py", "1\n");
    run(&repo, "cat mine.py new/deep.py; git status --short").ok().says("1\n1\n").lacks("?");
    nothing_pending(&repo);
    run(&repo, "echo 2 >>mine.py").ok();
    let id = only(&repo);
    assert!(diff(&repo, &id).contains(" 1\n+2\n"));
    apply(&repo, &id);
    assert_eq!(repo.text("mine.py"), "1\n2\n");
    run(&repo, "rm new/deep.py; cat mine.py").ok().says("2");
    reject(&repo, &only(&repo), "no");
    assert_eq!(repo.text("new/deep.py"), "1\n");
    run_head(&repo);
    for number in 0..2001 {
        repo.write(&format!("many/{number}"), "");
    }
    run(&repo, "test ! -e many && test ! -e new")
        .ok()
        .notes("2002 other untracked files are not in the tree");
}

fn run_head(repo: &Repo) {
    script(repo, &["--base", "head"], "test ! -e mine.py").run().ok();
}

#[test]
fn a_virtual_environment_that_is_linked_is_the_trees_own() {
    let repo = Repo::with(&[("m.py", "here\n"), (".gitignore", ".venv/\n")]);
    let top = repo.root().display().to_string();
    repo.write(".venv/pyvenv.cfg", format!("command = python -m venv {top}/.venv\n"));
    repo.write(".venv/bin/tool", format!("#!/bin/sh\ncat {top}/m.py\n"));
    repo.chmod(".venv/bin/tool", 0o755);
    repo.write(".venv/bin/activate", format!("VIRTUAL_ENV='{top}/.venv'\nexport VIRTUAL_ENV\n"));
    repo.write(".venv/lib/site/x.pth", format!("{top}/src\n{top}2\n"));
    repo.write(".venv/lib/site/x/direct_url.json", format!("{{\"url\": \"file://{top}\"}}\n"));
    repo.git(&["config", "aye.session.link", ".venv"]);
    let text =
        "echo there >m.py; tool; . .venv/bin/activate; test $VIRTUAL_ENV = $PWD/.venv || exit 9
                cat .venv/pyvenv.cfg .venv/lib/site/x.pth .venv/lib/site/x/direct_url.json";
    let path = format!("{top}/.venv/bin:{}", std::env::var("PATH").expect("PATH"));
    let run = script(&repo, &[], text).env("PATH", path).env("VIRTUAL_ENV", format!("{top}/.venv"));
    let seen = run.run().ok();
    let seen = seen.says("there").says(&format!("{top}2\n"));
    assert!(!seen.out().replace(&format!("{top}2"), "").contains(&top), "{seen}");
    assert!(repo.text(".venv/lib/site/x.pth").contains(&top));
}

#[test]
fn what_a_session_could_not_propose_is_marked_and_a_link_that_stays_behind_named() {
    let repo = Repo::with(&[("d/a", "1\n2\n3\n"), ("b.txt", "bee\n")]);
    repo.symlink("a", "d/link");
    repo.commit("Link");
    run(&repo, "git mv d e").ok();
    let id = only(&repo);
    repo.aye(&["list"]).ok().says("!");
    let shown = repo.aye(&["show", &id, "--no-pager"]).ok();
    shown.says("! incomplete: d/link").says("beside files that are moved away").says("e/link");
    let marks = repo.item(&id)["marks"].clone();
    assert!(marks.to_string().contains("incomplete"), "{marks:#}");
}

/// Subject and description of the only proposal.
fn why(repo: &Repo) -> String {
    repo.item(&only(repo))["description"].as_str().expect("a description").to_owned()
}

#[test]
fn a_proposal_says_why_in_the_words_of_the_commits() {
    let repo = Repo::with(FILES);
    kept(&repo, "echo x >>b.txt; git commit -qam 'Fix the bee' -m 'It buzzed.'").ok();
    assert_eq!(why(&repo), "Fix the bee\n\nIt buzzed.");
    kept(&repo, "echo y >>b.txt; git commit -qam 'Test it'").ok();
    assert_eq!(why(&repo), "Fix the bee\n\n- Fix the bee\n- Test it");
    // Words that were given stay.
    let id = only(&repo);
    repo.aye(&["session", "submit", "x", "-m", "Mine"]).ok();
    kept(&repo, "echo z >>b.txt; git commit -qam 'More'").ok();
    assert_eq!(why(&repo), "Mine");
    // Words of what is decided are not those of the next.
    apply(&repo, &id);
    kept(&repo, "echo a >>src/a.txt; git commit -qam 'Another'").ok();
    assert_eq!(why(&repo), "Another");
    reject(&repo, &only(&repo), "no");
    kept(&repo, "echo b >>src/a.txt").ok();
    assert!(why(&repo).starts_with("What robo left"), "{}", why(&repo));
}

#[test]
fn without_commits_the_last_message_is_the_why_and_marked() {
    let repo = Repo::with(FILES);
    let claude = Client::new(&repo, "claude-code");
    let tree = claude.enter();
    let stop = |text: &str| {
        claude.hook(
            "Stop",
            serde_json::json!({ "background_tasks": [], "last_assistant_message": text }),
        );
    };
    stop("Nothing to do.");
    nothing_pending(&repo);
    write(tree.join("b.txt"), "wasp\n");
    stop("I fixed add(), which subtracted. \u{1b}[2JAnd a test.");
    let said = why(&repo);
    assert!(said.starts_with("I fixed add(), which subtracted.\n"), "{said}");
    assert!(
        said.ends_with("(from the last message of claude-code)") && !said.contains('\u{1b}'),
        "{said}"
    );
    // An answer without an edit changes nothing.
    let revisions = || repo.item(&only(&repo))["history"].as_array().expect("a list").len();
    let before = revisions();
    stop("It is a bee.");
    assert_eq!((why(&repo), revisions()), (said, before));
}

#[test]
fn commits_are_proposed_one_on_the_other_and_the_rest_behind_them() {
    let repo = Repo::with(FILES);
    let text = "echo x >>b.txt; git commit -qam 'One' -m 'Because.'; git commit -q --allow-empty -m Nothing
                echo y >>b.txt; echo n >n.txt; git add .; git commit -qm 'Two'; echo late >>src/a.txt";
    script(&repo, &["--split-commits"], text).run().ok();
    no_session_is_left(&repo);
    let list = repo.aye(&["list", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list");
    let of = |why: &str| {
        all.iter()
            .find(|one| one["description"].as_str().is_some_and(|it| it.starts_with(why)))
            .expect(why)
    };
    assert_eq!(all.len(), 3, "{list:#}");
    assert_eq!(of("One")["description"], "One\n\nBecause.");
    assert_eq!(of("Two")["stands_on"][0], of("One")["proposal_id"]);
    let at = |why: &str| all.iter().position(|one| one == of(why));
    assert!(at("One") < at("Two"), "{list:#}");
    assert!(of("One")["created_at"].as_str() < of("Two")["created_at"].as_str(), "{list:#}");
    assert_eq!(of("What robo left")["file_path"], "src/a.txt");
    // One commit is the whole.
    script(&repo, &["--split-commits"], "echo z >z; git add z; git commit -qm Z; echo zz >>z")
        .run()
        .ok();
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 4);
}

#[test]
fn an_agent_that_goes_on_without_hooks_is_told_what_became_of_its_proposal() {
    let repo = Repo::with(FILES);
    kept(&repo, "echo wasp >b.txt").ok();
    reject(&repo, &only(&repo), "No wasps");
    let claude = repo.outer().join("claude");
    write(&claude, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    repo.program("chmod").args(&["+x", &claude.to_string_lossy()]).run().ok();
    let go_on = || {
        repo.aye(&["run", "--keep", "--name", "x", "--", &claude.to_string_lossy(), "-p", "go"])
            .ok()
    };
    go_on().says("--append-system-prompt\n").says("No wasps").says("-p\ngo\n");
    assert_eq!(go_on().out(), "-p\ngo\n");
    // Another program has no option for it.
    kept(&repo, "echo wasp >b.txt").ok();
    reject(&repo, &only(&repo), "Still none");
    kept(&repo, "true").ok().notes("Still none");
}
