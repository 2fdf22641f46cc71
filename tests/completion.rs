//! Shell completion: the scripts ask the program, and it answers.

mod support;

use support::{Repo, Run};

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
fn the_bash_script_registers_and_completes() {
    let repo = Repo::new();
    let script = repo.aye(&["util", "completion", "bash"]).ok().out();
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_aye")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(folder.to_owned())
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
