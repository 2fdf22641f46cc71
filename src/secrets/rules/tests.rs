//! Checks each rule against its examples, and the prefilter against the rules.

use proptest::prelude::*;

use super::super::Scanner;
use super::derive::derive;
use super::{RULES, Rule};

#[derive(serde::Deserialize)]
struct File {
    rule: Vec<Examples>,
}

#[derive(serde::Deserialize)]
struct Examples {
    id: String,
    positive: Vec<String>,
    negative: Vec<String>,
}

fn examples() -> Vec<Examples> {
    let file: File = toml::from_str(include_str!("rules.toml")).expect("rules.toml");
    file.rule
}

/// Deterministic: examples must not change between runs.
struct Generator(u64);

impl Generator {
    fn next(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % below
    }

    /// Replaces `{{set n}}` by random characters.
    fn fill(&mut self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inside, tail)) = after.split_once("}}") else { break };
            let Some((set, count)) = inside
                .split_once(' ')
                .and_then(|(s, n)| Some((alphabet(s)?, n.parse::<usize>().ok()?)))
            else {
                out.push_str(&rest[..before.len() + inside.len() + 4]);
                rest = tail;
                continue;
            };
            out.push_str(before);
            let set: Vec<char> = set.chars().collect();
            out.extend((0..count).map(|_| set[self.next(set.len())]));
            rest = tail;
        }
        out + rest
    }
}

fn alphabet(name: &str) -> Option<&'static str> {
    Some(match name {
        "lower" => "abcdefghijklmnopqrstuvwxyz",
        "upper" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "alpha" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "digit" => "0123456789",
        "hex" => "0123456789abcdef",
        "HEX" => "0123456789ABCDEF",
        "base32" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "bech32" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        "base58" => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        "low36" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "UP36" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "alnum" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "url" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_",
        "base64" => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
        _ => return None,
    })
}

#[test]
fn there_are_enough_rules_and_each_knows_its_examples() {
    assert!(RULES.len() >= 100, "{}", RULES.len());
    let scanner = Scanner::default();
    let mut made = Generator(7);
    let mut wrong = Vec::new();
    for rule in examples() {
        for template in &rule.positive {
            let text = made.fill(template);
            if !scanner.scan(text.as_bytes()).iter().any(|f| f.kind == rule.id) {
                wrong.push(format!(
                    "{} misses {template}: {:?}",
                    rule.id,
                    scanner.scan(text.as_bytes())
                ));
            }
        }
        for template in &rule.negative {
            let text = made.fill(template);
            if scanner.scan(text.as_bytes()).iter().any(|f| f.kind == rule.id) {
                wrong.push(format!("{} takes {template}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_hold_no_literal_that_looks_like_a_secret() {
    let scanner = Scanner::default();
    for rule in examples() {
        for template in rule.positive.iter().filter(|t| t.contains("{{")) {
            assert_eq!(scanner.scan(template.as_bytes()), [], "{}: {template}", rule.id);
        }
    }
}

#[test]
fn every_pattern_compiles() {
    for (index, rule) in RULES.iter().enumerate() {
        let (_, except) = Rule::regex(index).expect(rule.id);
        assert_eq!(except.is_some(), !rule.except.is_empty(), "{}", rule.id);
    }
}

#[test]
fn keywords_are_derived_from_the_pattern() {
    for rule in RULES {
        let derived = derive(rule.pattern).expect(rule.id);
        assert_eq!(derived.keywords, rule.keywords, "{}", rule.id);
        assert_eq!(
            (&derived.cased[..], derived.max_len),
            (&rule.cased.iter().map(|c| c.to_string()).collect::<Vec<_>>()[..], rule.max_len),
            "{}",
            rule.id
        );
    }
}

#[test]
fn derivation_keeps_every_alternative() {
    let keywords = |pattern| derive(pattern).map(|d| d.keywords);
    assert_eq!(keywords("(?i)ghp_[a-z]{3}"), Ok(vec!["ghp_".into()]));
    assert_eq!(derive("(?i)gh[a-c]_x").map(|d| d.cased), Ok(vec![]));
    assert_eq!(derive("Gh[pO]_").map(|d| d.cased), Ok(vec!["GhO_".into(), "Ghp_".into()]));
    assert_eq!(keywords("gh[po]_x{2}"), Ok(vec!["gho_xx".into(), "ghp_xx".into()]));
    assert_eq!(keywords("(?:abc|defg)[0-9]{4}z?"), Ok(vec!["abc".into(), "defg".into()]));
    assert_eq!(keywords("a?bcd[x-z]{0,3}"), Ok(vec!["bcd".into()]));
    assert_eq!(keywords(r"\babc\b|x{3}"), Ok(vec!["abc".into(), "xxx".into()]));
    for wrong in ["abc+", "ab[0-9]{2}", r"abc\s", "(?:abc)?", "abc|d[0-9]", "(?s)abc.", "[^x]abcd"]
    {
        assert!(derive(wrong).is_err(), "{wrong}");
    }
}

fn dense() -> impl Strategy<Value = String> {
    let pieces: Vec<String> = {
        let mut made = Generator(11);
        let all = examples();
        let templates = all.iter().flat_map(|r| r.positive.iter().chain(&r.negative));
        let mut pieces: Vec<String> = templates.map(|t| made.fill(t)).collect();
        pieces.extend(RULES.iter().flat_map(|r| r.keywords.iter().map(|k| k.to_string())));
        pieces.extend(
            ["\n", " ", "\"", "=", ": ", "x", "ü", "password=", "-----BEGIN PRIVATE KEY-----"]
                .map(String::from),
        );
        pieces
    };
    proptest::collection::vec((proptest::sample::select(pieces), any::<bool>(), 0usize..40), 1..14)
        .prop_map(|parts| {
            let mut text = String::new();
            for (piece, whole, cut) in parts {
                // Cut pieces make near misses.
                let end = if whole { piece.len() } else { piece.len().saturating_sub(cut) };
                text.push_str(piece.get(..end).unwrap_or(&piece));
            }
            text
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_prefilter_loses_nothing(text in dense()) {
        let scanner = Scanner::default();
        prop_assert_eq!(scanner.scan(text.as_bytes()), scanner.scan_without_prefilter(text.as_bytes()));
    }

    #[test]
    fn nothing_is_repeated(text in dense(), noise in ".{0,40}") {
        let text = format!("{noise}{text}");
        for finding in Scanner::default().scan(text.as_bytes()) {
            let lines: Vec<&str> = text.split('\n').collect();
            prop_assert!(finding.line <= lines.len() && finding.length > 0);
            prop_assert!(finding.line < finding.end_line || finding.column < finding.end_column);
        }
    }
}
