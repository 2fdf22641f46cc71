//! What commands that hooks and scripts run all day ask first: is there anything to look at?

use chrono::Duration;

use super::Context;
use crate::store::{Store, View, idle};

/// How far a clock may be set back without a proposal that has run out being overlooked by who
/// knows no clock.
const MARGIN: Duration = Duration::days(1);

/// True if the stamp says that nothing is pending or contested; opens no repository.
pub(super) fn is_idle(context: &Context) -> bool {
    idle::common_dir(&context.directory, |name| context.var(name))
        .is_some_and(|dir| idle::is_idle(&dir, context.now))
}

/// Where the lanes stand; to be asked before the look that [`stamp`] is about.
pub(super) fn tips(store: &Store) -> Option<idle::Tips> {
    idle::Tips::read(store.common_dir())
}

/// Notes that a full look at `view`, begun at `tips`, found nothing pending and nothing contested.
/// Trouble in the lanes is to be reported every time, so then there is no stamp.
pub(super) fn stamp(context: &Context, store: &Store, view: &View, tips: &idle::Tips) {
    if !view.troubles().iter().all(|trouble| trouble.kind.is_notice()) {
        return;
    }
    let lasting = view.count_pending(context.now - MARGIN).is_ok_and(|count| count == 0);
    idle::stamp(store.common_dir(), context.now, tips, lasting);
}
