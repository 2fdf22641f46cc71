//! Parsing and deciding alone, without looking at the disk: at most 20 µs for ten commands.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

const PIPELINE: &str = "git log --oneline -n 200 --format='%an %s' | grep -v 'Merge branch' \
    | sed -e 's/  */ /g' -e '/^$/d' | awk '{n[$1]++} END {for (k in n) print n[k], k}' \
    | sort -k1,1nr -k2 | uniq -c | tr a-z A-Z | cut -d' ' -f1-3 | head -n 20 | wc -l";

fn parse_and_decide(c: &mut Criterion) {
    c.bench_function("parse and decide, 10 commands", |b| {
        b.iter(|| {
            let script = aye::shell::syntax::parse(black_box(PIPELINE)).expect("parses");
            for command in &script.pipelines[0].commands {
                let words: Vec<String> =
                    command.words.iter().filter_map(aye::shell::syntax::Word::literal).collect();
                black_box(aye::shell::policy::decide(&words).expect("is allowed"));
            }
        });
    });
}

criterion_group!(benches, parse_and_decide);
criterion_main!(benches);
