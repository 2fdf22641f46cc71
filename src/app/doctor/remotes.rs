//! Warnings about remotes and their settings.

use bstr::ByteSlice as _;

use super::table::remedy;
use crate::repository::Repository;
use crate::store::{Space, Store};
use crate::text::shell;

const ROOT: &str = "refs/aye/";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misconfigured {
    key: String,
    value: String,
    why: &'static str,
}

pub(super) fn missing(store: &Store) -> Vec<String> {
    let missing = |name: String| {
        format!(
            "aye.syncRemote is '{name}', and there is no remote of that name: git config aye.syncRemote NAME, or git \
             config --unset aye.syncRemote"
        )
    };
    let all = remotes(store.repository());
    let names = store.sync_remotes().into_iter().filter(|name| !all.contains(name));
    names.map(missing).collect()
}

/// Configuration keys with a password or token in a URL; the URL is not printed.
pub(super) fn passwords(repository: &Repository) -> Vec<String> {
    let holds = |key: &String| {
        format!(
            "{key} holds a password, which every reader of the configuration sees, agents included: {}",
            remedy("remote_password")
        )
    };
    repository.passwords_of_remotes().iter().map(holds).collect()
}

pub(super) fn setting(found: &Misconfigured) -> String {
    let Misconfigured { key, value, why } = found;
    let end = if value == "true" {
        format!("git config {key} false")
    } else {
        format!("git config --fixed-value --unset-all {key} {}", shell::quote(value))
    };
    format!("{key} is {value}: {why}; {end}")
}

/// True if the setting pushes private refs and there are some.
pub(super) fn is_leak(store: &Store, found: &Misconfigured) -> bool {
    let private = Space::Private.directory();
    let sends = if found.key.ends_with(".push") {
        let sent = found.value.trim_start_matches('+');
        let sent = sent.split([':', '*']).next().unwrap_or_default();
        sent.starts_with(private) || private.starts_with(sent)
    } else {
        found.key.ends_with(".mirror")
    };
    let is_there = || {
        let refs = store.repository().repo().references().ok();
        let found = refs.as_ref().and_then(|refs| refs.prefixed(private).ok());
        found.is_some_and(|mut found| found.next().is_some())
    };
    sends && is_there()
}

/// Keys of git's configuration by which a plain `git push`, `git fetch` or `git pull` does to refs of
/// aye's what only `aye sync` should.
pub(super) fn misconfigured(repository: &Repository) -> Vec<Misconfigured> {
    let config = repository.repo().config_snapshot();
    let mut found = Vec::new();
    let mut is_true = |key: String, why| {
        if config.boolean(&*key) == Some(true) {
            found.push(Misconfigured { key, value: "true".to_owned(), why });
        }
    };
    const PRUNES: &str =
        "a plain git fetch deletes events of other clones that the remote has lost";
    is_true("fetch.prune".to_owned(), PRUNES);
    for remote in remotes(repository) {
        is_true(format!("remote.{remote}.prune"), PRUNES);
        is_true(format!("remote.{remote}.mirror"), "git push sends private threads");
    }
    for remote in remotes(repository) {
        for (direction, why) in [
            ("push", "git push sends refs of aye's with it, or instead of branches"),
            ("fetch", "git pull fails as soon as one fetched ref goes back"),
        ] {
            let key = format!("remote.{remote}.{direction}");
            let values = config.plumbing().strings(&*key).unwrap_or_default();
            let values = values.iter().map(|value| value.to_str_lossy().into_owned());
            for value in values.filter(|refspec| names_aye(refspec)) {
                found.push(Misconfigured { key: key.clone(), value, why });
            }
        }
    }
    found
}

/// The names of all remotes, as git's configuration has them.
fn remotes(repository: &Repository) -> Vec<String> {
    let names = repository.repo().remote_names();
    names.iter().map(|name| name.to_str_lossy().into_owned()).collect()
}

/// Whether one side of `refspec` is below `refs/aye/`, or a pattern above it.
fn names_aye(refspec: &str) -> bool {
    let refspec = refspec.trim_start_matches(['+', '^']);
    refspec.split(':').any(|side| match side.split_once('*') {
        Some((above, _)) => above.starts_with(ROOT) || ROOT.starts_with(above),
        None => side.starts_with(ROOT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refspec_that_takes_refs_of_ayes_along_is_recognised() {
        for wrong in ["refs/*:refs/*", "+refs/aye/p/*:refs/aye/by/c/*", "*", ":refs/aye/by/c/0"] {
            assert!(names_aye(wrong), "{wrong}");
        }
        for fine in ["+refs/heads/*:refs/remotes/origin/*", "main", "HEAD", "refs/ayes/*:refs/x/*"]
        {
            assert!(!names_aye(fine), "{fine}");
        }
    }
}
