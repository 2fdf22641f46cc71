//! Shell patterns: `*`, `?`, `[…]`. Matching, and expansion to the files there are.

use std::path::{Path, PathBuf};

/// A pattern, character by character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Itself.
    Char(char),
    /// `?`
    Any,
    /// `*`
    Many,
    /// `[…]`: inverted, and the ranges.
    Class(bool, Vec<(char, char)>),
}

/// Compiles text in which the characters marked `true` are active.
///
/// `None` when nothing in it is active: a `[` that opens no well-formed bracket is itself.
pub(super) fn compile(text: &[(char, bool)]) -> Option<Vec<Item>> {
    let mut items = Vec::with_capacity(text.len());
    let mut active = false;
    let mut at = 0;
    while let Some((c, live)) = text.get(at).copied() {
        at += 1;
        let item = match c {
            '*' if live => Item::Many,
            '?' if live => Item::Any,
            '[' if live => match class(&text[at..]) {
                Some((item, length)) => {
                    at += length;
                    item
                }
                None => Item::Char('['),
            },
            c => Item::Char(c),
        };
        active |= !matches!(item, Item::Char(_));
        items.push(item);
    }
    active.then_some(items)
}

/// A pattern written without quoting, as in a configuration value.
pub(super) fn pattern(text: &str) -> Vec<Item> {
    let chars: Vec<(char, bool)> = text.chars().map(|c| (c, true)).collect();
    compile(&chars).unwrap_or_else(|| text.chars().map(Item::Char).collect())
}

/// A bracket expression, after its `[`, and how many characters it takes.
fn class(text: &[(char, bool)]) -> Option<(Item, usize)> {
    let mut at = 0;
    let inverted = matches!(text.first(), Some(('!' | '^', true)));
    at += usize::from(inverted);
    let mut ranges = Vec::new();
    let start = at;
    loop {
        let (c, live) = *text.get(at)?;
        at += 1;
        match c {
            ']' if live && at > start + 1 => return Some((Item::Class(inverted, ranges), at)),
            '/' => return None,
            '[' if live && matches!(text.get(at), Some((':', _))) => {
                let name: String = text[at + 1..]
                    .iter()
                    .map(|(c, _)| *c)
                    .take_while(|c| c.is_ascii_alphabetic())
                    .collect();
                let close = at + 1 + name.len();
                if text.get(close)?.0 != ':' || text.get(close + 1)?.0 != ']' {
                    return None;
                }
                ranges.extend(named(&name)?);
                at = close + 2;
            }
            '[' if live && matches!(text.get(at), Some(('.' | '=', _))) => return None,
            low => {
                let is_range = matches!(text.get(at), Some(('-', true)))
                    && text.get(at + 1).is_some_and(|(c, _)| *c != ']');
                if is_range {
                    ranges.push((low, text[at + 1].0));
                    at += 2;
                } else {
                    ranges.push((low, low));
                }
            }
        }
    }
}

fn named(name: &str) -> Option<Vec<(char, char)>> {
    Some(match name {
        "alpha" => vec![('a', 'z'), ('A', 'Z')],
        "digit" => vec![('0', '9')],
        "alnum" => vec![('a', 'z'), ('A', 'Z'), ('0', '9')],
        "upper" => vec![('A', 'Z')],
        "lower" => vec![('a', 'z')],
        "space" => vec![(' ', ' '), ('\t', '\r')],
        "blank" => vec![(' ', ' '), ('\t', '\t')],
        "punct" => vec![('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "xdigit" => vec![('0', '9'), ('a', 'f'), ('A', 'F')],
        _ => return None,
    })
}

/// True when `name` is matched as a whole. Linear in the length of both for each `*`.
pub(super) fn matches(items: &[Item], name: &str) -> bool {
    let chars: Vec<char> = name.chars().collect();
    let (mut item, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let fits = match (items.get(item), chars.get(at)) {
            (None, None) => return true,
            (Some(Item::Many), _) => {
                retry = Some((item + 1, at));
                item += 1;
                continue;
            }
            (Some(Item::Char(wanted)), Some(c)) => wanted == c,
            (Some(Item::Any), Some(_)) => true,
            (Some(Item::Class(inverted, ranges)), Some(c)) => {
                ranges.iter().any(|(low, high)| low <= c && c <= high) != *inverted
            }
            _ => false,
        };
        if fits {
            item += 1;
            at += 1;
        } else {
            match &mut retry {
                Some((back, from)) if *from < chars.len() => {
                    *from += 1;
                    (item, at) = (*back, *from);
                }
                _ => return false,
            }
        }
    }
}

/// What expansion found.
pub(super) enum Expansion {
    /// Nothing in the word is active.
    Inactive,
    /// The files, sorted by their bytes; empty if the pattern matches none.
    Files(Vec<String>),
    /// More than the limit.
    TooMany,
    /// A name that matches is not valid UTF-8.
    NotText,
}

/// Expands the word `text`, in which the characters marked `true` are active, in `cwd`.
pub(super) fn expand(text: &[(char, bool)], cwd: &Path, limit: usize) -> Expansion {
    let parts: Vec<&[(char, bool)]> = text.split(|(c, _)| *c == '/').collect();
    let compiled: Vec<Option<Vec<Item>>> = parts.iter().map(|part| compile(part)).collect();
    if compiled.iter().all(Option::is_none) {
        return Expansion::Inactive;
    }
    let absolute = parts.len() > 1 && parts[0].is_empty();
    let mut found = vec![if absolute { "/".to_owned() } else { String::new() }];
    for (index, (part, items)) in parts.iter().zip(&compiled).enumerate() {
        let last = index + 1 == parts.len();
        let text: String = part.iter().map(|(c, _)| *c).collect();
        let mut next = Vec::new();
        for base in &found {
            match items {
                None => {
                    let path = format!("{base}{text}");
                    let target: PathBuf = cwd.join(&path);
                    if !last {
                        next.push(format!("{path}/").replace("//", "/"));
                    } else if text.is_empty() || target.symlink_metadata().is_ok() {
                        next.push(path);
                    }
                }
                Some(items) => {
                    let Ok(entries) = std::fs::read_dir(cwd.join(base)) else { continue };
                    for entry in entries.flatten() {
                        let name = entry.file_name();
                        let Some(name) = name.to_str() else {
                            if matches(items, &name.to_string_lossy()) {
                                return Expansion::NotText;
                            }
                            continue;
                        };
                        let hidden =
                            name.starts_with('.') && items.first() != Some(&Item::Char('.'));
                        if hidden || !matches(items, name) {
                            continue;
                        }
                        let path = format!("{base}{name}");
                        if last {
                            next.push(path);
                        } else if cwd.join(&path).is_dir() {
                            next.push(path + "/");
                        }
                        if next.len() > limit {
                            return Expansion::TooMany;
                        }
                    }
                }
            }
        }
        if !last {
            // A fixed component may not exist; a later component then finds nothing.
            next.retain(|base| base == "/" || cwd.join(base).is_dir());
        }
        found = next;
    }
    found.sort_unstable();
    Expansion::Files(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (text, name, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "a.rsx", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[[:digit:]]*", "7up", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("[", "[", true),
            ("[a", "[a", true),
            ("", "", true),
            ("*", "", true),
            ("é?", "éa", true),
            (".env.*", ".env.local", true),
        ] {
            assert_eq!(matches(&pattern(text), name), expected, "{text} {name}");
        }
    }

    #[test]
    fn many_stars_stay_fast() {
        let items = pattern(&"*a".repeat(50));
        assert!(!matches(&items, &"a".repeat(49)));
        assert!(!matches(&items, &"b".repeat(2_000)));
    }

    #[test]
    fn expansion_is_sorted_and_leaves_hidden_files_out() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.rs", "a.rs", ".c.rs", "d.txt"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/x.rs"), "").unwrap();
        let files = |text: &str| {
            let marked: Vec<_> = text.chars().map(|c| (c, true)).collect();
            match expand(&marked, dir.path(), 100) {
                Expansion::Files(files) => files.join(" "),
                _ => "-".into(),
            }
        };
        assert_eq!(files("*.rs"), "a.rs b.rs");
        assert_eq!(files(".*.rs"), ".c.rs");
        assert_eq!(files("*/*.rs"), "sub/x.rs");
        assert_eq!(files("s*/x.rs"), "sub/x.rs");
        assert_eq!(files("sub/*"), "sub/x.rs");
        assert_eq!(files("*/"), "sub/");
        assert_eq!(files("nothing*"), "");
        assert_eq!(files("missing/*"), "");
        assert_eq!(files("plain"), "-");
    }
}
