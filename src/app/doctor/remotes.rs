//! What is wrong with remotes, and with what they have done to lanes, in words.

use super::Problem;
use super::table::remedy;
use crate::repository::Repository;
use crate::store::{Overwrites, Pushes, Rewound, Store, TroubleKind, View};
use crate::text::shell;

/// What is for remotes that there are not, and whether there is one that all else is for.
pub(super) fn remotes(store: &Store, view: &View) -> Vec<String> {
    let gone = view.remotes_gone(store).into_iter().map(|remote| {
        format!(
            "what was said here for the remote '{remote}' cannot be sent, for there is no remote of that name; if it \
             has another one now, make it known by the old one too (git remote add {remote} URL), and push \
             'refs/aye/for/{remote}/*:refs/aye/log/*' to that"
        )
    });
    let home = view.remotes_come_home(store).into_iter().map(|remote| {
        format!(
            "what was said here for the remote '{remote}' while another one was the default is not sent with \
             'refs/aye/log/*'; git push {remote} 'refs/aye/for/{remote}/*:refs/aye/log/*'"
        )
    });
    let mut found: Vec<String> = gone.chain(home).collect();
    if let Some(name) = store.default_remote_missing() {
        found.push(format!(
            "aye.remote is '{name}', and there is no remote of that name: what is said is for none of those that \
             there are; git config aye.remote NAME, or git config --unset aye.remote"
        ));
    }
    let names = store.remotes_without_default();
    if !names.is_empty() {
        found.push(format!(
            "none of the remotes {} is the default one, so what is said of proposals of one of them is for all; name \
             it: git config aye.remote NAME",
            names.join(", ")
        ));
    }
    found
}

/// The keys of `repository`'s configuration whose URL of a remote holds a password or a token; without the URL.
pub(super) fn passwords(repository: &Repository) -> Vec<String> {
    let holds = |key: &String| {
        format!(
            "{key} holds a password, which whoever reads the configuration has, agents here as well: {}",
            remedy("remote_password")
        )
    };
    repository.passwords_of_remotes().iter().map(holds).collect()
}

pub(super) fn leaks(pushes: &Pushes) -> String {
    let Pushes { remote, why } = pushes;
    format!("{why}: a push to '{remote}' takes lanes along that are not for it")
}

pub(super) fn overwrites(fetch: &Overwrites) -> String {
    let Overwrites { remote, key, refspec, instead, other } = fetch;
    let value = shell::quote(refspec);
    let instead =
        instead.as_ref().map(|it| format!(" && git config --add {key} {}", shell::quote(it)));
    let what = match other {
        Some(other) => format!(
            "puts the lanes of others in the place of those of '{other}', so that what is said of their proposals \
             goes there"
        ),
        None => "takes this clone's own lanes back to what is there, and what was said here since the last push is gone"
            .to_owned(),
    };
    format!(
        "{key} is {refspec}: each fetch from '{remote}' {what}; git config --fixed-value --unset-all {key} {value}{}",
        instead.unwrap_or_default()
    )
}

pub(super) fn rewound(lane: &Rewound) -> Problem {
    let Rewound { name, lost, now, is_behind, kept } = lane;
    let how = match now {
        Some(now) => format!("rewound from {lost} to {now}"),
        None => "removed".to_owned(),
    };
    let keeps = if kept.starts_with("refs/aye/remotes/") {
        "has what was pushed of it"
    } else {
        "keeps what it had"
    };
    let message = format!(
        "{name}, this clone's own, was {how} by something else than aye, as by a fetch that writes over it; {kept} {keeps}"
    );
    let hint = match (is_behind, now) {
        (true, Some(now)) => format!("bring it back: git update-ref {name} {lost} {now}"),
        (true, None) => format!("bring it back: git update-ref {name} {lost} ''"),
        (false, _) => format!(
            "`git log -p {kept}` shows what was said; say again here what still holds, then let it go: \
             git update-ref -d {kept}"
        ),
    };
    Problem { hint, ..Problem::new(TroubleKind::Rewound.id(), message) }
}
