//! Project memory: writing it against a commit, searching it against the same query by the
//! `sqlite3` program, reading it at start against the cheapest thing git does.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::entries::{Tool, commit_side};
use crate::runner::{Entry, Side};
use crate::world::{World, run};

/// Every entry of memory.
pub fn all() -> Vec<Entry> {
    vec![
        Entry {
            name: "memory propose, applied vs git commit",
            target: 1.0,
            runs: 40,
            sides: |world| {
                writes(world, "append_to_section", |n| {
                    let content = format!("- item {n}");
                    ["--section-id", "log", "--content", &content].map(str::to_owned).to_vec()
                })
            },
        },
        Entry {
            name: "memory propose, staged vs git commit",
            target: 1.0,
            runs: 40,
            sides: |world| {
                writes(world, "append_section", |n| {
                    let heading = format!("Trap {n}");
                    let content = format!("## {heading}\n\nText {n}.\n");
                    let mut further = vec!["--heading", &heading, "--heading-level", "2"];
                    further.extend(["--content", &content, "--source", "user"]);
                    further.into_iter().map(str::to_owned).collect()
                })
            },
        },
        Entry {
            name: "memory status, 80 staged vs git status",
            target: 2.0,
            runs: 40,
            sides: |world| {
                let directory = staged(world);
                let mut aye = world.aye(&directory, &["memory", "status"]);
                let mut git = world.git(&directory, &["status", "--porcelain"]);
                (Side::new(move |_| run(&mut aye)), Side::new(move |_| run(&mut git)))
            },
        },
        Entry {
            // Status holds 80 directories of staged files to what they were written as; `list` reads the
            // cache.
            name: "memory status, 80 staged vs list",
            target: 2.0,
            runs: 40,
            sides: |world| {
                let directory = staged(world);
                let mut status = world.aye(&directory, &["memory", "status"]);
                let mut list = world.aye(&directory, &["list"]);
                (Side::new(move |_| run(&mut status)), Side::new(move |_| run(&mut list)))
            },
        },
        Entry {
            name: "memory search of 5,000 vs sqlite3",
            target: 2.0,
            runs: 40,
            sides: search_vs_sqlite,
        },
        Entry {
            name: "memory context at start vs git --version",
            target: 2.0,
            runs: 100,
            sides: |world| {
                let directory = store(world);
                let mut aye = world.aye(&directory, &["memory", "context"]);
                let mut git = world.git(&directory, &["--version"]);
                (Side::new(move |_| run(&mut aye)), Side::new(move |_| run(&mut git)))
            },
        },
        Entry {
            name: "memory lint of 5,000, in units of 0.5 s",
            target: 1.0,
            runs: 10,
            sides: |world| {
                let directory = large(world);
                let mut aye = world.aye(&directory, &["memory", "lint"]);
                let half = std::time::Duration::from_millis(500);
                (Side::new(move |_| run(&mut aye)), Side::new(move |_| std::thread::sleep(half)))
            },
        },
    ]
}

/// A copy of the repository with a memory store, committed.
fn store(world: &World) -> PathBuf {
    let directory = world.copy();
    run(&mut world.aye(&directory, &["memory", "init"]));
    let pitfalls = "# Pitfalls\n<!-- @id: pitfalls -->\n\n## Log\n<!-- @id: log -->\n\n- first\n";
    std::fs::write(directory.join(".agent-memory/pitfalls.md"), pitfalls).expect("write");
    commit(world, &directory);
    directory
}

/// A store with 80 staged proposals.
fn staged(world: &World) -> PathBuf {
    let directory = store(world);
    for number in 0..80 {
        let heading = format!("Trap {number}");
        let content = format!("## {heading}\n\nText {number}.\n");
        let mut arguments = vec!["memory", "propose", "--intent", "add_pitfall"];
        arguments.extend(["--path", "pitfalls.md", "--operation", "append_section"]);
        arguments.extend(["--heading", &heading, "--heading-level", "2"]);
        arguments.extend(["--content", &content, "--source", "user"]);
        run(&mut world.aye(&directory, &arguments));
    }
    directory
}

fn commit(world: &World, directory: &Path) {
    run(&mut world.git(directory, &["add", "--all"]));
    run(&mut world.git(directory, &["commit", "--quiet", "-m", "memory"]));
}

/// A store of 5,000 sections in 250 module files, their words drawn from a small vocabulary.
fn large(world: &World) -> PathBuf {
    const WORDS: [&str; 24] = [
        "cache", "index", "thread", "journal", "merge", "section", "schema", "route", "token",
        "budget", "parser", "branch", "commit", "worker", "queue", "retry", "backoff", "socket",
        "shard", "cursor", "ledger", "policy", "digest", "window",
    ];
    let directory = store(world);
    let modules = directory.join(".agent-memory/modules");
    std::fs::create_dir_all(&modules).expect("modules");
    let mut seed = 12_345_u64;
    let mut word = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(seed >> 33) as usize % WORDS.len()]
    };
    for file in 0..250 {
        let mut text = format!("# Module {file}\n<!-- @id: module-{file} -->\n");
        for section in 0..20 {
            let number = file * 20 + section;
            let heading = format!("{} {} {number}", word(), word());
            let words: Vec<&str> = (0..40).map(|_| word()).collect();
            let body = words.join(" ");
            write!(text, "\n## {heading}\n<!-- @id: s{number} -->\n\n{body}\n").expect("text");
        }
        std::fs::write(modules.join(format!("m{file:03}.md")), text).expect("write");
    }
    // The page is as the files make it, and the files are older than the clock's grain.
    run(&mut world.aye(&directory, &["memory", "init"]));
    commit(world, &directory);
    std::thread::sleep(std::time::Duration::from_secs(3));
    directory
}

fn writes(
    world: &World,
    operation: &'static str,
    further: fn(usize) -> Vec<String>,
) -> (Side, Side) {
    let aye = Tool::aye(world, &store(world));
    let ours = Side::new(move |number| {
        let mut arguments = vec!["memory", "propose", "--intent", "add_pitfall"];
        arguments.extend(["--path", "pitfalls.md", "--operation", operation]);
        let further = further(number);
        arguments.extend(further.iter().map(String::as_str));
        aye.run(&arguments);
    });
    (ours, commit_side(world))
}

/// The same query on the same sections, in a file that `sqlite3` of any age can read.
fn search_vs_sqlite(world: &World) -> (Side, Side) {
    let directory = large(world);
    let mut ours = world.aye(&directory, &["memory", "search", "journal", "backoff", "ledger"]);
    run(&mut ours);
    let plain = directory.join(".git/plain.sqlite");
    let connection = rusqlite::Connection::open(&plain).expect("a database");
    connection
        .execute("ATTACH ?1 AS ours", [directory.join(".git/aye/memory.sqlite").to_str()])
        .expect("attach");
    connection
        .execute_batch(
            "CREATE TABLE section AS SELECT * FROM ours.section;
             CREATE VIRTUAL TABLE section_text USING fts5(heading, trail, body, content='');
             INSERT INTO section_text (rowid, heading, trail, body)
                 SELECT id, heading, trail, body FROM section;
             CREATE INDEX section_id ON section (id);",
        )
        .expect("fill");
    drop(connection);
    let mut theirs = Command::new("sqlite3");
    theirs.arg(plain).arg(
        "SELECT s.path, s.category, s.section_id, s.trail, s.heading, s.line, s.body, f.score
         FROM (SELECT rowid, bm25(section_text, 6.0, 3.0, 1.0) AS score FROM section_text
               WHERE section_text MATCH 'journal OR backoff OR ledger'
               ORDER BY score LIMIT 120) f JOIN section s ON s.id = f.rowid",
    );
    theirs.stdout(Stdio::null());
    (Side::new(move |_| run(&mut ours)), Side::new(move |_| run(&mut theirs)))
}
