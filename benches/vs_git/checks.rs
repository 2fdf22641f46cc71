//! What the checks cost where there is nothing to check: the case of every commit and every run
//! of a build.

use std::path::PathBuf;
use std::time::Instant;

use crate::runner::{Entry, Side, Verdict, median, verdict};
use crate::world::{World, output, run};

/// Every entry, in the order of printing.
pub fn all() -> Vec<Entry> {
    vec![
        Entry {
            // Not aye's own start: with that a faster `--version` would count against it.
            name: "check, nothing pending vs git --version",
            target: 1.3,
            runs: 150,
            sides: |world| {
                let directory = world.copy();
                let mut check = world.aye(&directory, &["check", "-q"]);
                let mut version = world.git(&directory, &["--version"]);
                // The first look is the whole one.
                run(&mut check);
                (Side::new(move |_| run(&mut check)), Side::new(move |_| run(&mut version)))
            },
        },
        Entry {
            name: "200,000 files: propose --worktree vs git status",
            target: 2.0,
            runs: 15,
            sides: |world| {
                let (ours, theirs) = (wide(world), wide(world));
                let edit = |directory: PathBuf| {
                    move |number: usize| {
                        std::fs::write(directory.join("wide/d000/0"), format!("edit {number}\n"))
                            .expect("edit the file");
                    }
                };
                let mut propose = world.aye(&ours, &["propose", "--worktree", "-m", "why", "-q"]);
                let mut status = world.git(&theirs, &["status", "--porcelain"]);
                (
                    Side::new(move |_| run(&mut propose)).prepared(edit(ours)),
                    Side::new(move |_| run(&mut status)).prepared(edit(theirs)),
                )
            },
        },
    ]
}

/// A copy of the world with 200,000 small files more.
fn wide(world: &World) -> PathBuf {
    let directory = world.copy();
    for file in 0..200_000 {
        let below = directory.join(format!("wide/d{:03}", file / 500));
        if file % 500 == 0 {
            std::fs::create_dir_all(&below).expect("a directory");
        }
        std::fs::write(below.join(file.to_string()), format!("{file}\n")).expect("a file");
    }
    run(&mut world.git(&directory, &["add", "wide"]));
    run(&mut world.git(&directory, &["commit", "-q", "-m", "Wide"]));
    run(&mut world.git(&directory, &["status", "--porcelain"]));
    directory
}

/// What the name of the hook's lines holds, for the filter.
pub const HOOK: &str = "commit, added by the hook vs git --version";

/// What an installed pre-commit hook adds to a commit, against `git --version`: commits without a
/// hook, with an empty one (`exit 0`: what git and the shell take for any hook) and with aye's, in
/// turn. In a repository of one file, and in one of 5,000, where git takes longer for any hook: it
/// reads the whole index a second time.
pub fn hook(world: &World, runs: Option<usize>) -> Verdict {
    let small = added(world, "1 file", &|| world.small(), runs);
    let large = added(world, "5,000 files", &|| world.copy(), runs);
    if matches!(small, Verdict::Missed) { small } else { large }
}

fn added(
    world: &World,
    size: &str,
    repository: &dyn Fn() -> PathBuf,
    runs: Option<usize>,
) -> Verdict {
    let (without, empty, with) = (repository(), repository(), repository());
    output(world.aye(&with, &["hooks", "install", "pre-commit"]));
    std::fs::copy(with.join(".git/hooks/pre-commit"), empty.join(".git/hooks/pre-commit"))
        .and_then(|_| std::fs::write(empty.join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n"))
        .expect("an empty hook");
    // The first look is the whole one.
    run(&mut world.aye(&with, &["check", "-q"]));
    let directories = [&without, &empty, &with];
    let mut times: [Vec<f64>; 4] = Default::default();
    for number in 0..runs.unwrap_or(120) + 3 {
        for turn in 0..directories.len() {
            let at = (turn + number) % directories.len();
            let message = number.to_string();
            let commit = ["commit", "-q", "--allow-empty", "-m", &message];
            times[at].push(timed(world.git(directories[at], &commit)));
        }
        times[3].push(timed(world.git(&with, &["--version"])));
    }
    let [without, empty, with, version] = &times;
    // Turn by turn; the first are warm-up.
    let added = |to: &[f64], from: &[f64]| -> Vec<f64> {
        to.iter().zip(from).skip(3).map(|(to, from)| to - from).collect()
    };
    let version = || version.iter().skip(3).copied();
    println!("{size}: an empty hook adds {:.2} ms", median(&added(empty, without)));
    let own = verdict("commit, added to an empty hook", 1.5, added(with, empty), version());
    let all = verdict(HOOK, 1.5, added(with, without), version());
    if matches!(own, Verdict::Missed) { own } else { all }
}

fn timed(mut command: std::process::Command) -> f64 {
    let started = Instant::now();
    run(&mut command);
    started.elapsed().as_secs_f64() * 1000.0
}
