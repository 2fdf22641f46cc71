//! `@path` in an instruction file: another file, read as a part of it.

/// The paths that `text` imports, as they are written. Not in code spans, nor in fenced code.
pub fn imports(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let inner = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| inner.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => of_line(line, &mut found),
        }
    }
    found
}

fn of_line<'t>(line: &'t str, found: &mut Vec<&'t str>) {
    let mut in_code = false;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == '`' {
            in_code = !in_code;
        }
        if c == '@'
            && !in_code
            && (before.is_whitespace() || matches!(before, '(' | '[' | '*' | '"'))
        {
            let rest = &line[at + 1..];
            let end = rest
                .find(|c: char| {
                    c.is_whitespace() || matches!(c, '`' | ')' | ']' | '"' | '*' | ',' | ';')
                })
                .unwrap_or(rest.len());
            let path = rest[..end].trim_end_matches(['.', ':', '!', '?']);
            // A name without a dot or slash is a person or a decorator.
            if path.contains(['.', '/']) && !path.starts_with(['.', '/'])
                || path.starts_with("./")
                || path.starts_with("../")
            {
                found.push(path);
            }
        }
        before = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_paths_outside_of_code() {
        let text = "See @README.md and @docs/git.md.\n- *style*: @./style.md\n(@../a/b.md)\n@sub/x\n\
                    `@types/node` a@b.org @someone\n```\n@not/this.md\n```\n@last.md";
        assert_eq!(
            imports(text),
            ["README.md", "docs/git.md", "./style.md", "../a/b.md", "sub/x", "last.md"]
        );
    }
}
