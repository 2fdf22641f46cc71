//! What is wrong with lanes of other clones.

use super::{Concern, FailOn};
use crate::error::Result;
use crate::report::Finding;
use crate::store::{Store, Trouble, TroubleKind, View};

/// Most findings of one kind: whoever may push a lane chooses how many there are.
const MOST: usize = 50;

/// A finding for each trouble, and one for those of a kind that are too many.
pub fn findings(troubles: &[Trouble], fail_on: &FailOn) -> Vec<Finding> {
    let mut found = Vec::new();
    for concern in Concern::ALL {
        let mut of_kind = troubles.iter().filter(|trouble| concern_of(trouble.kind) == concern);
        for trouble in of_kind.by_ref().take(MOST) {
            let mut finding = fail_on.finding(concern, trouble.message()).hint(hint(trouble.kind));
            if let Some(id) = &trouble.proposal {
                finding = finding.proposal(id);
            }
            found.push(finding);
        }
        let more = of_kind.count();
        if more > 0 {
            let message = format!("{more} more of {}", concern.id());
            found.push(fail_on.finding(concern, message).hint("aye doctor"));
        }
    }
    found
}

/// A finding for each session of an agent that holds purged content.
///
/// # Errors
/// As [`Store::sessions_of_purged`].
pub fn purged_sessions(store: &Store, fail_on: &FailOn) -> Result<Vec<Finding>> {
    let found = store.sessions_of_purged()?.into_iter().map(|name| {
        let (message, hint) = purged_session(&name);
        fail_on.finding(Concern::PurgedContent, message).hint(hint)
    });
    Ok(found.collect())
}

/// A finding for each purged proposal that this clone still shows, and of which `troubles` say nothing yet.
///
/// # Errors
/// As [`Store::shown_of_purged`].
pub fn shown_of_purged(store: &Store, view: &View, fail_on: &FailOn) -> Result<Vec<Finding>> {
    let is_told = |id: &str| {
        let mut purged =
            view.troubles().iter().filter(|trouble| trouble.kind == TroubleKind::Purged);
        purged.any(|trouble| trouble.proposal.as_deref() == Some(id))
    };
    let shown = store.shown_of_purged(view)?.into_iter().filter(|(id, _)| !is_told(id.as_str()));
    let found = shown.take(MOST).map(|(id, names)| {
        let message = format!("{id} was purged by its owner, and is still in {names}");
        let hint = format!("aye purge {id} -m TEXT");
        fail_on.finding(Concern::PurgedContent, message).hint(hint).proposal(id.as_str())
    });
    Ok(found.collect())
}

/// What is said of a session that holds purged content, and what to do.
pub fn purged_session(name: &str) -> (String, String) {
    let hint = format!("aye session end {name} --discard");
    (format!("session {name} holds what was purged, in refs/aye/session/{name}"), hint)
}

fn concern_of(kind: TroubleKind) -> Concern {
    match kind {
        TroubleKind::Unreadable => Concern::LaneUnreadable,
        TroubleKind::Incomplete => Concern::LaneIncomplete,
        TroubleKind::Shallow => Concern::LaneShallow,
        TroubleKind::Rewound => Concern::LaneRewound,
        TroubleKind::Equivocates => Concern::LaneEquivocates,
        TroubleKind::Forked => Concern::LaneForked,
        TroubleKind::DuplicateId => Concern::DuplicateId,
        TroubleKind::Rejected => Concern::EventRejected,
        TroubleKind::Purged => Concern::PurgedContent,
    }
}

/// What to do about trouble of this kind.
pub fn hint(kind: TroubleKind) -> &'static str {
    match kind {
        TroubleKind::Unreadable => {
            "it comes from a remote, nothing of this clone is lost; where it is whole there, \
             `git fetch --refetch REMOTE` gets it again, else ask its owner to repair it"
        }
        TroubleKind::Incomplete => {
            "nothing is damaged: it is read as soon as the remote of this partial clone answers; if that \
             does not have it any more, ask the owner of the lane"
        }
        TroubleKind::Shallow => {
            "what is here counts; `git fetch --unshallow` fetches proposals and decisions before that"
        }
        TroubleKind::Rewound | TroubleKind::Equivocates => {
            "`git for-each-ref refs/aye` shows both tips; ask the owner of the lane which is right \
             (of this clone's own lane, what it writes next begins a new one, which can be pushed; \
             where it went back to a backup, `git update-ref` moves it forward)"
        }
        TroubleKind::Forked => {
            "nothing is to be done: a copied or restored repository has a lane of its own"
        }
        TroubleKind::Purged => {
            "`aye purge ID -m TEXT` removes what its owner's purge has superseded, and says what \
             is left and where"
        }
        TroubleKind::DuplicateId => "`aye log ID` shows the events; ask the owner of the lane",
        TroubleKind::Rejected => {
            "`aye log ID` shows the events; say again what you said yourself, and ask the owner of the \
             lane about the rest"
        }
    }
}
