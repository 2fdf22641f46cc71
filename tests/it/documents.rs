//! The console blocks of the README and of `docs/` are what the program prints today.
//!
//! `<!-- replay -->` begins a session in a new repository (see [`greeter`]); the ` ```console `
//! blocks up to the next one are its commands and their output, in order. `<!-- keys: n, "why",
//! y -->` before a block answers the `aye review` in it: keys, and lines of text in quotes. Clock,
//! identity and clone are fixed, so ids, dates and hashes are the same everywhere.
//! `AYE_BLESS=1 cargo test --locked --test it documents::` renews the output, and with it the ids in
//! the commands that follow.

mod picture;

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

use crate::support::terminal::Terminal;
use crate::support::{Cmd, Repo};

/// The first moment of a session, in seconds since 1970: 2026-01-05T09:00:00Z.
const BEGINNING: i64 = 1_767_603_600;

/// Seconds from one command to the next.
const STEP: i64 = 3;

/// `aye.clone` of a session.
const CLONE: &str = "d0c5d0c5d0c5d0c5";

/// A repository on which a session works, how far its clock has come, and which id of the document is
/// which one now.
struct Session {
    repo: Repo,
    clock: i64,
    renamed: Vec<(String, String)>,
}

/// A small program with a README, a script and a test.
fn greeter() -> Repo {
    let repo = Repo::with(&[
        ("README.md", "# Greeter\n\nIt greets.\n"),
        (
            "greet.py",
            "\"\"\"Words for the door.\"\"\"\n\n\ndef greet(name):\n    word = 'Hello '\n    return word + name\n\n\n\
             def question(name):\n    return 'How are you, ' + name + '?'\n\n\n\
             def part(name):\n    # Said at the door.\n    return 'Bye ' + name\n",
        ),
        ("test.sh", "python3 -c 'import greet'\n"),
    ]);
    repo.git(&["config", "aye.clone", CLONE]);
    repo
}

impl Session {
    fn new() -> Self {
        Self { repo: greeter(), clock: BEGINNING, renamed: Vec::new() }
    }

    fn surround(&mut self, cmd: Cmd) -> Cmd {
        self.clock += STEP;
        let now = chrono::DateTime::from_timestamp(self.clock, 0).expect("a time");
        let date = format!("{} +0000", self.clock);
        let aye = Path::new(env!("CARGO_BIN_EXE_aye")).parent().expect("a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        cmd.env("AYE_NOW", now.to_rfc3339())
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .env("PATH", format!("{}:{path}", aye.display()))
            .env("EDITOR", "true")
    }

    /// What `line` prints, standard error included.
    fn run(&mut self, line: &str, keys: &[String]) -> String {
        if let Some(arguments) = line.strip_prefix("aye review") {
            let arguments: Vec<&str> = arguments.split_whitespace().collect();
            let cmd = self.repo.cmd(&["review"]).args(&arguments);
            return review(self.surround(cmd), keys);
        }
        let cmd = self.repo.program("sh").args(&["-c", &format!("exec 2>&1\n{line}")]);
        let run = self.surround(cmd).run();
        String::from_utf8(run.stdout).expect("text")
    }
}

/// The screen after a review that was answered with `keys`.
fn review(cmd: Cmd, keys: &[String]) -> String {
    let mut terminal = Terminal::start(cmd, 400, 100);
    for key in keys {
        let text = key.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        terminal.sees(if text.is_some() { "): " } else { "]? " });
        // What is typed before the program reads keys is echoed by the system too.
        terminal.listens().types(&text.map_or_else(|| key.clone(), |text| format!("{text}\r")));
    }
    terminal.ends();
    let screen = terminal.screen();
    let lines = screen.trim_end().lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// Whether the words of a command go on in the next line.
fn goes_on(command: &str) -> bool {
    if command.contains("<<'EOF'") {
        return !command.ends_with("\nEOF");
    }
    let quotes = command.chars().filter(|c| *c == '\'').count();
    command.ends_with('\\') || quotes % 2 == 1
}

/// The ids of proposals, objects and commits in `text`, in order.
fn ids(text: &str) -> Vec<String> {
    let id = regex::Regex::new(r"\bprop_[0-9a-z]{10}\b|\b[0-9a-f]{7,64}\b").expect("a pattern");
    id.find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

/// A block with the output that its commands have now.
fn replayed(block: &str, keys: &[String], session: &mut Session) -> String {
    let mut fresh = String::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("$ ").expect("a block begins with a command");
        let mut command = command.to_owned();
        while goes_on(&command) {
            command += "\n";
            command += lines.next().expect("the rest of the command");
        }
        let (mut blank, mut old) = (false, String::new());
        while let Some(output) = lines.next_if(|line| !line.starts_with("$ ")) {
            blank = output.is_empty();
            old += output;
        }
        for (then, now) in &session.renamed {
            command = command.replace(then, now);
        }
        let printed = session.run(&command, keys);
        session.renamed.extend(ids(&old).into_iter().zip(ids(&printed)));
        fresh += &format!("$ {command}\n{printed}");
        if blank && lines.peek().is_some() {
            fresh += "\n";
        }
    }
    fresh
}

/// The text of a document with the output that its commands have now.
fn renewed(text: &str) -> String {
    const OPEN: &str = "```console\n";
    let mut session = None;
    let mut keys = Vec::new();
    let mut fresh = String::new();
    let mut rest = text;
    while let Some(line) = rest.split_inclusive('\n').next() {
        rest = &rest[line.len()..];
        fresh += line;
        if line.trim_end() == "<!-- replay -->" {
            session = Some(Session::new());
        } else if let Some(list) = line.trim_end().strip_prefix("<!-- keys: ") {
            let list = list.strip_suffix(" -->").expect("the end of the keys");
            keys = list.split(", ").map(str::to_owned).collect();
        } else if line == OPEN {
            let end = rest.find("```\n").expect("the end of the block");
            let session = session.as_mut().expect("a session begins with <!-- replay -->");
            fresh += &replayed(&rest[..end], &keys, session);
            keys.clear();
            rest = &rest[end..];
        }
    }
    fresh
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_dir(root.join("docs")).expect("docs/").flatten();
    let mut found: Vec<PathBuf> = docs.map(|entry| entry.path()).collect();
    let others = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "src/cli/util/examples.md"];
    found.extend(others.map(|name| root.join(name)));
    found.retain(|path| path.extension().is_some_and(|end| end == "md"));
    found
}

#[test]
fn console_blocks_are_what_is_printed() {
    let mut blocks = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).expect("a document");
        blocks += text.matches("```console\n").count();
        let fresh = renewed(&text);
        if std::env::var_os("AYE_BLESS").is_some() {
            // Other tests read the documents meanwhile.
            if fresh != text {
                std::fs::write(&path, fresh).expect("write the document");
            }
            continue;
        }
        let name = path.display();
        similar_lines(
            &text,
            &fresh,
            &format!("{name}: AYE_BLESS=1 cargo test --locked --test it documents::"),
        );
    }
    assert!(blocks > 5, "{blocks} blocks found");
}

/// Fails with the first line that differs.
fn similar_lines(text: &str, fresh: &str, how: &str) {
    for (number, (old, new)) in text.lines().zip(fresh.lines()).enumerate() {
        assert_eq!(old, new, "line {} is stale\n{how}", number + 1);
    }
    assert_eq!(text.lines().count(), fresh.lines().count(), "{how}");
}

/// A link to a file that has moved, or to a heading that was renamed, helps nobody.
#[test]
fn links_between_documents_lead_somewhere() {
    let link = regex::Regex::new(r"\]\(([^)#: ]*)(?:#([^)]*))?\)").expect("a pattern");
    for path in documents() {
        let text = std::fs::read_to_string(&path).expect("a document");
        for found in link.captures_iter(&text) {
            let target = match &found[1] {
                "" => path.clone(),
                name => path.parent().expect("a directory").join(name),
            };
            assert!(target.exists(), "{}: {}", path.display(), &found[0]);
            let Some(heading) = found.get(2) else { continue };
            let there = std::fs::read_to_string(&target).expect("a document");
            let mut headings = there.lines().filter(|line| line.starts_with('#')).map(anchor);
            assert!(headings.any(|a| a == heading.as_str()), "{}: {}", path.display(), &found[0]);
        }
    }
}

/// Contributors are sent to files, and promises to the tests that hold them.
#[test]
fn files_that_the_guides_name_exist() {
    let name = regex::Regex::new(r"`([A-Za-z0-9_./-]+(?:\.rs|\.toml|\.md|/))`").expect("a pattern");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for guide in ["CONTRIBUTING.md", "docs/security.md"] {
        let text = std::fs::read_to_string(root.join(guide)).expect("a guide");
        // `NAME.rs` is the contributor's own, and refs are no files.
        let is_file = |name: &str| {
            !name.contains("NAME") && !name.starts_with(['.', '<']) && !name.starts_with("refs/")
        };
        for found in name.captures_iter(&text).filter(|found| is_file(&found[1])) {
            let places = ["", "src", "tests/it"].map(|place| root.join(place).join(&found[1]));
            assert!(places.iter().any(|place| place.exists()), "{guide}: {}", &found[1]);
        }
    }
}

/// The name by which a heading is linked to.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// What the README and `docs/` say to type is understood by the program: each `aye …` of a shell block.
#[test]
fn commands_of_shell_blocks_are_understood() {
    let mut found = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).expect("a document");
        for block in text.split("```sh\n").skip(1) {
            let block = block.split("```").next().expect("a block").replace("\\\n", " ");
            for line in block.lines() {
                let Some(rest) = line.trim().strip_prefix("aye ") else { continue };
                let rest = rest.split(" #").next().expect("a command").split(" > ").next();
                let rest = rest.expect("a command").split(" && ").next().expect("a command");
                let words = words(rest);
                let names = words.iter().filter(|word| !word.starts_with('-'));
                let is_page = words.first().is_some_and(|word| word == "help");
                let command = std::iter::once("aye".to_owned()).chain(words.iter().cloned());
                let parsed = aye::cli::Cli::command().try_get_matches_from(command);
                let known = is_page || parsed.is_ok() || names.count() == 0;
                assert!(known, "{}: aye {rest}\n{}", path.display(), parsed.unwrap_err());
                found += 1;
            }
        }
    }
    assert!(found > 8, "{found} commands found");
}

/// A command line as words; quotes keep blanks.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            (' ', None) => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            (c, _) => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}
