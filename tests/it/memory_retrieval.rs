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

#[test]
fn held_out_questions_find_their_sections() {
    let index = retrieval::WORDS.index();
    let words = retrieval::evaluate(retrieval::WORDS, &index);
    assert!(words.queries >= 50);
    assert!(words.hit_at_1 >= 0.95, "{:.3} {:#?}", words.hit_at_1, words.missed);
    assert!(words.recall_at_5 >= 0.98, "{:.3} {:#?}", words.recall_at_5, words.missed);
    let other = retrieval::evaluate(retrieval::PARAPHRASES, &index);
    assert!(other.hit_at_1 >= 0.5, "{:.3} {:#?}", other.hit_at_1, other.missed);
    assert!(other.recall_at_5 >= 0.7, "{:.3} {:#?}", other.recall_at_5, other.missed);
}

#[test]
fn what_does_not_hold_any_more_never_stands_before_its_successor() {
    let index = retrieval::WORDS.index();
    let place = |text: &str, id: &str| {
        let hits = retrieval::search(retrieval::WORDS, &index, text);
        hits.iter().position(|hit| hit.section_id.as_deref() == Some(id))
    };
    for (text, old, new) in [
        ("rabbitmq", "rabbit-queues", "redis-streams"),
        ("RabbitMQ quorum queue broker operations", "rabbit-queues", "redis-streams"),
        ("release train", "release-train", "delivery-rings"),
        ("release branch cut", "release-train", "delivery-rings"),
        ("release branch", "release-train-history", "delivery-rings"),
    ] {
        let (old, new) = (place(text, old), place(text, new));
        assert!(old.is_none() || new.is_some_and(|new| Some(new) < old), "{text}: {old:?} {new:?}");
    }
}

#[test]
fn signs_count_and_something_near_is_found() {
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
        ("opentelmetry colector", "otel"),
        ("handheldz", "offline-handhelds"),
        ("failoverstorm", "failover-storm"),
    ] {
        assert_eq!(first(text).as_deref(), Some(id), "{text}");
    }
    assert_eq!(first("xyzzyplugh"), None);
    // The page that a file begins with is last among equals.
    let hits = retrieval::search(retrieval::WORDS, &index, "picking");
    let at = |id: &str| hits.iter().position(|hit| hit.section_id.as_deref() == Some(id));
    assert!(at("picking-config").is_some());
}
