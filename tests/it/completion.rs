//! Shell completion: the scripts ask the program, and it answers.

use crate::support::{Repo, Run};

fn complete(repo: &Repo, words: &[&str]) -> Run {
    let index = (words.len() - 1).to_string();
    repo.cmd(&["--"])
        .args(words)
        .env("AYE_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", index)
        .env("_CLAP_IFS", "\n")
        .run()
}

#[test]
fn commands_and_flags_are_completed() {
    let repo = Repo::new();
    complete(&repo, &["aye", "ut"]).ok().says("util");
    complete(&repo, &["aye", "util", "completion", ""]).ok().says("fish").says("powershell");
    complete(&repo, &["aye", "util", "--form"]).ok().says("--format");
}

#[test]
fn ids_of_proposals_are_completed_with_what_fits_the_command() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
    let propose = |old: &str| repo.aye(&["propose", "a.txt", "--old", old, "--new", "x"]).ok().id();
    let (pending, applied) = (propose("one"), propose("two"));
    repo.aye(&["apply", &applied, "--yes"]).ok();
    complete(&repo, &["aye", "apply", "prop_"]).ok().says(&pending).lacks(&applied);
    complete(&repo, &["aye", "undo", "prop_"]).ok().says(&applied).lacks(&pending);
    complete(&repo, &["aye", "show", ""]).ok().says(&applied).says(&pending);
    // Each command what it accepts.
    let propose =
        |old: &str| repo.agent("bot", &["propose", "b.txt", "--old", "", "--new", old]).ok().id();
    let (rejected, sent_back) = (propose("1"), propose("2"));
    repo.aye(&["reject", &rejected, "--yes", "--reason", "no"]).ok();
    repo.aye(&["comment", &sent_back, "--request-changes", "-m", "no"]).ok();
    let undo = complete(&repo, &["aye", "undo", "prop_"]).ok();
    undo.says(&applied).says(&rejected).says(&sent_back).lacks(&pending);
    let reopen = complete(&repo, &["aye", "reopen", "prop_"]).ok();
    reopen.says(&rejected).says(&sent_back).lacks(&pending).lacks(&applied);
    let restore = complete(&repo, &["aye", "restore", "prop_"]).ok();
    restore.says(&rejected).lacks(&sent_back).lacks(&pending).lacks(&applied);
    complete(&Repo::outside(), &["aye", "show", ""]).ok().lacks("prop_");
}

#[test]
fn what_a_proposer_wrote_is_completed_safely() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let hostile = "\u{1b}]0;x\u{7}\u{202e} $(touch pwned)";
    repo.aye(&["propose", "a.txt", "--old", "one", "--new", "x", "-m", hostile]).ok();
    for shell in ["zsh", "fish"] {
        let run = repo
            .cmd(&["--", "aye", "show", ""])
            .env("AYE_COMPLETE", shell)
            .env("_CLAP_COMPLETE_INDEX", "2")
            .env("_CLAP_IFS", "\n")
            .run();
        run.ok().says("prop_").plain().lacks("\u{202e}");
    }
    assert!(!repo.exists("pwned"));
}

#[test]
fn the_bash_script_registers_and_completes() {
    let repo = Repo::new();
    let script = repo.aye(&["util", "completion", "bash"]).ok().out();
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_aye")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(directory.to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let test = format!(
        "{script}\nCOMP_WORDS=(aye uti) COMP_CWORD=1 COMP_TYPE=9\n\
         _clap_complete_aye aye uti aye\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    );
    repo.program("bash").env("PATH", path).stdin(test).run().ok().says("util\n");
}

#[test]
fn an_unknown_shell_completes_nothing_and_says_nothing() {
    let repo = Repo::new();
    let run = repo.cmd(&["--", "aye", ""]).env("AYE_COMPLETE", "tcsh").run().ok();
    assert_eq!((run.out().as_str(), run.err().as_str()), ("", ""));
}
