//! `aye session list`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::app::recall;
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::render::style::Palette;
use crate::render::table::{Align, Cell, Table};
use crate::session::SessionStore;
use crate::session::session_store::SessionState;
use crate::store::Store;
use crate::text::escape;

/// Answer of `aye session list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct List {
    /// `aye/sessions@1`
    pub schema: &'static str,
    /// The sessions, by name.
    pub sessions: Vec<SessionItem>,
}

/// One session of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionItem {
    /// Its name.
    pub name: String,
    /// State of the session.
    pub state: SessionState,
    /// Name of the agent; null where the record cannot be read.
    pub agent: Option<String>,
    /// Time of its start.
    pub started_at: Option<String>,
    /// Path of its tree.
    pub tree: String,
    /// The latest proposal.
    pub proposal_id: Option<String>,
}

fn item(store: &Store, home: &SessionStore, name: String) -> SessionItem {
    let record = recall::record(store, home, &name).ok();
    SessionItem {
        state: home.state(&name),
        agent: record.as_ref().map(|record| record.agent.clone()),
        started_at: record.as_ref().map(|record| record.started_at.clone()),
        tree: home.tree(&name).to_string_lossy().into_owned(),
        proposal_id: record.and_then(|record| record.proposal),
        name,
    }
}

pub(super) fn list(
    context: &mut Context,
    store: &Store,
    home: Option<&SessionStore>,
) -> Result<Exit> {
    let items = |home: &SessionStore| {
        home.names().into_iter().map(|name| item(store, home, name)).collect()
    };
    let list = List { schema: "aye/sessions@1", sessions: home.map(items).unwrap_or_default() };
    if list.sessions.is_empty() && context.format_or(Format::Text) == Format::Text {
        context.note("no sessions");
        return Ok(Exit::Done);
    }
    context.emit(Format::Text, &list, || {
        let titles = ["NAME", "STATE", "AGENT", "PROPOSAL", "TREE"].map(|name| (name, Align::Left));
        let mut table = Table::new(&titles);
        for item in &list.sessions {
            let cell = |text: &str| Cell::from(escape::line(text).into_owned());
            table.row([
                cell(&item.name),
                cell(item.state.as_str()),
                cell(item.agent.as_deref().unwrap_or("?")),
                cell(item.proposal_id.as_deref().unwrap_or("-")),
                cell(&item.tree),
            ]);
        }
        table.render(&Palette::plain(), None)
    })
}
