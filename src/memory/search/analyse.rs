//! From text to the tokens that are indexed and asked for: the same for both.
//!
//! - Latin and Cyrillic words: lower case, without diacritics, light stemming (plural, verb and
//!   case endings), identifiers whole and in parts (`fetchContext` also as `fetch context`).
//! - Scripts without spaces: overlapping pairs of characters.

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
            'й' => 'и',
            other => other,
        })
        .collect()
}

/// A light stem: enough for plural, tense and case, never more than an ending.
pub fn stem(word: &str) -> String {
    if word.chars().any(|c| ('а'..='я').contains(&c)) {
        return stem_cyrillic(word);
    }
    if word.is_ascii() && word.len() > 3 && word.bytes().all(|b| b.is_ascii_lowercase()) {
        return stem_english(word);
    }
    word.to_owned()
}

fn stem_english(word: &str) -> String {
    let has_vowel = |s: &str| s.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let mut w = word.to_owned();
    if let Some(s) = w.strip_suffix("ies").filter(|s| s.len() > 2) {
        w = format!("{s}y");
    } else if let Some(s) = w.strip_suffix("sses") {
        w = format!("{s}ss");
    } else if ["xes", "ches", "shes", "zes"].iter().any(|end| w.ends_with(end)) {
        w.truncate(w.len() - 2);
    } else if w.ends_with('s') && !w.ends_with("ss") && !w.ends_with("us") && !w.ends_with("is") {
        w.pop();
    }
    for (end, put) in [
        ("ization", "ize"),
        ("isation", "ize"),
        ("ational", "ate"),
        ("fulness", "ful"),
        ("ation", "ate"),
        ("ments", ""),
        ("ment", ""),
        ("ness", ""),
        ("ally", "al"),
        ("ably", "able"),
        ("ing", ""),
        ("ed", ""),
        ("ly", ""),
    ] {
        if let Some(s) = w.strip_suffix(end).filter(|s| s.len() > 2 && has_vowel(s)) {
            w = format!("{s}{put}");
            // `running`, `stopped`: the doubled letter goes.
            let b = w.as_bytes();
            if put.is_empty()
                && b.len() > 3
                && b[b.len() - 1] == b[b.len() - 2]
                && !w.ends_with(['l', 's', 'z', 'e', 'o'])
            {
                w.pop();
            }
            break;
        }
    }
    // `cache`, `cached`, `caching` meet without the final e.
    if w.len() > 3 && w.ends_with('e') {
        w.pop();
    }
    if w.len() > 3 && w.ends_with('y') {
        w.pop();
        w.push('i');
    }
    w
}

fn stem_cyrillic(word: &str) -> String {
    const ENDINGS: [&str; 62] = [
        "иями", "ениями", "ением", "ениях", "ения", "ению", "ение", "ении", "ированный", "ироват",
        "ировать", "ться", "ется", "ются", "ится", "ится", "ами", "ями", "ого", "его", "ому",
        "ему", "ыми", "ими", "ах", "ях", "ов", "ев", "еи", "ам", "ям", "ом", "ем", "ою", "ею",
        "ыи", "ии", "ои", "ая", "яя", "ое", "ее", "ые", "ие", "ую", "юю", "ых", "их", "ым", "им",
        "ть", "ет", "ит", "ут", "ют", "ат", "ят", "а", "ы", "и", "е", "у",
    ];
    let count = word.chars().count();
    let mut best = word;
    for ending in ENDINGS.iter().chain(&["о", "я", "ю", "ь", "ия", "ию", "иеи", "ью"])
    {
        if let Some(rest) = word.strip_suffix(ending)
            && rest.chars().count() >= 3.min(count.saturating_sub(1)).max(2)
            && rest.len() < best.len()
        {
            best = rest;
        }
    }
    best.to_owned()
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

/// Other words for a word of the trade, so that a paraphrase finds it.
pub fn synonyms(word: &str) -> &'static [&'static str] {
    const GROUPS: &[&[&str]] = &[
        &["db", "database", "база"],
        &["auth", "authentication", "login", "signin"],
        &["authorization", "permission", "access"],
        &["config", "configuration", "setting", "конфигурация"],
        &["repo", "repository"],
        &["env", "environment"],
        &["dependency", "dependencies", "package", "library"],
        &["ci", "pipeline", "workflow"],
        &["test", "tests", "testing", "spec"],
        &["deploy", "deployment", "release", "rollout", "ship"],
        &["error", "failure", "exception", "crash"],
        &["retry", "retries", "backoff"],
        &["perf", "performance", "speed", "slow", "fast", "latency"],
        &["log", "logs", "logging"],
        &["delete", "remove", "drop"],
        &["k8s", "kubernetes"],
        &["pg", "postgres", "postgresql"],
        &["js", "javascript"],
        &["ts", "typescript"],
        &["ui", "frontend", "interface"],
        &["api", "endpoint"],
        &["queue", "job", "worker", "background"],
        &["secret", "credential", "password", "token"],
        &["timezone", "utc", "clock", "time"],
        &["money", "currency", "price", "amount"],
        &["picture", "image", "photo"],
        &["email", "mail"],
        &["rename", "renaming", "name", "naming"],
        &["docs", "documentation"],
        &["format", "formatter", "formatting", "style"],
        &["lint", "linter"],
        &["limit", "quota", "throttle"],
        &["encrypt", "encryption", "cipher"],
        &["migrate", "migration", "migrations"],
        &["backup", "restore", "snapshot"],
    ];
    GROUPS.iter().copied().find(|group| group.contains(&word)).unwrap_or(&[])
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
        assert_ne!(stem("class"), stem("clas"));
        assert_eq!(stem("status"), "status");
    }

    #[test]
    fn identifiers_are_found_whole_and_in_parts() {
        assert_eq!(tokens("fetchContext"), ["fetchcontext", "fetch", "context"]);
        assert_eq!(tokens("max_file_chars"), ["maxfilechar", "max", "fil", "char"]);
        assert_eq!(tokens("HTTPServer"), ["httpserver", "http", "server"]);
        assert_eq!(tokens("src/store/lane.rs"), ["src", "stor", "lan", "rs"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(tokens("数据库连接"), ["数据", "据库", "库连", "连接"]);
        assert_eq!(tokens("SQLiteの検索"), ["sqlit", "sq", "lit", "の検", "検索"]);
        assert_eq!(tokens("é É ё"), ["e", "e", "е"]);
    }
}
