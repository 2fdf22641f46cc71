//! What stands above the diff of a proposal: a line for each fact.

use chrono::{DateTime, Utc};

use crate::changeset::marks::short_branch;
use crate::check::relations;
use crate::cli::memory::notes::notes;
use crate::proposal::relations::Lower;
use crate::proposal::state::{Approval, CheckResult, Decision, Revision};
use crate::proposal::{ActorKind, Proposal, Status};
use crate::render::age;
use crate::render::style::{Palette, Role};
use crate::store::Audience;
use crate::text::escape;

/// What is said of a proposal that it does not know itself.
pub struct Facts<'a> {
    /// Its state now.
    pub status: Status,
    /// Who hears of it.
    pub audience: &'a Audience,
    /// The pending proposals that it stands on.
    pub stands_on: &'a [Lower],
    /// The branch that is checked out, whole.
    pub head: Option<&'a str>,
    /// What it was made on, where that is not pending any more; in words.
    pub made_on: Option<&'a str>,
    /// The time, for ages.
    pub now: DateTime<Utc>,
}

/// The lines for `proposal` and `facts`, each ended, in the colours of `palette`.
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
    for commit in &proposal.commits {
        header.field("commit", escape::line(commit));
    }
    for result in &proposal.checks {
        header.check(result);
    }
    header.notes();
    header.description();
    header.out
}

/// The first line: which proposal, and its state.
fn title(proposal: &Proposal, facts: &Facts<'_>, palette: &Palette) -> String {
    let role = match facts.status {
        Status::Pending => Role::Plain,
        Status::Applied => Role::Good,
        Status::Rejected => Role::Bad,
        Status::Expired => Role::Dim,
    };
    let needs = proposal.needs.as_ref();
    let needs = needs.map(|version| format!("  (needs aye >= {version} to be decided)"));
    format!(
        "{} {}  {}{}{}\n",
        palette.paint(Role::Title, "proposal"),
        palette.paint(Role::Id, proposal.id.as_str()),
        palette.paint(role, facts.status.as_str()),
        if proposal.contested { "  (contested: decided differently in another clone)" } else { "" },
        palette.paint(Role::Warn, needs.unwrap_or_default()),
    )
}

/// The lines so far.
struct Header<'a> {
    proposal: &'a Proposal,
    facts: &'a Facts<'a>,
    palette: &'a Palette,
    out: String,
}

impl Header<'_> {
    /// A line. What came from a proposal has been escaped in `value`.
    fn field(&mut self, name: &str, value: impl AsRef<str>) {
        let name = self.palette.paint(Role::Dim, format!("{name:<10}"));
        self.out += &format!("{name} {}\n", value.as_ref());
    }

    fn ago(&self, at: DateTime<Utc>) -> String {
        age::ago(at, self.facts.now)
    }

    /// Who proposes, and for whom.
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
        match self.facts.audience {
            Audience::Default => {}
            Audience::Private => {
                self.field("for", "nobody else (private); aye publish lets others see it")
            }
            Audience::Remote(remote) => {
                self.field("for", format!("the remote {}", escape::name(remote)))
            }
        }
    }

    /// The branch that it was made on.
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

    /// What it names: a domain, another proposal, a task.
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

    /// A later revision, which is the one with this `number`.
    fn revision(&mut self, number: usize, revision: &Revision) {
        let (by, kind) = (escape::name(&revision.actor.to_string()), revision.actor.kind.as_str());
        let who = match revision.actor.name == self.proposal.actor.name {
            true => "",
            false => ", not the proposer",
        };
        let undecided = match self.proposal.undecided.contains(&revision.event) {
            true => ": not decided, made at the same time",
            false => "",
        };
        let (reason, ago) = (escape::line(revision.reason.as_str()), self.ago(revision.at));
        self.field(
            "revision",
            format!("{number} ({reason}) by {by}, {kind}{who}, {ago}{undecided}"),
        );
    }

    /// What it stands on, and the command that decides it.
    fn stack(&mut self) {
        let Facts { stands_on, made_on, status, .. } = *self.facts;
        if let Some(lower) = relations::named(stands_on) {
            self.field("stands on", lower);
        }
        if let Some(lower) = made_on {
            self.field("made on", lower);
        }
        if status == Status::Pending {
            // A lower one that was revised since is not what this one was made on.
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

    fn approval(&mut self, approval: &Approval) {
        let by = escape::name(&approval.by.to_string());
        let evidence = escape::line(approval.evidence.as_str());
        let counts = self.proposal.approvals_in_force().any(|found| found == approval);
        let earlier = self.proposal.earlier_revision(Some(&approval.revision));
        let which = match (counts, earlier) {
            (true, _) => ", nothing written".to_owned(),
            (false, Some(number)) => format!(", revision {number}: no longer counts"),
            (false, None) => ", no longer counts".to_owned(),
        };
        let ago = self.ago(approval.at);
        self.field("approved", format!("{ago} by {by} ({evidence}){which}"));
        self.reason(approval.reason.as_deref());
    }

    /// The decision that counts.
    fn decision(&mut self, decision: &Decision) {
        let by = escape::name(&decision.by.to_string());
        let evidence = escape::line(decision.evidence.as_str());
        let who = match decision.is_by_a_person() || decision.withdrawn {
            true => String::new(),
            false => format!(", {}, not a person's approval", decision.by.kind.as_str()),
        };
        let ago = self.ago(decision.at);
        self.field(self.proposal.state.word(), format!("{ago} by {by} ({evidence}{who})"));
        self.reason(decision.reason.as_deref());
        if let Some(commit) = &decision.commit {
            self.field("commit", commit);
        }
    }

    /// Decisions that stand beside it, and what settles them.
    fn other_decisions(&mut self) {
        let proposal = self.proposal;
        for state in &proposal.beside {
            let Some(decision) = state.decision() else { continue };
            let (by, ago) = (escape::name(&decision.by.to_string()), self.ago(decision.at));
            let is_alike = proposal.is_like(state, &proposal.state);
            let how = if is_alike { "alike" } else { "differently" };
            self.field(state.word(), format!("{ago} by {by}, {how}"));
            self.reason(decision.reason.as_deref());
        }
        if proposal.contested {
            self.field("settle", proposal.settle());
        }
    }

    fn reason(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.field("reason", escape::line(reason));
        }
    }

    /// A command that was run on it.
    fn check(&mut self, result: &CheckResult) {
        let code = result.check.exit_code.map_or("a signal".into(), |code| format!("exit {code}"));
        let command = result.check.command.join(" ");
        let earlier = self.proposal.earlier_revision(Some(&result.check.revision));
        let on = earlier.map(|number| format!(", on revision {number}")).unwrap_or_default();
        let name = escape::name(&result.runner().name);
        let by = match (&result.check.imported, result.kind()) {
            (Some(imported), _) => {
                let importer = escape::name(&result.by.titled());
                format!(" by {} {name}, imported by {importer}", imported.by.kind.as_str())
            }
            (None, ActorKind::Agent) => format!(" by agent {name}"),
            (None, ActorKind::Human | ActorKind::Ci) => String::new(),
        };
        let (command, ago) = (escape::line(&command), self.ago(result.ran_at()));
        self.field("check", format!("{command}: {code}{by}, {ago}{on}"));
    }

    /// What a memory proposal says beside its text.
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
