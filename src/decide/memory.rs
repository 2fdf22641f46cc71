//! Memory requests that the manifest lets pass at once.

use std::time::Duration;

use serde_json::Value;

use super::apply;
use crate::error::Result;
use crate::memory::plan::MemoryPlan;
use crate::memory::problem::Problem;
use crate::memory::response::Response;
use crate::memory::service::Service;
use crate::memory::settings::Approval;
use crate::memory::{Request, codes};
use crate::proposal::Authority;

/// Applies, stages or rejects a request. `stage` forces staging. An error means that nothing was
/// written.
pub fn propose(service: &Service<'_>, value: &Value, stage: bool) -> Result<Response> {
    let request = Request::read(value);
    let mut answer = planned(service, &request, stage);
    if matches!(answer, Planned::Writes(_)) {
        let wait = Duration::from_secs(service.settings.manifest.concurrency.wait_timeout_seconds);
        let authority = Authority::of_the_manifest(&service.actor);
        let (store, now) = (service.store, service.now);
        let made = apply::propose_and_apply(store, &authority, now, wait, || {
            // The files may have changed before the lock.
            answer = planned(service, &request, stage);
            match &answer {
                Planned::Writes(plan) => service.writing(value, &request, plan).map(Some),
                _ => Ok(None),
            }
        });
        let made = match made {
            Err(error) if is_busy(&error) => return Ok(locked()),
            made => made?,
        };
        if let (Planned::Writes(plan), Some(proposal)) = (&answer, made) {
            let mut response = service.applied(plan, proposal.id.as_str());
            response.warnings.extend(super::subject::commit_memory(
                store,
                &authority,
                now,
                &proposal,
                &[],
            ));
            return Ok(response);
        }
    }
    match answer {
        Planned::Rejected(problems) => Ok(service.rejected(&problems)),
        Planned::Waits(plan) => service.stage(value, &request, &plan),
        Planned::Writes(_) => Ok(locked()),
    }
}

enum Planned {
    Rejected(Vec<Problem>),
    /// A person decides.
    Waits(Box<MemoryPlan>),
    Writes(Box<MemoryPlan>),
}

fn planned(service: &Service<'_>, request: &Request, stage: bool) -> Planned {
    let mut plan = match service.plan(request) {
        Ok(plan) => Box::new(plan),
        Err(problems) => return Planned::Rejected(problems),
    };
    if stage || plan.routing.mode != Approval::Apply {
        return Planned::Waits(plan);
    }
    if let Some(path) = instructs(service, &plan) {
        plan.warnings.push(format!("{path} instructs agents: a person decides this"));
        return Planned::Waits(plan);
    }
    Planned::Writes(plan)
}

/// A file of `plan` that instructs agents: only a person lets that pass.
fn instructs(service: &Service<'_>, plan: &MemoryPlan) -> Option<String> {
    let known = service.store.repository().instructions();
    let paths = plan.files.keys().map(|path| format!("{}/{path}", crate::memory::DIR));
    let mut paths = paths.filter(|path| known.kind_of(path.as_bytes().into()).is_some());
    paths.next()
}

/// True if another aye or git process writes the files.
fn is_busy(error: &crate::error::Error) -> bool {
    use crate::worktree::codes::{APPLY_BUSY, INDEX_LOCKED};
    error.is(&APPLY_BUSY) || error.is(&INDEX_LOCKED) || error.is(&codes::LOCK_HELD)
}

fn locked() -> Response {
    let problem = Problem::new(&codes::LOCK_HELD, "another process is writing the memory store")
        .fix("call again in a moment");
    Response::rejected(&[problem])
}
