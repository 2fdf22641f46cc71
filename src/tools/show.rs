//! The `show` tool.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Arguments;
use crate::app::Session;
use crate::app::listing::marks_of;
use crate::app::quotes;
use crate::error::Result;
use crate::proposal::document::Document;
use crate::render::diff::{self, Options};

/// More bytes would fill a model's context.
const MAX_DIFF_BYTES: usize = 64 << 10;

/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The proposal.
    proposal_id: String,
}

#[derive(Debug, Serialize)]
pub struct ShowResponse {
    #[serde(flatten)]
    pub proposal: Document,
    /// At most 64 KiB; null if content is missing in this clone.
    pub diff: Option<String>,
    pub diff_truncated: bool,
}

pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::<Parameters>::read(arguments)?.answer(|known| {
        let store = session.store;
        let view = store.view()?;
        let proposal = view.find(&known.proposal_id)?;
        let places = quotes::places(store, &proposal);
        let mut document = Document::new(&proposal, proposal.status(session.now), &places);
        document.space = Some(view.space(&proposal.id)?.as_str());
        document.marks = marks_of(store, &view, session.now, &proposal)?;
        drop(view);
        let changeset = store.changeset(proposal.current()).ok();
        let changes = changeset
            .map(|changeset| store.repository().with_named_sources(changeset.into_changes()));
        document.compare(changes.as_deref().unwrap_or_default());
        let shown = changes.map(|changes| store.repository().with_sources(changes));
        let mut diff = shown.map(|changes| diff::changeset(&changes, &Options::default()));
        let diff_truncated = diff.as_ref().is_some_and(|diff| diff.len() > MAX_DIFF_BYTES);
        if let Some(diff) = &mut diff {
            diff.truncate(diff.floor_char_boundary(MAX_DIFF_BYTES));
        }
        Ok(ShowResponse { proposal: document, diff, diff_truncated })
    })
}
