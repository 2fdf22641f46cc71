//! Parsing and deciding alone: at most 20 µs for a pipeline of ten commands.
//!
//! Counted: text to commands, words to arguments, and the rule of every program with its flags,
//! operands and little languages. Not counted, because it is the disk's time: expanding patterns,
//! looking at the files named, finding the programs. The rules are static values; nothing is left
//! for a first command to pay.
//!
//! ```text
//! cargo bench --bench shell
//! ```

// A program that prints its figures.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use aye::shell::syntax::{Part, Word};

const PIPELINE: &str = "git log --oneline -n 200 --format='%an %s' | grep -v 'Merge branch' \
    | sed -e 's/  */ /g' -e '/^$/d' | awk '{n[$1]++} END {for (k in n) print n[k], k}' \
    | sort -k1,1nr -k2 | uniq -c | tr a-z A-Z | cut -d' ' -f1-3 | head -n 20 | wc -l";

/// Microseconds that the whole may take.
const BOUND: f64 = 20.0;

/// Long enough to be timed, short enough to be seldom interrupted.
const BATCH: u32 = 500;

fn main() {
    // `cargo bench` passes --bench; `cargo test --benches` does not, and wants no measurements.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    // The first warms up; the middle one of an odd number is a measured one.
    let mut batches: Vec<f64> = (0..102).map(|_| batch()).skip(1).collect();
    batches.sort_by(f64::total_cmp);
    let (low, middle, high) = (batches[25], batches[50], batches[75]);
    let verdict = if middle <= BOUND { "ok" } else { "MISSED" };
    println!(
        "parse and decide, 10 commands: {middle:.1} µs (quartiles {low:.1} to {high:.1}; at most {BOUND}): {verdict}"
    );
}

/// Microseconds that one time takes, as the mean of a batch.
fn batch() -> f64 {
    let begun = Instant::now();
    for _ in 0..BATCH {
        parse_and_decide();
    }
    begun.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH)
}

fn parse_and_decide() {
    let script = aye::shell::syntax::parse(black_box(PIPELINE)).expect("parses");
    for part in &script.pipelines[0].parts {
        let Part::Command(command) = part else { unreachable!("simple commands") };
        let words: Vec<_> = command.words.iter().filter_map(Word::literal).collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        black_box(aye::shell::policy::decide(&words).expect("is allowed"));
    }
}
