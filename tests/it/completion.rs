//! Shell completion: the scripts ask the program, and it answers.

use std::ffi::OsString;
use std::path::Path;

use crate::support::terminal::Terminal;
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
    repo.aye(&["reject", &rejected, "--yes", "-m", "no"]).ok();
    repo.aye(&["comment", &sent_back, "--request-changes", "-m", "no"]).ok();
    let undo = complete(&repo, &["aye", "undo", "prop_"]).ok();
    undo.says(&applied).says(&rejected).says(&sent_back).lacks(&pending);
    complete(&Repo::outside(), &["aye", "show", ""]).ok().lacks("prop_");
}

#[test]
fn what_a_proposer_wrote_is_completed_safely() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let hostile = "]0;x\u{202e} $(touch pwned)";
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

/// `PATH` with the program that is tested in front.
fn path() -> OsString {
    let directory = Path::new(env!("CARGO_BIN_EXE_aye")).parent().expect("a directory").to_owned();
    let all = std::env::var_os("PATH").expect("a PATH");
    let all = std::iter::once(directory).chain(std::env::split_paths(&all));
    std::env::join_paths(all).expect("a PATH")
}

#[test]
fn the_bash_script_registers_and_completes() {
    let repo = Repo::new();
    let script = repo.aye(&["util", "completion", "bash"]).ok().out();
    let test = format!(
        "{script}\nCOMP_WORDS=(aye uti) COMP_CWORD=1 COMP_TYPE=9\n\
         _clap_complete_aye aye uti aye\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    );
    repo.program("bash").env("PATH", path()).stdin(test).run().ok().says("util\n");
}

/// Types each line and TAB in an interactive Bash in `repo`, and sees what comes to it; then runs it behind `echo`.
fn tab(repo: &Repo, lines: &[(&str, &str)]) {
    let script = repo.aye(&["util", "completion", "bash"]).ok().out();
    repo.write(".git/aye.bash", script);
    let bash = repo.program("bash").args(&["--norc", "--noprofile", "-i"]);
    let bash = bash.env("PATH", path()).env("TERM", "dumb").env("PS1", "prompt> ");
    let mut bash = Terminal::start(bash, 40, 200);
    bash.sees("prompt> ").types("bind 'set bell-style none'; . .git/aye.bash; echo read\"y\"\r");
    bash.sees("ready").sees("prompt> ");
    for (typed, completed) in lines {
        bash.types(typed).sees(typed).types("\t").sees(completed);
        bash.types("\x01echo \x05\r").sees("prompt> ");
    }
}

/// Readline quotes what the shell would take apart, expand or run.
#[test]
fn names_of_files_are_completed_as_one_word_that_runs_nothing() {
    let files =
        ["lazy $(touch PWNED).txt", "my notes.txt", "it's.txt", "star*.txt", "dir x/in.txt"];
    let files: Vec<(&str, &str)> = files.iter().map(|name| (*name, "x\n")).collect();
    let repo = Repo::with(&files);
    tab(
        &repo,
        &[
            ("aye propose laz", r"y\ \$\(touch\ PWNED\).txt "),
            ("aye propose 'laz", "y $(touch PWNED).txt' "),
            ("aye propose \"laz", r#"y \$(touch PWNED).txt" "#),
            ("aye propose my", r"\ notes.txt "),
            ("aye propose it", r"\'s.txt "),
            ("aye propose star", r"\*.txt "),
            ("aye propose dir", r"\ x/"),
            ("aye util comp", "letion "),
        ],
    );
    assert!(!repo.exists("PWNED"));
}

#[test]
fn names_of_sessions_are_completed() {
    let repo = Repo::with(&[("a.txt", "x\n")]);
    repo.aye(&["run", "--keep", "--name", "dark", "--", "true"]).ok();
    for words in
        [&["session", "submit", ""][..], &["session", "end", "d"], &["run", "--name", "da"]]
    {
        complete(&repo, &[&["aye"], words].concat()).ok().says("dark");
    }
    complete(&Repo::outside(), &["aye", "session", "submit", ""]).ok().lacks("dark");
}
