//! Looks beyond the current hunk: pager, difftool, trial.

use super::{Terminal, TrialOutcome, earlier_comments, head, screen};
use crate::changeset::change_entry::{ChangeEntry, entries};
use crate::changeset::interdiff::interdiff;
use crate::error::Result;
use crate::render::diff::{self, Options};
use crate::render::style::Role;
use crate::review::model::{Decision, Review};
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
        let count = self.session.slots().len();
        let mut text = head::header(content, at, count, &self.taken(content), options);
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

    /// The proposed diff, if hunks show other changes to newer files.
    pub(super) fn page_as_proposed(&mut self) -> Result<()> {
        let proposed = self.current.as_ref().and_then(|it| it.content.proposed.as_ref());
        let Some(proposed) = proposed else { return Ok(()) };
        let diff = diff::changeset(proposed, &self.all_lines());
        self.host.page(&format!("As it was proposed; the files have changed since:\n\n{diff}"))
    }

    pub(super) fn compare(&mut self) -> Result<()> {
        let Some(slot) = self.session.slot() else { return Ok(()) };
        match self.host.compare(&slot.ticket.id) {
            Ok(Some(ended)) => self.console.dim(escape::line(&ended)),
            Ok(None) => Ok(()),
            Err(error) => self.console.fail(&error),
        }
    }

    pub(super) fn try_it(&mut self) -> Result<()> {
        let at = self.session.position();
        let (Some(slot), Some(reached)) = (self.session.slot(), &self.reached[at]) else {
            return Ok(());
        };
        let (id, revision) = (slot.ticket.id.clone(), reached.revision.clone());
        // A trial is made on HEAD, which lacks changes only taken in this session.
        if let Some(lower) = reached.on.first() {
            let text = format!("not tried: it depends on {lower}, which is not applied");
            self.console.tell(Role::Warn, &text)?;
            return self.console.dim(format_args!(
                "hint: a trial is made on HEAD; aye try --as-proposed {id} makes it on the files \
                 that it was made on"
            ));
        }
        if let Some(what) = self.host.changed(&id, &revision)? {
            let text = format!("not tried: {id} {} meanwhile", screen::gone(&what));
            self.console.tell(Role::Warn, &text)?;
            // Show the present revision.
            self.current = None;
            return Ok(());
        }
        match self.host.try_it(&id, &revision) {
            Ok(TrialOutcome::Ended(how)) => {
                let besides = self.session.review().map_or("", beside_decisions);
                self.console.say(&format!("{}{besides}", escape::line(&how)))?;
            }
            Ok(TrialOutcome::NotMade { why, hint }) => {
                self.console.tell(Role::Warn, &format!("not tried: {}", escape::line(&why)))?;
                if let Some(hint) = hint {
                    self.console.dim(format_args!("hint: {}", escape::line(&hint)))?;
                }
            }
            Err(error) => self.console.fail(&error)?,
        }
        Ok(())
    }
}

/// A trial covers the whole proposal regardless of decisions: say so.
fn beside_decisions(review: &Review) -> &'static str {
    let has = |is: fn(&Decision) -> bool| {
        review.units().iter().any(|unit| unit.decision.as_ref().is_some_and(is))
    };
    let leaves = has(|decision| matches!(decision, Decision::Leave));
    let edits = has(|decision| matches!(decision, Decision::Edit { .. }));
    match (leaves, edits) {
        (true, true) => {
            "; the whole proposal was tried, with the hunks that you did not take and without your edits"
        }
        (true, false) => "; the whole proposal was tried, with the hunks that you did not take",
        (false, true) => "; the proposal was tried without your edits",
        (false, false) => "",
    }
}
