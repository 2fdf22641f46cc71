//! Parses a typed comment.

use super::review::UnitKind;
use super::session::ReviewSession;
use crate::proposal::event::{Comment, CommentKind};
use crate::text;

/// Parses `12: why` and `12-14: why`; lines count from 1.
fn numbered(text: &str) -> Option<((u32, u32), &str)> {
    let (lines, text) = text.split_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.trim().parse::<u32>().ok();
    Some(((number(first)?, number(last)?), text))
}

/// `?` asks, `!` suggests.
fn wanted(text: &str) -> (CommentKind, &str) {
    let text = text.trim();
    match (text.strip_prefix('?'), text.strip_prefix('!')) {
        (Some(rest), _) if !rest.trim().is_empty() => (CommentKind::Question, rest.trim()),
        (_, Some(rest)) => (CommentKind::Suggestion, rest.trim()),
        _ => (CommentKind::Plain, text),
    }
}

impl ReviewSession {
    /// Parses a comment on the current unit's line, or on lines of the proposed file (`12: …`,
    /// `12-14: …`). A leading `?` asks; `!` suggests, with a replacement that follows later. `None`
    /// without text.
    ///
    /// # Errors
    /// One sentence if the file has no such lines.
    pub fn comment(&self, text: &str) -> Result<Option<Comment>, String> {
        let file = self.review().map(|review| review.file_of(self.unit_index()));
        let count = file.map_or(0, |file| file.diff.after().len());
        let is_there =
            |(first, last): (u32, u32)| 1 <= first && first <= last && last as usize <= count;
        let named = numbered(text);
        if named.is_some_and(|(lines, _)| !is_there(lines)) {
            return Err(format!("the file has {}", text::counted(count, "line")));
        }
        let (kind, body) = wanted(named.map_or(text, |(_, rest)| rest));
        let lines = match (named, &kind) {
            (Some((lines, _)), _) => Some(lines),
            (None, CommentKind::Suggestion) => self.changed_lines().filter(|l| is_there(*l)),
            (None, _) => self.comment_line().map(|line| (line, line)),
        };
        if body.is_empty() && kind != CommentKind::Suggestion {
            return Ok(None);
        }
        Ok(Some(Comment {
            body: body.to_owned(),
            path: file.map(|file| file.path.clone()),
            line: lines.map(|(first, _)| first),
            end_line: lines.and_then(|(first, last)| (first < last).then_some(last)),
            kind,
            ..Comment::default()
        }))
    }

    /// The unit's first added line, else the first context line. From 1; `None` without text.
    pub fn comment_line(&self) -> Option<u32> {
        self.changed_lines().map(|(first, _)| first)
    }

    fn changed_lines(&self) -> Option<(u32, u32)> {
        let review = self.review()?;
        let UnitKind::Hunk(hunk) = &self.unit()?.part else { return None };
        // Lines among conflict markers belong to no file.
        if self.unit()?.conflict.is_some() {
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
