//! Lane commits from their events.
//!
//! A lane commit is a pure function of the events in it, of the blobs attached to them and of its
//! parent. Writing uses it, and so does a repair: a damaged commit or tree is composed again from
//! its events, and has to come out under the id that it had.

use std::collections::BTreeSet;

use bstr::{BStr, ByteSlice as _};
use gix::ObjectId;
use gix::objs::{Kind, Tree, WriteTo as _};

use super::lists;
use super::objects::{Batch, Sink};
use super::trees::{self, Leaf};
use crate::changeset::Mode;
use crate::error::{Error, Result};
use crate::proposal::event::MAX_BYTES;
use crate::proposal::{Data, ProposalId, Stamped, snapshot};
use crate::repository::blob_within;

/// The trailer of a lane commit that names a proposal.
const PROPOSAL: &str = "Proposal-Id: ";

/// What events name and their commits have at the top for that, as [`attachment`] puts it there.
const ATTACHED: [&str; 5] = ["list", "manifest", "original", "snapshot", "statement"];

/// Whether the blob `name` at the top of a lane commit is needed to fold what the commit says.
pub(super) fn is_read(name: &BStr) -> bool {
    let kind = || name.rsplit_once_str("-").map(|(kind, _)| kind);
    name == "event.json"
        || kind().is_some_and(|kind| ATTACHED.iter().any(|of| kind == of.as_bytes()))
}

/// Most events of one commit. Other clones read twice as many, of 16 MiB together.
const MOST_EVENTS: usize = 500;

/// Bytes of events in one commit, from which on it takes no more.
const MOST_BYTES: usize = 8 << 20;

/// Whether an event with `data` cannot go into one commit with `open`, which have `bytes` bytes: a
/// commit holds one `before/` and one `after/`, and no more than other clones read.
pub(super) fn begins_commit(open: &[Stamped], bytes: usize, data: &Data) -> bool {
    open.len() >= MOST_EVENTS
        || bytes >= MOST_BYTES
        || !data.changes().is_empty()
            && open.iter().any(|stamped| !stamped.event.data.changes().is_empty())
}

/// The entry of a blob that the event at `index` (from 0) of a commit names, at the commit's top:
/// `name-NNNN`.
pub(super) fn attachment(name: &str, index: usize, id: ObjectId) -> Leaf {
    (vec![format!("{name}-{:04}", index + 1).into()], Some((id, Mode::Regular)))
}

/// What the event `stamped`, at `index` (from 0) of its commit, names and its commit has therefore:
/// its list, which is put into it, its statement and the manifest of that.
///
/// # Errors
/// `internal_error` where an id is none.
pub(super) fn attachments(
    repo: &gix::Repository,
    stamped: &mut Stamped,
    index: usize,
) -> Result<Vec<Leaf>> {
    let mut list = stamped.event.list().map(|list| list.id.clone());
    let mut original = None;
    if let Data::Publish(publish) = &stamped.event.data {
        let (first, _) = lists::original(repo, publish, MAX_BYTES)?;
        list = first.event.list().map(|list| list.id.clone());
        original = Some(first.id);
    }
    let statement = stamped.event.data.statement().map(|statement| statement.id.clone());
    let blob = |id: &String| {
        let id = ObjectId::from_hex(id.as_bytes()).ok()?;
        blob_within(repo, id, crate::proposal::statement::MAX_BYTES as u64).ok()?
    };
    let manifest = statement.as_ref().and_then(blob);
    let manifest = manifest.and_then(|bytes| snapshot::manifest(&bytes)).map(|named| named.id);
    let mut leaves = Vec::new();
    for (name, id) in
        [("list", list), ("manifest", manifest), ("original", original), ("statement", statement)]
    {
        if let Some(id) = id {
            let id = ObjectId::from_hex(id.as_bytes())
                .map_err(|_| Error::bug(format!("'{id}' is no object id")))?;
            leaves.push(attachment(name, index, id));
        }
    }
    if let Data::Fold(fold) = &stamped.event.data {
        let id = ObjectId::from_hex(fold.snapshot.id.as_bytes())
            .map_err(|_| Error::bug("a snapshot has no object id"))?;
        leaves.push(attachment("snapshot", index, id));
    }
    // The names of the files in it are part of the commit's message.
    let _ = lists::inflate(repo, &mut stamped.event);
    Ok(leaves)
}

/// Puts the commit of `events`, of which there is at least one, and its trees into `objects`.
/// Events have their lists. Returns the commit's id.
///
/// # Errors
/// `internal_error` where there is no event, or an id is none.
pub(super) fn commit(
    repo: &gix::Repository,
    objects: &mut impl Sink,
    events: &[Stamped],
    attached: Vec<Leaf>,
    parent: Option<ObjectId>,
) -> Result<ObjectId> {
    let Some(first) = events.first() else { return Err(Error::bug("a commit of no events")) };
    let mut leaves = Vec::new();
    for stamped in events {
        for change in stamped.event.data.changes() {
            for (top, entry) in [("before", &change.before), ("after", &change.after)] {
                if let Some(entry) = entry
                    && let Ok(id) = ObjectId::from_hex(entry.id.as_bytes())
                {
                    let path = trees::components(&[top], &change.path);
                    leaves.push((path, Some((id, entry.file_mode()))));
                }
            }
        }
    }
    leaves.extend(attached);
    for (index, stamped) in events.iter().enumerate() {
        leaves.extend(results(index, &stamped.event.data));
    }
    for (index, stamped) in events.iter().enumerate() {
        let path = match events.len() {
            1 => vec!["event.json".into()],
            _ => vec!["events".into(), format!("{:04}.json", index + 1).into()],
        };
        let id = ObjectId::from_hex(stamped.id.as_bytes())
            .map_err(|_| Error::bug(format!("'{}' is no object id", stamped.id)))?;
        leaves.push((path, Some((id, Mode::Regular))));
    }
    let tree = trees::edit(repo, objects, Tree::empty(), &leaves)?;
    let parents: Vec<ObjectId> = parent.into_iter().collect();
    let (who, seconds) = (&first.event.actor, first.event.time.timestamp());
    trees::commit(objects, tree, &parents, who, seconds, &message(events))
}

/// Puts `commit`, with `parent` for its parents, into `objects`. Returns the new commit's id.
///
/// # Errors
/// `internal_error` where it cannot be read, which has been read before.
pub(super) fn on(
    repo: &gix::Repository,
    objects: &mut Batch<'_>,
    commit: ObjectId,
    parent: Option<ObjectId>,
) -> Result<ObjectId> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Error::bug(format!("a commit that could be read cannot be read: {error}"))
    };
    let found = repo.find_commit(commit).map_err(|error| unreadable(&error))?;
    let mut commit = found
        .decode()
        .and_then(|commit| commit.into_owned())
        .map_err(|error| unreadable(&error))?;
    commit.parents = parent.into_iter().collect();
    let mut bytes = Vec::new();
    commit.write_to(&mut bytes).map_err(|error| unreadable(&error))?;
    objects.add(Kind::Commit, &bytes)
}

/// What an undo of the event at `index` (from 0) of a commit needs, and what no proposal holds: the
/// results of merges and what they were made from, as `before-NNNN/PATH` and `after-NNNN/PATH`. Nothing
/// else names it, and `git gc` would take it away.
fn results(index: usize, data: &Data) -> Vec<Leaf> {
    let Data::Apply(apply) = data else { return Vec::new() };
    let mut leaves = Vec::new();
    for file in apply.written.iter().filter(|file| !file.outcome.is_of_proposal()) {
        let after = file.after.as_ref().filter(|_| file.before != file.after);
        for (side, entry) in [("before", file.before.as_ref()), ("after", after)] {
            if let Some(entry) = entry
                && let Ok(id) = ObjectId::from_hex(entry.id.as_bytes())
            {
                let top = format!("{side}-{:04}", index + 1);
                let path = trees::components(&[&top], &file.path);
                leaves.push((path, Some((id, entry.file_mode()))));
            }
        }
    }
    leaves
}

/// The ids of the proposals that the `message` of a lane commit names.
pub(super) fn proposals(message: &BStr) -> impl Iterator<Item = &BStr> {
    message.lines().filter_map(|line| Some(line.strip_prefix(PROPOSAL.as_bytes())?.as_bstr()))
}

/// The message of the commit of `events`: a line for each, and trailers.
fn message(events: &[Stamped]) -> String {
    let lines: Vec<String> = events.iter().map(line).collect();
    let mut message = lines.first().cloned().unwrap_or_default();
    if lines.len() > 1 {
        message += &format!(" (and {} more)\n\n{}", lines.len() - 1, lines.join("\n"));
    }
    message += "\n\n";
    let ids: BTreeSet<ProposalId> = events.iter().filter_map(Stamped::proposal).collect();
    for id in ids {
        message += &format!("{PROPOSAL}{id}\n");
    }
    if let Some(first) = events.first() {
        message += &format!("Actor-Kind: {}\n", first.event.actor.kind.as_str());
    }
    message
}

/// The readable line of an event in the audit log.
fn line(stamped: &Stamped) -> String {
    let kind = stamped.event.data.kind();
    let id = stamped.proposal().map(|id| format!(" {id}")).unwrap_or_default();
    let changes = stamped.event.data.changes();
    let what = match changes {
        [] => String::new(),
        [one] => format!(": {}", one.path.display()),
        [first, rest @ ..] => format!(": {} and {} more", first.path.display(), rest.len()),
    };
    crate::text::one_line(&format!("{kind}{id}{what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::{Actor, ActorKind, Event};

    #[test]
    fn a_commit_holds_no_more_than_other_clones_read() {
        let data = Data::Expire(crate::proposal::event::Expire {
            expires_at: chrono::DateTime::UNIX_EPOCH,
        });
        let actor =
            Actor { name: "A".into(), email: "a@example.com".into(), kind: ActorKind::Human };
        let event = Event {
            proposal: None,
            first: None,
            lane: "a".into(),
            seq: 1,
            actor,
            agent: None,
            time: chrono::DateTime::UNIX_EPOCH,
            heads: Vec::new(),
            forked: None,
            needs: None,
            witness: Vec::new(),
            data: data.clone(),
        };
        let open = vec![Stamped { id: String::new(), event }; MOST_EVENTS];
        assert!(!begins_commit(&open[1..], MOST_BYTES - 1, &data));
        assert!(begins_commit(&open, 0, &data));
        assert!(begins_commit(&open[1..], MOST_BYTES, &data));
    }
}
