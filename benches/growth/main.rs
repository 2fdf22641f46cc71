//! How the commands that people, agents and hooks wait for grow with history: the same command on
//! repositories of several sizes, each figure beside its ratio to the smallest.
//!
//! ```text
//! cargo bench --bench growth                                    # 1, 300 and 1,000 open; 0 and 10,000 decided
//! cargo bench --bench growth -- --open 300 --decided 100000
//! cargo bench --bench growth -- --open 1 --decided 0 --files 0,200000    # wanted: ratios of at most 1.5
//! cargo bench --bench growth -- propose apply                   # commands that begin so
//! cargo bench --bench growth -- --callgrind log                 # count instructions exactly
//! cargo bench --bench growth -- --keep --decided 10000 check    # leave the repositories there
//! cargo bench --bench growth -- --hostile                       # 1,000 refs of others, 100 MB in all
//! AYE_BIN=/path/to/another/aye cargo bench --bench growth
//! ```
//!
//! System calls and instructions are what can be compared between machines and between runs. They
//! are counted by `strace`, and `perf` or `valgrind`, where these are installed and allowed to.

// A program that prints its figures.
#![allow(clippy::print_stdout)]

mod history;
mod measure;

use std::path::Path;

use history::{History, Shape, git, path};
use measure::{Cost, Tools};

/// A command, and what makes its repository as it is to find it. `ID` is a pending proposal, `PATH` its file.
struct Entry {
    name: &'static str,
    args: &'static [&'static str],
    state: State,
}

/// What a command finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// An up-to-date memo.
    Warm,
    /// No memo.
    Cold,
    /// One staged file, and an up-to-date memo.
    Staged,
    /// An up-to-date memo; what it writes is undone.
    Writes,
}

const fn entry(name: &'static str, args: &'static [&'static str], state: State) -> Entry {
    Entry { name, args, state }
}

const ENTRIES: &[Entry] = &[
    entry(
        "propose",
        &["propose", "src/d24/f0999.txt", "--old", "line 7 ", "--new", "l ", "-m", "why", "-q"],
        State::Writes,
    ),
    entry("comment", &["comment", "ID", "-m", "hm"], State::Writes),
    entry("apply", &["apply", "ID", "--yes"], State::Writes),
    entry("reject", &["reject", "ID", "--yes", "-m", "no"], State::Writes),
    entry("list", &["list"], State::Warm),
    entry("show", &["show", "ID"], State::Warm),
    entry("diff", &["diff", "ID"], State::Warm),
    entry("hook: pre-commit", &["hooks", "run", "pre-commit"], State::Staged),
    entry("cold: list", &["list"], State::Cold),
    entry("list --status all", &["list", "--status", "all", "--limit", "20"], State::Warm),
    entry("log --limit 20", &["log", "--limit", "20"], State::Warm),
    entry("memory status", &["memory", "status", "--json"], State::Warm),
    entry("check --staged", &["check", "--staged"], State::Staged),
    entry("check", &["check"], State::Warm),
];

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes --bench; `cargo test --benches` does not, and wants no measurements.
    let Some(at) = arguments.iter().position(|argument| argument == "--bench") else { return };
    arguments.remove(at);
    let mut option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.remove(at);
        Some(arguments.remove(at))
    };
    let numbers = |text: String| -> Vec<usize> {
        text.split(',').map(|word| word.parse().expect("a number")).collect()
    };
    let open = option("--open").map_or(vec![1, 300, 1_000], numbers);
    let decided = option("--decided").map_or(vec![0, 10_000], numbers);
    let files = option("--files").map_or(vec![0], numbers);
    let mut flag = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.map(|at| arguments.remove(at)).is_some()
    };
    let (callgrind, keep, hostile) = (flag("--callgrind"), flag("--keep"), flag("--hostile"));
    let tools = Tools::find(callgrind);
    let aye = std::env::var("AYE_BIN").unwrap_or(env!("CARGO_BIN_EXE_aye").to_owned());
    for missing in tools.missing() {
        println!("missing {missing}");
    }
    let wanted = |name: &str| {
        arguments.is_empty() || arguments.iter().any(|argument| name.starts_with(argument.as_str()))
    };
    let mut table = Table::default();
    let shapes = decided.iter().flat_map(|decided| {
        let of = |open: usize| {
            files.iter().map(move |files| Shape { open, decided: *decided, files: *files })
        };
        open.iter().copied().flat_map(of).collect::<Vec<_>>()
    });
    for shape in shapes {
        let history = History::new(&aye, shape);
        if hostile {
            flood(history.root(), &history.pending[0]);
        }
        for entry in ENTRIES.iter().filter(|entry| wanted(entry.name)) {
            table.add(entry.name, shape, measured(&tools, &aye, &history, entry));
        }
        if keep {
            println!("{}", history.keep().display());
        }
    }
}

fn measured(tools: &Tools, aye: &str, history: &History, entry: &Entry) -> Cost {
    let root = history.root();
    let id = short(&history.pending[0]);
    let args: Vec<&str> =
        entry.args.iter().map(|arg| if *arg == "ID" { id.as_str() } else { arg }).collect();
    if entry.state == State::Staged {
        std::fs::write(root.join(path(0)), "something else\n").expect("a file");
        git(root, &["add", "-A", "src"]);
    }
    let forget = || {
        for memo in ["open", "decided"] {
            let _ = std::fs::remove_file(root.join(".git/aye").join(memo));
        }
    };
    warm(aye, root);
    // Every run of one that writes finds the same repository at the same place.
    let spare = tempfile::tempdir().expect("a directory");
    let kept = spare.path().join("git");
    if entry.state == State::Writes {
        copy(&root.join(".git"), &kept);
    }
    let restore = || {
        if entry.state == State::Writes {
            std::fs::remove_dir_all(root.join(".git")).expect("removed");
            copy(&kept, &root.join(".git"));
            git(root, &["checkout", "-q", "--", "src"]);
            git(root, &["status", "--porcelain"]);
        }
    };
    let cost = tools.cost(aye, root, &args, || {
        restore();
        if entry.state == State::Cold {
            forget();
        }
    });
    restore();
    if entry.state == State::Staged {
        git(root, &["reset", "-q", "--hard"]);
    }
    cost
}

/// The memo is made once, and is not what is measured.
fn warm(aye: &str, root: &Path) {
    for args in [&["list", "--limit", "1"][..], &["list", "--status", "all", "--limit", "1"]] {
        let made = std::process::Command::new(aye).args(args).current_dir(root).output();
        assert!(made.expect("aye").status.success());
    }
}

/// 1,000 refs of others, each of 100 KB that say nothing.
fn flood(root: &Path, thread: &str) {
    git(root, &["remote", "add", "origin", "../nowhere"]);
    let text = git(root, &["cat-file", "commit", thread]);
    let line = text.lines().find_map(|line| line.strip_prefix("aye-event ")).expect("an event");
    let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let tree = git(root, &["rev-parse", &format!("{thread}^{{tree}}")]);
    let directory = root.join("flood");
    std::fs::create_dir(&directory).expect("a directory");
    let files: Vec<String> = (0..1_000).map(|number| format!("flood/{number}")).collect();
    for (number, file) in files.iter().enumerate() {
        let long = format!("{number} {}", "x".repeat(100_000));
        // A tenth of them speaks of one proposal; each other one is another proposal.
        let is_comment = number % 10 == 0;
        let event = if is_comment {
            let actor = r#"{"email":"m@x","kind":"human","name":"M"}"#;
            format!(
                r#"{{"actor":{actor},"clone":"0badc0de0badc0de","data":{{"body":"{long}"}},"kind":"comment","time":"2026-02-01T00:00:00.000Z","v":2}}"#
            )
        } else {
            let mut event = event.clone();
            event["data"]["description"] = long.into();
            event.to_string()
        };
        let parent = if is_comment { format!("parent {thread}\n") } else { String::new() };
        let who = "M <m@x> 1767225600 +0000";
        let head = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n");
        let commit = format!("{head}aye-event {event}\n\nflood\n");
        std::fs::write(root.join(file), commit).expect("a file");
    }
    let args = ["hash-object", "-t", "commit", "-w", "--literally"];
    let args: Vec<&str> = args.into_iter().chain(files.iter().map(String::as_str)).collect();
    for (number, id) in git(root, &args).lines().enumerate() {
        let directory = root.join(format!(".git/refs/aye/remotes/origin/{number:016x}"));
        std::fs::create_dir_all(&directory).expect("a directory");
        let name = if number % 10 == 0 { thread } else { id };
        std::fs::write(directory.join(name), format!("{id}\n")).expect("a ref");
    }
    std::fs::remove_dir_all(directory).expect("removed");
}

fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("cp").success());
}

/// The id of the proposal that begins with the commit `hex`.
fn short(hex: &str) -> String {
    aye::proposal::ProposalId::from_event(hex).to_string()
}

/// The figures so far: a line for each, with ratios to the first of the same command.
#[derive(Default)]
struct Table {
    first: std::collections::BTreeMap<&'static str, Cost>,
    titled: bool,
}

impl Table {
    fn add(&mut self, name: &'static str, shape: Shape, cost: Cost) {
        if !std::mem::replace(&mut self.titled, true) {
            println!(
                "{:<20} {:>8} {:>8} {:>8} {:>16} {:>18} {:>16} {:>14}",
                "command",
                "open",
                "decided",
                "files",
                "system calls",
                "M instructions",
                "CPU ms",
                "peak MB"
            );
        }
        let first = *self.first.entry(name).or_insert(cost);
        let Shape { open, decided, files } = shape;
        let cell = |value: Option<f64>, first: Option<f64>, digits: usize| match (value, first) {
            (Some(value), Some(first)) if first > 0.0 => {
                format!("{value:.digits$} ({:.1}×)", value / first)
            }
            (Some(value), _) => format!("{value:.digits$}"),
            (None, _) => "–".into(),
        };
        let calls = |cost: Cost| cost.calls.map(|calls| calls as f64);
        println!(
            "{name:<20} {open:>8} {decided:>8} {files:>8} {:>16} {:>18} {:>16} {:>14}",
            cell(calls(cost), calls(first), 0),
            cell(cost.instructions, first.instructions, 1),
            cell(cost.cpu, first.cpu, 1),
            cell(cost.peak, first.peak, 1),
        );
    }
}
