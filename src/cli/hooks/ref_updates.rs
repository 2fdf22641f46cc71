//! Refs that are pushed: git writes them to standard input; the pre-commit framework names the
//! first in variables.

use std::io::Read as _;

use crate::cli::Context;
use crate::error::{Error, Result};
use crate::repository::Repository;

pub(super) struct RefUpdate {
    pub here: String,
    pub there: String,
    pub local: String,
    pub remote: String,
}

/// Deletions need no check. `repository` resolves names, if it can be opened.
///
/// # Errors
/// `io_error` if standard input cannot be read.
pub(super) fn read(context: &Context, repository: Option<&Repository>) -> Result<Vec<RefUpdate>> {
    let var = |name: &str| context.var(name).map(|value| value.to_string_lossy().into_owned());
    let mut text = String::new();
    if let Some((here, there)) = var("PRE_COMMIT_LOCAL_BRANCH").zip(var("PRE_COMMIT_REMOTE_BRANCH"))
    {
        // A whole history is pushed if no commit is named.
        let id = || repository?.repo().rev_parse_single(&*here).ok().map(|id| id.to_string());
        let to = var("PRE_COMMIT_TO_REF").or_else(id).unwrap_or_default();
        let from = var("PRE_COMMIT_FROM_REF").unwrap_or_else(|| "0".to_owned());
        text = format!("{here} {to} {there} {from}");
    } else {
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| Error::io("read the refs that are pushed", &error))?;
    }
    Ok(text.lines().filter_map(of_line).collect())
}

fn of_line(line: &str) -> Option<RefUpdate> {
    // A local name may be any revision expression, as `:/two words`.
    let mut words = line.rsplitn(4, ' ').map(str::to_owned);
    let (remote, there, local) = (words.next()?, words.next()?, words.next()?);
    let here = words.next()?;
    let hex = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit());
    (!is_zero(&local) && hex(&local) && hex(&remote)).then_some(RefUpdate {
        here,
        there,
        local,
        remote,
    })
}

fn is_zero(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}
