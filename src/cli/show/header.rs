//! Lines above the diff of a proposal, one for each fact.

use chrono::{DateTime, Utc};

use crate::app::notes::notes;
use crate::changeset::marks::short_branch;
use crate::check::relations;
use crate::proposal::document::SetAside;
use crate::proposal::relations::Dependency;
use crate::proposal::state::Revision;
use crate::proposal::{Proposal, Status};
use crate::render::age;
use crate::render::style::{Palette, Role};
use crate::store::Space;
use crate::text::escape;

pub struct Facts<'a> {
    pub status: Status,
    pub space: Space,
    pub set_aside: &'a [SetAside],
    pub stands_on: &'a [Dependency],
    pub head: Option<&'a str>,
    pub made_on: Option<&'a str>,
    pub now: DateTime<Utc>,
}

pub fn header(proposal: &Proposal, facts: &Facts<'_>, palette: &Palette) -> String {
    let mut header = Header { proposal, facts, palette, out: title(proposal, facts, palette) };
    header.origin();
    header.target();
    header.times();
    header.names();
    for (at, revision) in proposal.revisions.iter().enumerate().skip(1) {
        header.revision(at + 1, revision);
    }
    header.stack();
    header.mark();
    for approval in &proposal.approvals {
        header.approval(approval);
    }
    if let Some(decision) = proposal.decision() {
        header.decision(decision);
    }
    header.other_decisions();
    let shown = proposal.decision().and_then(|decision| decision.commit.as_ref());
    for commit in proposal.commits.iter().filter(|commit| Some(*commit) != shown) {
        header.field("commit", escape::line(commit));
    }
    for result in &proposal.checks {
        header.check(result);
    }
    header.skipped_lines();
    header.notes();
    header.description();
    header.out
}

fn title(proposal: &Proposal, facts: &Facts<'_>, palette: &Palette) -> String {
    let role = match facts.status {
        Status::Pending => Role::Plain,
        Status::Applied => Role::Good,
        Status::Rejected => Role::Bad,
        Status::Expired => Role::Dim,
    };
    format!(
        "{} {}  {}{}\n",
        palette.paint(Role::Title, "proposal"),
        palette.paint(Role::Id, proposal.id.as_str()),
        palette.paint(role, facts.status.as_str()),
        if proposal.contested { "  (contested: decided differently in another clone)" } else { "" },
    )
}

pub(super) struct Header<'a> {
    pub(super) proposal: &'a Proposal,
    pub(super) facts: &'a Facts<'a>,
    pub(super) palette: &'a Palette,
    pub(super) out: String,
}

impl Header<'_> {
    /// `value` must be escaped already.
    pub(super) fn field(&mut self, name: &str, value: impl AsRef<str>) {
        let name = self.palette.paint(Role::Dim, format!("{name:<10}"));
        self.out += &format!("{name} {}\n", value.as_ref());
    }

    pub(super) fn ago(&self, at: DateTime<Utc>) -> String {
        age::ago(at, self.facts.now)
    }

    fn origin(&mut self) {
        let proposal = self.proposal;
        let by = escape::name(&proposal.proposed_by);
        let actor = escape::name(&proposal.actor.to_string());
        let kind = proposal.actor.kind.as_str();
        self.field("by", format!("{by}  (recorded by {actor}, {kind})"));
        if let Some(run) = &proposal.current().agent {
            let said = [("session", &run.session), ("model", &run.model)];
            let said = said.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
            let said: Vec<String> =
                said.map(|(name, value)| format!("{name} {}", escape::line(value))).collect();
            self.field("agent", said.join(", "));
        }
        if self.facts.space == Space::Private {
            self.field("for", "nobody else (private); aye revise --public lets others see it");
        }
    }

    fn skipped_lines(&mut self) {
        for aside in self.facts.set_aside {
            let (name, why) = (escape::line(&aside.name), escape::line(&aside.why));
            self.field("set aside", format!("{name}: {why}"));
        }
        for skipped in &self.proposal.skipped {
            let event = skipped.event.get(..12).unwrap_or(&skipped.event);
            self.field("skipped", format!("event {event}: {}", skipped.why.as_str()));
        }
    }

    fn target(&mut self) {
        let Some(target) = &self.proposal.current().target else { return };
        let Some(name) = target.name.as_deref() else { return };
        let head = self.facts.head.filter(|head| *head != name);
        let head =
            head.map(|head| format!("  ({} is checked out)", escape::name(short_branch(head))));
        self.field(
            "branch",
            format!("{}{}", escape::name(short_branch(name)), head.unwrap_or_default()),
        );
    }

    fn times(&mut self) {
        let proposal = self.proposal;
        self.field("created", self.ago(proposal.created_at));
        match self.facts.status {
            Status::Pending => {
                self.field("expires", age::until(proposal.expires_at, self.facts.now))
            }
            Status::Expired => self.field("expired", self.ago(proposal.expires_at)),
            Status::Applied | Status::Rejected => {}
        }
    }

    fn names(&mut self) {
        let proposal = self.proposal;
        if let Some(domain) = &proposal.domain {
            self.field("domain", escape::line(domain));
        }
        if let Some(other) = &proposal.instead_of {
            self.field("instead of", other.to_string());
        }
        if let Some(task) = &proposal.related_task_id {
            self.field("task", escape::line(task));
        }
    }

    fn revision(&mut self, number: usize, revision: &Revision) {
        let (by, kind) = (escape::name(&revision.actor.to_string()), revision.actor.kind.as_str());
        let who =
            if revision.actor.name == self.proposal.actor.name { "" } else { ", not the proposer" };
        let undecided = if self.proposal.undecided.contains(&revision.event) {
            ": not decided, made at the same time"
        } else {
            ""
        };
        let (reason, ago) = (escape::line(revision.reason.as_str()), self.ago(revision.at));
        self.field(
            "revision",
            format!("{number} ({reason}) by {by}, {kind}{who}, {ago}{undecided}"),
        );
        for line in revision.note.iter().flat_map(|note| note.lines()) {
            self.field("", escape::line(line));
        }
    }

    fn stack(&mut self) {
        let Facts { stands_on, made_on, status, .. } = *self.facts;
        if let Some(lower) = relations::named(stands_on) {
            self.field("depends on", lower);
        }
        if let Some(lower) = made_on {
            self.field("made on", lower);
        }
        if status == Status::Pending {
            // A lower proposal revised since is not what this was made on.
            let lower = match stands_on {
                [] => "",
                _ if stands_on.iter().any(|lower| lower.is_revised) => " --alone",
                _ => " --with-lower",
            };
            self.field("decide", format!("aye apply {}{lower}", self.proposal.at_revision()));
        }
    }

    fn mark(&mut self) {
        let Some(mark) = self.proposal.mark() else { return };
        let (by, word) = (escape::name(&mark.by.to_string()), mark.verdict.as_str());
        let ago = self.ago(mark.at);
        self.field("marked", format!("{word} by a tool ({by}), not approved, {ago}"));
    }

    fn notes(&mut self) {
        for (name, text) in notes(self.proposal) {
            // The rationale is the description, which follows.
            if self.proposal.description.as_deref() != Some(text.as_str()) {
                self.field(name, escape::line(&text));
            }
        }
    }

    fn description(&mut self) {
        let Some(description) = &self.proposal.description else { return };
        self.out.push('\n');
        for line in escape::block(description).lines() {
            self.out += &format!("    {line}\n");
        }
    }
}
