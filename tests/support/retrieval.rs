//! The retrieval evaluation: 66 sections and 70 labelled queries, in `tests/data`.
//!
//! Method, honestly: sections and queries were written by the same hand for this project, before
//! the ranking was measured on them; queries are questions and paraphrases, some with words the
//! section does not have, in English with Cyrillic and CJK, two of them misspelled. Each query has
//! one right section. Nothing was held out, so the figures say how the ranking does on a store of
//! this kind and size, not in general.

use std::path::PathBuf;

use aye::memory::search::{Boosts, Index, Query, Seen};
use aye::memory::settings::Settings;

/// What came of it.
pub struct Figures {
    pub queries: usize,
    pub recall_at_5: f64,
    pub hit_at_1: f64,
    pub mrr: f64,
    pub ndcg_at_5: f64,
    /// Queries whose section was not first: query, wanted, rank.
    pub missed: Vec<(String, String, Option<usize>)>,
}

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/memory_retrieval")
}

const FILES: [&str; 8] = [
    "conventions.md", "decisions.md", "pitfalls.md", "modules/auth.md", "modules/billing.md",
    "modules/frontend.md", "modules/infra.md", "modules/search.md",
];

pub fn index() -> Index {
    let mut index = Index::open(None, "").expect("an index in memory");
    let seen: Vec<Seen> =
        FILES.iter().map(|path| Seen { path: (*path).into(), stamp: String::new() }).collect();
    let read = |path: &str| std::fs::read_to_string(folder().join("store").join(path)).ok();
    index.refresh(&seen, &Settings::default(), &read).expect("indexed");
    index
}

pub fn queries() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(folder().join("queries.tsv")).expect("the queries");
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (query, id) = line.split_once('\t').expect("query <tab> id");
            (query.to_owned(), id.to_owned())
        })
        .collect()
}

pub fn evaluate(index: &Index) -> Figures {
    let queries = queries();
    let (mut recall, mut first, mut mrr, mut ndcg) = (0.0, 0.0, 0.0, 0.0);
    let mut missed = Vec::new();
    for (text, wanted) in &queries {
        let hits = index.search(&Query::parse(text), &Boosts::default(), 10).expect("searched");
        let rank =
            hits.iter().position(|hit| hit.section_id.as_deref() == Some(wanted)).map(|i| i + 1);
        match rank {
            Some(rank) if rank <= 5 => {
                recall += 1.0;
                ndcg += 1.0 / ((rank + 1) as f64).log2();
            }
            _ => {}
        }
        mrr += rank.map_or(0.0, |rank| 1.0 / rank as f64);
        first += f64::from(u8::from(rank == Some(1)));
        if rank != Some(1) {
            missed.push((text.clone(), wanted.clone(), rank));
        }
    }
    let n = queries.len() as f64;
    Figures {
        queries: queries.len(),
        recall_at_5: recall / n,
        hit_at_1: first / n,
        mrr: mrr / n,
        ndcg_at_5: ndcg / n,
        missed,
    }
}
