//! Fetch, and the repair of fetched refs that went back or away.
//!
//! Git's `--prune` would drop events that no other ref has. So git fetches without it and lists all
//! refs of the remote (`-v`). A ref that is not in the list, or that git refused to move, is
//! dropped here, and its tip is kept first where nothing else leads to it.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;
use gix::ObjectId;

use super::{SyncAnswer, SyncRequest, failed, reach};
use crate::error::Result;
use crate::store::{Refs, Role, Store, fetch_refspec};

/// A first fetch, one after refs were moved out of the way, and one for a race.
const ROUNDS: usize = 3;

/// What git reported of the refs of a remote, by their names here.
#[derive(Debug, Default, PartialEq, Eq)]
struct FetchReport {
    present: BTreeSet<String>,
    refused: BTreeSet<String>,
    is_changed: bool,
}

impl FetchReport {
    /// Parses ` = [up to date]  refs/aye/by/x -> refs/aye/remotes/origin/x  (reason)`. The words
    /// are in the user's language; the flag and the names are not. Lines of the server begin with
    /// `remote: `.
    fn parse(stderr: &[u8]) -> Self {
        let mut report = Self::default();
        for line in stderr.lines() {
            let [b' ', flag @ (b' ' | b'=' | b'*' | b'+' | b'!' | b't'), b' ', ..] = line else {
                continue;
            };
            let Some((_, name)) = line.rsplit_once_str(" -> ") else { continue };
            let name = name.split_str(" ").next().unwrap_or_default().to_str_lossy().into_owned();
            report.is_changed |= *flag != b'=';
            if *flag == b'!' {
                report.refused.insert(name.clone());
            }
            report.present.insert(name);
        }
        report
    }

    fn is_lost(&self, name: &String) -> bool {
        self.refused.contains(name) || !self.present.contains(name)
    }
}

/// Fetches, and updates `fetched`: what the remote has.
///
/// # Errors
/// `remote_failed`, `busy`.
pub(super) fn fetch(
    store: &Store,
    request: &SyncRequest<'_>,
    fetched: &mut Refs,
    answer: &mut SyncAnswer,
) -> Result<()> {
    for _ in 0..ROUNDS {
        let git = store.repository().git()?.may_prompt(request.prompts);
        let answered = git
            .config("fetch.output", "full")
            .args(["fetch", "-v", "--no-prune", "--no-tags", "--no-write-fetch-head"])
            .args(["--no-auto-maintenance", "--recurse-submodules=no", "--refmap="])
            .args([request.remote, &fetch_refspec(request.remote)])
            .answer()?;
        let report = FetchReport::parse(&answered.stderr);
        // With 1 and no refused ref git has not come to the list, which would look empty.
        if !answered.ok() && (answered.status != 1 || report.refused.is_empty()) {
            return Err(failed(request.remote, &answered));
        }
        crate::failpoint!("sync.fetched");
        if report.is_changed {
            *fetched = store.fetched_refs(request.remote)?;
        }
        if fetched.keys().all(|name| !report.is_lost(name)) {
            break;
        }
        drop_lost(store, request.remote, &report, answer)?;
        *fetched = store.fetched_refs(request.remote)?;
        if report.refused.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Drops refs that the remote has lost or set back.
fn drop_lost(
    store: &Store,
    remote: &str,
    report: &FetchReport,
    answer: &mut SyncAnswer,
) -> Result<()> {
    let _lock = store.lock()?;
    let mut others = store.fetched_refs(remote)?;
    let mut lost = Refs::new();
    others.retain(|name, at| {
        let goes = report.is_lost(name);
        if goes {
            lost.insert(name.clone(), *at);
        }
        !goes
    });
    let kept = only_here(store, remote, &lost, &others)?;
    crate::failpoint!("sync.keep");
    let keep = kept.iter().map(|(name, at)| format!("update {name} {at}\n"));
    let drop = lost.iter().map(|(name, at)| format!("delete {name} {at}\n"));
    // In one transaction, which git rolls back if a ref has moved. Another sync has done it then.
    let transaction: String = keep.chain(drop).collect();
    let git = store.repository().git()?.without_hooks();
    let done = git.args(["update-ref", "--no-deref", "--stdin"]).stdin(transaction).answer()?;
    crate::failpoint!("sync.kept");
    if done.ok() {
        answer.kept.extend(kept.into_keys());
    }
    Ok(())
}

/// The names under which tips of `lost` are to be kept: events that nothing else leads to, of
/// threads that were not purged here.
fn only_here(store: &Store, remote: &str, lost: &Refs, others: &Refs) -> Result<Refs> {
    let purged = store.purged_threads()?;
    let mut tips = Vec::new();
    for (name, at) in lost {
        let Some(found) = store.remote_ref(name) else { continue };
        let Some(kept) = store.kept_name(remote, name, at) else { continue };
        let threads = match found.role {
            Role::Thread => vec![(found.id, vec![*at])],
            Role::Chunk => store.chunk_threads(name, *at).unwrap_or_default(),
            Role::Tombstone => continue,
        };
        let of_thread = threads.into_iter().filter(|(id, _)| !purged.contains(id));
        let of_thread: Vec<ObjectId> = of_thread.flat_map(|(_, tips)| tips).collect();
        tips.push((kept, *at, of_thread));
    }
    let (own, kept) = (store.shared_refs()?, store.kept_refs()?);
    let known = own.values().chain(kept.values()).chain(others.values());
    let all = tips.iter().flat_map(|(.., of_thread)| of_thread);
    let alone = reach::unreached(store, all, known)?;
    // If git cannot tell, too much is kept.
    let is_alone = |of_thread: &[ObjectId]| {
        let mut tips = of_thread.iter();
        tips.any(|tip| alone.as_ref().is_none_or(|alone| alone.contains(tip)))
    };
    let names = tips.into_iter().filter(|(.., of_thread)| is_alone(of_thread));
    Ok(names.map(|(name, at, _)| (name, at)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ref_of_the_remote_is_listed_with_the_refused_ones() {
        let said = "From /srv/team\n \
             = [up to date]        refs/aye/by/c/1 -> refs/aye/remotes/origin/c/1\n \
             ! [rejected]          refs/aye/by/c/2 -> refs/aye/remotes/origin/c/2  (non-fast-forward)\n \
             * [neue Referenz]     refs/aye/by/c/3 -> refs/aye/remotes/origin/c/3\n   \
               0a..0b  refs/aye/by/c/4    -> refs/aye/remotes/origin/c/4\n\
             remote:  = [up to date] refs/aye/by/c/5 -> refs/aye/remotes/origin/c/5\n\
             error: some local refs could not be updated\n";
        let names = |digits: &[u8]| -> BTreeSet<String> {
            digits.iter().map(|it| format!("refs/aye/remotes/origin/c/{it}")).collect()
        };
        let report = FetchReport::parse(said.as_bytes());
        assert_eq!(
            report,
            FetchReport { present: names(&[1, 2, 3, 4]), refused: names(&[2]), is_changed: true }
        );
    }
}
