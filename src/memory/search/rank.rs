//! From candidates to an order: how well a section answers, and how far it can be trusted.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::analyse;
use super::query::Query;
use super::sections::Entry;
use crate::memory::similar::Shingles;

/// What raises or lowers a section beyond its words.
#[derive(Clone, Debug, Default)]
pub struct Boosts {
    /// Files changed on this branch, relative to the repository's top.
    pub changed_files: Vec<String>,
    /// Paths or module names the asker works on.
    pub scope: Vec<String>,
    /// Leave the archive out altogether.
    pub exclude_archive: bool,
    /// Only these categories; empty for all.
    pub include: Vec<String>,
}

/// A section that answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Hit {
    /// File, relative to the store.
    pub path: String,
    /// Section id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// Its heading.
    pub heading: String,
    /// Headings down to it, joined by ` > `.
    pub trail: String,
    /// Line of its heading, from 1.
    pub line: usize,
    /// Category of its file.
    pub category: String,
    /// How well it answers; comparable within one answer only.
    pub score: f64,
    /// Where the words stand, on one line.
    pub snippet: String,
    /// What it says about how sure it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    /// What it says about whether it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Rests on sources that are not trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// The whole text under the heading.
    #[serde(skip)]
    #[schemars(skip)]
    pub body: String,
}

/// A candidate: the section, how well it fits the words, and its tokens as they were indexed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The section.
    pub entry: Entry,
    /// BM25, positive, higher is better.
    pub bm25: f64,
    /// Tokens of its headings, id and path, joined by blanks.
    pub head: String,
    /// Tokens of its text, joined by blanks.
    pub body: String,
}

/// Orders `candidates`. `rarity` says how telling each token is.
pub fn rank(
    candidates: Vec<Candidate>,
    query: &Query,
    boosts: &Boosts,
    rarity: &HashMap<String, f64>,
    limit: usize,
) -> Vec<Hit> {
    let best = candidates.iter().map(|c| c.bm25).fold(f64::MIN_POSITIVE, f64::max);
    let mut scored: Vec<Scored> = candidates
        .into_iter()
        .filter(|candidate| {
            let category = &candidate.entry.category;
            !(boosts.exclude_archive && category == "archive")
                && (boosts.include.is_empty() || boosts.include.iter().any(|name| name == category))
        })
        .map(|candidate| {
            let (covered, in_heading) = coverage(&candidate, query, rarity);
            let literal = literals(&candidate.entry, query);
            let entry = candidate.entry;
            let words = candidate.bm25 / best + 1.5 * covered + 0.8 * in_heading + 1.5 * literal;
            Scored { score: words * trust(&entry) * relevance(&entry, boosts), words, entry }
        })
        .collect();
    scored.sort_by(Scored::order);
    settle(&mut scored);
    let mut kept: Vec<(Hit, Shingles)> = Vec::new();
    for Scored { score, entry, .. } in scored {
        if kept.len() == limit {
            break;
        }
        let shingles = Shingles::of(&entry.body);
        if !kept.iter().any(|(_, other)| other.is_near(&shingles)) {
            kept.push((hit(score, entry, query), shingles));
        }
    }
    kept.into_iter().map(|(hit, _)| hit).collect()
}

/// A section with what it is worth.
struct Scored {
    /// What it is worth.
    score: f64,
    /// How well its words answer, whether it can be trusted or not.
    words: f64,
    entry: Entry,
}

impl Scored {
    /// The best first; a file's own top section comes last among equals.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let place =
            |scored: &Self| (scored.entry.is_top, scored.entry.path.clone(), scored.entry.line);
        other.score.total_cmp(&self.score).then_with(|| place(self).cmp(&place(other)))
    }
}

/// How well the words of what still holds have to answer, beside those of what does not hold any
/// more, to stand before it.
const HOLDS: f64 = 0.35;

/// Puts what does not hold any more behind what took its place: behind its successors, and where
/// none is named, behind each section that answers nearly as well.
fn settle(scored: &mut Vec<Scored>) {
    let stale: Vec<usize> =
        (0..scored.len()).filter(|i| is_stale(&scored[*i].entry)).rev().collect();
    for at in stale {
        let old = &scored[at];
        let later = scored.iter().enumerate().skip(at + 1).filter(|(_, new)| !is_stale(&new.entry));
        let before = later
            .filter(|(_, new)| {
                succeeds(&new.entry, &old.entry)
                    || new.words >= HOLDS * old.words && !new.entry.is_top
            })
            .map(|(i, _)| i)
            .max();
        if let Some(to) = before {
            let mut old = scored.remove(at);
            // The order that is shown is that of the scores.
            old.score = old.score.min(scored[to - 1].score);
            scored.insert(to, old);
        }
    }
}

/// True for what says that it does not hold (any more).
pub fn is_stale(entry: &Entry) -> bool {
    entry.category == "archive"
        || matches!(entry.status.as_deref(), Some("superseded" | "deprecated"))
}

/// True where `new` is what took the place of `old`, as one of them says, or by its id: archiving a
/// section leaves a stub of that name.
fn succeeds(new: &Entry, old: &Entry) -> bool {
    let id = |entry: &Entry| entry.section_id.clone().unwrap_or_default();
    let (new_id, old_id) = (id(new), id(old));
    !old_id.is_empty() && (new.supersedes.contains(&old_id) || new_id == old_id)
        || !new_id.is_empty() && old.superseded_by.contains(&new_id)
}

/// Which part of what has signs in it stands in the section, letter by letter: 0 to 1.
fn literals(entry: &Entry, query: &Query) -> f64 {
    if query.literals.is_empty() {
        return 0.0;
    }
    let text = format!("{}\n{}", entry.heading, entry.body).to_lowercase();
    let found = query.literals.iter().filter(|literal| text.contains(literal.as_str())).count();
    found as f64 / query.literals.len() as f64
}

/// Sections that share fragments of words with the question, the nearest first: at least half of
/// the fragments of a word.
pub fn near(entries: Vec<Entry>, query: &Query, boosts: &Boosts, limit: usize) -> Vec<Hit> {
    let words: Vec<Vec<String>> = query
        .words
        .iter()
        .map(|word| grams(word))
        .filter(|grams| grams.len() >= LEAST_GRAMS)
        .collect();
    let mut scored: Vec<Scored> = entries
        .into_iter()
        .filter(|entry| {
            !(boosts.exclude_archive && entry.category == "archive")
                && (boosts.include.is_empty() || boosts.include.contains(&entry.category))
        })
        .filter_map(|entry| {
            let text = format!(
                "{} {} {}",
                entry.trail,
                entry.section_id.as_deref().unwrap_or(""),
                entry.body
            );
            let text = text.to_lowercase();
            let shares = words.iter().map(|grams| {
                let found = grams.iter().filter(|gram| text.contains(gram.as_str())).count();
                found as f64 / grams.len() as f64
            });
            let shares: Vec<f64> = shares.filter(|share| *share >= NEAR).collect();
            let words = shares.iter().map(|share| share * share).sum::<f64>() / words.len() as f64;
            let score = 0.1 * words * trust(&entry);
            (!shares.is_empty()).then_some(Scored { score, words, entry })
        })
        .collect();
    scored.sort_by(Scored::order);
    settle(&mut scored);
    scored.truncate(limit);
    scored.into_iter().map(|scored| hit(scored.score, scored.entry, query)).collect()
}

/// Which part of a word's fragments has to be in a section that is near it.
const NEAR: f64 = 0.5;

/// A word with fewer fragments is near everything.
const LEAST_GRAMS: usize = 2;

/// The overlapping fragments of `word`, three characters each.
pub fn grams(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    chars.windows(3).map(|window| window.iter().collect()).collect()
}

fn hit(score: f64, entry: Entry, query: &Query) -> Hit {
    Hit {
        path: entry.path,
        section_id: entry.section_id,
        heading: entry.heading,
        trail: entry.trail,
        line: entry.line,
        category: entry.category,
        score: (score * 1000.0).round() / 1000.0,
        snippet: snippet(&entry.body, query),
        confidence: entry.confidence,
        status: entry.status,
        untrusted: entry.untrusted,
        body: entry.body,
    }
}

/// Which part of what was asked is in the section, and in its headings, by how telling the words
/// are: 0 to 1 each.
fn coverage(candidate: &Candidate, query: &Query, rarity: &HashMap<String, f64>) -> (f64, f64) {
    let head: Vec<&str> = candidate.head.split(' ').collect();
    let body: Vec<&str> = candidate.body.split(' ').collect();
    let (mut all, mut anywhere, mut above) = (0.0, 0.0, 0.0);
    for term in &query.terms {
        let weight: f64 = term
            .tokens
            .iter()
            .map(|token| rarity.get(token).copied().unwrap_or(1.0))
            .fold(0.0, f64::max);
        all += weight;
        let in_text = |text: &[&str]| has(text, &term.tokens, term.prefix);
        let other = |text: &[&str]| term.synonyms.iter().any(|words| has(text, words, false));
        if in_text(&head) {
            above += weight;
            anywhere += weight;
        } else if in_text(&body) {
            anywhere += weight;
        } else if other(&head) {
            above += 0.5 * weight;
            anywhere += 0.6 * weight;
        } else if other(&body) {
            anywhere += 0.5 * weight;
        }
    }
    if all == 0.0 { (0.0, 0.0) } else { (anywhere / all, above / all) }
}

fn has(text: &[&str], tokens: &[String], prefix: bool) -> bool {
    match tokens {
        [one] if prefix => text.iter().any(|token| token.starts_with(one.as_str())),
        [one] => text.contains(&one.as_str()),
        many => text.windows(many.len()).any(|window| window == many),
    }
}

/// Below 1 for what may not hold (any more).
fn trust(entry: &Entry) -> f64 {
    let mut factor: f64 = match entry.category.as_str() {
        "archive" => 0.4,
        "sessions" => 0.75,
        _ => 1.0,
    };
    factor *= match entry.confidence.as_deref() {
        Some("inferred" | "unknown") => 0.9,
        Some("stale") => 0.7,
        _ => 1.0,
    };
    factor *= match entry.status.as_deref() {
        Some("superseded" | "deprecated") => 0.6,
        Some("proposed") => 0.9,
        _ => 1.0,
    };
    if entry.untrusted { factor * 0.85 } else { factor }
}

/// Above 1 for what speaks of the files at hand.
fn relevance(entry: &Entry, boosts: &Boosts) -> f64 {
    let mut factor = 1.0;
    let mentions = |what: &str| {
        !what.is_empty()
            && (entry.body.contains(what)
                || entry.path.contains(what)
                || entry.trail.contains(what))
    };
    if boosts.scope.iter().any(|scope| mentions(scope.trim_end_matches('/'))) {
        factor *= 1.3;
    }
    if boosts.changed_files.iter().any(|file| mentions(file)) {
        factor *= 1.15;
    }
    factor
}

/// About 200 characters around the place with most of what was asked, on one line.
pub fn snippet(body: &str, query: &Query) -> String {
    const LENGTH: usize = 200;
    let flat: String = body.split_whitespace().collect::<Vec<_>>().join(" ");
    let chars: Vec<char> = flat.chars().collect();
    if chars.len() <= LENGTH {
        return flat;
    }
    let mut best = (0usize, 0usize);
    let mut start = 0;
    while start < chars.len() {
        let end = (start + LENGTH).min(chars.len());
        let window: String = chars[start..end].iter().collect();
        let tokens = analyse::tokens(&window);
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let count = query
            .terms
            .iter()
            .filter(|term| {
                has(&tokens, &term.tokens, term.prefix)
                    || term.synonyms.iter().any(|words| has(&tokens, words, false))
            })
            .count();
        if count > best.0 {
            best = (count, start);
        }
        if end == chars.len() {
            break;
        }
        start += LENGTH / 4;
    }
    let start = best.1;
    let end = (start + LENGTH).min(chars.len());
    let text: String = chars[start..end].iter().collect();
    let head = if start > 0 { "…" } else { "" };
    let tail = if end < chars.len() { "…" } else { "" };
    format!("{head}{}{tail}", text.trim())
}
