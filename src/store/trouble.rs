//! What is wrong with what other clones have recorded: reported, and never in the way.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::{lane, refs};

/// A kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TroubleKind {
    /// A lane cannot be read from a commit on; what lies behind it counts.
    Unreadable,
    /// A lane cannot be read from a commit on, because this is a partial clone whose remote has not given
    /// what that commit names; it is read as soon as it does.
    Incomplete,
    /// A lane is not here from its beginning, because this is a shallow clone; what is here counts.
    Shallow,
    /// A remote no longer has commits of a lane that it had before; they still count here.
    Rewound,
    /// There are two histories of one lane, or commits of this clone's lane that it never made.
    Equivocates,
    /// A lane goes on from another one, because its repository was copied or restored, or because
    /// somebody else writes the other lane too. No damage.
    Forked,
    /// Two first events have one proposal id; the later one is ignored.
    DuplicateId,
    /// An event contradicts the others of its proposal, and is ignored.
    Rejected,
    /// A proposal was purged by its owner, and what it said is still here.
    Purged,
}

impl TroubleKind {
    /// All of them.
    pub(crate) const ALL: [Self; 9] = [
        Self::Unreadable,
        Self::Incomplete,
        Self::Shallow,
        Self::Rewound,
        Self::Equivocates,
        Self::Forked,
        Self::DuplicateId,
        Self::Rejected,
        Self::Purged,
    ];

    /// The stable code that reports use.
    pub fn id(self) -> &'static str {
        match self {
            Self::Unreadable => "lane_unreadable",
            Self::Incomplete => "lane_incomplete",
            Self::Shallow => "lane_shallow",
            Self::Rewound => "lane_rewound",
            Self::Equivocates => "lane_equivocates",
            Self::Forked => "lane_forked",
            Self::DuplicateId => "duplicate_id",
            Self::Rejected => "event_rejected",
            Self::Purged => "purged_content",
        }
    }

    /// Whether it is only worth knowing: neither damage nor a reason to warn.
    pub fn is_notice(self) -> bool {
        !self.is_damage() && !self.is_urgent()
    }

    /// Whether something may be damaged: a shallow history is as it was asked for.
    pub fn is_damage(self) -> bool {
        !matches!(self, Self::Forked | Self::Shallow)
    }

    /// Whether every command warns of it.
    fn is_urgent(self) -> bool {
        matches!(
            self,
            Self::Unreadable | Self::Incomplete | Self::Shallow | Self::Rewound | Self::Equivocates
        )
    }
}

/// Something that is wrong with a lane, or with an event of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trouble {
    /// What kind of.
    pub kind: TroubleKind,
    /// The ref of the lane, or the lane's name where no single ref is meant.
    pub name: String,
    /// The commit at which reading stopped, or the event that is ignored, hex; may be empty.
    pub object: String,
    /// The id of the proposal, where it is about one.
    pub proposal: Option<String>,
    /// What is wrong; of a shallow lane the remote that has the rest, if it is known.
    pub why: String,
}

/// Why a history is not read of whose lane there are too many.
pub(super) const TOO_MANY: &str = "it is one history too many of this lane";

impl Trouble {
    /// Whether a lane is not read because there are too many under its name. Nothing in it is damaged, and
    /// no repair makes it readable.
    pub fn is_refused(&self) -> bool {
        self.kind == TroubleKind::Unreadable && self.why == TOO_MANY
    }

    /// One sentence without a final period; quotes untrusted text as it is.
    pub fn message(&self) -> String {
        let lane = self.lane();
        let short: String = self.object.chars().take(12).collect();
        match self.kind {
            TroubleKind::Unreadable => {
                format!("{lane} cannot be read from commit {short} on: {}", self.why)
            }
            TroubleKind::Incomplete => {
                format!("{lane} is not here from commit {short} on: {}", self.why)
            }
            TroubleKind::Shallow => format!(
                "{lane} begins with commit {short} here, and what came before is not in this shallow \
                 clone: `{}` fetches it",
                lane::unshallow(&self.name, &self.why)
            ),
            TroubleKind::Forked => format!("{lane} {} ({short})", self.why),
            TroubleKind::Rewound | TroubleKind::Equivocates => format!("{lane} {}", self.why),
            TroubleKind::Purged => {
                let id = self.proposal.as_deref().unwrap_or_default();
                format!("{id} was purged by its owner, and is still held by {}", self.why)
            }
            TroubleKind::DuplicateId | TroubleKind::Rejected => {
                let id = self.proposal.as_deref().unwrap_or("a plan");
                format!("event {short} of {lane} on {id} is ignored: {}", self.why)
            }
        }
    }

    /// The lane in words: `lane 1a2b of origin`.
    fn lane(&self) -> String {
        let lane = refs::lane_of(&self.name);
        match refs::remote_of(&self.name) {
            Some(remote) => format!("lane {lane} of {remote}"),
            None if self.kind == TroubleKind::Shallow && !self.why.is_empty() => {
                format!("lane {lane} of {}", self.why)
            }
            None if self.name.starts_with(refs::KEPT) => format!("lane {lane}, fetched before,"),
            None => format!("lane {lane}"),
        }
    }
}

/// The trouble that the views of one command have met, each once.
#[derive(Clone, Debug, Default)]
pub struct Notices(Rc<RefCell<Met>>);

#[derive(Debug, Default)]
struct Met {
    trouble: BTreeSet<Trouble>,
    unflushed: BTreeSet<String>,
}

impl Notices {
    /// Notes what every command warns of.
    pub(super) fn add(&self, found: &[Trouble]) {
        if let Ok(mut notices) = self.0.try_borrow_mut() {
            notices
                .trouble
                .extend(found.iter().filter(|trouble| trouble.kind.is_urgent()).cloned());
        }
    }

    /// Notes that the ref `name` was moved, and that the disk would not flush it.
    pub(super) fn unflushed(&self, name: &str, error: &std::io::Error) {
        if let Ok(mut notices) = self.0.try_borrow_mut() {
            notices.unflushed.insert(format!(
                "this is recorded in {name}, and the disk does not say that it stays there: {error}"
            ));
        }
    }

    /// At most one line for each kind, and then none until more is met.
    pub fn take_lines(&self) -> Vec<String> {
        let found = self.0.try_borrow_mut().map(|mut found| std::mem::take(&mut *found));
        let Met { trouble: found, unflushed } = found.unwrap_or_default();
        let mut lines: Vec<String> = unflushed.into_iter().collect();
        for kind in TroubleKind::ALL {
            let lanes: BTreeSet<&str> = found
                .iter()
                .filter(|trouble| trouble.kind == kind)
                .map(|trouble| refs::lane_of(&trouble.name))
                .collect();
            let first = found.iter().find(|trouble| trouble.kind == kind);
            match (lanes.len(), first) {
                (0, _) | (_, None) => {}
                (1, Some(trouble)) => {
                    lines.push(format!("{}; `aye check` reports it", trouble.message()));
                }
                (count, _) => {
                    let what = match kind {
                        TroubleKind::Unreadable => "cannot be read to their end",
                        TroubleKind::Incomplete => "are not in this partial clone to their end",
                        TroubleKind::Shallow => {
                            "are not in this shallow clone from their beginning (`git fetch --unshallow` \
                             fetches the rest)"
                        }
                        TroubleKind::Rewound => "have been rewound by their remotes",
                        _ => "have two histories",
                    };
                    lines.push(format!("{count} fetched lanes {what}; `aye check` reports them"));
                }
            }
        }
        lines
    }
}
