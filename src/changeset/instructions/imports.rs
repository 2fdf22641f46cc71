//! `@path` in an instruction file: another file that is part of it.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// As written, without backslashes before spaces.
    pub path: String,
    /// True without dot or slash: a person or decorator, unless such a file exists.
    pub is_bare: bool,
}

/// Ignores code spans and fenced code.
pub fn imports(text: &str) -> Vec<Import> {
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

fn of_line(line: &str, found: &mut Vec<Import>) {
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
            let written = written(&line[at + 1..]);
            let path = written.trim_end_matches(['.', ':', '!', '?']);
            if !path.is_empty() && !path.starts_with('/') {
                let is_bare = !path.contains(['.', '/']);
                found.push(Import { path: path.to_owned(), is_bare });
            }
        }
        before = c;
    }
}

/// A backslash keeps a space in the path.
fn written(rest: &str) -> String {
    let mut path = String::new();
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&' ') => path.extend(chars.next()),
            '`' | ')' | ']' | '"' | '*' | ',' | ';' => break,
            c if c.is_whitespace() => break,
            c => path.push(c),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_paths_outside_of_code() {
        let text = "See @README.md and @docs/git.md.\n- *style*: @./style.md\n(@../a/b.md)\n@sub/x\n\
                    `@types/node` a@b.org @/etc/x\n```\n@not/this.md\n```\n@.ai/rules.md @.rules\n\
                    @docs/my\\ rules.md, @... @last.md";
        let found: Vec<_> = imports(text).into_iter().map(|import| import.path).collect();
        assert_eq!(
            found,
            [
                "README.md", "docs/git.md", "./style.md", "../a/b.md", "sub/x", ".ai/rules.md",
                ".rules", "docs/my rules.md", "last.md"
            ]
        );
    }

    #[test]
    fn a_bare_name_may_be_a_person() {
        let found = imports("@someone, @RULES. and @sub/x");
        let found: Vec<_> = found.iter().map(|it| (it.path.as_str(), it.is_bare)).collect();
        assert_eq!(found, [("someone", true), ("RULES", true), ("sub/x", false)]);
    }
}
