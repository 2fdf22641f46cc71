//! `withdraw`: the proposer withdraws a proposal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Arguments;
use super::arguments::required;
use crate::app::Session;
use crate::decide;
use crate::decide::verdict::{self, Word};
use crate::error::Result;
use crate::proposal::Status;
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;

/// Its name.
pub const NAME: &str = "withdraw";

/// Answer, also that of `aye reopen`.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// `aye/withdraw@1` or `aye/reopen@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The proposals, in the order given.
    pub proposals: Vec<Item>,
}

/// One proposal of the answer.
#[derive(Debug, Serialize)]
pub struct Item {
    /// The id.
    pub proposal_id: String,
    /// `rejected` once it is withdrawn, `pending` once it is open again.
    pub status: Status,
}

impl Answer {
    /// The answer that all of `ids` have `status` now.
    pub fn new(schema: &'static str, ids: &[&str], status: Status) -> Self {
        let item = |id: &&str| Item { proposal_id: (*id).to_owned(), status };
        Self { schema, success: true, proposals: ids.iter().map(item).collect() }
    }
}

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The proposal.
    #[schemars(required)]
    proposal_id: Option<String>,
    /// Why.
    reason: Option<String>,
}

/// Withdraws a proposal.
///
/// # Errors
/// `proposal_not_found` and its kin, `not_pending`, `human_approval_required` for another's proposal.
pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments, "{\"proposal_id\": …}")?.answer(|known, ignored| {
        let id = required("proposal_id", known.proposal_id, ignored)?;
        let Session { store, caller, now } = session;
        let proposal = store.view()?.find(&id)?;
        proposal.require_pending(*now)?;
        let proposals = std::slice::from_ref(&proposal);
        let command = format!("aye reject {}", proposal.id);
        let authority =
            decide::authorise(store, caller, Verb::Withdraw, proposals, &Evidence::Tool, &command)?;
        let (word, reason) = (Word::Withdraw, known.reason.as_deref());
        verdict::say(store, &authority, *now, proposals, &word, reason, &[], None)?;
        let ids = [proposal.id.as_str()];
        Ok(Answer::new("aye/withdraw@1", &ids, Status::Rejected))
    })
}
