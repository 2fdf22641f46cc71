//! Requests to memory that are written at once: by the manifest, or because a person said so.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value;

use super::Seen;
use super::apply;
use crate::error::{Error, Result};
use crate::memory::codes;
use crate::memory::plan::MemoryPlan;
use crate::memory::problem::Problem;
use crate::memory::response::Response;
use crate::memory::service::{Mode, Ready, Routed, Service};
use crate::memory::settings::Approval;
use crate::proposal::codes::{CHANGED_SINCE_SHOWN, HUMAN_APPROVAL_REQUIRED};
use crate::proposal::{ActorKind, Authority};

/// A person's decision to write at once what would be staged.
pub struct Decided {
    /// Whose.
    pub authority: Authority,
    /// What was on the screen before the answer, and when, where somebody was asked.
    pub shown: Option<(MemoryPlan, Seen)>,
}

/// Answers a request: applied, staged or rejected. With `decided`, what would be staged is written.
///
/// # Errors
/// `changed_since_shown`; those of the store and the work tree. Nothing is written then.
pub fn propose(
    service: &Service<'_>,
    value: &Value,
    mode: Mode,
    decided: Option<&Decided>,
) -> Result<Response> {
    let ready = match service.route(value, mode, decided.is_some())? {
        Routed::Answered(response) => return Ok(*response),
        Routed::Writes(ready) => ready,
    };
    let by_manifest = Authority::of_the_manifest(&service.actor);
    let authority = decided.map_or(&by_manifest, |decided| &decided.authority);
    let shown = decided.and_then(|decided| decided.shown.as_ref());
    write(service, &ready, authority, (decided.is_some(), shown))
}

fn write(
    service: &Service<'_>,
    ready: &Ready,
    authority: &Authority,
    (by_a_person, shown): (bool, Option<&(MemoryPlan, Seen)>),
) -> Result<Response> {
    let seconds = service.settings.manifest.concurrency.wait_timeout_seconds;
    let wait = Duration::from_secs(seconds);
    let instead = RefCell::new(None);
    let planned = RefCell::new(None);
    let plan = || {
        // The files may have changed since the request was routed.
        let plan = match service.again(ready) {
            Ok(plan) => plan,
            Err(response) => {
                *instead.borrow_mut() = Some(Instead::Answer(response));
                return Ok(None);
            }
        };
        if let Some((shown, seen)) = shown {
            let store = service.store;
            let changed = match shown.files == plan.files {
                false => Some("memory is not as it was shown: the files have changed"),
                true if seen.target == Seen::now(store, &store.view()?)?.target => None,
                true => Some("this is not where it was shown: HEAD moved"),
            };
            if let Some(message) = changed {
                let error = Error::new(&CHANGED_SINCE_SHOWN, message);
                return Err(error.hint("nothing was written; look again"));
            }
        }
        let is_ci = authority.actor().kind == ActorKind::Ci;
        let instructs = match by_a_person && !is_ci {
            true => None,
            false => instructs(service, &plan),
        };
        if let Some(path) = instructs.as_ref().filter(|_| is_ci) {
            let message =
                format!("{path} instructs agents, and a build machine applies no such change");
            return Err(Error::new(&HUMAN_APPROVAL_REQUIRED, message)
                .hint("propose it without --apply, and have a person decide"));
        }
        if (plan.routing.mode != Approval::Apply || instructs.is_some()) && !by_a_person {
            let mut plan = plan;
            plan.warnings.extend(
                instructs.map(|path| format!("{path} instructs agents: a person decides this")),
            );
            *instead.borrow_mut() = Some(Instead::Stage(Box::new(plan)));
            return Ok(None);
        }
        let writing = service.writing(ready, &plan)?;
        *planned.borrow_mut() = Some(plan);
        Ok(Some(writing))
    };
    let made = match apply::propose_and_apply(service.store, authority, service.now, wait, plan) {
        Err(error) if is_busy(&error) => return Ok(locked()),
        other => other?,
    };
    match (made, instead.into_inner()) {
        (_, Some(Instead::Answer(response))) => Ok(*response),
        (_, Some(Instead::Stage(plan))) => service.stage_instead(ready, &plan),
        (Some(proposal), None) => {
            let plan = planned.into_inner().unwrap_or_else(|| ready.plan.clone());
            let mut response = service.applied(&plan, proposal.id.as_str());
            let reviewers = Vec::from_iter(by_a_person.then(|| authority.actor().clone()));
            let (store, now) = (service.store, service.now);
            let followed = super::subject::follow(store, authority, now, &proposal, &reviewers);
            response.warnings.extend(followed);
            Ok(response)
        }
        (None, None) => Ok(locked()),
    }
}

/// A file of `plan` that instructs agents, if there is one: nothing writes it without a person.
fn instructs(service: &Service<'_>, plan: &MemoryPlan) -> Option<String> {
    let known = service.store.instructions();
    let paths = plan.files.keys().map(|path| format!("{}/{path}", crate::memory::DIR));
    let mut paths = paths.filter(|path| known.kind_of(path.as_bytes().into()).is_some());
    paths.next()
}

enum Instead {
    Answer(Box<Response>),
    Stage(Box<MemoryPlan>),
}

/// True where another process of aye, or of git, is at the files.
fn is_busy(error: &crate::error::Error) -> bool {
    use crate::worktree::codes::{APPLY_BUSY, INDEX_LOCKED};
    error.is(&APPLY_BUSY) || error.is(&INDEX_LOCKED) || error.is(&codes::LOCK_HELD)
}

fn locked() -> Response {
    let problem = Problem::new(&codes::LOCK_HELD, "another process is writing the memory store")
        .fix("call again in a moment");
    Response::rejected(&[problem])
}
