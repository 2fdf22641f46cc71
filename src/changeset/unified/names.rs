//! Names in patch headers: quoting and `-p` stripping.

use bstr::{BStr, ByteSlice as _};

/// Longest header line with names: two quoted names of `path::MAX_LEN`.
pub const MAX_HEADER: usize = 2 * 4 * super::super::path::MAX_LEN + 64;

/// Repeated slashes count as one, except at the start of the rest: `b//etc/x` is `b/` before an
/// absolute path, which git would make relative.
pub fn strip(name: &[u8], strip: usize) -> Option<&[u8]> {
    let mut rest = name;
    for count in 0..strip {
        if count > 0 {
            rest = rest.trim_start_with(|c| c == '/');
        }
        rest = &rest[rest.find_byte(b'/')? + 1..];
    }
    (!rest.is_empty()).then_some(rest)
}

/// A C-quoted name, and the text after it.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    if !text.starts_with(b"\"") {
        return None;
    }
    let (name, used) = gix::quote::ansi_c::undo(BStr::new(text)).ok()?;
    Some((name.into_owned().into(), text.get(used..)?))
}

/// From a line such as `rename from …`: the whole line, unless quoted.
pub fn whole(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > MAX_HEADER {
        return None;
    }
    if text.starts_with(b"\"") {
        return quoted(text).map(|(name, _)| name);
    }
    Some(text.to_vec())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderName {
    /// `/dev/null`.
    Nothing,
    /// Not stripped yet.
    Name(Vec<u8>),
}

/// The name ends at a TAB.
pub fn side(text: &[u8]) -> Option<HeaderName> {
    if text.len() > MAX_HEADER {
        return None;
    }
    let name = if text.starts_with(b"\"") {
        quoted(text)?.0
    } else {
        let end = text.find_byte(b'\t').unwrap_or(text.len());
        text[..end].trim_end_with(|c| c == '\r').to_vec()
    };
    if name.trim_end() == b"/dev/null" {
        return Some(HeaderName::Nothing);
    }
    (!name.is_empty()).then_some(HeaderName::Name(name))
}

/// The single name of a `diff --git` line, for changes without another: both must be equal after
/// stripping.
pub fn common(text: &[u8], strip_count: usize) -> Option<Vec<u8>> {
    pairs(text).into_iter().find_map(|(old, new)| {
        let old = strip(&old, strip_count)?;
        (Some(old) == strip(&new, strip_count)).then(|| old.to_vec())
    })
}

/// All splits of the text after `diff --git `.
pub fn pairs(text: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    if text.len() > MAX_HEADER {
        return Vec::new();
    }
    if let Some((old, rest)) = quoted(text) {
        let rest = rest.trim_start();
        return whole(rest).map(|new| (old, new)).into_iter().collect();
    }
    if text.ends_with(b"\"") {
        return text
            .find_iter(b" \"")
            .filter_map(|at| {
                let (new, rest) = quoted(&text[at + 1..])?;
                rest.is_empty().then(|| (text[..at].to_vec(), new))
            })
            .take(1)
            .collect();
    }
    // `a/x b/x`: lengths differ at most by the prefixes, so only splits near the middle count.
    let near = |at: usize| at.abs_diff(text.len() - at) <= 64;
    text.find_iter(b" ")
        .filter(|at| near(*at))
        .map(|at| (text[..at].to_vec(), text[at + 1..].to_vec()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<HeaderName> {
        Some(HeaderName::Name(text.into()))
    }

    #[test]
    fn components_are_stripped_as_git_does() {
        assert_eq!(strip(b"a/b/c", 0), Some(&b"a/b/c"[..]));
        assert_eq!(strip(b"a/b/c", 2), Some(&b"c"[..]));
        assert_eq!(strip(b"a//b/c", 2), Some(&b"c"[..]));
        assert_eq!(strip(b"a//b", 1), Some(&b"/b"[..]));
        assert_eq!(strip(b"a", 1), None);
        assert_eq!(strip(b"a/", 1), None);
    }

    #[test]
    fn names_end_at_a_tab() {
        assert_eq!(side(b"a/with space\t"), name("a/with space"));
        assert_eq!(side(b"a/x\t2026-11-22 01:55:54.123456789 +0100"), name("a/x"));
        assert_eq!(side(b"/dev/null \r"), Some(HeaderName::Nothing));
        assert_eq!(side(b"\"a/t\\ta\\303\\274b\""), name("a/t\taüb"));
        assert_eq!(side(b"a/x\r"), name("a/x"));
    }

    #[test]
    fn a_git_line_names_a_file_only_if_both_names_agree() {
        assert_eq!(common(b"a/x y b/x y", 1).as_deref(), Some(&b"x y"[..]));
        assert_eq!(common(b"a/a b/a b/a b/a", 1).as_deref(), Some(&b"a b/a"[..]));
        assert_eq!(common(b"\"a/\\t\" \"b/\\t\"", 1).as_deref(), Some(&b"\t"[..]));
        assert_eq!(common(b"src/x src/x", 0).as_deref(), Some(&b"src/x"[..]));
        assert_eq!(common(b"a/x b/y", 1), None);
    }
}
