//! Memory search finds what it should: see the method in `support/retrieval.rs`.

use crate::support::retrieval;

#[test]
fn the_labelled_queries_find_their_sections() {
    let figures = retrieval::evaluate(retrieval::OWN, &retrieval::OWN.index());
    println!(
        "{} queries: recall@5 {:.3}, hit@1 {:.3}, MRR {:.3}, nDCG@5 {:.3}",
        figures.queries, figures.recall_at_5, figures.hit_at_1, figures.mrr, figures.ndcg_at_5
    );
    assert!(figures.queries >= 60);
    assert!(
        figures.recall_at_5 >= 0.98,
        "recall@5 {:.3}: {:#?}",
        figures.recall_at_5,
        figures.missed
    );
    assert!(figures.hit_at_1 >= 0.95, "hit@1 {:.3}: {:#?}", figures.hit_at_1, figures.missed);
}
