//! `aye` against `git` doing the same work: whole processes, in pairs, in one run.
//!
//! ```text
//! cargo bench --bench vs_git                     # everything
//! cargo bench --bench vs_git -- propose list     # entries whose name contains one of these
//! cargo bench --bench vs_git -- --runs 20
//! AYE_BIN=/path/to/another/aye cargo bench --bench vs_git
//! ```
//!
//! Only the ratios mean anything: both sides run in turn (A B, B A, …) on the same machine in the
//! same minute, each on its own copy of a generated repository, from spawn to wait, with nothing
//! deleted while it lasts (ext4 does not reuse an inode deleted in the last seconds, and creating
//! files after a mass delete is up to three times slower).

// A program that prints its figures.
#![allow(clippy::print_stdout)]

mod agents;
mod checks;
mod entries;
mod memory;
mod patches;
mod runner;
mod world;

use runner::Verdict;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` passes --bench; `cargo test --benches` does not, and wants no measurements.
    let Some(at) = arguments.iter().position(|argument| argument == "--bench") else { return };
    arguments.remove(at);
    let runs = arguments.iter().position(|argument| argument == "--runs").map(|at| {
        arguments.remove(at);
        arguments.remove(at).parse().expect("--runs N")
    });

    let world = world::World::new();
    println!("{}", world.about());
    println!(
        "{:<44} {:>9} {:>9} {:>7} {:>15} {:>8}",
        "entry", "aye ms", "other ms", "ratio", "quartiles", "target"
    );
    let mut missed = Vec::new();
    // Patches first: they make most files, and what the others delete would slow that down.
    let all = patches::all().into_iter().chain(entries::all()).chain(checks::all());
    for entry in all.chain(memory::all()).chain(agents::all()) {
        let wanted = |name: &String| entry.name.contains(name.as_str());
        if !arguments.is_empty() && !arguments.iter().any(wanted) {
            continue;
        }
        match runner::run(&world, &entry, runs) {
            Verdict::Met => {}
            Verdict::Missed => missed.push(entry.name),
        }
    }
    if (arguments.is_empty() || arguments.iter().any(|name| checks::HOOK.contains(name.as_str())))
        && matches!(checks::hook(&world, runs), Verdict::Missed)
    {
        missed.push(checks::HOOK);
    }
    if arguments.is_empty() || arguments.iter().any(|argument| "peak".contains(argument.as_str())) {
        entries::peak_memory(&world);
    }
    // Figures, not a gate: a noisy machine must not fail a build.
    match missed.as_slice() {
        [] => println!("all targets met"),
        missed => println!("missed: {}", missed.join("; ")),
    }
}
