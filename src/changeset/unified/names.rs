//! File names in patch headers: quoting, `-p` stripping, time stamps.

use bstr::{BStr, ByteSlice as _};

/// Longest header line that can name files: two quoted names of [`super::super::path::MAX_LEN`].
pub const MAX_HEADER: usize = 2 * 4 * super::super::path::MAX_LEN + 64;

/// Takes the first `strip` components off; `None` if there are not that many. Repeated slashes
/// count as one, but not where they begin what is left: `b//etc/x` is the prefix `b/` before an
/// absolute path, which git would make a relative one.
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

/// A name that is C-quoted if it starts with `"`; returns it and what follows the closing quote.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    if !text.starts_with(b"\"") {
        return None;
    }
    let (name, used) = gix::quote::ansi_c::undo(BStr::new(text)).ok()?;
    Some((name.into_owned().into(), text.get(used..)?))
}

/// The name of a `rename from …` and the like: the whole line, unless quoted.
pub fn whole(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > MAX_HEADER {
        return None;
    }
    if text.starts_with(b"\"") {
        return quoted(text).map(|(name, _)| name);
    }
    Some(text.to_vec())
}

/// What a `---` or `+++` line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// `/dev/null`.
    Nothing,
    /// A name, not stripped yet, with a remark or a time stamp that says the file did not exist.
    Absent(Vec<u8>),
    /// A name, not stripped yet.
    Name(Vec<u8>),
}

/// What stands in the place of a file that is not there: on Windows too, and after something that
/// turned every slash into a backslash.
const NOTHING: [&[u8]; 3] = [b"/dev/null", b"NUL", b"\\dev\\null"];

/// Reads what follows `--- ` or `+++ `: the name ends at a TAB, or before a time stamp.
/// `stamps` tells whether a time stamp at the epoch means "not there", as in GNU diff's output.
pub fn side(text: &[u8], stamps: bool) -> Option<Side> {
    if text.len() > MAX_HEADER {
        return None;
    }
    let (name, rest) = match text.starts_with(b"\"") {
        true => quoted(text)?,
        false => {
            let end = text.find_byte(b'\t').or_else(|| stamp_start(text)).unwrap_or(text.len());
            (text[..end].trim_end_with(|c| c == '\r').to_vec(), &text[end..])
        }
    };
    if NOTHING.contains(&name.trim_end()) {
        return Some(Side::Nothing);
    }
    // What Subversion writes in the place of a revision.
    let absent = rest.trim() == b"(nonexistent)" || is_epoch(rest.trim());
    let side = if stamps && absent { Side::Absent } else { Side::Name };
    (!name.is_empty()).then(|| side(name))
}

/// Where a time stamp that follows the name after blanks begins, blanks included.
fn stamp_start(text: &[u8]) -> Option<usize> {
    let trimmed = text.trim_ascii_end();
    // `2026-11-22 01:55:54 +0000`, perhaps with a fraction of up to nine digits.
    (25..=35).filter_map(|len| trimmed.len().checked_sub(len)).find_map(|at| {
        let stamp = Stamp::read(&trimmed[at..])?;
        let _ = stamp;
        let name = trimmed[..at].trim_ascii_end();
        (name.len() < at).then_some(name.len())
    })
}

fn is_epoch(text: &[u8]) -> bool {
    Stamp::read(text).is_some_and(|stamp| stamp.is_epoch())
}

struct Stamp {
    day: i64,
    minutes: i64,
    seconds: bool,
    zone: i64,
}

impl Stamp {
    /// `YYYY-MM-DD HH:MM:SS[.fraction] +HHMM` (or `+HH:MM`), which must be all there is.
    fn read(text: &[u8]) -> Option<Self> {
        let number = |from: usize, len: usize| -> Option<i64> {
            let digits = text.get(from..from + len)?;
            digits
                .iter()
                .try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
        };
        let is = |at: usize, byte: u8| text.get(at) == Some(&byte);
        if !(is(4, b'-') && is(7, b'-') && is(10, b' ') && is(13, b':') && is(16, b':')) {
            return None;
        }
        let day = match (number(0, 4)?, number(5, 2)?, number(8, 2)?) {
            (1969, 12, 31) => -1,
            (1970, 1, 1) => 0,
            _ => i64::MAX,
        };
        let mut seconds = number(17, 2)? != 0;
        let mut at = 19;
        if is(at, b'.') {
            let fraction = text[at + 1..].iter().take_while(|b| b.is_ascii_digit());
            at += 1 + fraction.clone().count();
            seconds |= fraction.clone().any(|b| *b != b'0');
        }
        let sign = match (is(at, b' '), text.get(at + 1)) {
            (true, Some(b'+')) => 1,
            (true, Some(b'-')) => -1,
            _ => return None,
        };
        let colon = usize::from(is(at + 4, b':'));
        let zone = number(at + 2, 2)? * 60 + number(at + 4 + colon, 2)?;
        (text.len() == at + 6 + colon).then_some(Self {
            day,
            minutes: number(11, 2)? * 60 + number(14, 2)?,
            seconds,
            zone: sign * zone,
        })
    }

    fn is_epoch(&self) -> bool {
        self.day != i64::MAX && !self.seconds && self.day * 24 * 60 + self.minutes - self.zone == 0
    }
}

/// The one name of a `diff --git` line, for changes that have no other: both names must be the
/// same once `strip_count` components are off.
pub fn common(text: &[u8], strip_count: usize) -> Option<Vec<u8>> {
    pairs(text).into_iter().find_map(|(old, new)| {
        let old = strip(&old, strip_count)?;
        (Some(old) == strip(&new, strip_count)).then(|| old.to_vec())
    })
}

/// Every way to split what follows `diff --git ` into two names.
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
    // `a/x b/x`: the lengths differ by at most the prefixes, so only splits near the middle count.
    let near = |at: usize| at.abs_diff(text.len() - at) <= 64;
    text.find_iter(b" ")
        .filter(|at| near(*at))
        .map(|at| (text[..at].to_vec(), text[at + 1..].to_vec()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<Side> {
        Some(Side::Name(text.into()))
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
    fn names_end_at_a_tab_or_a_time_stamp() {
        assert_eq!(side(b"a/with space\t", false), name("a/with space"));
        assert_eq!(side(b"a/x\t2026-11-22 01:55:54.123456789 +0100", true), name("a/x"));
        assert_eq!(side(b"a/x 2026-11-22 01:55:54 +0100", true), name("a/x"));
        assert_eq!(side(b"\"a/t\\ta\\303\\274b\"", false), name("a/t\taüb"));
        assert_eq!(side(b"a/x\r", false), name("a/x"));
    }

    #[test]
    fn the_epoch_in_any_zone_means_that_the_file_was_not_there() {
        for stamp in [
            "1970-01-01 00:00:00.000000000 +0000",
            "1970-01-01 01:00:00 +0100",
            "1969-12-31 19:00:00.000000000 -0500",
            "1969-12-31 19:00:00 -05:00",
        ] {
            assert_eq!(
                side(format!("x\t{stamp}").as_bytes(), true),
                Some(Side::Absent("x".into())),
                "{stamp}"
            );
        }
        assert_eq!(side(b"x\t1970-01-01 00:00:01 +0000", true), name("x"));
        assert_eq!(side(b"/dev/null", false), Some(Side::Nothing));
        assert_eq!(side(b"/dev/null \r", false), Some(Side::Nothing));
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
