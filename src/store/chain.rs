//! The lane of one audience, while a command adds to it.

use gix::ObjectId;

use super::objects::Batch;
use super::refs::{self, Audience, LaneRef, Moved};
use super::trees::Leaf;
use super::{OwnTip, Store, View, codes, compose, place, settle};
use crate::error::{Error, Result};
use crate::proposal::event::Head;
use crate::proposal::{Data, Stamped};

/// How many tips one event puts on record at most; the next one goes on.
const MOST_WITNESSED: usize = 64;

/// The lane that a command adds to for one audience. It names lanes of the same audience alone.
pub(super) struct Chain {
    /// Its ref.
    name: String,
    own: place::Own,
    /// Where the lane ref is, and where it is going.
    old_tip: Option<ObjectId>,
    tip: Option<ObjectId>,
    /// What the command's first commit goes on from.
    onto: Option<ObjectId>,
    seq: u64,
    /// The tips of all other chains for this audience.
    others: Vec<Head>,
    /// Those that the lane has yet to put on record, the last one first.
    witness: Vec<Head>,
    /// The lane that this one goes on from, until its first event has said so.
    forked: Option<Head>,
    open: Step,
}

/// The lane commit that is being put together.
#[derive(Default)]
struct Step {
    /// With their lists, wherever these are stored.
    events: Vec<Stamped>,
    /// How many bytes these are stored as.
    bytes: usize,
    /// Statements, manifests and lists.
    attached: Vec<Leaf>,
}

impl Chain {
    /// This clone's lane for `audience`, as `view` has it.
    ///
    /// # Errors
    /// `ci_has_no_lane`; those of the store.
    pub(super) fn new(store: &Store, view: &View, audience: Audience) -> Result<Self> {
        let positions = view.positions()?;
        let own = match store.named_lane() {
            Some(name) if audience == Audience::Default => place::Own::named(name),
            Some(_) => return Err(not_in_ci(&audience)),
            None => {
                let is_over = |lane: &str| view.is_over(store, &audience, lane);
                place::own(&store.repository().make_private()?, &audience, is_over)?
            }
        };
        let newest = |lane: &str| {
            let names = view.lanes.iter().map(|known| known.name.as_str());
            refs::newest(names, &audience, lane).map(str::to_owned)
        };
        let mut name = newest(&own.lane).unwrap_or_else(|| audience.lane(&own.lane, 1));
        let mut old_tip = view.lanes.iter().find(|known| known.name == name).map(|known| known.tip);
        let mut tip = old_tip;
        let mut seq = positions.get(&name).map_or(0, |position| position.seq);
        if store.named_lane().is_some()
            && let Some((ahead, last, epoch)) = settle::ahead(store, view, &own.lane, old_tip)?
        {
            // Another run has written it since, perhaps in a later epoch.
            (tip, seq) = (Some(ahead), last);
            let there = audience.lane(&own.lane, epoch);
            if there != name {
                (name, old_tip) = (there, None);
            }
        }
        let forked = own.from.as_ref().filter(|_| tip.is_none()).and_then(|from| {
            let position = positions.get(&newest(from)?)?;
            let tip = position.reached.clone()?;
            Some(Head { lane: from.clone(), seq: position.seq, tip })
        });
        let tip_text = tip.map(|tip| tip.to_string());
        let mut others = view.chains(&audience)?;
        others.retain(|chain, head| {
            *chain != own.lane && Some(head.tip.as_str()) != tip_text.as_deref()
        });
        let others: Vec<Head> = others.into_values().collect();
        let mut witness = view.unwitnessed(others.clone())?;
        witness.reverse();
        let open = Step::default();
        Ok(Self { name, own, old_tip, tip, onto: tip, seq, others, witness, forked, open })
    }

    /// The lane's id.
    pub(super) fn lane(&self) -> &str {
        &self.own.lane
    }

    /// The commit that a statement is to name as seen (hex), where `shown` are this clone's tips when that was
    /// shown, and nothing new about its subject has come since; `None` where this lane had no event then. Where
    /// another epoch has begun since, other clones need not have what was shown, and it is the commit in front.
    pub(super) fn seen(&self, shown: &[OwnTip]) -> Option<String> {
        let shown = shown.iter().find(|own| own.lane == self.own.lane)?;
        if shown.name == self.name {
            Some(shown.tip.clone())
        } else {
            self.onto.map(|onto| onto.to_string())
        }
    }

    /// Its ref, as it is; `None` before its first event.
    pub(super) fn lane_ref(&self) -> Option<LaneRef> {
        Some(LaneRef { name: self.name.clone(), tip: self.old_tip? })
    }

    /// Begins another commit where an event with `data` cannot go into the open one.
    pub(super) fn make_room(
        &mut self,
        repo: &gix::Repository,
        batch: &mut Batch<'_>,
        data: &Data,
    ) -> Result<()> {
        if compose::begins_commit(&self.open.events, self.open.bytes, data) {
            self.seal(repo, batch)
        } else {
            Ok(())
        }
    }

    /// The position of the next event.
    pub(super) fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// What was seen of those of `lanes` that are for this audience.
    pub(super) fn heads(&self, holds: impl Fn(&str) -> bool) -> Vec<Head> {
        self.others.iter().filter(|head| holds(&head.lane)).cloned().collect()
    }

    /// Tips that the next event puts on record.
    pub(super) fn take_witness(&mut self) -> Vec<Head> {
        let witness = self.witness.split_off(self.witness.len().saturating_sub(MOST_WITNESSED));
        witness.into_iter().rev().collect()
    }

    /// The lane that this one goes on from, where its first event has yet to say so.
    pub(super) fn take_forked(&mut self) -> Option<Head> {
        self.forked.take()
    }

    /// Puts the blob `id` into the commit of the next event, as `name-NNNN`.
    pub(super) fn attach(&mut self, name: &str, id: ObjectId) {
        self.open.attached.push(compose::attachment(name, self.open.events.len(), id));
    }

    /// Adds an event, which is stored as so many bytes.
    pub(super) fn push(&mut self, stamped: Stamped, bytes: usize) {
        self.open.events.push(stamped);
        self.open.bytes += bytes;
    }

    /// Puts the open events into a lane commit (not yet the lane's tip).
    ///
    /// # Errors
    /// As [`compose::commit`].
    pub(super) fn seal(&mut self, repo: &gix::Repository, batch: &mut Batch<'_>) -> Result<()> {
        let Step { events, attached, .. } = std::mem::take(&mut self.open);
        if !events.is_empty() {
            self.tip = Some(compose::commit(repo, batch, &events, attached, self.tip)?);
        }
        Ok(())
    }

    /// Whether [`Chain::settle`] has something to do.
    pub(super) fn is_ahead(&self) -> bool {
        self.tip.is_some() && self.tip != self.old_tip
    }

    /// Moves the lane's ref to its new tip, whose objects are there. The caller holds the store's
    /// lock.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub(super) fn settle(&mut self, store: &Store) -> Result<()> {
        let Some(tip) = self.tip.filter(|_| self.is_ahead()) else { return Ok(()) };
        place::claim(&store.repository().make_private()?, &mut self.own)?;
        let (dir, durable) =
            (&store.repository().common_dir, store.repository().settings()?.durable);
        let moved = refs::compare_and_swap(
            &store.repository().repo,
            dir,
            &self.name,
            self.old_tip,
            tip,
            durable,
        )?;
        if let Moved::Unflushed(error) = moved {
            store.notices.unflushed(&self.name, &error);
        }
        self.old_tip = Some(tip);
        Ok(())
    }
}

fn not_in_ci(audience: &Audience) -> Error {
    let whom = match audience {
        Audience::Remote(remote) => format!("for the remote '{remote}'"),
        _ => "for nobody else".to_owned(),
    };
    Error::new(
        &codes::CI_HAS_NO_LANE,
        format!("this would be recorded in a lane {whom}, and aye.lane names the one for the default remote"),
    )
    .hint("leave it to a person's clone; aye.remote names another default remote")
}
