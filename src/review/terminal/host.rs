//! What a session needs of the world: proposals, an editor, a pager, and someone to write down
//! what was decided.

use std::collections::BTreeSet;

use crate::changeset::marks::Mark;
use crate::changeset::settle::Unfit;
use crate::changeset::{FileChange, RepoPath};
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;
use crate::render::overview::Group;
use crate::review::model::{Answers, Quiet, Verdict};

/// A proposal as it is now.
#[derive(Debug)]
pub enum Loaded {
    /// It can be decided.
    Ready(Box<Content>),
    /// It cannot any more: its status, in a word.
    Gone(String),
}

/// A proposal that can be decided.
#[derive(Debug)]
pub struct Content {
    /// Event id of its newest revision.
    pub revision: String,
    /// It is shown on top of these, which it stands on and does not fit without; often none.
    pub on: Vec<ProposalId>,
    /// What it changes: what would be written to the present files, where that is not what was
    /// proposed.
    pub changes: Vec<FileChange>,
    /// What it changes as it was proposed, where `changes` is something else.
    pub proposed: Option<Vec<FileChange>>,
    /// What of `changes` does not fit the present files.
    pub unfit: Vec<Unfit>,
    /// What there is to say of it.
    pub header: Header,
    /// What an earlier review has saved about this revision.
    pub answers: Option<Answers>,
    /// What it changed when the reviewer last saw it, if that was another revision.
    pub seen: Option<Vec<FileChange>>,
    /// It is about memory: shown by section and decided as a whole.
    pub memory: bool,
    /// Files that are not read line by line, and why: they come last, folded.
    pub quiet: Quiet,
}

impl Content {
    /// Whether `said` is shown beside its lines: they are among those on the screen.
    pub(super) fn shows_at_lines(&self, said: &Said) -> bool {
        // Numbers are those of the proposed file, and not of one that was merged or has conflicts.
        self.proposed.is_none() && self.unfit.is_empty() && said.lines.is_some()
    }

    /// What the proposal's lines are counted by: not by conflict markers.
    pub(super) fn counted(&self) -> &[FileChange] {
        match &self.proposed {
            Some(proposed) if !self.unfit.is_empty() => proposed,
            _ => &self.changes,
        }
    }
}

/// What there is to say of a proposal, as it came: nothing here is safe for a terminal.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// The whole id.
    pub id: String,
    /// How many characters behind `prop_` suffice to name it.
    pub prefix: usize,
    /// Who proposes.
    pub proposed_by: String,
    /// Who recorded it, where that is another name.
    pub recorded_by: Option<String>,
    /// Who wrote the newest revision, where that is not the proposer.
    pub revised_by: Option<String>,
    /// Who has marked it as applied or rejected through a tool, and as which.
    pub mark: Option<(String, &'static str)>,
    /// How long ago, in words.
    pub age: String,
    /// When it expires, in words.
    pub expiry: String,
    /// How it fits the present files: `clean`, `merged`, `conflict`, …
    pub base: String,
    /// Which revision, and of how many.
    pub revision: usize,
    /// Topic.
    pub domain: Option<String>,
    /// The task it belongs to.
    pub task: Option<String>,
    /// The proposer's reason.
    pub description: Option<String>,
    /// What deserves a second look.
    pub marks: Vec<Mark>,
    /// What else there is to say of its files, a line each.
    pub warnings: Vec<String>,
    /// What else there is to know, each with its name: where memory has it from.
    pub notes: Vec<(&'static str, String)>,
    /// Remarks so far, oldest first.
    pub comments: Vec<Said>,
    /// The last command that was run on it, who ran it, and how it ended.
    pub check: Option<String>,
    /// What a reviewer has asked for.
    pub changes_requested: Option<String>,
    /// Other pending proposals that it has to do with.
    pub related: Vec<Related>,
}

/// Something that was said about the proposal before, as it came: nothing here is safe for a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Who.
    pub by: String,
    /// `src/a.rs:12-14`; nothing where it is about the whole.
    pub place: Option<String>,
    /// `suggestion` or `question`; nothing for a plain remark.
    pub wants: Option<String>,
    /// What.
    pub body: String,
    /// The lines that it is about, as they were.
    pub quote: Option<String>,
    /// What it would have in their place.
    pub replacement: Option<String>,
    /// The file and the lines of the present revision, first and last, from 1.
    pub lines: Option<(RepoPath, (u32, u32))>,
    /// Who has resolved it, and with which words.
    pub resolved: Option<(String, String)>,
}

/// Another pending proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Its id.
    pub id: ProposalId,
    /// Who proposes it.
    pub proposed_by: String,
    /// What it has to do with the one on the screen.
    pub how: RelatedAs,
}

/// What another proposal has to do with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelatedAs {
    /// The one starts from what the other makes.
    Below,
    /// As [`RelatedAs::Below`], with what an earlier revision of the other made.
    BelowRevised,
    /// Both change the same lines: one of them only can be applied as it is.
    SameLines,
}

/// A decision to be written.
#[derive(Debug)]
pub struct Order {
    /// About which proposal.
    pub id: ProposalId,
    /// Event id of the revision that was looked at.
    pub revision: String,
    /// What was decided.
    pub verdict: Verdict,
    /// What was left out, on top of what is applied; for `--split-rest`.
    pub rest: Vec<FileChange>,
    /// Some of it was edited.
    pub edited: bool,
    /// Said in the same session; written together with the decision.
    pub comments: Vec<Comment>,
    /// What the files hold besides is approved too.
    pub take_residue: bool,
    /// Changed lines that were not on the screen before the answer.
    pub unshown_lines: u64,
    /// Digest of the group that is decided in one answer.
    pub group: Option<String>,
}

/// What carrying out a decision would write.
#[derive(Debug)]
pub struct Outlook {
    /// Files now against files afterwards, of those that are written.
    pub changes: Vec<FileChange>,
    /// What is approved of the files that have the change already: nothing is written there, so
    /// the change itself.
    pub already: Vec<FileChange>,
    /// Files that are not read line by line: they come last, and are not shown but in the pager.
    pub quiet: Quiet,
    /// What deserves a second look in the proposal.
    pub marks: Vec<Mark>,
    /// What the same files hold besides, against the target commit: not the proposal's, and not
    /// what applied proposals have written.
    pub foreign: Vec<FileChange>,
}

/// What came of trying a proposal.
#[derive(Debug)]
pub enum Tried {
    /// The command has run, and ended like this.
    Ended(String),
    /// It has not: the proposal could not be laid on HEAD, or is another one by now.
    NotMade {
        /// Why.
        why: String,
        /// What to do next.
        hint: Option<String>,
    },
}

/// The world around a session.
pub trait Host {
    /// The proposal as it is now, which the session has shown as revision `known`, if it has; `not_taken` are
    /// those of which this session applies nothing, or not all. What stands on a proposal of this session that
    /// may still be taken is shown on top of it, if it does not fit without.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn load(
        &mut self,
        id: &ProposalId,
        known: Option<&str>,
        not_taken: &BTreeSet<ProposalId>,
    ) -> Result<Loaded>;

    /// `None` while the proposal is pending at `revision`, else what happened, in a word.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn changed(&mut self, id: &ProposalId, revision: &str) -> Result<Option<String>>;

    /// Who has said what about the proposal since it was loaded or this was asked.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn heard(&mut self, id: &ProposalId) -> Result<Vec<(String, String)>>;

    /// Keeps `answers`, about the revision of this event id, in the place of those about the proposal so far,
    /// for the next review; `None` keeps nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    fn keep(&mut self, id: &ProposalId, answers: Option<(&str, Answers)>) -> Result<()>;

    /// Lets the reviewer edit `text`, part of the file at `path`. `None` if the editor failed.
    ///
    /// # Errors
    /// If there is no editor or no temporary file.
    fn edit(&mut self, path: &RepoPath, text: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Shows long text, in the pager if there is one.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    fn page(&mut self, text: &str) -> Result<()>;

    /// Whether the terminal may be told to mark pasted text.
    fn marks_pastes(&self) -> bool;

    /// Whether differences go through a program of the reviewer's (`interactive.diffFilter`).
    fn has_filter(&self) -> bool;

    /// `diff`, a coloured unified difference, as that program shows it.
    ///
    /// # Errors
    /// If it cannot be run, or fails.
    fn filter(&mut self, diff: &str) -> Result<String>;

    /// Whether a difftool is configured.
    fn can_compare(&self) -> bool;

    /// Shows the diff of the proposal in that tool, and waits for it. Returns how it ended, where that says
    /// something.
    ///
    /// # Errors
    /// If it could not be run.
    fn compare(&mut self, id: &ProposalId) -> Result<Option<String>>;

    /// Whether there is a command to try proposals with.
    fn can_try(&self) -> bool;

    /// Runs that command on this revision of the proposal; its output goes to the terminal.
    ///
    /// # Errors
    /// If it could not be run.
    fn try_it(&mut self, id: &ProposalId, revision: &str) -> Result<Tried>;

    /// Writes what was said about a proposal, all of it or nothing; `revision` is the one under
    /// review.
    ///
    /// # Errors
    /// Why it was not written.
    fn comment(&mut self, id: &ProposalId, revision: &str, comments: &[Comment]) -> Result<()>;

    /// What carrying `orders` out one after the other would write; `None` for those that write no
    /// file, and the reason for one that cannot be carried out. Remembered: [`Host::carry_out`]
    /// writes this or nothing.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn plan(&mut self, orders: &[Order]) -> Result<Vec<Option<Result<Outlook>>>>;

    /// The proposals of this session that are pending now, in groups, numbered by their place in it.
    fn overview(&mut self) -> Vec<Group>;

    /// The digest of deciding `orders` in one answer, as they were planned by [`Host::plan`].
    ///
    /// # Errors
    /// If the store cannot be read.
    fn group(&mut self, orders: &[&Order]) -> Result<String>;

    /// Writes one decision, with its comments. Returns what was done, in words.
    ///
    /// # Errors
    /// `changed_since_shown` where it would write something else than [`Host::plan`] returned;
    /// otherwise why it was not written. The others are not affected.
    fn carry_out(&mut self, order: &Order) -> Result<String>;
}
