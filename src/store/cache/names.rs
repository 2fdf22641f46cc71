//! Proposals by what people type: ids, beginnings of ids, staging ids.

use rusqlite::{OptionalExtension as _, params};

use super::View;
use crate::error::{Error, Result};
use crate::proposal::{Proposal, ProposalId, codes, id};

/// Those whose staging id lies between two texts.
pub(super) const STAGING: &str = "SELECT staging, id FROM proposal
    WHERE staging IS NOT NULL AND staging >= ?1 AND staging < ?2 ORDER BY created DESC, id DESC";

impl View {
    /// The one proposal that `text` (an id or the beginning of one) names.
    ///
    /// # Errors
    /// `invalid_id`, `proposal_not_found`, `ambiguous_id` with the candidates.
    pub fn resolve(&self, text: &str) -> Result<ProposalId> {
        if text.len() > DATE
            && let Some(id) = self.staged(text)?
        {
            return Ok(id);
        }
        let prefix = id::normalize(text)?;
        let mut found = Vec::new();
        if let Some(connection) = &self.connection {
            let query = || -> rusqlite::Result<Vec<(String, Option<String>)>> {
                let mut statement = connection.prepare_cached(
                    "SELECT id, description FROM proposal WHERE id >= ?1 AND id < ?2
                     UNION SELECT id, NULL FROM purged WHERE id >= ?1 AND id < ?2
                     ORDER BY id LIMIT 6",
                )?;
                // '{' is the character behind 'z'.
                let rows = statement.query_map(params![prefix, format!("{prefix}{{")], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
                rows.collect()
            };
            found = query().map_err(|error| self.failed(&error))?;
        }
        match found.as_slice() {
            [(one, _)] => ProposalId::parse(one),
            [] => Err(Error::new(&codes::PROPOSAL_NOT_FOUND, format!("no proposal '{text}'"))
                .with("proposal_id", text)
                .hint("`aye list` shows the pending ones, `aye list --status all` all")),
            several => {
                let named: Vec<String> = several.iter().map(named).collect();
                let ids: Vec<&str> = several.iter().map(|(id, _)| id.as_str()).collect();
                let message = format!("'{text}' begins several ids: {}", named.join(", "));
                Err(Error::new(&codes::AMBIGUOUS_ID, message)
                    .with("candidates", ids)
                    .hint("type more characters of the one you mean"))
            }
        }
    }

    /// The memory proposal whose staging id is `text`, or the only one whose id begins so.
    ///
    /// # Errors
    /// `ambiguous_id` with the proposals, also where several have the very id: nothing keeps the lane of
    /// another clone from bringing a second one.
    pub fn staged(&self, text: &str) -> Result<Option<ProposalId>> {
        if !is_staging_id(text) {
            return Ok(None);
        }
        let mut found = self.staging(text)?;
        if found.iter().any(|(id, _)| id == text) {
            found.retain(|(id, _)| id == text);
        }
        match found.as_slice() {
            [] => Ok(None),
            [(_, id)] => Ok(Some(id.clone())),
            several => {
                let named: Vec<String> = several
                    .iter()
                    .take(6)
                    .map(|(staging, id)| format!("{staging} ({id})"))
                    .collect();
                let ids: Vec<&str> = several.iter().map(|(_, id)| id.as_str()).collect();
                let message =
                    format!("'{text}' names several memory proposals: {}", named.join(", "));
                Err(Error::new(&codes::AMBIGUOUS_ID, message)
                    .with("candidates", ids)
                    .hint("give more of it, or the proposal's own id (prop_…)"))
            }
        }
    }

    /// The memory proposals whose staging id begins with `prefix`, newest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn staging(&self, prefix: &str) -> Result<Vec<(String, ProposalId)>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<(String, String)>> {
            let mut statement = connection.prepare_cached(STAGING)?;
            let end = format!("{prefix}{}", char::MAX);
            let rows = statement.query_map([prefix, &end], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        let found = query().map_err(|error| self.failed(&error))?;
        found.into_iter().map(|(staging, id)| Ok((staging, ProposalId::parse(&id)?))).collect()
    }

    /// [`View::resolve`] and [`View::proposal`] in one. `ID@REV` also holds the current revision to
    /// the beginning of its event id.
    ///
    /// # Errors
    /// As those; `revised_meanwhile`.
    pub fn find(&self, text: &str) -> Result<Proposal> {
        match text.split_once('@') {
            None => self.proposal(&self.resolve(text)?),
            Some((id, revision)) => {
                let proposal = self.proposal(&self.resolve(id)?)?;
                proposal.require_revision_prefix(revision)?;
                Ok(proposal)
            }
        }
    }

    /// How many characters behind `prop_` suffice to name `proposal`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn prefix(&self, proposal: &ProposalId) -> Result<usize> {
        let Some(connection) = &self.connection else { return Ok(id::SHORTEST) };
        let found: Option<i64> = connection
            .query_row("SELECT prefix FROM proposal WHERE id = ?1", [proposal.as_str()], |row| {
                row.get(0)
            })
            .optional()
            .map_err(|error| self.failed(&error))?;
        Ok((found.unwrap_or(1) as usize).max(id::SHORTEST))
    }
}

/// Characters of the date that a staging id starts with.
const DATE: usize = 8;

/// Whether a text is (the beginning of) a staging id, which starts with a date and a `T`.
fn is_staging_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    !bytes.is_empty()
        && text.is_ascii()
        && bytes.iter().take(DATE).all(u8::is_ascii_digit)
        && bytes.get(DATE).is_none_or(|byte| *byte == b'T')
}

/// An id with the beginning of its description.
fn named((id, description): &(String, Option<String>)) -> String {
    let line = description.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    match line.chars().count() {
        0 => id.clone(),
        count if count <= MOST_NAMED => format!("{id} ({line})"),
        _ => format!("{id} ({}…)", line.chars().take(MOST_NAMED).collect::<String>()),
    }
}

/// Characters of a description beside an id.
const MOST_NAMED: usize = 40;
