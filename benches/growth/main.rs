//! How the commands that people and hooks wait for grow with history: the same command on
//! repositories of several sizes, each figure beside its ratio to the smallest.
//!
//! ```text
//! cargo bench --bench growth                                    # 1,000 and 10,000 proposals
//! cargo bench --bench growth -- --proposals 1000,100000 --pending 1%
//! cargo bench --bench growth -- --proposals 1000 --lanes 1,50,800
//! cargo bench --bench growth -- --pending all check reject      # commands that begin so
//! cargo bench --bench growth -- --callgrind log                 # count instructions exactly
//! cargo bench --bench growth -- --keep --pending all check      # leave the repositories there
//! AYE_BIN=/path/to/another/aye cargo bench --bench growth
//! ```
//!
//! System calls and instructions are what can be compared between machines and between runs. They
//! are counted by `strace`, and `perf` or `valgrind`, where these are installed and allowed to.

// A program that prints its figures.
#![allow(clippy::print_stdout)]

mod decision;
mod history;
mod measure;

use history::{History, Shape, git, pending_refs};
use measure::{Cost, Tools};

/// A command, and what makes its repository as it is to find it.
struct Entry {
    name: &'static str,
    args: &'static [&'static str],
    state: State,
}

/// What a command finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// An up-to-date cache.
    Warm,
    /// No cache.
    Cold,
    /// One staged file.
    Staged,
}

const fn entry(name: &'static str, args: &'static [&'static str], state: State) -> Entry {
    Entry { name, args, state }
}

const ENTRIES: &[Entry] = &[
    entry("log --limit 20", &["log", "--limit", "20"], State::Warm),
    entry("log", &["log"], State::Warm),
    entry("log --json", &["log", "--json"], State::Warm),
    entry("list --limit 20", &["list", "--limit", "20"], State::Warm),
    entry(
        "list --status all --limit 20",
        &["list", "--status", "all", "--limit", "20"],
        State::Warm,
    ),
    entry("memory status", &["memory", "status", "--json"], State::Warm),
    entry("check --staged", &["check", "--staged"], State::Staged),
    entry("check", &["check"], State::Warm),
    entry("cold: list --limit 20", &["list", "--limit", "20"], State::Cold),
];

/// How many proposals one `reject` names.
const DECIDED: usize = 100;

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
    let proposals = option("--proposals").map_or(vec![1_000, 10_000], numbers);
    let lanes = option("--lanes").map_or(vec![1], numbers);
    let pending = option("--pending").unwrap_or("1%".into());
    let callgrind = arguments.iter().position(|argument| argument == "--callgrind");
    let keep = arguments.iter().position(|argument| argument == "--keep");
    let keep = keep.map(|at| arguments.remove(at)).is_some();
    let tools = Tools::find(callgrind.map(|at| arguments.remove(at)).is_some());
    let aye = std::env::var("AYE_BIN").unwrap_or(env!("CARGO_BIN_EXE_aye").to_owned());
    for missing in tools.missing() {
        println!("missing {missing}");
    }
    let wanted = |name: &str| {
        arguments.is_empty() || arguments.iter().any(|argument| name.starts_with(argument.as_str()))
    };
    let mut table = Table::default();
    for count in &proposals {
        for lanes in &lanes {
            let pending = match pending.as_str() {
                "all" => *count,
                text => match text.strip_suffix('%') {
                    Some(percent) => count * percent.parse::<usize>().expect("a number") / 100,
                    None => text.parse().expect("a number, N% or all"),
                },
            };
            let shape = Shape { proposals: *count, pending, lanes: *lanes };
            let history = History::new(&aye, shape);
            let root = history.root();
            let cache = root.join(".git/aye/cache.sqlite");
            for entry in ENTRIES.iter().filter(|entry| wanted(entry.name)) {
                let staged = root.join("src/d00/f0000.txt");
                if entry.state == State::Staged {
                    std::fs::write(&staged, "something else\n").expect("a file");
                    git(root, &["add", "-A", "src"]);
                }
                let cost = tools.cost(&aye, root, entry.args, || match entry.state {
                    State::Cold => _ = std::fs::remove_file(&cache),
                    // What is built once is not what is measured.
                    _ if !cache.exists() => warm(&aye, root),
                    _ => {}
                });
                if entry.state == State::Staged {
                    git(root, &["reset", "-q", "--hard"]);
                }
                table.add(entry.name, shape, cost);
            }
            reject(&tools, &aye, &history, shape, wanted, &mut table);
            if keep {
                println!("{}", history.keep().display());
            }
        }
    }
}

/// Builds the cache.
fn warm(aye: &str, root: &std::path::Path) {
    let mut command = std::process::Command::new(aye);
    let built = command.args(["list", "--limit", "1"]).current_dir(root).output();
    assert!(built.expect("aye").status.success());
}

/// Rejects many proposals in one command, with their refs in files and packed.
fn reject(
    tools: &Tools,
    aye: &str,
    history: &History,
    shape: Shape,
    wanted: impl Fn(&str) -> bool,
    table: &mut Table,
) {
    if history.pending.len() < DECIDED {
        return;
    }
    let ids = history.pending[..DECIDED].iter().map(String::as_str);
    let args: Vec<&str> = ["reject", "--yes", "-m", "no"].into_iter().chain(ids).collect();
    for (name, packed) in [("reject 100", false), ("reject 100, packed refs", true)] {
        if !wanted(name) {
            continue;
        }
        let copies = std::cell::RefCell::new(Vec::new());
        let base = history.copy();
        let root = base.path();
        pending_refs(root, &history.pending);
        if packed {
            git(root, &["pack-refs", "--all"]);
        }
        warm(aye, root);
        // Every run finds the same repository at the same place.
        let spare = tempfile::tempdir().expect("a directory");
        let kept = spare.path().join("git");
        copy(&root.join(".git"), &kept);
        let cost = tools.cost(aye, root, &args, || {
            let old = tempfile::tempdir().expect("a directory");
            let _ = std::fs::rename(root.join(".git"), old.path().join("git"));
            copies.borrow_mut().push(old);
            copy(&kept, &root.join(".git"));
        });
        table.add(name, shape, cost);
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("cp").success());
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
                "{:<30} {:>9} {:>8} {:>5} {:>16} {:>18} {:>16} {:>14}",
                "command",
                "proposals",
                "pending",
                "lanes",
                "system calls",
                "M instructions",
                "CPU ms",
                "peak MB"
            );
        }
        let first = *self.first.entry(name).or_insert(cost);
        let Shape { proposals, pending, lanes } = shape;
        let cell = |value: Option<f64>, first: Option<f64>, digits: usize| match (value, first) {
            (Some(value), Some(first)) if first > 0.0 => {
                format!("{value:.digits$} ({:.1}×)", value / first)
            }
            (Some(value), _) => format!("{value:.digits$}"),
            (None, _) => "–".into(),
        };
        let calls = |cost: Cost| cost.calls.map(|calls| calls as f64);
        println!(
            "{name:<30} {proposals:>9} {pending:>8} {lanes:>5} {:>16} {:>18} {:>16} {:>14}",
            cell(calls(cost), calls(first), 0),
            cell(cost.instructions, first.instructions, 1),
            cell(cost.cpu, first.cpu, 1),
            cell(cost.peak, first.peak, 1),
        );
    }
}
