//! `cargo bench --bench retrieval`: how well and how fast memory search answers the labelled
//! queries. The method is described in `tests/support/retrieval.rs`.

// What a bench has to say it prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../../tests/support/retrieval.rs"]
mod retrieval;

use std::time::Instant;

fn main() {
    for set in [retrieval::OWN, retrieval::WORDS, retrieval::PARAPHRASES, retrieval::LATER] {
        let started = Instant::now();
        let index = set.index();
        let built = started.elapsed();
        let started = Instant::now();
        let figures = retrieval::evaluate(set, &index);
        let each = started.elapsed() / u32::try_from(figures.queries).unwrap_or(1);
        println!("{}/{}", set.directory, set.queries);
        println!("  queries   {}", figures.queries);
        println!("  recall@5  {:.3}", figures.recall_at_5);
        println!("  hit@1     {:.3}", figures.hit_at_1);
        println!("  MRR       {:.3}", figures.mrr);
        println!("  nDCG@5    {:.3}", figures.ndcg_at_5);
        println!("  index     {built:?}, query {each:?}");
        for (query, wanted, rank) in &figures.missed {
            println!("  not first: {query:?} wants {wanted}, rank {rank:?}");
        }
    }
}
