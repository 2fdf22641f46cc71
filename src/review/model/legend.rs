//! Keys that apply now; the terminal rejects others.

use super::review::UnitKind;
use super::session::ReviewSession;

#[derive(Clone, Copy, Debug, Default)]
pub struct Facilities {
    /// A command for trials is configured, or can be typed.
    pub can_try: bool,
    /// The shown changes differ from the proposed ones.
    pub differs: bool,
    pub can_compare: bool,
    /// Less context is possible.
    pub has_context: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub key: char,
    pub help: &'static str,
    /// Also in the prompt, not only in the legend.
    pub is_prompted: bool,
}

impl Key {
    pub fn new(key: char, help: &'static str) -> Self {
        Self { key, help, is_prompted: true }
    }

    pub fn applying<const N: usize>(keys: [(bool, char, &'static str); N]) -> Vec<Self> {
        let keys = keys.into_iter().filter(|(applies, ..)| *applies);
        keys.map(|(_, key, help)| Self::new(key, help)).collect()
    }
}

/// Keys in every prompt where they apply.
const PROMPTED: &str = "ynesofOW?";

impl ReviewSession {
    /// In the order of the legend.
    pub fn keys(&self, facilities: Facilities) -> Vec<Key> {
        let mut keys = Vec::new();
        let is_whole = self.review().is_some_and(super::Review::is_whole);
        let is_folded = self.unit().is_some_and(|unit| unit.folded.is_some());
        let mut add = |applies: bool, key: char, help: &'static str| {
            if applies {
                let is_special = match key {
                    'o' => is_folded,
                    // The legend is short if a proposal is decided as a whole.
                    'A' | 'R' | 'x' => is_whole,
                    _ => PROMPTED.contains(key),
                };
                keys.push(Key { key, help, is_prompted: is_special });
            }
        };
        if let (Some(review), Some(unit)) = (self.review(), self.unit()) {
            let at = self.unit_index();
            let count = review.units().len();
            let file = review.units_of(unit.file);
            let in_file = file.end - at > 1;
            let text =
                matches!(unit.part, UnitKind::Hunk(_)) || !review.file_of(at).entry().is_whole();
            let parts = !review.is_whole();
            let fits = unit.conflict.is_none();
            add(parts && fits, 'y', "take this hunk");
            add(parts, 'n', "do not take it");
            add(parts && in_file && fits, 'a', "take this and the rest of the file");
            add(parts && in_file, 'd', "do not take this hunk or any later one in the file");
            add(parts && review.parts(at).is_some(), 's', "split it into smaller hunks");
            let edit = if fits {
                "edit the result, then take it"
            } else {
                "settle it: edit both versions into one, then take that"
            };
            let is_hunk = matches!(unit.part, UnitKind::Hunk(_));
            add(parts && is_hunk && fits, 'l', "take single lines of it");
            add(parts && !is_folded && review.editable(at).is_some(), 'e', edit);
            add(true, 'c', "comment on it; ? in front asks, ! suggests other lines");
            add(at + 1 < count, 'j', "next hunk, undecided");
            add(at > 0, 'k', "previous hunk, undecided");
            let files = review.files().len();
            add(files > 1, 'J', "next file, undecided");
            add(files > 1, 'K', "previous file, undecided");
            add(files > 1, 'f', "list the files and go to one");
            add(count > 1, 'g', "list the hunks and go to one");
            add(count > 1, '/', "search in this proposal");
            add(self.can_undo(), 'u', "undo the last decision");
            add(text, 'w', "without changes of whitespace");
            add(text, 'v', "word by word");
            add(is_hunk && fits, '+', "show more lines around it");
            add(is_hunk && fits && facilities.has_context, '-', "show fewer lines around it");
            if is_folded {
                add(true, 'o', "open it: decide on its hunks")
            } else {
                add(text, 'o', "the whole file")
            }
            add(true, 'p', "the whole proposal in the pager");
            add(facilities.differs, 'O', "its own diff, as it was proposed");
            add(facilities.can_compare, 'D', "its diff in your difftool");
            add(facilities.can_try, 't', "try it: run the tests on it");
            add(!review.is_unfit(), 'A', "apply all of this proposal");
            add(true, 'R', "reject it, with a reason");
            add(true, 'x', "request changes; it stays pending");
        } else {
            add(self.can_undo(), 'u', "undo the last decision");
        }
        add(self.slots().len() > 1, 'L', "list all that is pending");
        add(self.slot().is_some(), '>', "on to the next proposal");
        add(self.place(self.position()) > 0, '<', "back to the proposal before");
        let settled = self.slots().iter().any(|slot| slot.is_answered() && !slot.done);
        add(settled, 'W', "write what is decided so far");
        add(true, 'q', "quit: write, keep or drop what is decided");
        add(true, '?', "help");
        keys
    }
}
