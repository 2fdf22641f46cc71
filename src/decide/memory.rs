//! Requests to memory that are written at once: by the manifest, or because a person said so.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value;

use super::apply::{self, Request};
use crate::error::Result;
use crate::memory::codes;
use crate::memory::problem::Problem;
use crate::memory::response::Response;
use crate::memory::service::{Mode, Ready, Routed, Service};
use crate::memory::settings::Approval;
use crate::proposal::event::Effect;
use crate::proposal::{Authority, Proposal};

/// Answers a request: applied, staged or rejected. `decided` is the authority of a person who
/// wants what would be staged to be written.
///
/// # Errors
/// Those of the store and the work tree; nothing is written then.
pub fn propose(
    service: &Service<'_>,
    value: &Value,
    mode: Mode,
    decided: Option<&Authority>,
) -> Result<Response> {
    let ready = match service.route(value, mode, decided.is_some())? {
        Routed::Answered(response) => return Ok(*response),
        Routed::Writes(ready) => ready,
    };
    let by_manifest = Authority::of_the_manifest(&service.actor);
    write(service, &ready, decided.unwrap_or(&by_manifest), decided.is_some())
}

fn write(
    service: &Service<'_>,
    ready: &Ready,
    authority: &Authority,
    by_a_person: bool,
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
        if plan.routing.mode != Approval::Apply && !by_a_person {
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

enum Instead {
    Answer(Box<Response>),
    Stage(Box<crate::memory::plan::MemoryPlan>),
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

/// Applies a staged proposal, with the contract's response. What stands in the way is an answer.
///
/// # Errors
/// `not_pending`, `revised_meanwhile`, and those of the store and the work tree.
pub fn apply(
    service: &Service<'_>,
    authority: &Authority,
    proposal: &Proposal,
) -> Result<Response> {
    let plan = match service.applicable(proposal)? {
        Ok(plan) => plan,
        Err(refused) => return Ok(refused.response),
    };
    let request = Request::all(Effect::Files);
    let (store, now) = (service.store, service.now);
    let applied = match apply::apply(store, authority, now, proposal, &request, None) {
        Err(error) if is_busy(&error) => return Ok(locked()),
        other => other?,
    };
    let mut response = service.applied(&plan, proposal.id.as_str());
    response.staging_id = crate::memory::service::locate::staging_id(proposal).map(str::to_owned);
    response.warnings.extend(applied.warnings);
    Ok(response)
}
