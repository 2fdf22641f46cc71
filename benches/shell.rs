//! Parsing and deciding alone: at most 20 µs for a pipeline of ten commands.
//!
//! Counted: text to commands, words to arguments, and the rule of every program with its flags,
//! operands and little languages. Not counted, because it is the disk's time: expanding patterns,
//! looking at the files named, finding the programs. The rules are static values; nothing is left
//! for a first command to pay.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

use aye::shell::syntax::Part;

const PIPELINE: &str = "git log --oneline -n 200 --format='%an %s' | grep -v 'Merge branch' \
    | sed -e 's/  */ /g' -e '/^$/d' | awk '{n[$1]++} END {for (k in n) print n[k], k}' \
    | sort -k1,1nr -k2 | uniq -c | tr a-z A-Z | cut -d' ' -f1-3 | head -n 20 | wc -l";

fn parse_and_decide(c: &mut Criterion) {
    c.bench_function("parse and decide, 10 commands", |b| {
        b.iter(|| {
            let script = aye::shell::syntax::parse(black_box(PIPELINE)).expect("parses");
            for part in &script.pipelines[0].parts {
                let Part::Command(command) = part else { unreachable!("simple commands") };
                let words: Vec<_> =
                    command.words.iter().filter_map(aye::shell::syntax::Word::literal).collect();
                let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
                black_box(aye::shell::policy::decide(&words).expect("is allowed"));
            }
        });
    });
}

criterion_group!(benches, parse_and_decide);
criterion_main!(benches);
