//! What a list is narrowed to.

use chrono::{DateTime, Utc};
use rusqlite::types::Value;

use super::schema::Index;
use crate::changeset::RepoPath;
use crate::proposal::Status;
use crate::proposal::event::Subject;

/// What a list is narrowed to; everything by default.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this status.
    pub status: Option<Status>,
    /// Only this domain.
    pub domain: Option<String>,
    /// Only this related task.
    pub task: Option<String>,
    /// Only those whose related task is a step of a plan (`plan:3`).
    pub of_plans: bool,
    /// Only this proposer.
    pub by: Option<String>,
    /// Only those that change this file, or one below this directory.
    pub path: Option<String>,
    /// A tool's mark counts as the status it says, as the `changes` contract has it.
    pub by_contract: bool,
    /// Only code or memory.
    pub subject: Option<Subject>,
    /// At most so many.
    pub limit: Option<usize>,
    /// Newest first instead of oldest first.
    pub newest_first: bool,
}

impl Filter {
    /// Only pending ones.
    pub fn pending() -> Self {
        Self { status: Some(Status::Pending), ..Self::default() }
    }

    /// The last `most` applied ones that change the file `path`, newest first.
    pub fn applied_to(path: &RepoPath, most: usize) -> Self {
        Self {
            status: Some(Status::Applied),
            path: Some(path.display().to_string()),
            limit: Some(most),
            newest_first: true,
            ..Self::default()
        }
    }

    /// True where the answer is the undecided ones that have not run out, which are found without
    /// passing over those that have.
    pub(super) fn is_open(&self) -> bool {
        self.status == Some(Status::Pending) && self.path.is_none()
    }

    /// The indices that answer it ([`Filter::sql`]).
    pub(super) fn indices(&self, open: bool) -> &'static [Index] {
        match (&self.path, self.status) {
            _ if open => &[],
            (Some(_), _) => &[Index::Path],
            (None, None) => &[Index::Created],
            (None, Some(_)) if self.by_contract => &[Index::State, Index::Created],
            (None, Some(_)) => &[Index::State],
        }
    }

    /// ` INDEXED BY … WHERE … ORDER BY … LIMIT …` and its values. `open`: [`Filter::is_open`], and none
    /// is pending of which it is on record that it has run out.
    pub(super) fn sql(&self, now: DateTime<Utc>, open: bool) -> (String, Vec<Value>) {
        let mut values: Vec<Value> = Vec::new();
        let mut terms: Vec<String> = Vec::new();
        let now = now.timestamp_millis();
        match self.status {
            None => {}
            Some(Status::Pending) => terms.push(format!("state = 'pending' AND expires > {now}")),
            Some(Status::Expired) => terms.push(format!("state = 'pending' AND expires <= {now}")),
            Some(decided) if self.by_contract => {
                let word = decided.as_str();
                terms.push(format!(
                    "(state = '{word}' OR (state = 'pending' AND marked = '{word}'))"
                ));
            }
            Some(decided) => terms.push(format!("state = '{}'", decided.as_str())),
        }
        let undecided = matches!(self.status, Some(Status::Pending | Status::Expired));
        if self.by_contract && undecided {
            terms.push("marked IS NULL".into());
        }
        if open {
            terms.push("(expiry_recorded IS NULL OR expiry_recorded <> expires)".into());
        }
        let texts = [("domain", &self.domain), ("task", &self.task), ("proposed_by", &self.by)];
        for (column, value) in texts {
            if let Some(value) = value {
                values.push(Value::Text(value.clone()));
                terms.push(format!("{column} = ?{}", values.len()));
            }
        }
        if self.of_plans {
            // ';' is the character behind ':'.
            terms.push("task >= 'plan:' AND task < 'plan;'".into());
        }
        if let Some(subject) = self.subject {
            terms.push(format!("subject = '{}'", subject.as_str()));
        }
        if let Some(path) = &self.path {
            let path = path.trim_end_matches('/');
            values.push(Value::Text(path.to_owned()));
            let exact = values.len();
            values.push(Value::Text(format!("{path}/")));
            // '0' is the character behind '/'.
            values.push(Value::Text(format!("{path}0")));
            terms.push(format!(
                "id IN (SELECT proposal FROM path WHERE path = ?{exact}
                 OR (path >= ?{} AND path < ?{}))",
                exact + 1,
                exact + 2
            ));
        }
        let mut sql = if open { " INDEXED BY proposal_open".to_owned() } else { String::new() };
        if !terms.is_empty() {
            sql += &format!(" WHERE {}", terms.join(" AND "));
        }
        sql += if self.newest_first {
            " ORDER BY created DESC, id DESC"
        } else {
            " ORDER BY created, id"
        };
        if let Some(limit) = self.limit {
            sql += &format!(" LIMIT {}", limit.min(i64::MAX as usize));
        }
        (sql, values)
    }
}
