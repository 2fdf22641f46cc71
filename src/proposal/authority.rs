//! The right to decide, as a value. Only the rule function makes one; the store's writer demands
//! one for every decision. Code without one cannot record a decision.

use super::event::Evidence;
use super::rules::{self, CallerClass, Permission, Permits, Verb};
use super::{Actor, ActorKind, Proposal, codes};
use crate::error::{Error, Result};

/// The caller, with all that `cli/` knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub actor: Actor,
    /// Evidence of an agent: an environment variable such as `CODEX_THREAD_ID`, a process, a client.
    /// `None` for people and unmarked tool callers. No refusal names it: an agent would remove it.
    pub marker: Option<String>,
    /// True for a call through a tool contract.
    pub tool: bool,
}

impl Caller {
    /// Column of the rule table.
    pub fn class(&self) -> CallerClass {
        match self.actor.kind {
            ActorKind::Agent if self.tool && self.marker.is_none() => CallerClass::Tool,
            ActorKind::Agent => CallerClass::Agent,
            ActorKind::Ci => CallerClass::Ci,
            ActorKind::Human => CallerClass::Human,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub verb: Verb,
    /// `None` if there is no proposal yet.
    pub proposal: Option<&'a Proposal>,
    /// Clone that would record it, if it has a name.
    pub clone: Option<&'a str>,
    pub evidence: Evidence,
    pub memory: bool,
    pub sensitive: bool,
    /// True if it changes a file that instructs coding agents: only a person may apply that.
    pub instructs: bool,
    /// Command that a person would type, for hints.
    pub command: &'a str,
}

/// The right of one actor to one verb.
#[derive(Clone, Debug)]
pub struct Authority {
    actor: Actor,
    verb: Verb,
    evidence: Evidence,
}

impl Authority {
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    pub fn verb(&self) -> Verb {
        self.verb
    }

    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// True for a person's decision: checks and trailers count no other.
    pub fn is_of_a_person(&self) -> bool {
        self.actor.kind == ActorKind::Human && rules::is_personal(&self.evidence)
    }

    /// Authority of the memory manifest in HEAD: requests of intents that it routes to `apply` need
    /// no person. Recorded with evidence `tool`; never counted as an approval.
    pub(crate) fn of_the_manifest(actor: &Actor) -> Self {
        Self { actor: actor.clone(), verb: Verb::Apply, evidence: Evidence::Tool }
    }
}

/// Applies the rule table.
///
/// # Errors
/// `human_approval_required` for what only a person may do, and for other proposers' proposals;
/// `terminal_required` if `--yes` is not enough.
pub fn authorise(caller: &Caller, request: &Request<'_>, permits: &Permits) -> Result<Authority> {
    let class = caller.class();
    let own = || {
        request
            .proposal
            .is_some_and(|proposal| proposal.is_proposed_by(&caller.actor, request.clone))
    };
    let granted = match rules::permission(class, request.verb) {
        Permission::Yes => true,
        Permission::Own => own(),
        Permission::OwnIfPolicy => permits.agents_may_mark && own(),
        Permission::OwnOrCiIfPolicy => permits.ci_may_apply || own(),
        Permission::CiIfPolicy => {
            permits.ci_may_apply && !(request.instructs && request.verb.writes())
        }
        Permission::Asked => rules::is_personal(&request.evidence),
        // The caller checks the gate before it writes.
        Permission::Ungated | Permission::AttendedOrUngated => true,
        Permission::Decides => {
            if request.evidence == Evidence::Flag
                && permits.wants_terminal(request.memory, request.sensitive)
            {
                return Err(needs_terminal(request, permits));
            }
            rules::is_personal(&request.evidence)
        }
        Permission::No => false,
    };
    if granted {
        Ok(Authority {
            actor: caller.actor.clone(),
            verb: request.verb,
            evidence: request.evidence.clone(),
        })
    } else {
        Err(refusal(caller, request))
    }
}

fn needs_terminal(request: &Request<'_>, permits: &Permits) -> Error {
    // Checked separately: one path may be both memory and sensitive.
    let wanted = [
        permits.wants_terminal(request.memory, false).then_some("memory"),
        permits.wants_terminal(false, request.sensitive).then_some("a sensitive path"),
    ];
    let what = wanted.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let who = request.proposal.map_or("it", |proposal| proposal.id.as_str());
    Error::new(
        &codes::TERMINAL_REQUIRED,
        format!("{who} changes {what}, which is decided at a terminal"),
    )
    .with("command", request.command)
    .hint(format!("ask your user to run at a terminal: {}", request.command))
}

fn refusal(caller: &Caller, request: &Request<'_>) -> Error {
    let name = &caller.actor.name;
    let seen = match caller.class() {
        CallerClass::Tool => "a tool was called".to_owned(),
        CallerClass::Ci => "this is a build machine (CI is set)".to_owned(),
        CallerClass::Human => format!("you are '{name}'"),
        CallerClass::Agent => format!("'{name}' is an agent"),
    };
    let others = request.verb == Verb::Revise;
    let (why, hint) = match request.proposal {
        Some(proposal) if others && caller.class() == CallerClass::Human => (
            format!("{} belongs to '{}'", proposal.id, proposal.actor.name),
            format!("run: {}", request.command),
        ),
        Some(proposal) if others => (
            format!("{} belongs to '{}'", proposal.id, proposal.actor.name),
            format!(
                "make a proposal of your own: aye propose --instead-of {} …; a person may run: {}",
                proposal.id, request.command
            ),
        ),
        _ => {
            let own =
                if request.verb == Verb::Push { "to fetch: aye sync --fetch; else " } else { "" };
            let hint = format!("{own}ask your user to run: {}", request.command);
            ("a person has to decide this".to_owned(), hint)
        }
    };
    Error::new(&codes::HUMAN_APPROVAL_REQUIRED, format!("{seen}, and {why}"))
        .with("command", request.command)
        .hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(kind: ActorKind, marker: Option<&str>, tool: bool) -> Caller {
        let actor = Actor { name: "n".into(), email: String::new(), kind };
        Caller { actor, marker: marker.map(str::to_owned), tool }
    }

    fn ask(
        caller: &Caller,
        verb: Verb,
        evidence: Evidence,
        permits: &Permits,
    ) -> Result<Authority> {
        let request = Request {
            verb,
            proposal: None,
            clone: None,
            evidence,
            memory: false,
            sensitive: false,
            instructs: false,
            command: "aye apply x",
        };
        authorise(caller, &request, permits)
    }

    const DECISIONS: [Verb; 8] = [
        Verb::Apply,
        Verb::Approve,
        Verb::Reject,
        Verb::RequestChanges,
        Verb::Publish,
        Verb::Purge,
        Verb::Undo,
        Verb::Force,
    ];

    #[test]
    fn no_evidence_lets_an_agent_decide() {
        let all = Permits {
            agents_may_mark: true,
            ci_may_apply: true,
            memory_by_flag: true,
            sensitive_by_flag: true,
        };
        for tool in [false, true] {
            for marker in [None, Some("AYE_AGENT")] {
                let agent = caller(ActorKind::Agent, marker, tool);
                for verb in DECISIONS {
                    for evidence in [Evidence::Terminal, Evidence::Flag, Evidence::Tool] {
                        let error = ask(&agent, verb, evidence, &all).unwrap_err();
                        assert!(error.is(&codes::HUMAN_APPROVAL_REQUIRED), "{verb:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_refusal_names_the_person_to_ask_and_no_way_round() {
        let agent = caller(ActorKind::Agent, Some("CODEX_CI"), false);
        let refused = ask(&agent, Verb::Apply, Evidence::Flag, &Permits::NONE).unwrap_err();
        let text = format!("{refused:?}");
        assert!(text.contains("ask your user to run: aye apply x"), "{text}");
        assert!(!text.contains("CODEX_CI") && !text.contains("--yes"), "{text}");
    }

    #[test]
    fn a_tool_call_is_no_evidence_of_a_person() {
        let person = caller(ActorKind::Human, None, true);
        for evidence in [Evidence::Tool, Evidence::Hook, Evidence::Other("x".into())] {
            assert!(ask(&person, Verb::Apply, evidence, &Permits::NONE).is_err());
        }
        assert!(ask(&person, Verb::Apply, Evidence::Terminal, &Permits::NONE).is_ok());
    }

    #[test]
    fn memory_and_sensitive_paths_want_a_terminal_until_policy_says_otherwise() {
        let person = caller(ActorKind::Human, None, false);
        let mut request = Request {
            verb: Verb::Apply,
            proposal: None,
            clone: None,
            evidence: Evidence::Flag,
            memory: true,
            sensitive: false,
            instructs: false,
            command: "aye apply x",
        };
        let refused = authorise(&person, &request, &Permits::NONE).unwrap_err();
        assert!(refused.is(&codes::TERMINAL_REQUIRED));
        let loosened = Permits { memory_by_flag: true, ..Permits::NONE };
        assert!(authorise(&person, &request, &loosened).is_ok());
        request.sensitive = true;
        assert!(authorise(&person, &request, &loosened).is_err());
        request.evidence = Evidence::Terminal;
        assert!(authorise(&person, &request, &Permits::NONE).is_ok());
    }

    #[test]
    fn every_verb_has_a_row() {
        for verb in DECISIONS {
            assert!(rules::TABLE.iter().any(|(known, _)| *known == verb));
        }
    }
}
