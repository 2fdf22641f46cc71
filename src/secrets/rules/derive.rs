//! Derives the keywords that every match of a pattern contains.
//!
//! The build script calls it, so that no keyword is narrower than its pattern. The build fails if a
//! pattern has no usable keyword or maximum length, or can match a line feed.

use std::collections::BTreeSet;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Bytes; bounds the window around a keyword.
pub const MAX_MATCH: usize = 1200;
/// Bytes.
pub const MIN_KEYWORD: usize = 3;
/// Maximum alternatives in a keyword set.
const MAX_SET: usize = 40;

#[derive(Debug, PartialEq, Eq)]
pub struct Keywords {
    /// Lower case; every match contains at least one, in any case.
    pub keywords: Vec<String>,
    /// Keywords in the case of the pattern; empty if the pattern ignores case.
    pub cased: Vec<String>,
    /// Bytes of the longest possible match.
    pub max_len: usize,
}

pub fn derive(pattern: &str) -> Result<Keywords, String> {
    let hir = ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .multi_line(true)
        .build()
        .parse(pattern)
        .map_err(|e| e.to_string())?;
    if can_match_line_feed(&hir) {
        return Err("can match a line feed; rules match within one line".into());
    }
    let max_len = hir.properties().maximum_len().ok_or("has no upper length")?;
    if max_len > MAX_MATCH {
        return Err(format!("can match {max_len} bytes; the limit is {MAX_MATCH}"));
    }
    let keywords = literals(&hir, true)?;
    let cased = literals(&hir, false).unwrap_or_default();
    let lower: BTreeSet<String> = cased.iter().map(|k| k.to_ascii_lowercase()).collect();
    let cased = if lower.into_iter().eq(keywords.iter().cloned()) && cased.len() == keywords.len() {
        cased
    } else {
        Vec::new()
    };
    if keywords.iter().any(|k| k.len() < MIN_KEYWORD) {
        return Err(format!("has keywords that are too short: {keywords:?}"));
    }
    Ok(Keywords { keywords, cased, max_len })
}

/// The best literals, sorted; lower case with `fold`.
fn literals(hir: &Hir, fold: bool) -> Result<Vec<String>, String> {
    let best = info(hir, fold).best().ok_or("has no literal that every match contains")?;
    let text = |k| String::from_utf8(k).map_err(|_| "has a keyword that is not text".to_string());
    let set = best.into_iter().map(text).collect::<Result<BTreeSet<_>, _>>()?;
    Ok(set.into_iter().collect())
}

type Set = Vec<Vec<u8>>;

/// `exact`: all matches of the pattern. `required`: every match contains one of these.
struct LiteralSets {
    exact: Option<Set>,
    required: Option<Set>,
}

impl LiteralSets {
    fn nothing() -> Self {
        Self { exact: None, required: None }
    }

    fn exact(set: Set) -> Self {
        Self { exact: Some(set), required: None }
    }

    fn best(self) -> Option<Set> {
        better(self.exact, self.required)
    }
}

/// Prefers long keywords, up to 8 bytes, which are rare enough; then small sets.
fn score(set: &Set) -> (usize, std::cmp::Reverse<usize>) {
    let shortest = set.iter().map(Vec::len).min().unwrap_or(0);
    (shortest.min(8), std::cmp::Reverse(set.len()))
}

fn better(a: Option<Set>, b: Option<Set>) -> Option<Set> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if score(&a) >= score(&b) { a } else { b }),
        (a, b) => a.or(b),
    }
}

fn cross(left: &Set, right: &Set) -> Option<Set> {
    if left.len() * right.len() > MAX_SET {
        return None;
    }
    let mut set: Set =
        left.iter().flat_map(|l| right.iter().map(move |r| [&l[..], &r[..]].concat())).collect();
    set.sort();
    set.dedup();
    Some(set)
}

fn info(hir: &Hir, fold: bool) -> LiteralSets {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => LiteralSets::exact(vec![Vec::new()]),
        HirKind::Literal(literal) => LiteralSets::exact(vec![folded(&literal.0, fold)]),
        HirKind::Class(class) => class_info(class, fold),
        HirKind::Capture(capture) => info(&capture.sub, fold),
        HirKind::Repetition(repetition) => {
            if repetition.min == 0 {
                return LiteralSets::nothing();
            }
            let sub = info(&repetition.sub, fold);
            match (&sub.exact, repetition.max) {
                (Some(set), Some(max)) if max == repetition.min && max <= 4 => {
                    let mut all = set.clone();
                    for _ in 1..max {
                        match cross(&all, set) {
                            Some(longer) => all = longer,
                            None => return LiteralSets { exact: None, required: sub.best() },
                        }
                    }
                    LiteralSets::exact(all)
                }
                _ => LiteralSets { exact: None, required: sub.best() },
            }
        }
        HirKind::Concat(parts) => concat_info(parts, fold),
        HirKind::Alternation(parts) => alternation_info(parts, fold),
    }
}

fn folded(literal: &[u8], fold: bool) -> Vec<u8> {
    if fold { literal.to_ascii_lowercase() } else { literal.to_vec() }
}

fn class_info(class: &Class, fold: bool) -> LiteralSets {
    let Class::Bytes(bytes) = class else { return LiteralSets::nothing() };
    let mut set: Set = Vec::new();
    for range in bytes.ranges() {
        for byte in range.start()..=range.end() {
            let one = folded(&[byte], fold);
            if !set.contains(&one) {
                set.push(one);
            }
            if set.len() > 10 {
                return LiteralSets::nothing();
            }
        }
    }
    LiteralSets::exact(set)
}

fn concat_info(parts: &[Hir], fold: bool) -> LiteralSets {
    let mut required: Option<Set> = None;
    let mut run: Set = vec![Vec::new()];
    let mut all_exact = true;
    for part in parts {
        let part = info(part, fold);
        if let Some(joined) = part.exact.as_ref().and_then(|set| cross(&run, set)) {
            run = joined;
            continue;
        }
        all_exact = false;
        required = better(required, Some(std::mem::replace(&mut run, vec![Vec::new()])));
        // A run too long to cross restarts with this part.
        if let Some(set) = &part.exact {
            run = set.clone();
        }
        required = better(required, part.best());
    }
    if all_exact {
        return LiteralSets::exact(run);
    }
    LiteralSets { exact: None, required: better(required, Some(run)) }
}

fn alternation_info(parts: &[Hir], fold: bool) -> LiteralSets {
    let infos: Vec<LiteralSets> = parts.iter().map(|part| info(part, fold)).collect();
    if infos.iter().all(|i| i.exact.is_some()) {
        let all: Set = infos.into_iter().filter_map(|i| i.exact).flatten().collect();
        if all.len() <= MAX_SET {
            return LiteralSets::exact(all);
        }
        return LiteralSets::nothing();
    }
    let mut all: Set = Vec::new();
    for part in infos {
        match part.best() {
            Some(set) => all.extend(set),
            None => return LiteralSets::nothing(),
        }
    }
    if all.len() > MAX_SET {
        LiteralSets::nothing()
    } else {
        LiteralSets { exact: None, required: Some(all) }
    }
}

fn can_match_line_feed(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Bytes(class)) => {
            class.ranges().iter().any(|r| r.start() <= b'\n' && b'\n' <= r.end())
        }
        HirKind::Class(Class::Unicode(_)) => true,
        HirKind::Capture(capture) => can_match_line_feed(&capture.sub),
        HirKind::Repetition(repetition) => can_match_line_feed(&repetition.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().any(can_match_line_feed)
        }
    }
}
