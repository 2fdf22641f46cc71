//! Proposals: events, their fold into a state, ids, expiry, comments, revisions.
