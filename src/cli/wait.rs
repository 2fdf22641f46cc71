//! `aye wait`: block until a proposal is decided, so that an agent that shells out gets its answer.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, Format};
use crate::error::{Error, Exit, Result, codes};
use crate::proposal::document::{Document as Full, Remark, timestamp};
use crate::proposal::state::Revision;
use crate::proposal::{Proposal, ProposalId, State, Status};
use crate::render::diff::{self, Options};
use crate::review::model::interdiff;
use crate::store::{Store, idle::Tips, parse_duration};
use crate::text::escape;

/// Exit status when the time is over, as `timeout` has it.
const TIMED_OUT: i32 = 124;
/// Shortest and longest pause between two looks at the lane tips (a handful of small files).
const PAUSES: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(500));

/// Wait until a proposal is decided.
///
/// Ends with 0 when it is applied, 1 when it is rejected or expires, 4 when a reviewer asks for
/// changes, 124 when the time is over. The reason and the comments are on standard output, in the
/// chosen format.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye wait prop_m4k8n --timeout 10m
  aye wait prop_m4k8n --json && echo applied")]
pub struct Args {
    /// The proposal, by id or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// Give up after this long (30s, 10m, 2h; 0 only looks); otherwise wait until it expires.
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
}

/// The document of `aye wait`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// `aye/wait@1`.
    pub schema: &'static str,
    /// The proposal.
    pub proposal_id: String,
    /// `pending`, `applied`, `rejected` or `expired`.
    pub status: Status,
    /// A reviewer asked for changes.
    pub changes_requested: bool,
    /// The time was over before anything was decided.
    pub timed_out: bool,
    /// Why it was rejected, or what should change.
    pub reason: Option<String>,
    /// Who decided or asked.
    pub by: Option<String>,
    /// When.
    pub at: Option<String>,
    /// The commit made with the decision.
    pub commit: Option<String>,
    /// What was made of it, where the revision that stands is not the proposer's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revised: Option<Revised>,
    /// All comments, oldest first.
    pub comments: Vec<Remark>,
}

/// A revision by somebody else than the proposer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Revised {
    /// Who made it.
    pub by: String,
    /// `partial` (some hunks were taken), `edited`, `rebase` or `answer`.
    pub reason: String,
    /// Unified diff from the proposer's last content to it; null where that is not here any more.
    pub diff: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// `proposal_not_found` and its kin, `usage` for a time span that is none.
pub fn run(context: &mut Context, args: &Args) -> Result<Exit> {
    let limit = args.timeout.as_deref().map(span).transpose()?;
    let started = Instant::now();
    let store = context.store()?;
    let mut tips = Tips::read(store.common_dir());
    let id = store.view()?.resolve(&args.id)?;
    let mut proposal = look(&store, &id)?;
    let mut pause = PAUSES.0;
    loop {
        let now = context.clock();
        let status = proposal.status(now);
        let decided = status != Status::Pending || proposal.changes_requested.is_some();
        let over = limit.is_some_and(|limit| started.elapsed() >= limit);
        if decided || over {
            let revised = revised(&store, &proposal);
            return answer(context, &proposal, status, !decided, revised);
        }
        let mut rest = pause;
        if let Some(limit) = limit {
            rest = rest.min(limit.saturating_sub(started.elapsed()));
        }
        let left = (proposal.expires_at - now).to_std().unwrap_or_default();
        std::thread::sleep(rest.min(left).max(Duration::from_millis(1)));
        pause = pause.mul_f32(1.3).min(PAUSES.1);
        let current = Tips::read(store.common_dir());
        // Where the tips cannot be read from files, look properly each time.
        if current.is_none() || current != tips {
            tips = current;
            proposal = look(&store, &id)?;
            pause = PAUSES.0;
        }
    }
}

fn look(store: &Store, id: &ProposalId) -> Result<Proposal> {
    store.view()?.proposal(id)
}

/// What somebody else has made of `proposal`.
fn revised(store: &Store, proposal: &Proposal) -> Option<Revised> {
    let current = proposal.current();
    if proposal.is_own(current) {
        return None;
    }
    let own = proposal.revisions.iter().rfind(|revision| proposal.is_own(revision))?;
    let changes = |revision: &Revision| {
        store.changeset(&revision.changes).map(crate::changeset::Changeset::into_changes).ok()
    };
    let diff = changes(own)
        .zip(changes(current))
        .map(|(own, current)| diff::changeset(&interdiff(&own, &current), &Options::default()));
    Some(Revised { by: current.actor.name.clone(), reason: current.reason.clone(), diff })
}

fn span(text: &str) -> Result<Duration> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    parse_duration(text).and_then(|span| span.to_std().ok()).ok_or_else(|| {
        Error::new(&codes::USAGE, format!("--timeout: '{text}' is no time span"))
            .hint("write a number and a unit: 30s, 10m, 2h")
    })
}

fn answer(
    context: &mut Context,
    proposal: &Proposal,
    status: Status,
    timed_out: bool,
    revised: Option<Revised>,
) -> Result<Exit> {
    let request = proposal.changes_requested.as_ref().filter(|_| status == Status::Pending);
    let decision = proposal.decision();
    let full = Full::new(proposal, status);
    let document = Document {
        schema: "aye/wait@1",
        proposal_id: proposal.id.to_string(),
        status,
        changes_requested: request.is_some(),
        timed_out,
        reason: decision
            .and_then(|decision| decision.reason.clone())
            .or_else(|| request.and_then(|request| request.reason.clone())),
        by: decision.map(|d| d.by.name.clone()).or_else(|| request.map(|r| r.by.name.clone())),
        at: decision.map(|d| timestamp(d.at)).or_else(|| request.map(|r| timestamp(r.at))),
        commit: decision.and_then(|decision| decision.commit.clone()),
        revised,
        comments: full.comments,
    };
    context.emit(Format::Text, &document, || text(&document))?;
    Ok(match (&proposal.state, status) {
        (State::Applied(_), _) => Exit::Done,
        (_, Status::Rejected | Status::Expired) => Exit::Negative,
        _ if timed_out => context.ends_with(TIMED_OUT),
        _ => Exit::Refused,
    })
}

fn text(document: &Document) -> String {
    let what = match (document.status, document.changes_requested) {
        (Status::Pending, true) => "changes requested",
        (status, _) => status.as_str(),
    };
    let by = document.by.as_deref().map(|by| format!(" by {}", escape::line(by)));
    let mut text = format!("{} {what}{}\n", document.proposal_id, by.unwrap_or_default());
    if document.timed_out {
        text = format!("{} is still pending\n", document.proposal_id);
    }
    for line in document.reason.iter().flat_map(|reason| reason.lines()) {
        text += &format!("  {}\n", escape::line(line));
    }
    if let Some(Revised { by, reason, diff }) = &document.revised {
        let what = match reason.as_str() {
            "partial" => "taken in part",
            "rebase" => "rebased",
            "edited" => "edited",
            _ => "revised",
        };
        text += &format!("{what} by {}; what was proposed against that:\n", escape::line(by));
        match diff {
            Some(diff) => text += diff,
            None => text += "  (its content is not in this clone)\n",
        }
    }
    for comment in &document.comments {
        let place = match (&comment.path, comment.line) {
            (Some(path), Some(line)) => format!(" at {}:{line}", escape::line(path)),
            (Some(path), None) => format!(" at {}", escape::line(path)),
            _ => String::new(),
        };
        text += &format!("{}{place}:\n", escape::line(&comment.by));
        for line in comment.body.lines() {
            text += &format!("  {}\n", escape::line(line));
        }
    }
    text
}
