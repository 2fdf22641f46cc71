//! Comments of a review: what a typed line says, and about which lines.

use super::review::Part;
use super::session::Session;
use crate::proposal::event::{Comment, CommentKind};

/// The lines, first and last, from 1, and the text behind them: `12: why`, `12-14: why`.
fn numbered(text: &str) -> Option<((u32, u32), &str)> {
    let (lines, text) = text.split_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.trim().parse::<u32>().ok();
    Some(((number(first)?, number(last)?), text))
}

/// What the text wants, and the rest of it: `?` asks, `!` suggests.
fn wanted(text: &str) -> (CommentKind, &str) {
    let text = text.trim();
    match (text.strip_prefix('?'), text.strip_prefix('!')) {
        (Some(rest), _) if !rest.trim().is_empty() => (CommentKind::Question, rest.trim()),
        (_, Some(rest)) => (CommentKind::Suggestion, rest.trim()),
        _ => (CommentKind::Plain, text),
    }
}

impl Session {
    /// What `text` says about the unit one is at: about its own line, or with `12: …` or `12-14: …`
    /// about those lines of the proposed file. With `?` in front it is a question, with `!` a
    /// suggestion, whose replacement is not known yet. `None` where it says nothing.
    pub fn comment(&self, text: &str) -> Option<Comment> {
        let file = self.review().map(|review| review.file_of(self.unit_index()));
        let count = file.map_or(0, |file| file.diff.after().len());
        let is_there =
            |(first, last): (u32, u32)| 1 <= first && first <= last && last as usize <= count;
        let named = numbered(text).filter(|(lines, _)| is_there(*lines));
        let (kind, body) = wanted(named.map_or(text, |(_, rest)| rest));
        let lines = match (named, &kind) {
            (Some((lines, _)), _) => Some(lines),
            (None, CommentKind::Suggestion) => self.changed_lines().filter(|l| is_there(*l)),
            (None, _) => self.comment_line().map(|line| (line, line)),
        };
        if body.is_empty() && kind != CommentKind::Suggestion {
            return None;
        }
        Some(Comment {
            body: body.to_owned(),
            path: file.map(|file| file.path.clone()),
            line: lines.map(|(first, _)| first),
            end_line: lines.and_then(|(first, last)| (first < last).then_some(last)),
            kind,
            ..Comment::default()
        })
    }

    /// The line that a comment on the unit one is at is about: its first added line, else the
    /// first line of what is around it. From 1; `None` where there is no text.
    pub fn comment_line(&self) -> Option<u32> {
        self.changed_lines().map(|(first, _)| first)
    }

    /// The lines of the proposed file from the first to the last that the unit one is at changes.
    fn changed_lines(&self) -> Option<(u32, u32)> {
        let review = self.review()?;
        let Part::Hunk(hunk) = &self.unit()?.part else { return None };
        // A line among conflict markers is a line of no file.
        if self.unit()?.unfit.is_some() {
            return None;
        }
        let edits = review.file_of(self.unit_index()).diff.edits().get(hunk.edits.clone())?;
        let first = edits.first()?.after.start + 1;
        let last = edits.last()?.after.end.max(first);
        u32::try_from(first).ok().zip(u32::try_from(last).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_line_says_where_and_what() {
        assert_eq!(numbered("12: why"), Some(((12, 12), " why")));
        assert_eq!(numbered("12 - 14: why"), Some(((12, 14), " why")));
        assert_eq!(numbered("see a: b"), None);
        assert_eq!(numbered("no number"), None);
        assert_eq!(wanted(" why "), (CommentKind::Plain, "why"));
        assert_eq!(wanted("? why"), (CommentKind::Question, "why"));
        assert_eq!(wanted("why?"), (CommentKind::Plain, "why?"));
        assert_eq!(wanted("?"), (CommentKind::Plain, "?"));
        assert_eq!(wanted("!"), (CommentKind::Suggestion, ""));
        assert_eq!(wanted("! shorter"), (CommentKind::Suggestion, "shorter"));
    }
}
