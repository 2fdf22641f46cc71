//! Mail as it travels: patches in a text that is encoded are not what they look like.
//! The encodings are those of RFC 2045, section 6.

use bstr::ByteSlice as _;

use super::parse::{Cursor, invalid};
use crate::error::Result;

/// Lines of base64 are shorter only at the end.
const LINE: usize = 60;

/// Headers that are looked at below the one about the encoding.
const HEADERS: usize = 30;

/// What the headers seen last say of the text below them.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// It is no text: a signature, a picture.
    attached: bool,
    /// It is what a commit says of itself.
    message: bool,
}

impl Part {
    /// Looks at the line of prose the cursor is on.
    ///
    /// # Errors
    /// `patch_invalid` for a header that says how the text below it is encoded, if it is: a mail
    /// program may have decoded it and left the header.
    pub fn look(&mut self, line: &[u8], cursor: &Cursor<'_>) -> Result<()> {
        if line.starts_with(b"From ") {
            (self.attached, self.message) = (false, starts_mail(line));
        } else if starts_changeset(line, cursor.below().peek().unwrap_or_default()) {
            self.message = true;
        } else if line.trim_end() == b"---" {
            self.end_message();
        } else if let Some(kind) = field(line, b"content-type:") {
            self.attached = is_attached(kind);
        } else if let Some(encoding) = field(line, b"content-transfer-encoding:") {
            let text = Text::below(cursor);
            let attached = text.kind.map_or(self.attached, is_attached);
            let encoded = (encoding.eq_ignore_ascii_case(b"quoted-printable")
                && text.is_quoted_printable())
                || (encoding.eq_ignore_ascii_case(b"base64") && !attached && text.is_base64());
            if encoded {
                let encoding = encoding.to_ascii_lowercase();
                return Err(invalid(
                    cursor.number(),
                    format!("the text of this mail is in {}", encoding.as_bstr()),
                )
                .hint("let git decode it: `git mailinfo MESSAGE PATCH <MAIL`"));
            }
        }
        Ok(())
    }

    /// Is the line looked at last in the message of a mail: between its first line and the patch,
    /// or the `---` above it? What stands there may look like anything.
    pub fn is_message(&self) -> bool {
        self.message
    }

    /// What follows is no message.
    pub fn end_message(&mut self) {
        self.message = false;
    }
}

/// Is `line`, with `next` below it, the first of a mail or of a commit in a log, so that what
/// follows builds on what came before?
pub(in crate::changeset) fn starts_commit(line: &[u8], next: &[u8]) -> bool {
    let Some(id) = line.strip_prefix(b"commit ") else {
        return starts_mail(line) || starts_changeset(line, next) || is_oneline(line, next);
    };
    // `git log --boundary`, `--left-right` and the like put a sign before the id.
    let id = if id.get(1) == Some(&b' ') { &id[2..] } else { id };
    let digits = id.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let ends = id.get(digits).is_none_or(u8::is_ascii_whitespace);
    let fields = [&b"Author: "[..], b"Merge: ", b"Reflog: ", b"tree "];
    let headed = || fields.iter().any(|field| next.starts_with(field));
    ends && (matches!(digits, 40 | 64) || (digits >= 4 && headed()))
}

/// How `git log --oneline`, `--format=%H` and `git diff-tree --stdin` begin a commit.
fn is_oneline(line: &[u8], next: &[u8]) -> bool {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    line.get(digits).is_none_or(u8::is_ascii_whitespace)
        && (matches!(digits, 40 | 64) || (digits >= 7 && next.starts_with(b"diff --git ")))
}

/// How `hg export` and `hg log --patch` begin a commit.
fn starts_changeset(line: &[u8], next: &[u8]) -> bool {
    let fields = [&b"branch:"[..], b"bookmark:", b"tag:", b"parent:", b"phase:", b"user:"];
    line.trim_end() == b"# HG changeset patch"
        || (line.starts_with(b"changeset: ") && fields.iter().any(|field| next.starts_with(field)))
}

/// `From 1234… Mon Sep 17 00:00:00 2001`: the line of a mailbox that a mail starts with. Whoever
/// sent it may stand there too.
fn starts_mail(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let words: Vec<_> = rest.fields().collect();
    let is_id =
        |word: &[u8]| matches!(word.len(), 40 | 64) && word.iter().all(u8::is_ascii_hexdigit);
    let is_time = |word: &[u8]| word.iter().filter(|b| **b == b':').count() == 2;
    let is_year = |word: &[u8]| word.len() == 4 && word.iter().all(u8::is_ascii_digit);
    words.first().is_some_and(|word| is_id(word))
        || matches!(words.as_slice(), [.., time, year] if is_time(time) && is_year(year))
}

/// The value of the header `name`, which is in lower case.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then(|| value.trim())
}

fn is_attached(kind: &[u8]) -> bool {
    !kind.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"text/"))
}

/// What follows a header.
struct Text<'a> {
    /// The `Content-Type` in the headers between.
    kind: Option<&'a [u8]>,
    /// Where the text starts.
    cursor: Cursor<'a>,
}

impl<'a> Text<'a> {
    fn below(cursor: &Cursor<'a>) -> Self {
        let (mut cursor, mut kind) = (cursor.clone(), None);
        for _ in 0..HEADERS {
            let Some(line) = cursor.next().filter(|line| !line.trim().is_empty()) else { break };
            kind = field(line, b"content-type:").or(kind);
        }
        Self { kind, cursor }
    }

    /// Up to the next part or mail.
    fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut cursor = self.cursor.clone();
        std::iter::from_fn(move || cursor.next()).take_while(|line| {
            !line.starts_with(b"From ") && field(line, b"content-transfer-encoding:").is_none()
        })
    }

    /// Every `=` in such a text starts an escape or ends a line.
    fn is_quoted_printable(&self) -> bool {
        let mut escapes = self.lines().flat_map(|line| {
            let line = line.trim_end();
            line.find_iter(b"=").map(move |at| match &line[at + 1..] {
                [] => true,
                [high, low, ..] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
                _ => false,
            })
        });
        escapes.next().is_some_and(|first| first && escapes.all(|escape| escape))
    }

    fn is_base64(&self) -> bool {
        let first = self.lines().map(<[u8]>::trim).find(|line| !line.is_empty());
        first.is_some_and(|line| {
            let is_digit = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
            line.len() >= LINE && line.iter().all(is_digit)
        })
    }
}
