//! Content that a server's fsck would refuse, found before anything is sent.
//!
//! A server that checks what it gets (`receive.fsckObjects`) refuses a whole push for one bad
//! object: a `.gitmodules` with a hostile URL, a line of `.gitattributes` that is too long. So the
//! objects go through the same program as there, `git index-pack`, into a temporary file. Not with
//! `--strict`, which would fetch what a partial clone lacks in order to follow each link.

use crate::error::{Error, Result};
use crate::store::{Refs, Store};

/// Removes the refs from `send` whose objects git refuses, and returns them with git's reason.
pub(super) fn remove_unsendable(
    store: &Store,
    remote: &str,
    fetched: &Refs,
    send: &mut Refs,
) -> Result<Vec<(String, String)>> {
    if send.is_empty() {
        return Ok(Vec::new());
    }
    // Branches, too: an old file that is edited may be one that the server refuses from now on.
    let below = format!("refs/remotes/{remote}/");
    let git = store.repository().git()?;
    let branches = git.args(["for-each-ref", "--format=%(objectname)", &below]).text()?;
    let known: String = fetched.values().map(|at| format!("{at}\n")).collect();
    let known = format!("--not\n{known}{branches}\n");
    let mut refused = Vec::new();
    let all = send.iter().map(|(rest, at)| (rest.clone(), at.to_string())).collect();
    let mut waiting: Vec<Vec<(String, String)>> = vec![all];
    while let Some(mut some) = waiting.pop() {
        let Some(why) = fault(store, &some, &known)? else { continue };
        if let [(rest, _)] = &some[..] {
            send.remove(rest);
            refused.push((rest.clone(), why));
            continue;
        }
        let half = some.split_off(some.len() / 2);
        waiting.extend([some, half]);
    }
    Ok(refused)
}

/// The reason why git would refuse a pack of what `refs` lead to.
fn fault(store: &Store, refs: &[(String, String)], known: &str) -> Result<Option<String>> {
    // Git renames packs, so the directory is on the file system of the objects. Git's prune removes
    // one with this name that a kill has left.
    let objects = store.repository().common_dir().join("objects");
    let directory = tempfile::Builder::new().prefix("tmp_objdir-").tempdir_in(&objects);
    let directory = directory.map_err(|error| Error::file("create", &objects, &error))?;
    let base = directory.path().join("pack");
    let tips = refs.iter().fold(String::new(), |tips, (_, at)| tips + at + "\n");
    let git = || store.repository().git();
    // Contents that a partial clone lacks came from a server.
    let promised = store.repository().is_partial().then_some("--exclude-promisor-objects");
    let packed = git()?
        .args(["pack-objects", "--revs", "-q"])
        .args(promised)
        .arg(&base)
        .stdin(tips + known)
        .answer()?;
    if !packed.ok() {
        return Ok(Some(packed.reason()));
    }
    let id = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    let pack = directory.path().join(format!("pack-{id}.pack"));
    let index = directory.path().join("index.idx");
    let checked =
        git()?.args(["index-pack", "--fsck-objects", "-o"]).arg(index).arg(pack).answer()?;
    Ok((!checked.ok()).then(|| checked.reason()))
}
