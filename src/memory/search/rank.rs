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
    let mut scored: Vec<(f64, Entry)> = candidates
        .into_iter()
        .filter(|candidate| {
            let category = &candidate.entry.category;
            !(boosts.exclude_archive && category == "archive")
                && (boosts.include.is_empty() || boosts.include.iter().any(|name| name == category))
        })
        .map(|candidate| {
            let (covered, in_heading) = coverage(&candidate, query, rarity);
            let entry = candidate.entry;
            let words = candidate.bm25 / best + 1.5 * covered + 0.8 * in_heading;
            (words * trust(&entry) * relevance(&entry, boosts), entry)
        })
        .collect();
    scored.sort_by(|(a, x), (b, y)| {
        b.total_cmp(a).then_with(|| x.path.cmp(&y.path)).then_with(|| x.line.cmp(&y.line))
    });
    let mut kept: Vec<(Hit, Shingles)> = Vec::new();
    for (score, entry) in scored {
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
        let other = |text: &[&str]| term.synonyms.iter().any(|word| text.contains(&word.as_str()));
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
                    || term.synonyms.iter().any(|word| tokens.contains(&word.as_str()))
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
