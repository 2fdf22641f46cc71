//! Replaces the checkout's path in a shell command. Pure.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

impl Quote {
    /// `None` if `c` is part of a word.
    fn behind(self, c: char) -> Option<Self> {
        match (self, c) {
            (Self::None, '\'') => Some(Self::Single),
            (Self::None, '"') => Some(Self::Double),
            (Self::Single, '\'') | (Self::Double, '"') => Some(Self::None),
            _ => None,
        }
    }
}

/// A path that a text begins with.
struct PathMatch {
    /// In bytes.
    len: usize,
    /// Quote characters inside, written after the new path.
    quotes: String,
    quote: Quote,
    /// True if a backslash escapes a character.
    is_escaped: bool,
}

/// Matches `path` at the beginning of `text`, plain or as written for a shell.
fn spelled(text: &str, path: &str, mut quote: Quote) -> Option<PathMatch> {
    let (mut rest, mut quotes, mut is_escaped) = (text.chars(), String::new(), false);
    for wanted in path.chars() {
        loop {
            let c = rest.next()?;
            if let Some(behind) = quote.behind(c) {
                quotes.push(c);
                quote = behind;
                continue;
            }
            // Single quotes may hold a command for another shell.
            if c == '\\' && c != wanted && !wanted.is_alphanumeric() && rest.next()? == wanted {
                is_escaped = true;
            } else if c != wanted {
                return None;
            }
            break;
        }
    }
    Some(PathMatch { len: text.len() - rest.as_str().len(), quotes, quote, is_escaped })
}

fn is_plain(path: &str) -> bool {
    path.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    // A backslash in a path leads into a directory.
    c.is_alphanumeric() || "_-./@%+=:,\\".contains(c)
}

fn spell(path: &str, quote: Quote, is_escaped: bool) -> String {
    let is_special = |c: char| match quote {
        Quote::Double => "$`\"".contains(c),
        Quote::None => !is_plain_char(c),
        Quote::Single => is_escaped && c != '\'' && !is_plain_char(c),
    };
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '\'' if quote == Quote::Single => out += "'\\''",
            c if is_special(c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// The first number is the length of the home directory, in bytes.
fn at_home(text: &str, below: &str, quote: Quote) -> Option<(usize, PathMatch)> {
    let home = HOMES.iter().find(|home| text.starts_with(**home))?;
    Some((home.len(), spelled(&text[home.len()..], below, quote)?))
}

const HOMES: [&str; 3] = ["~", "$HOME", "${HOME}"];

/// True if `c` belongs to the same path as its neighbours.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "_-.~/".contains(c)
}

/// True if `before` ends in short options, which a path may follow directly: `make -C/src`.
fn is_option(before: &str) -> bool {
    let dash = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric());
    dash.len() < before.len()
        && dash
            .strip_suffix('-')
            .is_some_and(|outer| !outer.chars().next_back().is_some_and(is_part))
}

/// Replaces the absolute path `top` by `tree`, if `top` is a whole path or followed by a slash.
/// Plain, escaped and quoted spellings are found, and paths from the home directory, where `top` is
/// `below` (`/src/shop`). Other shell expansions are not seen.
pub fn in_command(command: &str, top: &str, tree: &str, below: Option<&str>) -> String {
    let ends = |after: &str, quote: Quote| {
        let after = after.trim_start_matches(['\'', '"']);
        let goes_on = after.starts_with('\\') && quote == Quote::None;
        after.starts_with('/') || !after.starts_with(is_part) && !goes_on
    };
    let first = top.chars().next().unwrap_or('/');
    let mut out = String::with_capacity(command.len());
    let (mut rest, mut quote) = (command, Quote::None);
    while let Some(c) = rest.chars().next() {
        if c == first && (!out.chars().next_back().is_some_and(is_part) || is_option(&out)) {
            // The trees may lie in the checkout: a path below them stays.
            if let Some(found) = spelled(rest, tree, quote) {
                out += &rest[..found.len];
                (rest, quote) = (&rest[found.len..], found.quote);
                continue;
            }
            if let Some(found) =
                spelled(rest, top, quote).filter(|found| ends(&rest[found.len..], found.quote))
            {
                // No shell would read it as this path: it is text, such as content of a file.
                let is_text = quote == Quote::None && rest.starts_with(top) && !is_plain(top);
                if is_text {
                    out += tree;
                } else {
                    out += &spell(tree, quote, found.is_escaped);
                    out += &found.quotes;
                }
                (rest, quote) = (&rest[found.len..], found.quote);
                continue;
            }
        }
        if "~$".contains(c)
            && (!out.chars().next_back().is_some_and(is_part) || c == '$' && is_option(&out))
            && let Some(below) = below
            && let Some((home, found)) = at_home(rest, below, quote)
                .filter(|(home, found)| ends(&rest[home + found.len..], found.quote))
        {
            out += &spell(tree, quote, found.is_escaped);
            out += &found.quotes;
            (rest, quote) = (&rest[home + found.len..], found.quote);
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
        if let Some(behind) = quote.behind(c) {
            quote = behind;
        } else if c == '\\'
            && quote != Quote::Single
            && let Some(next) = rest.chars().next()
            && next != first
        {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_checkouts_path_in_a_command_is_the_trees() {
        for (command, expected) in [
            ("sed -i s/a/b/ /r/a.txt", "sed -i s/a/b/ /t/a.txt"),
            ("cat \"/r/a\" >'/r';ls /r", "cat \"/t/a\" >'/t';ls /t"),
            ("ls /rest /x/r /r-2 /r.bak /r\\ 2/a", "ls /rest /x/r /r-2 /r.bak /r\\ 2/a"),
            ("printf '/r\\n'; echo it\\'s /r", "printf '/t\\n'; echo it\\'s /t"),
            ("cat <<E\nthat's /r\nE\nls /r", "cat <<E\nthat's /t\nE\nls /t"),
            ("make -C/r -I/r/b '-C/r' \"-xd/r\"", "make -C/t -I/t/b '-C/t' \"-xd/t\""),
            (
                "ls read-only/r -C/rest a-b/r --c/r -/r x-C/r",
                "ls read-only/r -C/rest a-b/r --c/r -/r x-C/r",
            ),
            ("ls", "ls"),
        ] {
            assert_eq!(in_command(command, "/r", "/t", None), expected);
        }
        // A checkout that contains the trees, such as a home directory.
        let command = "cd /r/state/t || exit\ncat /r/a";
        assert_eq!(
            in_command(command, "/r", "/r/state/t", None),
            "cd /r/state/t || exit\ncat /r/state/t/a"
        );
    }

    #[test]
    fn a_path_is_seen_as_a_shell_reads_it() {
        for (top, command, expected) in [
            ("/a b", "cat /a\\ b/c", "cat /t/c"),
            ("/a b", "cat '/a b/c' \"/a b\"/c", "cat '/t/c' \"/t\"/c"),
            ("/a b", "cat /'a b'/c /'a b/c'", "cat /t''/c /t'/c'"),
            ("/a b", "cat /'a b'c '/a b'c", "cat /'a b'c '/a b'c"),
            ("/a b", "sh -c 'cat /a\\ b/c'", "sh -c 'cat /t/c'"),
            ("/a b", "cat <<E\n/a b/c\nE", "cat <<E\n/t/c\nE"),
            ("/a b", "cat /a\\ bc /a\\ b\\ c", "cat /a\\ bc /a\\ b\\ c"),
            ("/it's", "cat '/it'\\''s/c' /it\\'s/c", "cat '/t''/c' /t/c"),
            ("/it's", "cat '/it'\"'\"'s/c' \"/it's/c\"", "cat '/t'\"\"'/c' \"/t/c\""),
            ("/a$b", "cat \"/a\\$b/c\" '/a$b/c' /a\\$b", "cat \"/t/c\" '/t/c' /t"),
            ("/a(b)&c", "cat /a\\(b\\)\\&c/d", "cat /t/d"),
        ] {
            assert_eq!(in_command(command, top, "/t", None), expected);
        }
    }

    #[test]
    fn the_trees_path_is_written_as_its_place_wants_it() {
        for (command, expected) in [
            ("cat /r/a", "cat /m\\ y\\$\\'/t/a"),
            ("cat \"/r/a\"", "cat \"/m y\\$'/t/a\""),
            ("cat '/r/a'", "cat '/m y$'\\''/t/a'"),
        ] {
            assert_eq!(in_command(command, "/r", "/m y$'/t", None), expected);
        }
        let command = "cd /a\\ b/t && cat /a\\ b/c";
        assert_eq!(in_command(command, "/a b", "/a b/t", None), "cd /a\\ b/t && cat /a\\ b/t/c");
    }

    #[test]
    fn a_path_from_the_home_directory_is_seen() {
        for (command, expected) in [
            ("cat ~/r/a >$HOME/r/b; ls ${HOME}/r", "cat /t/a >/t/b; ls /t"),
            ("cat \"$HOME/r/a\" \"${HOME}\"/r/a", "cat \"/t/a\" \"/t\"/a"),
            ("sh -c 'cd ~/r && git -C $HOME/r/ log'", "sh -c 'cd /t && git -C /t/ log'"),
            ("a=~/r b=$HOME/'r'/c", "a=/t b=/t''/c"),
            ("make -C$HOME/r -C~/r", "make -C/t -C~/r"),
            ("ls ~ ~/ ~/rest $HOME/r.bak ~x/r \\$HOME/r x~/r $HOMER/r ~/x/r", "="),
        ] {
            let expected = if expected == "=" { command } else { expected };
            assert_eq!(in_command(command, "/h/r", "/t", Some("/r")), expected);
        }
        assert_eq!(in_command("cat ~/a\\ b/c", "/h/a b", "/t", Some("/a b")), "cat /t/c");
    }

    proptest! {
        #[test]
        fn any_command_without_the_path_stays_as_it_is(command in any::<String>()) {
            prop_assert_eq!(in_command(&command, "/no where", "/t", Some("/no where")), command);
        }
    }
}
