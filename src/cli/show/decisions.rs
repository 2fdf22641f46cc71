//! Decisions on a proposal, and results of its trials.

use super::header::Header;
use crate::proposal::ActorKind;
use crate::proposal::state::{Approval, CheckResult, Decision};
use crate::text::escape;

impl Header<'_> {
    pub(super) fn approval(&mut self, approval: &Approval) {
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

    pub(super) fn decision(&mut self, decision: &Decision) {
        let by = escape::name(&decision.by.to_string());
        let evidence = escape::line(decision.evidence.as_str());
        let who = if decision.is_by_a_person() || decision.withdrawn {
            String::new()
        } else {
            format!(", {}, not a person's approval", decision.by.kind.as_str())
        };
        let ago = self.ago(decision.at);
        self.field(self.proposal.state.word(), format!("{ago} by {by} ({evidence}{who})"));
        self.reason(decision.reason.as_deref());
        if let Some(commit) = &decision.commit {
            self.field("commit", commit);
        }
    }

    pub(super) fn other_decisions(&mut self) {
        let proposal = self.proposal;
        for state in &proposal.concurrent {
            let Some(decision) = state.decision() else { continue };
            let (by, ago) = (escape::name(&decision.by.to_string()), self.ago(decision.at));
            let is_alike = proposal.is_like(state, &proposal.state);
            let how = if is_alike { "alike" } else { "differently" };
            self.field(state.word(), format!("{ago} by {by}, {how}"));
            self.reason(decision.reason.as_deref());
        }
        if proposal.contested {
            self.field("settle", proposal.settling_commands());
        }
    }

    pub(super) fn reason(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.field("reason", escape::line(reason));
        }
    }

    pub(super) fn check(&mut self, result: &CheckResult) {
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
}
