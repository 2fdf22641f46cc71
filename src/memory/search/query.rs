//! What is asked for: words, `"phrases"`, prefixes (`migr*`).

use super::analyse;

/// A query, analysed like the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The terms, each a token or several in a row.
    pub terms: Vec<Term>,
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
    /// Other words that count for less.
    pub synonyms: Vec<String>,
}

/// Most terms looked at; the rest of a longer query is left out.
const MOST_TERMS: usize = 64;

impl Query {
    /// Reads what somebody typed. Nothing in it is syntax of the database.
    pub fn parse(text: &str) -> Self {
        let mut terms = Vec::new();
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
            for word in part.split_whitespace() {
                words(word, &mut terms);
            }
        }
        // Words that say nothing go, unless nothing else is asked for.
        let telling = |term: &Term| term.required || term.prefix || !term.is_stop_word();
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
        Self { terms }
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
                any.extend(term.synonyms.iter().map(|word| quote(std::slice::from_ref(word))));
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
    let mut synonyms: Vec<String> = Vec::new();
    for other in analyse::synonyms(&lower).iter().filter(|other| **other != lower) {
        let token = analyse::stem(other);
        if !synonyms.contains(&token) {
            synonyms.push(token);
        }
    }
    for token in analyse::tokens(word) {
        synonyms.retain(|synonym| *synonym != token);
        terms.push(Term {
            tokens: vec![token],
            prefix: false,
            required: false,
            synonyms: std::mem::take(&mut synonyms),
        });
    }
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
    fn phrases_are_required_and_prefixes_kept() {
        let query = Query::parse("\"connection pool\" migr*");
        assert!(query.terms[0].required && query.terms[0].tokens.len() == 2);
        assert!(query.terms[1].prefix && query.terms[1].tokens == ["migr"]);
    }
}
