//! Provider rules: forms of the tokens of known services.
//!
//! The build script turns `rules.toml` into a static table with derived keywords. A pattern is
//! compiled when one of its keywords first occurs.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::finding::{Span, rank};
use super::value;

#[cfg(test)]
mod derive;
#[cfg(test)]
mod tests;

#[derive(Debug)]
pub struct Rule {
    /// Stable; the type of its findings.
    pub id: &'static str,
    pub title: &'static str,
    /// Matches bytes of one line; group 1, if present, is the secret.
    pub pattern: &'static str,
    /// The secret has few possible values: its fingerprint must be short.
    pub guessable: bool,
    /// Minimum Shannon entropy of the secret, in bits per byte.
    pub min_entropy: f32,
    /// The secret must have letters and digits; in quotes, a sign counts as a digit.
    pub mixed: bool,
    /// Excludes matches of this pattern; may be empty.
    pub except: &'static str,
    /// Lower case; every match contains one, in any case.
    pub keywords: &'static [&'static str],
    /// Keywords in the case of the pattern; empty if the pattern ignores case.
    pub cased: &'static [&'static str],
    /// Bytes of the longest match.
    pub max_len: usize,
}

include!(concat!(env!("OUT_DIR"), "/secret_rules.rs"));

/// Compiled `pattern` and `except`.
type Compiled = (Regex, Option<Regex>);

impl Rule {
    /// False if `hit` lacks the case of the pattern.
    pub(super) fn accepts_case(&self, hit: &[u8]) -> bool {
        self.cased.is_empty() || self.cased.iter().any(|k| hit == k.as_bytes())
    }

    fn least_entropy(&self) -> f32 {
        const MACHINE_MADE: f32 = 2.5;
        if self.guessable { self.min_entropy } else { self.min_entropy.max(MACHINE_MADE) }
    }

    fn regex(index: usize) -> Option<&'static Compiled> {
        static COMPILED: OnceLock<Vec<OnceLock<Option<Compiled>>>> = OnceLock::new();
        let all = COMPILED.get_or_init(|| RULES.iter().map(|_| OnceLock::new()).collect());
        let build =
            |pattern| RegexBuilder::new(pattern).unicode(false).multi_line(true).build().ok();
        let rule = &RULES[index];
        let except = || (!rule.except.is_empty()).then(|| build(rule.except)).flatten();
        // The build script parsed every pattern with the same settings.
        all[index].get_or_init(|| Some((build(rule.pattern)?, except()))).as_ref()
    }

    fn is_mixed(&self, secret: &[u8], before: Option<u8>) -> bool {
        let has = |wanted: fn(&u8) -> bool| secret.iter().any(wanted);
        let is_quoted = matches!(before, Some(b'"' | b'\'' | b'`'));
        let has_sign = is_quoted && has(|byte| b"!@#%^*+?~".contains(byte));
        !self.mixed || has(u8::is_ascii_alphabetic) && (has(u8::is_ascii_digit) || has_sign)
    }
}

/// Matches within `start..end`; bytes around it count for word boundaries.
pub(super) fn matches(index: usize, text: &[u8], start: usize, end: usize, spans: &mut Vec<Span>) {
    let rule = &RULES[index];
    let Some((regex, except)) = Rule::regex(index) else { return };
    let haystack = &text[..end];
    let mut at = start;
    // Most windows hold no match.
    if regex.find_at(haystack, at).is_none() {
        return;
    }
    let mut locations = regex.capture_locations();
    while let Some(found) = regex.captures_read_at(&mut locations, haystack, at) {
        at = if found.end() > found.start() { found.end() } else { found.end() + 1 };
        let (from, to) = locations.get(1).unwrap_or((found.start(), found.end()));
        let secret = &text[from..to];
        let is_stand_in = rule.guessable && value::is_placeholder(secret)
            || value::is_filler(secret)
            || value::entropy(secret) < rule.least_entropy()
            || !rule.is_mixed(secret, from.checked_sub(1).map(|at| text[at]))
            || except.as_ref().is_some_and(|except| except.is_match(&text[found.range()]));
        if is_stand_in {
            // The value of an innocent name may begin with the name of a secret.
            at = if rule.mixed { from.max(found.start() + 1) } else { at };
            continue;
        }
        // Patterns with a group match their own context.
        if locations.get(1).is_none() && !is_word(text, from, to) {
            continue;
        }
        spans.push(Span {
            kind: rule.id,
            title: rule.title,
            start: from,
            end: to,
            guessable: rule.guessable,
            rank: if rule.mixed { rank::NAMED } else { rank::PROVIDER },
        });
        if at > end {
            break;
        }
    }
}

/// False inside a longer word, such as a file name with a digest.
fn is_word(text: &[u8], from: usize, to: usize) -> bool {
    /// The pattern's limit may have cut a longer match.
    const WHOLE: usize = 128;
    let before = &text[..from];
    let glued = before.last().is_some_and(u8::is_ascii_alphanumeric)
        && text[from].is_ascii_alphanumeric()
        // `\n` in a string, `%3D` in a URL.
        && before.len().checked_sub(2).map(|at| before[at]) != Some(b'\\')
        && before.len().checked_sub(3).map(|at| before[at]) != Some(b'%');
    let goes_on = to - from <= WHOLE
        && text[to - 1].is_ascii_alphanumeric()
        && text.get(to).is_some_and(u8::is_ascii_alphanumeric);
    !glued && !goes_on
}
