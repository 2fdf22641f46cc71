//! Section ids: lower-case slugs.

/// Characters.
pub const MAX: usize = 64;

/// Joins letters and digits of every script by hyphens; `section` if none remain.
pub fn slug(heading: &str) -> String {
    let mut out = String::new();
    let mut gap = false;
    for c in heading.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || (is_mark(c) && !out.is_empty() && !gap) {
            if gap && !out.is_empty() {
                out.push('-');
            }
            gap = false;
            out.push(c);
        } else {
            gap = true;
        }
    }
    let cut = truncate(&out, MAX);
    if cut.is_empty() { "section".to_owned() } else { cut.to_owned() }
}

/// Combining marks belong to the letter before them.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}' | '\u{93c}' | '\u{94d}' | '\u{3099}' | '\u{309a}')
}

fn truncate(text: &str, max: usize) -> &str {
    let end = text.char_indices().nth(max).map_or(text.len(), |(i, _)| i);
    text[..end].trim_end_matches('-')
}

/// Adds `-2`, `-3` and so on.
pub fn unique(heading: &str, taken: impl Fn(&str) -> bool) -> String {
    let base = slug(heading);
    if !taken(&base) {
        return base;
    }
    let mut n = 2u32;
    loop {
        let suffix = format!("-{n}");
        let candidate = format!("{}{suffix}", truncate(&base, MAX - suffix.len()));
        if !taken(&candidate) {
            return candidate;
        }
        n += 1;
    }
}

/// Accepts 1 to [`MAX`] letters, digits, `-`, `_` or `.`.
pub fn is_valid(id: &str) -> bool {
    !id.is_empty()
        && id.chars().count() <= MAX
        && id.chars().all(|c| c.is_alphanumeric() || is_mark(c) || matches!(c, '-' | '_' | '.'))
        && !id.contains("--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_keep_every_script() {
        assert_eq!(slug("Use **Postgres** 16!"), "use-postgres-16");
        assert_eq!(slug("Выбор базы данных"), "выбор-базы-данных");
        assert_eq!(slug("データベースの選択"), "データベースの選択");
        assert_eq!(slug("数据库 选择"), "数据库-选择");
        assert_eq!(slug("  --  "), "section");
        assert_eq!(slug(&"long word ".repeat(20)).chars().count(), 64);
    }

    #[test]
    fn collisions_get_numbers_within_the_limit() {
        let long = "x".repeat(80);
        let id = unique(&long, |id| id == "x".repeat(64));
        assert_eq!(id, format!("{}-2", "x".repeat(62)));
        assert_eq!(unique("A", |id| id == "a" || id == "a-2"), "a-3");
        assert!(is_valid(&id) && is_valid("выбор-2") && !is_valid("a b") && !is_valid("a-->"));
    }
}
