//! `cargo bench --bench scanner`: what the scanner finds, and how fast it reads.
//!
//! Quality is counted on the corpus beside this file; `-- --detail` lists what went wrong. Speed is
//! measured on one thread, in processor time, over this crate's own sources (which speak of secrets
//! more than most), over the corpus' lock files and minified text, and apart from them over files
//! full of base64; each the median of several passes after a warm-up.
//!
//! `AYE_BENCH_SOURCES=DIR` measures the speed over what lies there instead. `AYE_BENCH_CASES=FILE`
//! also counts on labelled texts of others, one JSON object a line: `rule`, `kind` (`true` or
//! `false`), `text`. Gitleaks' rule tests become such a file when `utils.Validate` of its
//! `cmd/generate/config` prints its arguments instead of checking them; none of them is kept here.

#![allow(clippy::print_stdout)]

mod cases;
mod corpus;
mod encoded;
mod evaluation;
mod frozen;

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use aye::secrets::{Options, Scanner, unsafe_text};

fn main() {
    // `cargo test --benches` asks for a run that only shows that it runs.
    let quick = std::env::args().any(|arg| arg == "--test");
    if let Some(directory) = std::env::var_os("AYE_BENCH_SOURCES") {
        return speed("given", &sources(Path::new(&directory)), quick);
    }
    let detail = std::env::args().any(|arg| arg == "--detail");
    for (name, result) in [("quality", evaluation::run()), ("frozen", evaluation::run_frozen())] {
        println!("{name:<9} {}", result.summary());
        println!("          {} positives, {} negatives", result.positives, result.negatives);
        if detail {
            println!("{}", result.detail());
        }
    }
    if let Some(file) = std::env::var_os("AYE_BENCH_CASES") {
        cases::report(Path::new(&file), detail);
    }
    let own = sources(Path::new(env!("CARGO_MANIFEST_DIR")));
    speed("source", &own, quick);
    let made: Vec<Vec<u8>> =
        corpus::negatives::all().into_iter().map(|sample| sample.text.into_bytes()).collect();
    speed("mixed", &made, quick);
    speed("base64", &encoded::all(), quick);
}

/// Files that a scan would read: text of a source tree.
fn sources(directory: &Path) -> Vec<Vec<u8>> {
    let wanted =
        ["rs", "md", "toml", "c", "h", "js", "ts", "py", "go", "json", "yaml", "yml", "lock"];
    let skip = |name: &std::ffi::OsStr| name == "target" || name == ".git";
    walkdir::WalkDir::new(directory)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| !skip(entry.file_name()))
        .filter_map(Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|e| wanted.iter().any(|w| e == *w)))
        .filter_map(|entry| std::fs::read(entry.path()).ok())
        .collect()
}

fn speed(name: &str, files: &[Vec<u8>], quick: bool) {
    let bytes: usize = files.iter().map(Vec::len).sum();
    let least = if quick { 1 } else { 64 << 20 };
    let rounds = least / bytes.max(1) + 1;
    let passes = if quick { 1 } else { 7 };
    let scanner = Scanner::new(&Options::default());
    let whole = median(passes, || {
        for file in files.iter().cycle().take(files.len() * rounds) {
            black_box(scanner.scan(black_box(file)));
        }
    });
    let text = median(passes, || {
        for file in files.iter().cycle().take(files.len() * rounds) {
            black_box(unsafe_text::check(black_box(file)));
        }
    });
    let rate = |seconds: f64| (bytes * rounds) as f64 / 1e6 / seconds;
    println!(
        "{name:<9} {:.1} MB in {} files: secrets {:.0} MB/s, unsafe text {:.0} MB/s",
        bytes as f64 / 1e6,
        files.len(),
        rate(whole),
        rate(text)
    );
}

/// Time this process has spent on a processor: what a pass costs, whoever else is running.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn median(passes: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut times: Vec<f64> = (0..passes)
        .map(|_| {
            let start = processor_time();
            work();
            (processor_time() - start).as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
