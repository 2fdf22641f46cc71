//! From text to the tokens that are indexed and asked for: the same for both.
//!
//! - Latin and Cyrillic words: lower case, without diacritics, stemmed by Snowball (English and
//!   Russian), identifiers whole and in parts (`fetchContext` also as `fetch context`).
//! - Scripts without spaces: overlapping pairs of characters.

use rust_stemmers::{Algorithm, Stemmer};

use crate::memory::similar::is_unspaced;

/// The tokens of `text`, in order.
pub fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for_each_word(text, |word| word_tokens(word, &mut out));
    out
}

/// Tokens joined by blanks, as they are put into the index.
pub fn stream(text: &str) -> String {
    tokens(text).join(" ")
}

/// Calls `each` with every run of letters, digits and `_`.
fn for_each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut start = None;
    for (i, c) in text.char_indices() {
        if c.is_alphanumeric() || c == '_' || (start.is_some() && is_combining(c)) {
            start.get_or_insert(i);
        } else if let Some(from) = start.take() {
            each(&text[from..i]);
        }
    }
    if let Some(from) = start {
        each(&text[from..]);
    }
}

fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

fn word_tokens(word: &str, out: &mut Vec<String>) {
    // A word may mix scripts without spaces with others (`SQLiteの`): split at the border.
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let end = rest.find(|c| is_unspaced(c) != unspaced).unwrap_or(rest.len());
        let (run, next) = rest.split_at(end);
        if unspaced {
            pairs(run, out);
        } else {
            spaced(run, out);
        }
        rest = next;
    }
}

fn pairs(run: &str, out: &mut Vec<String>) {
    let chars: Vec<char> = run.chars().flat_map(char::to_lowercase).collect();
    if chars.len() == 1 {
        out.push(chars[0].to_string());
    }
    out.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
}

fn spaced(run: &str, out: &mut Vec<String>) {
    let parts = identifier_parts(run);
    if parts.len() > 1 {
        let whole: String = run.chars().filter(|c| *c != '_').collect();
        out.push(stem(&fold(&whole)));
    }
    out.extend(parts.into_iter().map(|part| stem(&fold(part))));
}

/// `fetchContext`, `fetch_context`, `HTTPServer2` in parts.
fn identifier_parts(run: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in run.split('_').filter(|piece| !piece.is_empty()) {
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for i in 1..chars.len() {
            let (before, here) = (chars[i - 1].1, chars[i].1);
            let next_lower = chars.get(i + 1).is_some_and(|(_, c)| c.is_lowercase());
            let border = (before.is_lowercase() && here.is_uppercase())
                || (before.is_uppercase() && here.is_uppercase() && next_lower && i - start > 1);
            if border {
                parts.push(&piece[start_byte(&chars, start)..chars[i].0]);
                start = i;
            }
        }
        parts.push(&piece[start_byte(&chars, start)..]);
    }
    parts
}

fn start_byte(chars: &[(usize, char)], i: usize) -> usize {
    chars.get(i).map_or(0, |(at, _)| *at)
}

/// Lower case without the diacritics of Latin and Cyrillic.
fn fold(word: &str) -> String {
    word.chars()
        .flat_map(char::to_lowercase)
        .filter(|c| !is_combining(*c))
        .map(|c| match c {
            'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => 'a',
            'ç' | 'ć' | 'č' => 'c',
            'ď' => 'd',
            'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ė' | 'ę' | 'ě' => 'e',
            'ğ' => 'g',
            'ì' | 'í' | 'î' | 'ï' | 'ī' | 'į' | 'ı' => 'i',
            'ł' => 'l',
            'ñ' | 'ń' | 'ň' => 'n',
            'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' | 'ő' => 'o',
            'ř' => 'r',
            'ś' | 'š' | 'ş' => 's',
            'ť' | 'ţ' => 't',
            'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' => 'u',
            'ý' | 'ÿ' => 'y',
            'ź' | 'ż' | 'ž' => 'z',
            'ё' => 'е',
            other => other,
        })
        .collect()
}

/// The stem of a word in lower case, by Snowball: of an English word, and of a Russian one. Others
/// stay as they are.
pub fn stem(word: &str) -> String {
    thread_local! {
        static ENGLISH: Stemmer = Stemmer::create(Algorithm::English);
        static RUSSIAN: Stemmer = Stemmer::create(Algorithm::Russian);
    }
    let stemmed = if word.chars().any(|c| ('а'..='я').contains(&c)) {
        RUSSIAN.with(|stemmer| stemmer.stem(word).into_owned())
    } else if word.len() > 2 && word.bytes().all(|b| b.is_ascii_lowercase()) {
        ENGLISH.with(|stemmer| stemmer.stem(word).into_owned())
    } else {
        return word.to_owned();
    };
    // Snowball knows `й`; texts have it with and without its breve.
    stemmed.replace('й', "и")
}

/// Words that say nothing about a topic.
pub fn is_stop_word(word: &str) -> bool {
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

    #[test]
    fn forms_of_a_word_meet() {
        for group in [
            &["cache", "caches", "cached", "caching"][..],
            &["migration", "migrations", "migrate"],
            &["policy", "policies"],
            &["run", "runs", "running"],
            &["retry", "retries", "retried"],
            &["index", "indexes"],
            &["миграция", "миграции", "миграцию", "миграций"],
            &["ошибка", "ошибки", "ошибку", "ошибкой"],
        ] {
            let stems: std::collections::BTreeSet<String> =
                group.iter().map(|w| tokens(w)[0].clone()).collect();
            assert_eq!(stems.len(), 1, "{stems:?}");
        }
        // A vowel that only some cases have (`ошибка`, `ошибок`) is no ending: a known limit.
        assert_ne!(stem("ошибок"), stem("ошибка"));
        assert_eq!(stem("status"), "status");
    }

    #[test]
    fn identifiers_are_found_whole_and_in_parts() {
        assert_eq!(tokens("fetchContext"), ["fetchcontext", "fetch", "context"]);
        assert_eq!(tokens("max_file_chars"), ["maxfilechar", "max", "file", "char"]);
        assert_eq!(tokens("HTTPServer"), ["httpserver", "http", "server"]);
        assert_eq!(tokens("src/store/lane.rs"), ["src", "store", "lane", "rs"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(tokens("数据库连接"), ["数据", "据库", "库连", "连接"]);
        assert_eq!(tokens("SQLiteの検索"), ["sqlite", "sq", "lite", "の検", "検索"]);
        assert_eq!(tokens("é É ё"), ["e", "e", "е"]);
    }
}
