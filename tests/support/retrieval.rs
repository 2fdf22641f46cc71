//! The retrieval evaluation: labelled queries over two stores, in `tests/data`.
//!
//! `memory_heldout` was written and committed before the ranking was changed to answer it: a store
//! of another trade with 41 sections, questions that share a word with theirs (`words.tsv`) and
//! paraphrases that share no telling word (`paraphrases.tsv`), by one hand. `memory_retrieval` is
//! the older set, 66 sections and 70 queries:
//!
//! Method, honestly: sections and queries were written by the same hand for this project, before
//! the ranking was measured on them; queries are questions and paraphrases, some with words the
//! section does not have, in English with Cyrillic and CJK, two of them misspelled. Each query has
//! one right section. Nothing was held out, so the figures say how the ranking does on a store of
//! this kind and size, not in general.

use std::path::PathBuf;

use aye::memory::search::{FileStamp, Index, Query, SearchRequest, Synonyms, synonyms};
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

/// A store and its labelled queries.
#[derive(Clone, Copy)]
pub struct Set {
    /// Directory below `tests/data`.
    pub directory: &'static str,
    /// File of queries in it.
    pub queries: &'static str,
}

/// What the ranking was written with.
pub const OWN: Set = Set { directory: "memory_retrieval", queries: "queries.tsv" };
/// Held out: a word is shared.
pub const WORDS: Set = Set { directory: "memory_heldout", queries: "words.tsv" };
/// Held out: no telling word is shared. The project's synonyms were written with these in sight.
pub const PARAPHRASES: Set = Set { directory: "memory_heldout", queries: "paraphrases.tsv" };
/// As [`PARAPHRASES`], written after the synonyms.
pub const LATER: Set = Set { directory: "memory_heldout", queries: "paraphrases-later.tsv" };

impl Set {
    fn path(self) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(self.directory)
    }

    fn files(self) -> Vec<String> {
        let mut found = Vec::new();
        let store = self.path().join("store");
        for dir in ["", "modules", "archive"] {
            let Ok(entries) = std::fs::read_dir(store.join(dir)) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name().into_string().expect("a name");
                if name.ends_with(".md") {
                    found.push(if dir.is_empty() { name } else { format!("{dir}/{name}") });
                }
            }
        }
        found.sort();
        found
    }

    pub fn index(self) -> Index {
        let mut index = Index::open(None).expect("an index in memory");
        let seen: Vec<FileStamp> =
            self.files().into_iter().map(|path| FileStamp { path, stamp: String::new() }).collect();
        let read = |path: &str| std::fs::read_to_string(self.path().join("store").join(path)).ok();
        index.refresh(&seen, &Settings::default(), &read).expect("indexed");
        index
    }

    fn synonyms(self) -> Synonyms {
        let path = self.path().join("store").join(synonyms::PATH);
        match std::fs::read(path) {
            Ok(bytes) => Synonyms::read(&bytes).expect("synonyms"),
            Err(_) => Synonyms::built_in(),
        }
    }

    fn queries(self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(self.path().join(self.queries)).expect("the queries");
        text.lines()
            .filter(|line| !line.starts_with("# ") && !line.is_empty())
            .map(|line| {
                let (query, id) = line.split_once('\t').expect("query <tab> id");
                (query.to_owned(), id.to_owned())
            })
            .collect()
    }
}

pub fn search(set: Set, index: &Index, text: &str) -> Vec<aye::memory::search::Hit> {
    let query = Query::parse(text, &set.synonyms());
    index.search(&query, &SearchRequest::default(), 10).expect("searched")
}

pub fn evaluate(set: Set, index: &Index) -> Figures {
    let queries = set.queries();
    let (mut recall, mut first, mut mrr, mut ndcg) = (0.0, 0.0, 0.0, 0.0);
    let mut missed = Vec::new();
    for (text, wanted) in &queries {
        let hits = search(set, index, text);
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
