//! What the events of other clones' lanes may cost, and how their texts are cut.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::proposal::event::{CommentKind, InputForm, MAX_WRITTEN, RevisionReason};
use crate::proposal::{Data, Event};

/// What one foreign lane may cost for one proposal or one answer, in bytes.
pub(super) const MOST_OF_A_LANE: usize = 64 << 20;

/// What all foreign lanes together may cost for one answer, in bytes.
const MOST_OF_ALL: usize = 128 << 20;

/// What a value inside an event costs in memory, in bytes, on top of its text.
const VALUE: usize = 100;

/// What an event without content costs, in bytes.
const LIGHT: usize = 1 << 10;

/// Most words of a command in a log.
const MOST_WORDS: usize = 1 << 10;

/// What an object costs in values, at least.
const OBJECT: usize = 6;

/// The most that a byte of an event costs in memory, in bytes: it may begin an object.
pub(super) const MOST_OF_A_BYTE: usize = 1 + VALUE * OBJECT;

/// Longest text of a foreign event.
const MOST_TEXT: usize = 64 << 10;

/// Bytes of events that nobody counts: what is in them takes at most 16 MiB, and most answers have no
/// more.
const UNCOUNTED: usize = 64 << 10;

/// Largest first event that a publication of another lane may carry, in bytes: as large as one of
/// another lane may be.
pub(super) const LARGEST_ORIGINAL: usize = MAX_WRITTEN;

/// Longest name in a foreign event.
const MOST_NAME: usize = 1 << 10;

/// What foreign lanes have cost so far for one answer; for one proposal see [`Shares`](super::shares::Shares).
#[derive(Default)]
pub(super) struct Budget {
    lanes: BTreeMap<String, usize>,
    all: usize,
    uncounted: usize,
}

impl Budget {
    /// Whether an event of `lane` that is stored as `body` is within what is left.
    pub(super) fn admits(&mut self, lane: &str, body: &[u8]) -> bool {
        if self.uncounted + body.len() <= UNCOUNTED {
            self.uncounted += body.len();
            return true;
        }
        self.takes(lane, cost(body))
    }

    fn takes(&mut self, lane: &str, cost: usize) -> bool {
        let sum = match self.lanes.get_mut(lane) {
            Some(sum) => sum,
            None => self.lanes.entry(lane.to_owned()).or_default(),
        };
        if *sum + cost > MOST_OF_A_LANE || self.all + cost > MOST_OF_ALL {
            return false;
        }
        *sum += cost;
        self.all += cost;
        true
    }

    /// The same for an event of a log, which is read without content: that is taken off first.
    pub(super) fn admits_light(&mut self, lane: &str, event: &mut Event) -> bool {
        cut(event);
        event.heads = Vec::new();
        let text = match &mut event.data {
            Data::Propose(propose) => {
                propose.memory = None;
                propose.changes = Vec::new();
                propose.description.as_ref().map_or(0, String::len)
            }
            Data::Revise(revise) => {
                revise.memory = None;
                revise.changes = Vec::new();
                revise.description.as_ref().map_or(0, String::len)
            }
            Data::Apply(apply) => {
                apply.written = Vec::new();
                0
            }
            Data::Undo(undo) => {
                undo.written = Vec::new();
                0
            }
            Data::Patch(patch) => {
                patch.written = Vec::new();
                0
            }
            Data::Mark(mark) => mark.reason.as_ref().map_or(0, String::len),
            Data::Reopen(reopen) => reopen.reason.as_ref().map_or(0, String::len),
            Data::Approve(approve) => approve.reason.as_ref().map_or(0, String::len),
            Data::Check(check) => {
                check.command.truncate(MOST_WORDS);
                check.command.iter().map(String::len).sum()
            }
            Data::Plan(value) => {
                *value = serde_json::Value::Null;
                0
            }
            Data::Comment(comment) => {
                comment.replacement = None;
                comment.body.len()
            }
            Data::RequestChanges(request) => request.reason.as_ref().map_or(0, String::len),
            Data::Reject(reject) => reject.reason.as_ref().map_or(0, String::len),
            Data::Purge(purge) => purge.reason.len(),
            Data::Expire(_)
            | Data::Extend(_)
            | Data::Committed(_)
            | Data::Fold(_)
            | Data::Publish(_)
            | Data::Unknown(..) => 0,
        };
        self.takes(lane, text + LIGHT)
    }
}

/// What an event that is stored as `body` costs in memory, in bytes.
pub(super) fn cost(body: &[u8]) -> usize {
    body.len() + VALUE * values(body)
}

/// How many values the JSON in `bytes` has, about: every one but the first follows a comma or a
/// bracket. An object counts as several, for as many would fit into what it allocates.
fn values(bytes: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b'[' if !quoted => count += 1,
            b'{' if !quoted => count += OBJECT,
            _ => {}
        }
    }
    count
}

/// Cuts the texts of a foreign event.
pub(super) fn cut(event: &mut Event) {
    let long = |text: &mut String| shorten(text, MOST_TEXT);
    let name = |text: &mut String| shorten(text, MOST_NAME);
    name(&mut event.actor.name);
    name(&mut event.actor.email);
    if let Some(run) = &mut event.agent {
        run.session.as_mut().map(name);
        run.model.as_mut().map(name);
    }
    match &mut event.data {
        Data::Propose(propose) => {
            propose.description.as_mut().map(long);
            propose.domain.as_mut().map(name);
            propose.related_task_id.as_mut().map(name);
            propose.branch.as_mut().map(name);
            name(&mut propose.proposed_by);
            if let InputForm::Other(word) = &mut propose.form {
                name(word);
            }
        }
        Data::Revise(revise) => {
            revise.description.as_mut().map(long);
            if let RevisionReason::Other(word) = &mut revise.reason {
                name(word);
            }
        }
        Data::Comment(comment) => {
            long(&mut comment.body);
            // Half a suggestion would be another one.
            comment.replacement.take_if(|text| text.len() > MOST_TEXT);
            comment.resolves.as_mut().map(name);
            if let CommentKind::Other(word) = &mut comment.kind {
                name(word);
            }
        }
        Data::RequestChanges(request) => {
            request.reason.as_mut().map(long);
        }
        Data::Reject(reject) => {
            reject.reason.as_mut().map(long);
        }
        Data::Mark(mark) => {
            mark.reason.as_mut().map(long);
        }
        Data::Reopen(reopen) => {
            reopen.reason.as_mut().map(long);
        }
        Data::Approve(approve) => {
            approve.reason.as_mut().map(long);
        }
        Data::Check(check) => {
            check.command.iter_mut().for_each(long);
            if let Some(imported) = &mut check.imported {
                name(&mut imported.by.name);
                name(&mut imported.by.email);
                name(&mut imported.result);
            }
        }
        Data::Committed(committed) => name(&mut committed.commit),
        Data::Purge(purge) => {
            long(&mut purge.reason);
            purge.blob.as_mut().map(name);
        }
        // Nothing is read from what this version does not recognise.
        Data::Unknown(_, value) => *value = serde_json::Value::Null,
        Data::Apply(_)
        | Data::Expire(_)
        | Data::Extend(_)
        | Data::Fold(_)
        | Data::Patch(_)
        | Data::Plan(_)
        | Data::Publish(_)
        | Data::Undo(_) => {}
    }
}

fn shorten(text: &mut String, most: usize) {
    if let Cow::Owned(short) = capped(text, most) {
        *text = short;
    }
}

/// `text`, or its beginning with an ellipsis where it is longer than `most` bytes.
pub(super) fn capped(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Cow::Owned(format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_inside_strings_are_not_counted() {
        assert_eq!(values(br#"{"a":"[,{\"","b":[1,2]}"#), OBJECT + 3);
    }

    #[test]
    fn long_text_ends_in_an_ellipsis_between_characters() {
        assert_eq!(capped("äää", 3), "ä…");
        assert_eq!(capped("äää", 6), "äää");
    }
}
