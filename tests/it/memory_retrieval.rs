//! Memory search finds what it should: see the method in `support/retrieval.rs`.

use crate::support::retrieval;

#[test]
fn the_labelled_queries_find_their_sections() {
    for (set, queries, hit_at_1, recall_at_5) in [
        (retrieval::OWN, 60, 0.9, 0.97),
        (retrieval::WORDS, 50, 0.95, 0.98),
        (retrieval::PARAPHRASES, 25, 0.65, 0.9),
        (retrieval::LATER, 25, 0.55, 0.8),
    ] {
        let figures = retrieval::evaluate(set, &set.index());
        println!(
            "{}: {} queries: recall@5 {:.3}, hit@1 {:.3}, MRR {:.3}, nDCG@5 {:.3}",
            set.queries,
            figures.queries,
            figures.recall_at_5,
            figures.hit_at_1,
            figures.mrr,
            figures.ndcg_at_5
        );
        assert!(figures.queries >= queries);
        let is_found = figures.hit_at_1 >= hit_at_1 && figures.recall_at_5 >= recall_at_5;
        assert!(is_found, "{}: {:#?}", set.queries, figures.missed);
    }
}

#[test]
fn what_does_not_hold_any_more_never_stands_before_its_successor() {
    let index = retrieval::WORDS.index();
    let place = |text: &str, id: &str| {
        let hits = retrieval::search(retrieval::WORDS, &index, text);
        hits.iter().position(|hit| hit.section_id.as_deref() == Some(id))
    };
    for (text, old, new) in [
        ("rabbit", "rabbit-queues", "redis-streams"),
        ("RabbitMQ quorum queue broker operations", "rabbit-queues", "redis-streams"),
        ("release train", "release-train", "delivery-rings"),
        ("release branch cut", "release-train", "delivery-rings"),
        ("release branch", "release-train-history", "delivery-rings"),
    ] {
        let (old, new) = (place(text, old), place(text, new));
        assert!(new.is_some() && (old.is_none() || new < old), "{text}: {old:?} {new:?}");
    }
}

#[test]
fn signs_count() {
    let index = retrieval::WORDS.index();
    let first = |text: &str| {
        let hits = retrieval::search(retrieval::WORDS, &index, text);
        hits.first().and_then(|hit| hit.section_id.clone())
    };
    for (text, id) in [
        ("VITE_", "client-env"),
        ("--ignore-scripts", "npm-flag"),
        ("::", "routes-rust"),
        ("planner::solve", "routes-rust"),
        ("picking.wave.max_lines", "picking-config"),
    ] {
        assert_eq!(first(text).as_deref(), Some(id), "{text}");
    }
    assert_eq!(first("xyzzyplugh"), None);
}
