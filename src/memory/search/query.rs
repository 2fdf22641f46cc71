//! What is asked for: words, `"phrases"`, prefixes (`migr*`).

use super::analyse;
use super::synonyms::{self, Synonyms};

/// A query, analysed like the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The terms, each a token or several in a row.
    pub terms: Vec<Term>,
    /// What has signs in it, in lower case, as it was typed: `vite_`, `--flag`, `::`, `a.b`.
    pub literals: Vec<String>,
    /// The telling words in lower case, as they were typed.
    pub words: Vec<String>,
}

/// One thing asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Tokens that have to stand in a row.
    pub tokens: Vec<String>,
    /// The last token may go on.
    pub prefix: bool,
    /// In quotes: a section without it is not shown.
    pub required: bool,
    /// Other words that count for less, each a token or several in a row.
    pub synonyms: Vec<Vec<String>>,
}

/// Most terms looked at; the rest of a longer query is left out.
const MOST_TERMS: usize = 64;

/// Behind "how" these ask for a measure, and say nothing of what it is one of.
const MEASURES: &[&str] = &["long", "many", "much", "often", "far", "big", "large"];

impl Query {
    /// Reads what somebody typed, with the built-in synonyms. Nothing in it is syntax of the
    /// database.
    pub fn parse(text: &str) -> Self {
        Self::parse_with(text, Synonyms::built_in())
    }

    /// As [`Query::parse`], with `synonyms`.
    pub fn parse_with(text: &str, synonyms: &Synonyms) -> Self {
        let mut terms = Vec::new();
        let (mut literals, mut typed): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut measures: Vec<Vec<String>> = Vec::new();
        for (i, part) in text.split('"').enumerate() {
            if i % 2 == 1 {
                let tokens = analyse::tokens(part);
                if !tokens.is_empty() {
                    terms.push(Term {
                        tokens,
                        prefix: false,
                        required: true,
                        synonyms: Vec::new(),
                    });
                }
                continue;
            }
            let mut before = String::new();
            for word in part.split_whitespace() {
                let first = terms.len();
                words(word, &mut terms);
                literals.extend(literal(word));
                let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
                if !bare.is_empty() && !analyse::is_stop_word(&bare) {
                    typed.push(bare.clone());
                }
                if before == "how" && MEASURES.contains(&bare.as_str()) {
                    measures.extend(terms[first..].iter().map(|term| term.tokens.clone()));
                }
                before = bare;
            }
        }
        // Words that say nothing go, unless nothing else is asked for.
        let telling = |term: &Term| {
            let is_empty = term.is_stop_word() || measures.contains(&term.tokens);
            term.required || term.prefix || !is_empty
        };
        if terms.iter().any(telling) {
            terms.retain(telling);
        }
        let mut seen = Vec::new();
        terms.retain(|term: &Term| {
            let new = !seen.contains(&term.tokens);
            seen.push(term.tokens.clone());
            new
        });
        terms.truncate(MOST_TERMS);
        literals.truncate(MOST_TERMS);
        typed.truncate(MOST_TERMS);
        add_synonyms(&mut terms, synonyms);
        Self { terms, literals, words: typed }
    }

    /// True where nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.literals.is_empty()
    }

    /// True where something has to be in each answer.
    pub(super) fn is_strict(&self) -> bool {
        self.terms.iter().any(|term| term.required)
    }

    /// The FTS5 expression; `None` where nothing is asked for. With `loose`, every word of three
    /// letters or more may go on.
    pub(super) fn expression(&self, loose: bool) -> Option<String> {
        let mut any = Vec::new();
        let mut all = Vec::new();
        for term in &self.terms {
            let phrase = term.expression(loose);
            if term.required {
                all.push(phrase);
            } else {
                any.push(phrase);
                any.extend(term.synonyms.iter().map(|words| quote(words)));
            }
        }
        let any = any.join(" OR ");
        match (all.is_empty(), any.is_empty()) {
            (true, true) => None,
            (true, false) => Some(any),
            // The words only order what the phrases find.
            (false, _) => Some(all.join(" AND ")),
        }
    }
}

impl Term {
    fn is_stop_word(&self) -> bool {
        matches!(self.tokens.as_slice(), [one] if analyse::is_stop_word(one))
    }

    fn expression(&self, loose: bool) -> String {
        let mut phrase = quote(&self.tokens);
        let long = self.tokens.last().is_some_and(|token| token.chars().count() >= 3);
        if self.prefix || (loose && long && !self.required) {
            phrase.push('*');
        }
        phrase
    }
}

fn quote(tokens: &[String]) -> String {
    format!("\"{}\"", tokens.join(" ").replace('"', ""))
}

fn words(word: &str, terms: &mut Vec<Term>) {
    let prefix = word.ends_with('*') && word.len() > 1;
    let lower: String = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    if prefix {
        // What is typed so far is no word yet, so it is not stemmed.
        let stub: String =
            lower.split(|c: char| !c.is_alphanumeric()).next_back().unwrap_or_default().into();
        if !stub.is_empty() {
            terms.push(Term { tokens: vec![stub], prefix, required: false, synonyms: Vec::new() });
        }
        return;
    }
    if analyse::is_stop_word(&lower) {
        terms.push(Term {
            tokens: vec![lower],
            prefix: false,
            required: false,
            synonyms: Vec::new(),
        });
        return;
    }
    for token in analyse::tokens(word) {
        terms.push(Term {
            tokens: vec![token],
            prefix: false,
            required: false,
            synonyms: Vec::new(),
        });
    }
}

/// Gives each term, and each run of terms, its other words.
fn add_synonyms(terms: &mut [Term], synonyms: &Synonyms) {
    for start in 0..terms.len() {
        for length in 1..=synonyms::LONGEST.min(terms.len() - start) {
            let run = &terms[start..start + length];
            if run.iter().any(|term| term.required || term.prefix) {
                continue;
            }
            let tokens: Vec<&str> =
                run.iter().flat_map(|term| &term.tokens).map(String::as_str).collect();
            let others = synonyms.of(&tokens);
            for other in others {
                let is_asked = terms.iter().any(|term| term.tokens == other);
                if !is_asked && !terms[start].synonyms.contains(&other) {
                    terms[start].synonyms.push(other);
                }
            }
        }
    }
}

/// `word` as it is looked for letter by letter, where it has signs that say something.
fn literal(word: &str) -> Option<String> {
    let quotes =
        |c: char| matches!(c, '`' | '\'' | '(' | ')' | ',' | ';' | '?' | '!' | '“' | '”' | '*');
    let word = word.trim_matches(quotes);
    // A full stop or colon at the end ends a sentence; a row of signs is what is asked for.
    let word = match word.chars().any(char::is_alphanumeric) {
        true => word.trim_end_matches(['.', ':']),
        false => word,
    };
    let is_sign = |c: char| c.is_ascii_punctuation();
    let signs = word.chars().filter(|c| is_sign(*c)).count();
    (signs > 0 && word.chars().count() > 1).then(|| word.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_the_database_are_plain_words() {
        let query = Query::parse("NEAR(a b) OR \"x y\" col:z ^ -- ; DROP*");
        let text = query.expression(false).unwrap();
        assert!(!text.contains("NEAR") && !text.contains(':') && !text.contains(';'), "{text}");
        assert_eq!(Query::parse("").expression(false), None);
        assert_eq!(Query::parse("\"\" * --").expression(true), None);
    }

    #[test]
    fn words_that_say_nothing_go_unless_alone() {
        assert_eq!(Query::parse("how do we run the tests").terms.len(), 2);
        assert_eq!(Query::parse("the").terms.len(), 1);
    }

    #[test]
    fn signs_are_kept() {
        let literals = |text: &str| Query::parse(text).literals;
        assert_eq!(literals("what is VITE_ for?"), ["vite_"]);
        assert_eq!(literals("npm ci --ignore-scripts"), ["--ignore-scripts"]);
        assert_eq!(literals("`planner::solve`, /readyz"), ["planner::solve", "/readyz"]);
        assert_eq!(literals("picking.route.timeout_ms."), ["picking.route.timeout_ms"]);
        assert_eq!(literals("::"), ["::"]);
        assert_eq!(literals("why is it? (really)"), Vec::<String>::new());
        assert!(Query::parse("?").is_empty() && !Query::parse("::").is_empty());
    }

    #[test]
    fn words_in_a_row_have_synonyms() {
        let synonyms = Synonyms::read(b"groups:\n- [rate limit, throttle]\n").unwrap();
        let query = Query::parse_with("the rate limit", &synonyms);
        assert_eq!(query.terms[0].synonyms, [vec!["throttl".to_owned()]]);
        let query = Query::parse_with("throttling", &synonyms);
        assert_eq!(query.terms[0].synonyms, [vec!["rate".to_owned(), "limit".to_owned()]]);
    }

    #[test]
    fn phrases_are_required_and_prefixes_kept() {
        let query = Query::parse("\"connection pool\" migr*");
        assert!(query.terms[0].required && query.terms[0].tokens.len() == 2);
        assert!(query.terms[1].prefix && query.terms[1].tokens == ["migr"]);
    }
}
