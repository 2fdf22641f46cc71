//! What is pushed, as far as a pre-push hook is told.
//!
//! Git writes a line for each ref to standard input. The pre-commit framework reads those lines itself, and
//! names the first ref that it finds something to check for, in variables. Other managers hand nothing on
//! unless they are asked to, and a line of the same hook that comes first may have read it all.

use std::ffi::OsString;
use std::io::Read as _;

use crate::cli::Context;
use crate::error::{Error, Result};
use crate::store::Store;

/// One ref that is sent.
pub(super) struct Ref {
    /// The ref here and the ref there, where they are known.
    pub names: Option<(String, String)>,
    /// The commit that is sent.
    pub local: String,
    /// The commit that is there, of zeros where there is none, or where that is not known.
    pub remote: String,
}

/// A push.
pub(super) struct Push {
    /// The remote, or its URL where it has no name.
    pub remote: String,
    /// Its URL.
    pub url: String,
    /// What is sent; what is deleted needs no check.
    pub refs: Vec<Ref>,
    /// That nothing was named, so that `refs` has what might be.
    pub is_guessed: bool,
}

impl Push {
    /// Of a hook that was run with `args`; `store` is what the names are looked up in, if it can be opened.
    ///
    /// # Errors
    /// `io_error` if standard input cannot be read; those of the store.
    pub(super) fn read(
        context: &Context,
        args: &[OsString],
        store: Option<&Store>,
    ) -> Result<Self> {
        let var = |name: &str| context.var(name).map(|value| value.to_string_lossy().into_owned());
        let of = |at: usize, name: &str| match args.get(at) {
            Some(word) => word.to_string_lossy().into_owned(),
            None => var(name).unwrap_or_default(),
        };
        let remote = of(0, "PRE_COMMIT_REMOTE_NAME");
        let url = of(1, "PRE_COMMIT_REMOTE_URL");
        let names = var("PRE_COMMIT_LOCAL_BRANCH").zip(var("PRE_COMMIT_REMOTE_BRANCH"));
        // Without a commit where all of a history is sent.
        let to = var("PRE_COMMIT_TO_REF");
        if let Some(local) = to.or_else(|| Some(resolved(store, &names.as_ref()?.0))) {
            let from = var("PRE_COMMIT_FROM_REF").unwrap_or_else(|| "0".into());
            let sent = (!is_zero(&local)).then_some(Ref { names, local, remote: from });
            let refs = sent.into_iter().collect();
            return Ok(Self { remote, url, refs, is_guessed: false });
        }
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|e| Error::io("read the refs that are pushed", &e))?;
        // Git runs the hook without a line where all is there already, or is rejected; so it is where what comes
        // before it has read the lines. A URL that has no name says nothing of what is there.
        let is_guessed = text.trim().is_empty() && !remote.is_empty() && remote != url;
        let refs = match is_guessed {
            true => store.and_then(head).into_iter().collect(),
            false => text.lines().filter_map(of_line).collect(),
        };
        Ok(Self { remote, url, refs, is_guessed })
    }
}

/// The id that `name` stands for, or itself.
fn resolved(store: Option<&Store>, name: &str) -> String {
    let id = store.and_then(|store| store.repo().rev_parse_single(name).ok());
    id.map_or_else(|| name.to_owned(), |id| id.to_string())
}

/// What is checked out, as if it were new there.
fn head(store: &Store) -> Option<Ref> {
    let local = store.repo().head_id().ok()?.to_string();
    Some(Ref { names: None, local, remote: "0".to_owned() })
}

fn of_line(line: &str) -> Option<Ref> {
    // What stands for the ref here may be any name of a commit, such as `:/two words`.
    let mut words = line.rsplitn(4, ' ');
    let (remote, remote_name, local) = (words.next()?, words.next()?, words.next()?);
    let name = words.next()?;
    let hex = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit());
    (!is_zero(local) && hex(local) && hex(remote)).then(|| Ref {
        names: Some((name.to_owned(), remote_name.to_owned())),
        local: local.to_owned(),
        remote: remote.to_owned(),
    })
}

/// Whether `id` stands for no commit.
pub(super) fn is_zero(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}
