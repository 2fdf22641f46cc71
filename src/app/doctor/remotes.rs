//! Warnings about remotes and their settings.

use super::table::remedy;
use crate::repository::Repository;
use crate::store::{Misconfigured, Space, Store};
use crate::text::shell;

pub(super) fn missing(store: &Store) -> Vec<String> {
    let missing = |name: String| {
        format!(
            "aye.syncRemote is '{name}', and there is no remote of that name: git config aye.syncRemote NAME, or git \
             config --unset aye.syncRemote"
        )
    };
    store.sync_remotes_missing().into_iter().map(missing).collect()
}

/// Configuration keys with a password or token in a URL; the URL is not printed.
pub(super) fn passwords(repository: &Repository) -> Vec<String> {
    let holds = |key: &String| {
        format!(
            "{key} holds a password, which whoever reads the configuration has, agents here as well: {}",
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
