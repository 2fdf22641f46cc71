//! Packages are made and installed, and the steps of the CI recipes run, as they stand in the repository.
//!
//! The programs in the packages are scripts here that start the ones under test: what is held is the packages.
//! `packaging/test.sh target/release` does the same with the release binary.

#![cfg(unix)]

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::Repo;
use crate::support::record::apply;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The scripts need Python 3.11; where it is missing, there is nothing to hold.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn has_python(repo: &Repo) -> bool {
    let found = repo.program("python3").args(&["-c", "import tomllib"]).run().status == 0;
    if !found {
        eprintln!("skipped: packaging needs Python 3.11 or later");
    }
    found
}

/// A directory with stand-ins for the programs.
fn programs(repo: &Repo) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let bin = repo.outer().join("programs");
    std::fs::create_dir(&bin).expect("a directory");
    let real = [("aye", env!("CARGO_BIN_EXE_aye")), ("git-aye", env!("CARGO_BIN_EXE_git-aye"))];
    for (name, program) in real {
        let script = format!("#!/bin/sh\nexec '{program}' \"$@\"\n");
        std::fs::write(bin.join(name), script).expect("a script");
        std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).expect("a mode");
    }
    bin
}

#[test]
fn packages_are_installed_and_run() {
    let repo = Repo::outside();
    if !has_python(&repo) {
        return;
    }
    let bin = programs(&repo);
    let script = Path::new(ROOT).join("packaging/test.sh");
    let run = repo.program("bash").args(&[script, bin]).run().ok().says("ok: archive");
    for package in ["npm", "wheel", "deb"] {
        let said = run.out();
        let tried = said.contains(&format!("ok: {package}\n"));
        assert!(tried || said.contains(&format!("skipped: {package} ")), "{said}");
    }
}

#[test]
fn versions_agree() {
    let read = |path: &str| std::fs::read_to_string(Path::new(ROOT).join(path)).expect(path);
    for (path, line) in [
        ("action.yml", format!("default: \"{VERSION}\"")),
        ("packaging/gitlab-ci.yml", format!("AYE_VERSION: \"{VERSION}\"")),
        ("pyproject.toml", format!("version = \"{VERSION}\"")),
        ("pyproject.toml", format!("dependencies = [\"aye=={VERSION}\"]")),
    ] {
        assert!(read(path).contains(&line), "{path} has no line {line}");
    }
}

/// A clone of a bare remote with a branch for a pull request: one commit that holds an applied proposal,
/// the lane pushed. And a release that holds the archive.
struct Build {
    repo: Repo,
    base: String,
    release: PathBuf,
}

impl Build {
    fn new() -> Option<Self> {
        let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
        if !has_python(&repo) {
            return None;
        }
        let (bin, release) = (programs(&repo), repo.outer().join("release"));
        let script = Path::new(ROOT).join("packaging/archive.py");
        let python = repo.program("python3").args(&[script]).args(&["--bin"]).args(&[bin]);
        let sums = python.args(&["--out"]).args(std::slice::from_ref(&release)).run().ok().out();
        std::fs::write(release.join("SHA256SUMS"), sums).expect("checksums");
        std::fs::copy(Path::new(ROOT).join("packaging/install.sh"), release.join("install.sh"))
            .expect("the script");
        let remote = repo.outer().join("remote.git");
        let remote = remote.to_str().expect("UTF-8");
        repo.git(&["init", "--quiet", "--bare", remote]);
        repo.git(&["remote", "add", "origin", remote]);
        repo.git(&["push", "--quiet", "origin", "main"]);
        let base = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let propose =
            ["propose", "a.txt", "--old", "two", "--new", "TWO", "-m", "Louder", "--json"];
        let id = repo.cmd(&propose).env("AYE_AGENT", "codex").run().ok().json();
        let id = id["proposal_id"].as_str().expect("an id");
        apply(&repo, id);
        repo.git(&["commit", "--quiet", "-am", &format!("Louder\n\nProposal-Id: {id}")]);
        repo.git(&["push", "--quiet", "origin", "refs/aye/log/*"]);
        Some(Self { repo, base, release })
    }

    /// Adds a commit that names a proposal that nobody knows.
    fn lies(&self) {
        self.repo.write("a.txt", "other\n");
        let message = "Sly\n\nProposal-Id: prop_0000000000";
        self.repo.git(&["commit", "--quiet", "-am", message]);
    }

    /// Runs a step as a runner does, with its `variables`; prints and fails as it does.
    fn step(&self, script: &str, variables: &[(&str, &str)]) -> crate::support::Run {
        let temporary = self.repo.outer().join("temporary");
        std::fs::create_dir_all(&temporary).expect("a directory");
        let path = std::env::var("PATH").expect("a PATH");
        let installed = temporary.join("aye/bin");
        let cmd = self.repo.program("bash").args(&["-eo", "pipefail", "-c", script]);
        let cmd = cmd
            .env("PATH", format!("{}:{path}", installed.display()))
            .env("CI", "true")
            .env("RUNNER_TEMP", &temporary)
            .env("GITHUB_ACTION_PATH", ROOT)
            .env("GITHUB_PATH", temporary.join("path"))
            .env("GITHUB_OUTPUT", temporary.join("output"));
        variables.iter().fold(cmd, |cmd, (name, value)| cmd.env(name, value)).run()
    }
}

fn yaml(path: &str) -> Value {
    let text = std::fs::read_to_string(Path::new(ROOT).join(path)).expect(path);
    serde_yaml::from_str(&text).expect("YAML")
}

#[test]
fn github_action_installs_and_checks() {
    let Some(build) = Build::new() else { return };
    let action = yaml("action.yml");
    let steps = action["runs"]["steps"].as_array().expect("steps");
    let script = |at: usize| steps[at]["run"].as_str().expect("a script");
    let release = build.release.to_str().expect("UTF-8");
    build.step(script(0), &[("VERSION", VERSION), ("FROM", release), ("AYE_SHA256", "")]).ok();
    let temporary = build.repo.outer().join("temporary");
    let path = std::fs::read_to_string(temporary.join("path")).expect("it is written");
    assert!(path.trim().ends_with("/aye/bin"), "{path}");
    let range = format!("{}..HEAD", build.base);
    let check = || build.step(script(1), &[("RANGE", &range), ("FAIL_ON", "")]);
    check().ok();
    build.lies();
    check().exits(1).says("::");
    let report = std::fs::read(temporary.join("aye.sarif")).expect("the report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(report["version"], "2.1.0");
    assert_eq!(report["runs"][0]["results"][0]["ruleId"], "unknown_proposal");
    // What cannot be checked is said, and has no report that could be sent on.
    let output = temporary.join("output");
    for (range, why) in
        [("", "names no commits to check"), ("nowhere..HEAD", "error[invalid_range]")]
    {
        std::fs::write(&output, "").expect("emptied");
        build
            .step(script(1), &[("RANGE", range), ("FAIL_ON", "")])
            .exits(3)
            .says("::error")
            .says(why);
        assert_eq!(std::fs::read_to_string(&output).expect("it is read"), "");
    }
    // A new branch has nothing before it.
    let zeros = format!("{}..HEAD", "0".repeat(40));
    let new = [("RANGE", &*zeros), ("DEFAULT", "main"), ("FAIL_ON", "")];
    build.step(script(1), &new).exits(1).says("unknown_proposal");
    // The archive has to be the one that was named.
    let wrong = [("VERSION", VERSION), ("FROM", release), ("AYE_SHA256", "00")];
    build.step(script(0), &wrong).exits(1);
}

#[test]
fn gitlab_job_installs_and_checks() {
    let Some(build) = Build::new() else { return };
    let job = yaml("packaging/gitlab-ci.yml")["aye"].clone();
    let lines = |part: &str| {
        let lines = job[part].as_array().expect("lines").iter();
        lines.map(|line| line.as_str().expect("a line")).collect::<Vec<_>>().join("\n")
    };
    let project = build.repo.root().to_str().expect("UTF-8").to_owned();
    let release = build.release.to_str().expect("UTF-8");
    let run_from = |script: &str, target: &str| {
        let variables = [
            ("AYE_VERSION", VERSION),
            ("AYE_FROM", release),
            ("CI_PROJECT_DIR", &project),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &build.base),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", target),
        ];
        build.step(script, &variables)
    };
    let run = |script: &str| run_from(script, "");
    run(&lines("before_script")).ok();
    run(&lines("script")).ok();
    build.lies();
    run(&lines("script")).exits(1);
    assert!(build.repo.text("aye.xml").contains("unknown_proposal"));
    // The same commit on the target, of which a pipeline of merged results has the merge.
    let repo = &build.repo;
    let target = repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
    repo.git(&["switch", "-q", "-c", "feature", &build.base]);
    repo.write("b.txt", "mine\n");
    repo.commit("Mine");
    repo.git(&["switch", "-q", "--detach", &target]);
    repo.git(&["merge", "-q", "--no-ff", "--no-edit", "feature"]);
    run_from(&lines("script"), &target).ok();
    run(&lines("script")).exits(1);
}
