//! Provider rules: what the tokens of known services look like.
//!
//! `rules.toml` is the readable source. The build script turns it into the static table included
//! here, with keywords derived from each pattern; a pattern is compiled when one of its keywords
//! first occurs.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::finding::{Span, rank};
use super::value;

#[cfg(test)]
mod derive;
#[cfg(test)]
mod tests;

/// One provider rule.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, the finding's type.
    pub id: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Pattern over bytes of one line; group 1, where there is one, is the secret itself.
    pub pattern: &'static str,
    /// The secret has so few possible values that its fingerprint must be short.
    pub guessable: bool,
    /// The least Shannon entropy of the secret, in bits per byte.
    pub min_entropy: f32,
    /// The secret has letters and digits; where it stands in quotes, a sign will do for a digit.
    pub mixed: bool,
    /// What matches this as a whole is none; empty where there is nothing to except.
    pub except: &'static str,
    /// Lower-case literals, one of which every match contains in some letter case.
    pub keywords: &'static [&'static str],
    /// The same in the letter case the pattern asks for; empty when it leaves that open.
    pub cased: &'static [&'static str],
    /// Length of the longest match, in bytes.
    pub max_len: usize,
}

include!(concat!(env!("OUT_DIR"), "/secret_rules.rs"));

/// The pattern of a rule, and the one of what is excepted.
type Compiled = (Regex, Option<Regex>);

impl Rule {
    /// False when `hit`, a keyword in some letter case, is not written as the pattern asks.
    pub(super) fn wants(&self, hit: &[u8]) -> bool {
        self.cased.is_empty() || self.cased.iter().any(|k| hit == k.as_bytes())
    }

    /// The least entropy of a secret of this rule, in bits per byte.
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
        // Every pattern was parsed by the build script with the same settings.
        all[index].get_or_init(|| Some((build(rule.pattern)?, except()))).as_ref()
    }

    /// Whether `secret`, behind the byte `before`, has of what `mixed` asks for.
    fn is_mixed(&self, secret: &[u8], before: Option<u8>) -> bool {
        let has = |wanted: fn(&u8) -> bool| secret.iter().any(wanted);
        let is_quoted = matches!(before, Some(b'"' | b'\'' | b'`'));
        let has_sign = is_quoted && has(|byte| b"!@#%^*+?~".contains(byte));
        !self.mixed || has(u8::is_ascii_alphabetic) && (has(u8::is_ascii_digit) || has_sign)
    }
}

/// Every match of rule `index` that lies within `start..end` of `text`; what is around still
/// counts for word boundaries.
pub(super) fn matches(index: usize, text: &[u8], start: usize, end: usize, spans: &mut Vec<Span>) {
    let rule = &RULES[index];
    let Some((regex, except)) = Rule::regex(index) else { return };
    let haystack = &text[..end];
    let mut at = start;
    // Most windows hold no match; saying so needs no captures.
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
            // What stands behind a name that says nothing may begin with one that does.
            at = if rule.mixed { from.max(found.start() + 1) } else { at };
            continue;
        }
        // Patterns with a group say themselves what is around it.
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

/// False where `from..to` is a piece of a longer word, such as a file name with a digest in it.
fn is_word(text: &[u8], from: usize, to: usize) -> bool {
    /// A longer match may have been cut by the pattern's own limit.
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
