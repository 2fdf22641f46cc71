//! Near-duplicate texts: word shingles and their overlap.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Overlap from which two texts say the same thing twice.
pub const NEAR: f64 = 0.8;

/// The shingles of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shingles(HashSet<u64>);

impl Shingles {
    /// Of `text`: every three words in a row (every character triple in scripts without spaces),
    /// lower case, punctuation and markup left out.
    pub fn of(text: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
            let word = word.to_lowercase();
            if word.chars().any(is_unspaced) {
                words.extend(word.chars().map(String::from));
            } else {
                words.push(word);
            }
        }
        let size = words.len().clamp(1, 3);
        Self(
            words
                .windows(size)
                .map(|window| {
                    let mut hasher = DefaultHasher::new();
                    window.hash(&mut hasher);
                    hasher.finish()
                })
                .collect(),
        )
    }

    /// How much of the two is common, 0 to 1 (Jaccard index). Texts without words are alike only
    /// to each other.
    pub fn overlap(&self, other: &Self) -> f64 {
        let common = self.0.intersection(&other.0).count();
        let all = self.0.len() + other.0.len() - common;
        if all == 0 { 1.0 } else { common as f64 / all as f64 }
    }

    /// Whether the two say the same thing. Very short texts only if they are equal: too little
    /// to go by.
    pub fn is_near(&self, other: &Self) -> bool {
        match self.0.len().min(other.0.len()) {
            0 => false,
            1..4 => self == other,
            _ => self.overlap(other) >= NEAR,
        }
    }
}

/// Characters of scripts written without spaces between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{303f}' | '\u{3040}'..='\u{30ff}' | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_edits_are_near_and_other_topics_are_not() {
        let a = "Use a connection pool of at most ten connections per worker process, because the database refuses more than one hundred in total.";
        let b = "Use a *connection pool* of at most ten connections per worker process, because the database refuses more than one hundred in total!";
        let c =
            "Migrations run in their own job before the new version is rolled out to any worker.";
        assert!(Shingles::of(a).is_near(&Shingles::of(b)));
        assert!(!Shingles::of(a).is_near(&Shingles::of(c)));
        assert!(
            Shingles::of("数据库连接池最多十个连接")
                .is_near(&Shingles::of("数据库连接池最多十个连接。"))
        );
        assert!(!Shingles::of("").is_near(&Shingles::of("")));
    }
}
