//! The files for CI (the Action, the GitLab job, the pre-commit entries): what they run, against a bare remote.

use serde_json::Value;

use crate::support::clones::{join, push};
use crate::support::record::propose;
use crate::support::{Cmd, Repo};

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).expect("YAML")
}

/// A remote with an approved commit on `main` and its events, and a checkout of CI that has fetched no event.
fn checkout() -> (Repo, Repo, String) {
    let (server, ada) = (Repo::bare(), Repo::with(&[("a.txt", "one\n")]));
    join(&ada, &server);
    let base = ada.git(&["rev-parse", "HEAD"]);
    let id = propose(&ada, "a.txt", "one", "eins");
    ada.aye(&["apply", &id, "--yes", "--commit"]).ok();
    ada.git(&["push", "-q", "origin", "HEAD:main"]);
    push(&ada);
    let build = Repo::new();
    join(&build, &server);
    build.git(&["fetch", "-q", "origin"]);
    build.git(&["reset", "-q", "--hard", "origin/main"]);
    (server, build, format!("{base}..HEAD"))
}

fn shell(build: &Repo, args: &[&str]) -> Cmd {
    let aye = std::path::Path::new(env!("CARGO_BIN_EXE_aye")).parent().expect("a directory");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", aye.display());
    build.program("bash").args(args).env("PATH", path).env("CI", "true")
}

/// A commit that claims what nobody has decided.
fn sly(build: &Repo) {
    build.git(&["commit", "-q", "--allow-empty", "-m", "Sly\n\nProposal-Id: prop_0000000000"]);
}

#[test]
fn the_action_fetches_events_and_checks_the_range() {
    let (_server, build, range) = checkout();
    let action = yaml(include_str!("../../action.yml"));
    let script = action["runs"]["steps"][1]["run"].as_str().expect("a script");
    let temporary = build.outer().join("temporary");
    std::fs::create_dir_all(&temporary).expect("a directory");
    let step = |require: &str| {
        let step = shell(&build, &["-eo", "pipefail", "-c", script]).env("RANGE", &range);
        let step = step.env("REQUIRE", require).env("FAIL_ON", "").env("DEFAULT", "main");
        let step = step.env("RUNNER_TEMP", &temporary);
        step.env("GITHUB_OUTPUT", temporary.join("output")).run()
    };
    step("").ok();
    step("all").ok();
    build.write("a.txt", "uno\n");
    build.git(&["commit", "-qam", "By hand", "--author=Claude <noreply@anthropic.com>"]);
    step("").ok();
    assert!(step("agents").exits(1).out().contains("no_proposal"));
    sly(&build);
    assert!(step("").exits(1).out().contains("unknown_proposal"));
    assert!(build.outer().join("temporary/aye.sarif").is_file());
}

#[test]
fn the_gitlab_job_fetches_events_and_checks_the_range() {
    let (_server, build, range) = checkout();
    let job = yaml(include_str!("../../packaging/gitlab-ci.yml"));
    let lines = job["aye"]["script"].as_array().expect("a script").iter().filter_map(Value::as_str);
    let script = lines.collect::<Vec<_>>().join("\n").replace(".aye/bin/aye", "aye");
    let base = range.split("..").next().expect("a base");
    let run = || shell(&build, &["-ec", &script]).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", base).run();
    run().ok();
    sly(&build);
    assert!(run().exits(1).out().contains("unknown_proposal"));
}

#[test]
fn the_entries_of_pre_commit_fetch_events_before_a_push() {
    let (_server, build, range) = checkout();
    let hooks = yaml(include_str!("../../.pre-commit-hooks.yaml"));
    let base = range.split("..").next().expect("a base");
    for hook in hooks.as_array().expect("a list") {
        if !hook["id"].as_str().is_some_and(|id| id.starts_with("aye-check-push")) {
            continue;
        }
        for name in build.git(&["for-each-ref", "--format=%(refname)", "refs/aye"]).lines() {
            build.git(&["update-ref", "-d", name]);
        }
        let entry = hook["entry"].as_str().expect("a command");
        let run = shell(&build, &["-c", entry]).env("PRE_COMMIT_LOCAL_BRANCH", "refs/heads/main");
        let run =
            run.env("PRE_COMMIT_REMOTE_BRANCH", "refs/heads/main").env("PRE_COMMIT_TO_REF", "HEAD");
        let run = run.env("PRE_COMMIT_FROM_REF", base).env("PRE_COMMIT_REMOTE_NAME", "origin");
        run.run().ok();
        assert_ne!(build.git(&["for-each-ref", "refs/aye/remotes/origin"]), "", "{hook}");
    }
}
