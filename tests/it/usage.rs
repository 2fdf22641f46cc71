//! A wrong command line: exit 2, the stable code in every format, nothing raw to the terminal.

use crate::support::Repo;

#[test]
fn an_unknown_command_is_told_and_the_nearest_named() {
    let repo = Repo::new();
    repo.aye(&["utl"]).fails("usage", 2);
    let json = repo.aye(&["utl", "--json"]).fails("usage", 2).json();
    assert_eq!(json["error"]["message"], "unrecognized subcommand 'utl'");
    repo.aye(&["--yaml", "utl"]).exits(2).says("success: false").says("code: usage");
}

#[test]
fn what_was_typed_cannot_act_on_the_terminal() {
    let repo = Repo::new();
    repo.aye(&["\u{1b}]0;title\u{7}\u{202e}"]).fails("usage", 2).plain().notes("\\u{202e}");
}

#[test]
fn arguments_that_are_not_utf8_have_their_own_code() {
    use std::os::unix::ffi::OsStrExt as _;
    let repo = Repo::new();
    let bad = std::ffi::OsStr::from_bytes(b"b\xffsh");
    repo.aye(&["util".as_ref(), "schema".as_ref(), bad]).fails("invalid_utf8", 6).plain();
}

#[test]
fn help_and_version_are_answers() {
    let repo = Repo::outside();
    repo.aye(&["--help"]).ok().says("Usage: aye");
    repo.aye(&["util", "--help"]).ok().says("Usage: aye util");
    repo.aye(&["--json"]).exits(2);
    repo.aye(&["help", "util"]).ok().says("Usage: aye util");
}

#[test]
fn every_command_has_examples() {
    let repo = Repo::outside();
    let mut asked = vec![Vec::<String>::new()];
    let mut seen = 0;
    while let Some(words) = asked.pop() {
        let mut args = words.clone();
        args.push("--help".into());
        let help = repo.aye(&args).ok().out();
        let has_examples = help.contains("\nExamples:\n  aye ");
        // The program's own page lists the commands.
        assert_eq!(has_examples, !words.is_empty(), "{words:?}:\n{help}");
        seen += 1;
        // The program's own are in groups.
        let listed = match words.is_empty() {
            true => {
                help.split("\nReview:\n").nth(1).and_then(|rest| rest.split("\nTopics (").next())
            }
            false => help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()),
        };
        for line in listed.unwrap_or_default().lines() {
            let Some(name) = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) else {
                continue;
            };
            let name = name.split(' ').next().unwrap();
            if name != "help" {
                asked.push([words.as_slice(), &[name.to_owned()]].concat());
            }
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn git_finds_it_as_a_subcommand() {
    let repo = Repo::with(&[("src/a.txt", "a\n")]);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_git-aye"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let git = |args: &[&str]| repo.program("git").args(args).env("PATH", &path).run();
    git(&["aye", "propose", "src/a.txt", "--old", "a\n", "--new", "b\n", "-q"]).ok();
    git(&["-C", "src", "aye", "list"]).ok().says("src/a.txt");
    // Arguments and exit status go through as they are.
    git(&["aye", "show", "prop_00 00"]).fails("invalid_id", 6).notes("prop_00 00");

    // A copy somewhere else takes the one on PATH, and says so where there is none.
    let copy = repo.outer().join("git-aye");
    // Through `cp`: what another thread starts here would hold a file of this process open, and an
    // open program cannot be run.
    repo.program("cp").args(&[program, &copy]).run().ok();
    let alone = |path: &str| repo.program(&copy).args(&["--version"]).env("PATH", path).run();
    alone(&path).ok().says("aye ");
    alone("/nowhere").exits(127).notes("hint:");
}

/// What people type for a verb is that verb, and nothing suggests the opposite.
#[test]
fn other_words_for_a_verb_are_understood() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let propose = |content: &str| {
        let args = ["propose", "a.txt", "--content-file", "-", "--json"];
        repo.cmd(&args).env("AYE_AGENT", "bot").stdin(content).run().ok().id()
    };
    for (accept, undo) in [("accept", "unapply"), ("ok", "revert")] {
        let id = propose(accept);
        repo.aye(&[accept, &id, "--yes"]).ok().says("applied");
        repo.aye(&[undo, &id, "--yes"]).ok().says("undone");
    }
    for word in ["deny", "nay", "disapprove"] {
        let id = propose(word);
        repo.aye(&[word, &id, "--yes", "-m", "no"]).ok().says("rejected");
        repo.aye(&["unreject", &id, "--yes"]).ok();
    }
}

/// The pages of `docs/`, without a man page and from git too.
#[test]
fn help_prints_the_pages_of_the_documentation() {
    let repo = Repo::outside();
    let all = repo.aye(&["help"]).ok();
    let topics = all.out();
    let topics = topics.split("\nTopics (aye help TOPIC):\n").nth(1).expect("the topics");
    let topics = topics.lines().next().expect("a line");
    let names: Vec<String> = topics.split(", ").map(|name| name.trim().to_owned()).collect();
    assert!(names.iter().any(|name| name == "getting-started") && names.len() > 7, "{names:?}");
    for name in &names {
        let page = repo.aye(&["help", name]).ok().out();
        assert!(!page.starts_with('#') && !page.contains("<!--") && !page.contains("]("), "{page}");
    }
    repo.aye(&["help", "review"]).says("aye review --help");
    repo.aye(&["help", "codes", "not_pending"]).ok().says("not_pending").says("$ aye ");
    repo.aye(&["--color", "never", "help", "codes", "no_such_code"]).fails("usage", 2);
    repo.aye(&["help", "apply"]).ok().says("Usage: aye apply");
    let programs =
        std::path::Path::new(env!("CARGO_BIN_EXE_git-aye")).parent().expect("a directory");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a PATH"));
    let run = repo.program("git").args(&["aye", "help", "agents"]).env("PATH", path).run();
    run.ok().says("agents");
}

/// A heading of clap holds for every flag that is declared behind it.
#[test]
fn each_flag_stands_under_its_own_heading() {
    const HEADINGS: [(&str, &[&str]); 3] = [
        (
            "Other sources",
            &["--patch", "--worktree", "--keep", "--since", "--commit", "--range", "--stack"],
        ),
        ("Patch options", &["-R, --reverse", "-p, --strip", "--fuzz", "--unidiff-zero"]),
        (
            "Diff options",
            &[
                "--stat", "--name-only", "--word-diff", "-p, --patch", "--hunks", "-U, --unified",
                "-w, --ignore-all-space",
            ],
        ),
    ];
    let repo = Repo::outside();
    for command in ["propose", "revise", "patch", "diff", "show"] {
        let help = repo.aye(&[command, "--help"]).ok().out();
        let mut heading = "";
        for line in help.lines() {
            if let Some(title) = line.strip_suffix(':').filter(|title| !title.starts_with(' ')) {
                heading = title;
            }
            let flag = line.trim_start();
            let Some((_, flags)) = HEADINGS.iter().find(|(name, _)| *name == heading) else {
                continue;
            };
            if flag.starts_with('-') {
                let known = flags.iter().any(|known| flag.starts_with(known));
                assert!(known, "{command}: {flag} below {heading}");
            }
        }
    }
}

/// What each example has is above the fold.
#[test]
fn the_message_is_on_the_first_screen_of_help() {
    let repo = Repo::outside();
    for command in ["propose", "revise"] {
        for form in ["-h", "--help"] {
            let help = repo.aye(&[command, form]).ok().out();
            let line = help.lines().position(|line| line.trim_start().starts_with("-m, --message"));
            assert!(line.is_some_and(|line| line < 26), "{command} {form}: {line:?}\n{help}");
        }
    }
}
