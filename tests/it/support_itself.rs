//! The scripted repository keeps its promises: stable ids, nothing inherited.

use crate::support::{self, Repo};

#[test]
fn object_ids_are_the_same_everywhere() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let again = Repo::with(&[("a.txt", "one\n")]);
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), again.git(&["rev-parse", "HEAD"]));
    assert_eq!(
        repo.git(&["log", "-1", "--format=%an <%ae>"]),
        format!("{} <{}>", support::NAME, support::EMAIL)
    );
}

#[test]
fn the_environment_is_not_inherited() {
    let repo = Repo::outside();
    let seen = repo.program("env").run().ok().out();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    for name in &names {
        let allowed =
            ["GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_TERMINAL_PROMPT", "GIT_TEST_FSYNC"];
        let of_git = name.starts_with("GIT_")
            && !allowed.contains(name)
            && *name != "GIT_CEILING_DIRECTORIES";
        // It ends the walk over the processes above, in test builds.
        let of_aye = name.starts_with("AYE_") && *name != "AYE_TESTS";
        assert!(!of_git && !of_aye && *name != "CI", "{name} came through");
    }
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "cargo's own variables came through");
}

#[test]
fn input_output_and_status_are_captured() {
    let repo = Repo::outside();
    let run = repo
        .program("sh")
        .args(&["-c", "cat; echo 'error[some_code]: no' >&2; exit 5"])
        .stdin("prop_0123 fed\n")
        .run();
    let run = run.fails("some_code", 5).says("fed\n").plain();
    assert_eq!(run.id(), "prop_0123");
}

#[test]
fn the_binary_runs() {
    let version = Repo::outside().aye(&["--version"]).ok().out();
    assert_eq!(version, format!("aye {}\n", env!("CARGO_PKG_VERSION")));
}
