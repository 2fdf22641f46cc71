//! Queries: words, `"phrases"`, prefixes (`migr*`), literals with punctuation.

use super::synonyms::Synonyms;
use super::{is_unspaced, spaced};

/// Terms are quoted, so that none is FTS5 syntax and FTS5 finds words in them as in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// A section has at least one.
    words: Vec<String>,
    /// A section has all.
    phrases: Vec<String>,
    synonyms: Vec<String>,
    /// With punctuation, in lower case: `vite_`, `--flag`, `::`, `a.b`.
    literals: Vec<String>,
    /// Lower case, for the snippet.
    typed: Vec<String>,
}

/// Further terms are ignored.
const MOST_TERMS: usize = 64;

/// Weight of a synonym, relative to the word.
const SYNONYM: f64 = 0.5;

pub(super) struct Expression {
    pub text: String,
    pub weight: f64,
}

impl Query {
    pub fn parse(text: &str, synonyms: &Synonyms) -> Self {
        let mut query = Self::default();
        let mut asked: Vec<&str> = Vec::new();
        for (i, part) in text.split('"').enumerate() {
            if i % 2 == 1 {
                query.phrases.extend(quoted(part));
            } else {
                asked.extend(part.split_whitespace().take(MOST_TERMS));
            }
        }
        query.literals = asked.iter().filter_map(|word| literal(word)).collect();
        let bare = |word: &&str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let is_telling = |word: &&&str| word.ends_with('*') || !is_stop_word(&bare(word));
        // Stop words are ignored unless the query has nothing else.
        let telling: Vec<&str> = asked.iter().filter(is_telling).copied().collect();
        let words = if telling.is_empty() { &asked } else { &telling };
        query.typed = words.iter().map(bare).filter(|word| !word.is_empty()).collect();
        query.words = words.iter().flat_map(|word| terms(word)).collect();
        let typed: Vec<&str> = query.typed.iter().map(String::as_str).collect();
        query.synonyms = synonyms.of(&typed).into_iter().filter_map(quoted).collect();
        query
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.phrases.is_empty() && self.literals.is_empty()
    }

    /// Empty for a query with phrases.
    pub(super) fn literals(&self) -> &[String] {
        if self.is_strict() { &[] } else { &self.literals }
    }

    /// Phrases replace words.
    pub(super) fn expressions(&self) -> Vec<Expression> {
        let mut found = Vec::new();
        let mut add = |terms: &[String], operator: &str, weight: f64| {
            if !terms.is_empty() {
                found.push(Expression { text: terms.join(operator), weight });
            }
        };
        if !self.is_strict() {
            add(&self.words, " OR ", 1.0);
            add(&self.synonyms, " OR ", SYNONYM);
        } else {
            add(&self.phrases, " AND ", 1.0);
        }
        found
    }

    /// For words that find nothing.
    pub(super) fn beginnings(&self) -> String {
        let long = self.typed.iter().filter(|word| word.chars().count() >= 3);
        let terms: Vec<String> = long.filter_map(|word| quoted(word)).collect();
        terms.iter().map(|term| format!("{term}*")).collect::<Vec<_>>().join(" OR ")
    }

    pub(super) fn is_strict(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// About 200 characters from the line with most words on.
    pub(super) fn snippet(&self, body: &str) -> String {
        const LENGTH: usize = 200;
        let count = |line: &str| {
            let line = line.to_lowercase();
            self.typed.iter().filter(|word| line.contains(word.as_str())).count()
        };
        let lines: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
        // The first of equals.
        let best = (0..lines.len()).rev().max_by_key(|i| count(lines[*i])).unwrap_or_default();
        let rest = lines[best..].join(" ");
        let text: Vec<&str> = rest.split_whitespace().collect();
        let text = text.join(" ");
        let end = text.char_indices().nth(LENGTH).map_or(text.len(), |(at, _)| at);
        let [head, tail] = [best > 0, end < text.len()].map(|is_cut| if is_cut { "…" } else { "" });
        format!("{head}{}{tail}", text[..end].trim())
    }
}

/// One term; `None` without a word.
fn quoted(text: &str) -> Option<String> {
    let text = spaced(text).replace('"', "");
    text.contains(char::is_alphanumeric).then(|| format!("\"{}\"", text.trim()))
}

/// Scripts without word spaces yield character pairs.
fn terms(word: &str) -> Vec<String> {
    let star = if word.len() > 1 && word.ends_with('*') { "*" } else { "" };
    let mut found = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let of_kind = is_unspaced(first);
        let end = rest.find(|c| is_unspaced(c) != of_kind).unwrap_or(rest.len());
        let (run, next) = rest.split_at(end);
        let chars: Vec<char> = run.chars().collect();
        if of_kind && chars.len() > 2 {
            found.extend(chars.windows(2).filter_map(|pair| quoted(&String::from_iter(pair))));
        } else {
            found.extend(quoted(run).map(|term| term + star));
        }
        rest = next;
    }
    found
}

fn literal(word: &str) -> Option<String> {
    let quotes =
        |c: char| matches!(c, '`' | '\'' | '(' | ')' | ',' | ';' | '?' | '!' | '“' | '”' | '*');
    let word = word.trim_matches(quotes);
    // A full stop or colon may end a sentence; punctuation alone is kept.
    let word =
        if word.contains(char::is_alphanumeric) { word.trim_end_matches(['.', ':']) } else { word };
    let has_signs = word.contains(|c: char| c.is_ascii_punctuation());
    (has_signs && word.chars().count() > 1).then(|| word.to_lowercase())
}

fn is_stop_word(word: &str) -> bool {
    const STOP: &[&str] = &[
        "a", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "could", "did",
        "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is",
        "it", "its", "me", "must", "my", "no", "not", "of", "on", "or", "our", "shall", "should",
        "so", "some", "than", "that", "the", "their", "them", "then", "there", "they", "this",
        "to", "us", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will",
        "with", "would", "you", "your", "about", "get", "let", "may", "need", "use", "used",
        "using", "и", "в", "во", "на", "не", "что", "как", "для", "по", "из", "от", "с", "со", "к",
        "у", "о", "об", "мы", "это", "при", "за", "или", "ли", "где", "когда", "чем", "какой",
        "какая", "какие", "почему", "зачем", "нам", "наш", "нужно", "надо",
    ];
    STOP.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Query {
        Query::parse(text, &Synonyms::built_in())
    }

    #[test]
    fn operators_of_the_database_are_plain_words() {
        let query = parse("NEAR(a b) OR \"x y\" col:z ^ -- ; DROP*");
        assert_eq!(query.phrases, ["\"x y\""]);
        assert!(query.words.contains(&"\"DROP*\"*".to_owned()), "{query:?}");
        assert!(parse("").is_empty() && parse("\"\" * ?").is_empty());
    }

    #[test]
    fn words_that_say_nothing_go_unless_alone() {
        assert_eq!(parse("how do we run the tests").words.len(), 2);
        assert_eq!(parse("the").words.len(), 1);
    }

    #[test]
    fn signs_are_kept() {
        let literals = |text: &str| parse(text).literals;
        assert_eq!(literals("what is VITE_ for?"), ["vite_"]);
        assert_eq!(literals("npm ci --ignore-scripts"), ["--ignore-scripts"]);
        assert_eq!(literals("`planner::solve`, /readyz"), ["planner::solve", "/readyz"]);
        assert_eq!(literals("picking.route.timeout_ms."), ["picking.route.timeout_ms"]);
        assert_eq!(literals("::"), ["::"]);
        assert_eq!(literals("why is it? (really)"), Vec::<String>::new());
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        let pairs = ["\"の  検\"", "\"検  索\""];
        assert_eq!(parse("SQLiteの検索").words, [&["\"SQLite\""][..], &pairs].concat());
    }
}
