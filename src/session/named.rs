//! Whether the text of a shell command names a file. Pure.

/// Whether `command` names the file `path` of the work tree at `top`: by its last name, as a word of its own, also
/// where its characters are escaped. What stands before that name in the word is to lead to the file, as far as it
/// can be read; or the command names the directory of the file, as `mv` and `cp` are told where to.
pub fn names(command: &str, path: &str, top: &str) -> bool {
    let unescaped = command.contains('\\').then(|| unescaped(command));
    let texts = || [Some(command), unescaped.as_deref()].into_iter().flatten();
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.is_empty() || !texts().any(|text| words(text, name, false).next().is_some()) {
        return false;
    }
    let has = |text: &str, (path, name): (&str, &str), is_directory: bool| {
        words(text, name, is_directory).any(|at| leads(&text[..at], path, top))
    };
    let inner = directory.rsplit('/').next().unwrap_or_default();
    let has_directory = |text: &str| !inner.is_empty() && has(text, (directory, inner), true);
    texts().any(|text| has(text, (path, name), false) || has_directory(text) || is_here(text, top))
}

/// Whether `text` brings files to where it is, or above, to the top, or to a place that only the shell knows:
/// `mv src/a.txt .`
fn is_here(text: &str, top: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || ";&|()'\"=".contains(c);
    let moves = |word: &str| ["mv", "cp", "ln", "install", "rsync"].contains(&word);
    let is_dots = |word: &str| {
        word.starts_with('.') && word.split('/').all(|part| ["", ".", ".."].contains(&part))
    };
    let is_place = |word: &str| {
        is_dots(word)
            || word.starts_with(['$', '~'])
            || word.trim_end_matches('/') == top.trim_end_matches('/')
    };
    let words = || text.split(is_end).filter(|word| !word.is_empty());
    words().any(moves) && words().any(is_place)
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "_-.".contains(c)
}

/// Where `name` is a word of `text`, or the end of one. A directory is followed by nothing that is in it.
fn words<'a>(text: &'a str, name: &'a str, is_directory: bool) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let (before, after) = (&text[..*at], &text[at + name.len()..]);
        let inner = after.strip_prefix('/').filter(|_| is_directory).unwrap_or(after);
        !before.ends_with(is_part) && !after.starts_with(is_part) && !inner.starts_with(is_part)
    })
}

/// Whether a word that ends in the last name of `path`, behind `text`, may be that file or directory.
fn leads(text: &str, path: &str, top: &str) -> bool {
    let own = path.split('/').rev().skip(1).map(|name| (name, true));
    let above = top.split('/').rev().filter(|name| !name.is_empty()).map(|name| (name, false));
    let mut rest = text;
    for (directory, is_own) in own.chain(above) {
        rest = without_dots(rest);
        let Some(before) = rest.strip_suffix('/') else { return true };
        match before.strip_suffix(directory) {
            Some(before) if !before.ends_with(is_part) => rest = before,
            _ => return may_be(before, is_own, top),
        }
    }
    true
}

/// `text`, which may end in a slash, with one slash for `//` and `/./`, and none for `./`.
fn without_dots(mut text: &str) -> &str {
    loop {
        let Some(before) = text.strip_suffix('/') else { return text };
        text = match before.strip_suffix('.') {
            Some(before) if before.ends_with('/') || !before.ends_with(is_part) => before,
            _ if before.ends_with('/') => before,
            _ => return text,
        };
    }
}

/// Whether what `text` ends in, which is not the name of the directory that it would have to be, may be it all the
/// same: it is no plain name, or leads to the work tree by another way than `top`.
fn may_be(text: &str, is_own: bool, top: &str) -> bool {
    let is_plain = |c: char| is_part(c) || "@+".contains(c);
    let is_bound = |c: char| c.is_whitespace() || "'\"`=<>|;&(,:".contains(c);
    let before = text.trim_end_matches(is_plain);
    let name = &text[before.len()..];
    let is_first = !before.ends_with('/');
    let is_read =
        is_first && before.chars().next_back().is_none_or(is_bound) || before.ends_with('/');
    if name.is_empty() || name == ".." || name.starts_with('-') || !is_read {
        return true;
    }
    if is_own {
        return false;
    }
    // The directories above the work tree may have other names, and a patch has one before each path.
    let word = &text[text.rfind(is_bound).map_or(0, |at| at + 1)..];
    let is_in_patch = || before.ends_with("--- ") || before.ends_with("+++ ");
    match word.starts_with(['/', '~', '$']) {
        true => !word.starts_with(&format!("{}/", top.trim_end_matches('/'))),
        false => is_first && is_in_patch(),
    }
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

    const TOP: &str = "/home/me/code";

    #[test]
    fn a_command_names_a_file_by_its_last_name_as_a_word() {
        for command in
            ["echo x >b.txt", "sed -i s/a/b/ ./src/b.txt", "cp a 'b.txt'", "x>/r/src/b.txt;"]
        {
            assert!(names(command, "src/b.txt", TOP), "{command}");
        }
        for command in
            ["make", "echo x >ab.txt", "cat b.txt.bak", "cat b-txt", "prettier --write ."]
        {
            assert!(!names(command, "src/b.txt", TOP), "{command}");
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
            assert!(names(command, path, TOP), "{command}");
        }
        assert!(!names("echo x >>my\\ file.txt.bak", "my file.txt", TOP));
    }

    #[test]
    fn directories_before_the_name_are_to_lead_to_the_file() {
        for (command, path) in [
            ("tsc src/index.ts", "src/index.ts"),
            ("tsc src/index.ts", "lib/src/index.ts"),
            ("tsc ./src//./index.ts", "src/index.ts"),
            ("cd src; tsc ./index.ts", "src/index.ts"),
            ("tsc /home/me/code/src/index.ts", "src/index.ts"),
            ("tsc /mnt/code/src/index.ts", "src/index.ts"),
            ("cd ..; tsc code/index.ts", "index.ts"),
            ("tsc ../lib/index.ts", "lib/index.ts"),
            ("cd lib; tsc a/../index.ts", "lib/index.ts"),
            ("tsc */index.ts", "lib/index.ts"),
            ("tsc $D/index.ts", "lib/index.ts"),
            ("tsc ${D}/index.ts", "lib/index.ts"),
            ("tsc $(pwd)/index.ts", "lib/index.ts"),
            ("tsc $PWD/lib/index.ts", "lib/index.ts"),
            ("tsc ~/other/lib/index.ts", "lib/index.ts"),
            ("tsc {src,lib}/index.ts", "lib/index.ts"),
            ("tsc 'my lib/index.ts'", "my lib/index.ts"),
            ("tsc my\\ lib/index.ts", "my lib/index.ts"),
            ("tsc \"my lib\"/index.ts", "my lib/index.ts"),
            ("cc --out=lib/index.ts", "lib/index.ts"),
            ("cc -olib/index.ts", "lib/index.ts"),
            ("git show HEAD:lib/index.ts", "lib/index.ts"),
            ("tsc src/index.ts lib/index.ts", "lib/index.ts"),
            ("mv src/index.ts lib", "lib/index.ts"),
            ("mv src/index.ts x/lib/", "x/lib/index.ts"),
            ("mv src/index.ts .", "index.ts"),
            ("mv src/index.ts /home/me/code/", "index.ts"),
            ("mv src/index.ts \"$D\"", "lib/index.ts"),
            ("mv src/index.ts ../lib/", "lib/index.ts"),
            ("cd lib; curl -O https://example.com/x/index.ts", "lib/index.ts"),
            ("curl -O https://example.com/x/index.ts", "index.ts"),
            ("cd lib && cp ../src/index.ts ./", "lib/index.ts"),
            ("git apply <<E\n--- a/index.ts\n+++ b/index.ts\nE", "index.ts"),
            ("echo x >lib/index.ts/y", "lib/index.ts"),
            ("patch -p1 <<E\n--- x-1/lib/index.ts\n", "lib/index.ts"),
        ] {
            assert!(names(command, path, TOP), "{command}: {path}");
        }
        for (command, path) in [
            ("tsc src/index.ts", "lib/index.ts"),
            ("tsc src/index.ts", "index.ts"),
            ("tsc ./src/index.ts", "index.ts"),
            ("tsc src/index.ts", "mysrc/index.ts"),
            ("tsc /home/me/code/src/index.ts", "lib/index.ts"),
            ("tsc /home/me/code/src/index.ts", "index.ts"),
            ("tsc $D/src/index.ts", "lib/index.ts"),
            ("tsc ../src/index.ts", "lib/index.ts"),
            ("tsc x/src/index.ts; cat .", "src/index.ts"),
            ("mv src/index.ts lib", "other/index.ts"),
        ] {
            assert!(!names(command, path, TOP), "{command}: {path}");
        }
    }
}
