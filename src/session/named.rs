//! Whether the text of a shell command names a file. Pure.

/// Whether `command` names the file `path`: by its last name, as a word of its own, also where its characters are
/// escaped.
pub fn names(command: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !name.is_empty()
        && (has(command, name) || command.contains('\\') && has(&unescaped(command), name))
}

fn has(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.chars().next_back().is_some_and(is_part) && !after.starts_with(is_part)
    })
}

/// `command` without the backslashes before what is no letter and no digit, and with `'\''` as the one quote that
/// it is.
fn unescaped(command: &str) -> String {
    let command = command.replace("'\\''", "'");
    let mut chars = command.chars().peekable();
    let mut out = String::with_capacity(command.len());
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && !next.is_alphanumeric() => {
                out.extend(chars.next());
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_a_file_by_its_last_name_as_a_word() {
        for command in
            ["echo x >b.txt", "sed -i s/a/b/ ./src/b.txt", "cp a 'b.txt'", "x>/r/src/b.txt;"]
        {
            assert!(names(command, "src/b.txt"), "{command}");
        }
        for command in
            ["make", "echo x >ab.txt", "cat b.txt.bak", "cat b-txt", "prettier --write ."]
        {
            assert!(!names(command, "src/b.txt"), "{command}");
        }
    }

    #[test]
    fn a_name_may_be_escaped_for_the_shell() {
        for (command, path) in [
            ("echo x >>my\\ file.txt", "my file.txt"),
            ("echo x >>a\\ b/my\\ file.txt", "a b/my file.txt"),
            ("echo x >>page\\(1\\).ts", "page(1).ts"),
            ("echo x >>\\[id\\].tsx", "[id].tsx"),
            ("echo x >>it\\'s.txt", "it's.txt"),
            ("echo x >>'it'\\''s.txt'", "it's.txt"),
            ("echo x >>\"\\$x.ts\"", "$x.ts"),
            ("printf 'a\\nb' >b.txt", "b.txt"),
        ] {
            assert!(names(command, path), "{command}");
        }
        assert!(!names("echo x >>my\\ file.txt.bak", "my file.txt"));
    }
}
