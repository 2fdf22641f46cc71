//! What each key of the walk does.

use super::said::{self, noun, on};
use super::{Stop, Terminal, Tried, head, overview, screen};
use crate::changeset::entry::{Entry, entries};
use crate::changeset::interdiff::interdiff;
use crate::error::Result;
use crate::prompt::Answer;
use crate::proposal::event::CommentKind;
use crate::render::diff::{self, Layout, Options, Painter};
use crate::render::style::Role;
use crate::review::model::{Action, Decision, DraftComment, Refusal, Review};
use crate::text::escape;

/// Lines of context that `+` shows more.
const STEP: usize = 3;

/// Longest text of a suggestion, in bytes.
const MOST_SUGGESTED: usize = 64 << 10;

impl Terminal<'_> {
    /// Does what `key` asks for; the key is among those that apply.
    pub(super) fn press(&mut self, key: char) -> Result<Option<Stop>> {
        let action = match key {
            'y' => Action::Take,
            'n' => Action::Leave,
            'a' => Action::TakeFile,
            'd' => Action::LeaveFile,
            's' => Action::Split,
            'l' => match self.choose_lines()? {
                Ok(Some(action)) => action,
                Ok(None) => return Ok(None),
                Err(stop) => return Ok(Some(stop)),
            },
            '+' | '-' => {
                let context = self.options.context;
                self.options.context = match key {
                    '+' => context.saturating_add(STEP),
                    _ => context.saturating_sub(STEP),
                };
                self.shown = None;
                return Ok(None);
            }
            'o' if self.session.unit().is_some_and(|unit| unit.folded.is_some()) => Action::Open,
            'j' => Action::Next,
            'k' => Action::Previous,
            'J' => Action::NextFile,
            'K' => Action::PreviousFile,
            'f' => match self.choose_file()? {
                Ok(Some(file)) => Action::GotoFile(file),
                Ok(None) => return Ok(None),
                Err(stop) => return Ok(Some(stop)),
            },
            'u' => Action::Undo,
            'A' => Action::ApplyAll,
            '>' => Action::Skip,
            '<' => Action::Back,
            'w' => return self.words(),
            'o' => return self.page_file(),
            'p' => return self.page_proposal(),
            'O' => return self.page_as_proposed(),
            'D' => return self.compare(),
            't' => return self.try_it(),
            '?' => {
                let help = screen::help(&self.keys(), &self.options);
                self.write(&help)?;
                return Ok(None);
            }
            'e' => match self.edit()? {
                Some(bytes) => Action::Edit(bytes),
                None => return Ok(None),
            },
            'E' => {
                let at = self.session.unit_index();
                let saved = self.session.review().and_then(|review| review.saved_edit(at));
                match saved.map(<[u8]>::to_vec) {
                    Some(bytes) => Action::Edit(bytes),
                    None => return Ok(None),
                }
            }
            'g' => match self.ask_hunk()? {
                Answer::Line(text) => match text.parse::<usize>() {
                    Ok(number) if number > 0 => Action::Goto(number - 1),
                    _ => {
                        self.dim(Refusal::NoSuchUnit.message())?;
                        return Ok(None);
                    }
                },
                other => return Ok(stop(&other)),
            },
            '/' => match self.ask("Search (Esc: do not): ")? {
                Answer::Line(text) => {
                    if !text.is_empty() {
                        self.last_search = text;
                    }
                    if self.last_search.is_empty() {
                        return Ok(None);
                    }
                    Action::Search(self.last_search.clone())
                }
                other => return Ok(stop(&other)),
            },
            'c' => {
                let prompt = match self.session.comment_line() {
                    Some(line) => format!(
                        "Comment on line {line} (N: or N-M: other lines; ? asks, ! suggests; Esc: none): "
                    ),
                    None => "Comment (? asks; Esc: none): ".to_owned(),
                };
                match self.ask(&prompt)? {
                    Answer::Line(text) => match self.typed(&text)? {
                        Some(comment) => Action::Comment(comment),
                        None => return Ok(None),
                    },
                    other => return Ok(stop(&other)),
                }
            }
            'R' => match self.reason("Reject it because (Esc: do not): ", false)? {
                Answer::Line(reason) => Action::Reject(reason),
                other => return Ok(stop(&other)),
            },
            'x' => {
                let commented = self.session.slot().is_some_and(|slot| !slot.comments.is_empty());
                match self.reason("What should change (Esc: nothing): ", commented)? {
                    Answer::Line(reason) => Action::RequestChanges(reason),
                    other => return Ok(stop(&other)),
                }
            }
            _ => return Ok(None),
        };
        let undone = (action == Action::Undo).then(|| self.session.undoes()).flatten();
        let split = matches!(action, Action::Split | Action::Open);
        let edited = matches!(action, Action::Edit(_));
        let commented = match &action {
            Action::Comment(DraftComment { said, .. }) => Some((noun(&said.kind), on(said))),
            _ => None,
        };
        let before = self.session.unit_index();
        match self.session.act(action) {
            Ok(()) => {
                if undone.is_some() || split {
                    self.shown = None;
                }
                if let Some(what) = undone {
                    self.dim(format_args!("undone: {what}"))?;
                }
                if edited {
                    self.show_edited(before)?;
                }
                if let Some((what, on)) = commented {
                    self.dim(format_args!("kept as a {what}{on}; u undoes it"))?;
                }
            }
            Err(refusal) => self.dim(refusal.message())?,
        }
        Ok(None)
    }

    /// The comment that `text` is; a suggestion with what the editor makes of its lines.
    fn typed(&mut self, text: &str) -> Result<Option<DraftComment>> {
        let Some(mut draft) = self.session.comment(text) else { return Ok(None) };
        if draft.said.kind != CommentKind::Suggestion {
            return Ok(Some(draft));
        }
        let review = self.session.review();
        let file = review.map(|review| review.file_of(self.session.unit_index()));
        let (Some(file), Some((first, last))) = (file, draft.said.lines()) else {
            self.dim("there are no lines here to suggest others for; N-M! names them")?;
            return Ok(None);
        };
        let lines = file.diff.after().lines(first as usize - 1..last as usize).to_owned();
        let path = file.path.clone();
        match self.host.edit(&path, &lines) {
            Ok(Some(edited)) if edited == lines => {
                self.dim("unchanged, so nothing is suggested")?;
                Ok(None)
            }
            Ok(Some(edited)) => match String::from_utf8(edited) {
                Ok(text) if text.len() <= MOST_SUGGESTED => {
                    draft.said.replacement = Some(text);
                    Ok(Some(draft))
                }
                Ok(_) => {
                    self.dim("a suggestion has at most 64 KiB; nothing is suggested")?;
                    Ok(None)
                }
                Err(_) => {
                    self.dim("what you wrote is not UTF-8, so nothing is suggested")?;
                    Ok(None)
                }
            },
            Ok(None) => {
                self.dim("the editor ended with an error; nothing is suggested")?;
                Ok(None)
            }
            Err(error) => {
                self.fail(&error)?;
                Ok(None)
            }
        }
    }

    /// Lists the hunks and asks for one.
    fn ask_hunk(&mut self) -> Result<Answer> {
        if let Some(review) = self.session.review() {
            let list = overview::hunks(review, self.session.unit_index(), &self.options);
            self.write(&list)?;
        }
        self.ask("Go to hunk number (Esc: stay): ")
    }

    /// Lists the files and asks for one: by number, or by a part of its path that only one has.
    fn choose_file(&mut self) -> Result<std::result::Result<Option<usize>, Stop>> {
        let Some(review) = self.session.review() else { return Ok(Ok(None)) };
        let list = overview::files(review, usize::MAX, &self.options);
        self.write(&list)?;
        let text = match self.ask("Go to file, by number or part of its path (Esc: stay): ")? {
            Answer::Line(text) => text,
            other => return Ok(stop(&other).map_or(Ok(None), Err)),
        };
        if text.is_empty() {
            return Ok(Ok(None));
        }
        let Some(review) = self.session.review() else { return Ok(Ok(None)) };
        let found = overview::file(review, &text);
        if found.is_none() {
            self.dim(format_args!(
                "'{}' is not one file of this proposal: it names none, or several",
                escape::line(&text)
            ))?;
        }
        Ok(Ok(found))
    }

    /// What an edited unit has become: the bytes that will be applied.
    fn show_edited(&mut self, unit: usize) -> Result<()> {
        let Some((at, _)) = &self.content else { return Ok(()) };
        let Some(review) = self.session.slots()[*at].review.as_ref() else { return Ok(()) };
        let file = review.file_of(unit);
        let options = self.diff_options();
        let mut painter = Painter::new(&file.path, &file.diff, &options);
        let (blocks, lines) = screen::unit_and_lines(review, unit, &mut painter, &options, 60);
        let at = *at;
        self.put(blocks)?;
        self.seen.shown(at, unit, lines);
        Ok(())
    }

    fn words(&mut self) -> Result<Option<Stop>> {
        self.options.layout = match self.options.layout {
            Layout::Unified => Layout::Words,
            Layout::Words => Layout::Unified,
        };
        (self.shown, self.painter) = (None, None);
        Ok(None)
    }

    fn page_file(&mut self) -> Result<Option<Stop>> {
        let Some(review) = self.session.review() else { return Ok(None) };
        let at = self.session.unit_index();
        let file = review.file_of(at);
        let edited = review.edited(review.units()[at].file);
        let entry = Entry { after: edited.as_ref().or(file.after.as_ref()), ..file.entry() };
        let mut text = String::new();
        let options = Options { context: usize::MAX / 4, ..self.options.clone() };
        diff::push_entry(&mut text, &entry, &options);
        self.host.page(&text)?;
        self.seen.paged(self.session.position(), &entry);
        Ok(None)
    }

    fn page_proposal(&mut self) -> Result<Option<Stop>> {
        let Some((at, content)) = &self.content else { return Ok(None) };
        let count = self.session.slots().len();
        let mut text = head::header(content, *at, count, &self.taken(), &self.options);
        // The header has all of a short one.
        let description = content.header.description.as_ref();
        if let Some(description) = description.filter(|text| head::is_cut(text)) {
            text += &format!("\n{}\n", escape::block(description));
        }
        text += &head::marks(&content.header.marks, &self.options, false);
        for warning in &content.header.warnings {
            text += &format!("! {}\n", escape::line(warning));
        }
        for said in &content.header.comments {
            text += &format!("\n{}\n{}\n", said::heading(said), escape::block(&said.body));
            text += &said::lines(said, &self.options, usize::MAX);
        }
        if let Some(seen) = &content.seen {
            text += "\nChanged since the revision you saw:\n";
            let now = content.proposed.as_ref().unwrap_or(&content.changes);
            let between = interdiff(seen, now);
            text += &diff::changeset(&between, &self.options);
            text += "\nThe proposal as it is now:\n";
        }
        text += &diff::stat(content.counted(), &self.options.palette, self.options.columns);
        text.push('\n');
        text += &diff::changeset(&content.changes, &self.options);
        if let Some(edits) = self.session.review().and_then(|r| screen::edits(r, &self.options)) {
            text += "\nAs you edited it:\n";
            text += &edits;
        }
        let saved = self.session.review().and_then(|r| screen::saved_edits(r, &self.options));
        text += &saved.map(|saved| format!("\n{saved}")).unwrap_or_default();
        self.host.page(&text)?;
        for entry in entries(&content.changes) {
            self.seen.paged(*at, &entry);
        }
        Ok(None)
    }

    /// The proposal's own diff, where the files have changed since and the hunks are shown as they
    /// will be written.
    fn page_as_proposed(&mut self) -> Result<Option<Stop>> {
        let Some((_, content)) = &self.content else { return Ok(None) };
        let Some(proposed) = &content.proposed else { return Ok(None) };
        let text = "As it was proposed; the files have changed since:\n\n".to_owned();
        let text = text + &diff::changeset(proposed, &self.options);
        self.host.page(&text)?;
        Ok(None)
    }

    fn compare(&mut self) -> Result<Option<Stop>> {
        let Some(slot) = self.session.slot() else { return Ok(None) };
        let id = slot.ticket.id.clone();
        match self.host.compare(&id) {
            Ok(Some(ended)) => self.dim(escape::line(&ended))?,
            Ok(None) => {}
            Err(error) => self.fail(&error)?,
        }
        Ok(None)
    }

    fn try_it(&mut self) -> Result<Option<Stop>> {
        let Some(slot) = self.session.slot() else { return Ok(None) };
        let id = slot.ticket.id.clone();
        let at = self.session.position();
        // A trial is made on HEAD, which does not have what was only taken in this session.
        let on = self.content.as_ref().filter(|(shown, _)| *shown == at);
        if let Some(lower) = on.and_then(|(_, content)| content.on.first()) {
            let text = format!("not tried: it stands on {lower}, which is not applied");
            self.tell(Role::Warn, &text)?;
            self.dim(format_args!(
                "hint: a trial is made on HEAD; aye try --as-proposed {id} makes it on the files \
                 that it was made on"
            ))?;
            return Ok(None);
        }
        let Some(revision) = self.revisions[at].clone() else { return Ok(None) };
        if let Some(what) = self.host.changed(&id, &revision)? {
            let text = format!("not tried: {id} {} meanwhile", screen::gone(&what));
            self.tell(Role::Warn, &text)?;
            // Shown as it is now.
            self.content = None;
            return Ok(None);
        }
        match self.host.try_it(&id, &revision) {
            Ok(Tried::Ended(how)) => {
                let besides = self.session.review().map_or("", beside_decisions);
                self.say(&format!("{}{besides}", escape::line(&how)))?;
            }
            Ok(Tried::NotMade { why, hint }) => {
                self.tell(Role::Warn, &format!("not tried: {}", escape::line(&why)))?;
                if let Some(hint) = hint {
                    self.dim(format_args!("hint: {}", escape::line(&hint)))?;
                }
            }
            Err(error) => self.fail(&error)?,
        }
        Ok(None)
    }

    /// Lets the reviewer edit the unit; `None` if nothing came of it.
    fn edit(&mut self) -> Result<Option<Vec<u8>>> {
        let at = self.session.unit_index();
        let Some(review) = self.session.review() else { return Ok(None) };
        let Some(text) = review.editable(at) else { return Ok(None) };
        let path = review.file_of(at).path.clone();
        let is_unfit = review.units()[at].unfit.is_some();
        match self.host.edit(&path, &text) {
            Ok(Some(edited)) if review.has_markers(at, &edited) => {
                self.dim(
                    "conflict markers are left in it, so nothing is decided; e edits it again",
                )?;
                Ok(None)
            }
            Ok(Some(edited)) if edited == text => {
                self.dim(match is_unfit {
                    true => "unchanged, so nothing is decided",
                    false => "unchanged; y takes it as it is",
                })?;
                Ok(None)
            }
            // As with a commit message: who empties the file wants out.
            Ok(Some(edited)) if edited.is_empty() => {
                self.dim("nothing is left of it, so nothing is decided; n leaves the hunk out")?;
                Ok(None)
            }
            Ok(Some(edited)) => {
                for oddity in oddities(&edited) {
                    self.tell(Role::Warn, oddity)?;
                }
                Ok(Some(edited))
            }
            Ok(None) => {
                self.dim("the editor ended with an error; nothing is decided")?;
                Ok(None)
            }
            Err(error) => {
                self.fail(&error)?;
                Ok(None)
            }
        }
    }
}

/// What to add to the result of a trial, which is of all of the proposal whatever was decided so far.
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

/// What an edited text should hardly hold.
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

/// What an answer means for the walk, if it means anything.
pub(super) fn stop(answer: &Answer) -> Option<Stop> {
    match answer {
        Answer::Interrupt => Some(Stop::Interrupt),
        Answer::End => Some(Stop::Quit),
        Answer::Line(_) | Answer::Escaped => None,
    }
}
