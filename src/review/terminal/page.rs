//! Looks beyond the current hunk: pager, difftool, trial.

use super::{Terminal, earlier_comments, head, screen};
use crate::changeset::change_entry::{ChangeEntry, entries};
use crate::changeset::interdiff::interdiff;
use crate::error::Result;
use crate::render::diff::{self, Options};
use crate::text::escape;

impl Terminal<'_> {
    pub(super) fn page_file(&mut self) -> Result<()> {
        let Some(review) = self.session.review() else { return Ok(()) };
        let at = self.session.unit_index();
        let file = review.file_of(at);
        let edited = review.edited(review.units()[at].file);
        let entry = ChangeEntry { after: edited.as_ref().or(file.after.as_ref()), ..file.entry() };
        let mut text = String::new();
        let options = Options { context: usize::MAX / 4, ..self.all_lines() };
        diff::push_entry(&mut text, &entry, &options);
        self.host.page(&text)?;
        self.seen.paged(self.session.position(), &entry);
        Ok(())
    }

    pub(super) fn page_proposal(&mut self) -> Result<()> {
        let Some(current) = &self.current else { return Ok(()) };
        let (at, content, options) = (current.at, &current.content, &self.all_lines());
        let counter = self.session.counter(at);
        let mut text = head::header(content, &counter, &self.taken(content), options);
        // The header has all of a short description.
        let description = content.header.description.as_ref();
        if let Some(description) = description.filter(|text| head::is_cut(text)) {
            text += &format!("\n{}\n", escape::block(description));
        }
        text += &head::marks(&content.header.marks, options, false);
        for warning in &content.header.warnings {
            text += &format!("! {}\n", escape::line(warning));
        }
        for said in &content.header.comments {
            text +=
                &format!("\n{}\n{}\n", earlier_comments::heading(said), escape::block(&said.body));
            text += &earlier_comments::lines(said, options, usize::MAX);
        }
        if let Some(seen) = &content.seen_changes {
            text += "\nChanged since the revision you saw:\n";
            let now = content.proposed.as_ref().unwrap_or(&content.changes);
            text += &diff::changeset(&interdiff(seen, now), options);
            text += "\nThe proposal as it is now:\n";
        }
        text += &diff::stat(content.counted(), &options.palette, options.columns);
        text.push('\n');
        text += &diff::changeset(&content.changes, options);
        if let Some(proposed) = &content.proposed {
            text += "\nAs it was proposed; the files have changed since:\n";
            text += &diff::changeset(proposed, options);
        }
        if let Some(edits) = self.session.review().and_then(|it| screen::edits(it, options)) {
            text += "\nAs you edited it:\n";
            text += &edits;
        }
        self.host.page(&text)?;
        for entry in entries(&content.changes) {
            self.seen.paged(at, &entry);
        }
        Ok(())
    }

    fn all_lines(&self) -> Options {
        Options { ignore_space: false, ..self.console.options.clone() }
    }

    pub(super) fn compare(&mut self) -> Result<()> {
        let Some(slot) = self.session.slot() else { return Ok(()) };
        match self.host.compare(&slot.ticket.id) {
            Ok(Some(ended)) => self.console.dim(escape::line(&ended)),
            Ok(None) => Ok(()),
            Err(error) => self.console.fail(&error),
        }
    }
}
