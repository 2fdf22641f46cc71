//! The reviewer's comments and edits.

use super::console::AskResult;
use super::{Terminal, screen};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::event::{Comment, CommentKind};
use crate::render::diff::Painter;
use crate::render::style::Role;

/// Bytes of a suggestion.
const MOST_SUGGESTED: usize = 64 << 10;

impl Terminal<'_> {
    /// An editor asks for a suggestion's lines.
    pub(super) fn comment_on(&mut self) -> AskResult<Option<Comment>> {
        let prompt = match self.session.comment_line() {
            Some(line) => format!(
                "Comment on line {line} (N: or N-M: other lines; ? asks, ! suggests; Esc: none): "
            ),
            None => "Comment (N: or N-M: on lines; ? asks; Esc: none): ".to_owned(),
        };
        let comment = self.console.read_line(&prompt, |text| self.session.comment(text))?;
        match comment.flatten() {
            Some(comment) if comment.kind == CommentKind::Suggestion => Ok(self.suggest(comment)?),
            comment => Ok(comment),
        }
    }

    fn suggest(&mut self, mut comment: Comment) -> Result<Option<Comment>> {
        let review = self.session.review();
        let file = review.map(|review| review.file_of(self.session.unit_index()));
        let (Some(file), Some((first, last))) = (file, comment.lines()) else {
            self.console.dim("there are no lines here to suggest others for; N-M! names them")?;
            return Ok(None);
        };
        let lines = file.diff.after().lines(first as usize - 1..last as usize).to_owned();
        let path = file.path.clone();
        let Some(edited) = self.edited(&path, &lines)? else { return Ok(None) };
        let is_same = edited == lines;
        let why = match String::from_utf8(edited) {
            _ if is_same && !comment.body.is_empty() => {
                comment.kind = CommentKind::Plain;
                self.console.dim("unchanged, so it is a comment without a suggestion")?;
                return Ok(Some(comment));
            }
            _ if is_same => "unchanged, so nothing is suggested",
            Ok(text) if text.len() <= MOST_SUGGESTED => {
                comment.replacement = Some(text);
                return Ok(Some(comment));
            }
            Ok(_) => "a suggestion has at most 64 KiB; nothing is suggested",
            Err(_) => "what you wrote is not UTF-8, so nothing is suggested",
        };
        self.console.dim(why)?;
        Ok(None)
    }

    /// `None` if the unit stays undecided.
    pub(super) fn edit(&mut self) -> Result<Option<Vec<u8>>> {
        let at = self.session.unit_index();
        let Some(review) = self.session.review() else { return Ok(None) };
        let Some(text) = review.editable(at) else { return Ok(None) };
        let path = review.file_of(at).path.clone();
        let Some(edited) = self.edited(&path, &text)? else { return Ok(None) };
        let Some(review) = self.session.review() else { return Ok(None) };
        let unit = &review.units()[at];
        let is_draft = unit.decision.is_none() && unit.draft.is_some();
        let why = if review.has_markers(at, &edited) {
            "conflict markers are left in it, so nothing is decided; e edits it again"
        } else if edited.is_empty() {
            // As with a commit message, an empty file aborts.
            "nothing is left of it, so nothing is decided; n leaves the hunk out"
        } else if edited != text || is_draft {
            for oddity in oddities(&edited) {
                self.console.tell(Role::Warn, oddity)?;
            }
            return Ok(Some(edited));
        } else if unit.conflict.is_some() {
            "unchanged, so nothing is decided"
        } else {
            "unchanged; y takes it as it is"
        };
        self.console.dim(why)?;
        Ok(None)
    }

    /// Reports a failed editor and returns `None`.
    fn edited(&mut self, path: &RepoPath, text: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.host.edit(path, text) {
            Ok(Some(edited)) => return Ok(Some(edited)),
            Ok(None) => self.console.dim("the editor ended with an error; nothing comes of it")?,
            Err(error) => self.console.fail(&error)?,
        }
        Ok(None)
    }

    /// Shows the bytes that will be applied.
    pub(super) fn show_edited(&mut self, unit: usize) -> Result<()> {
        let Some(at) = self.current.as_ref().map(|current| current.at) else { return Ok(()) };
        let Some(review) = self.session.slots()[at].review.as_ref() else { return Ok(()) };
        let file = review.file_of(unit);
        let options = self.diff_options();
        let mut painter = Painter::new(&file.path, &file.diff, &options);
        let (blocks, lines) = screen::unit_and_lines(review, unit, &mut painter, &options, 60);
        self.put(blocks)?;
        self.seen.shown(at, unit, lines);
        Ok(())
    }
}

fn oddities(text: &[u8]) -> impl Iterator<Item = &'static str> {
    let marker = |marker: &[u8]| text.split(|byte| *byte == b'\n').any(|l| l.starts_with(marker));
    let conflict = marker(b"<<<<<<< ") && marker(b">>>>>>> ");
    let binary = text.contains(&0);
    [
        (conflict, "! conflict markers are left in what you edited"),
        (binary, "! what you edited holds NUL bytes: git will take the file for binary"),
    ]
    .into_iter()
    .filter_map(|(found, what)| found.then_some(what))
}
