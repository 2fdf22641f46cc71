//! The keys that apply now, for the legend and for telling a key from a slip.

use super::review::Part;
use super::session::Session;

/// What the surroundings offer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facilities {
    /// There is room for two columns.
    pub wide: bool,
    /// A command to try proposals with is configured, or can be typed.
    pub can_try: bool,
    /// The proposal on the screen is shown otherwise than it was proposed.
    pub differs: bool,
}

/// A key, and what it does in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// What to press.
    pub key: char,
    /// What it does.
    pub help: &'static str,
}

impl Session {
    /// The keys that do something where the session is, in the order of the legend.
    pub fn keys(&self, facilities: Facilities) -> Vec<Key> {
        let mut keys = Vec::new();
        let mut add = |applies: bool, key: char, help: &'static str| {
            if applies {
                keys.push(Key { key, help });
            }
        };
        if let (Some(review), Some(unit)) = (self.review(), self.unit()) {
            let at = self.unit_index();
            let count = review.units().len();
            let file = review.units_of(unit.file);
            let in_file = file.end - at > 1;
            let text =
                matches!(unit.part, Part::Hunk(_)) || !review.file_of(at).entry().is_binary();
            let parts = !review.is_whole();
            let fits = unit.unfit.is_none();
            add(parts && fits, 'y', "take this hunk");
            add(parts, 'n', "leave it out");
            add(parts && in_file && fits, 'a', "take this and the rest of the file");
            add(parts && in_file, 'd', "leave this and the rest of the file out");
            add(parts && review.parts(at).is_some(), 's', "split it into smaller hunks");
            let edit = match fits {
                true => "edit the result, then take it",
                false => "settle it: edit both versions into one, then take that",
            };
            add(parts && review.editable(at).is_some(), 'e', edit);
            let saved = parts && review.saved_edit(at).is_some();
            add(saved, 'E', "take the edit that was saved from an earlier session");
            add(true, 'c', "comment on it");
            add(at + 1 < count, 'j', "next hunk, undecided");
            add(at > 0, 'k', "previous hunk, undecided");
            let files = review.files().len();
            add(files > 1, 'J', "next file, undecided");
            add(files > 1, 'K', "previous file, undecided");
            add(files > 1, 'f', "list the files and go to one");
            add(count > 1, 'g', "list the hunks and go to one");
            add(count > 1, '/', "search in this proposal");
            add(self.can_undo(), 'u', "undo the last decision");
            add(text, 'w', "word by word");
            add(text && facilities.wide, 'v', "side by side");
            add(text, 'o', "the whole file");
            add(true, 'p', "the whole proposal in the pager");
            add(facilities.differs, 'O', "its own diff, as it was proposed");
            add(facilities.can_try, 't', "try it: run the tests on it");
            add(!review.is_unfit(), 'A', "apply all of this proposal");
            add(true, 'R', "reject it, with a reason");
            add(true, 'x', "request changes; it stays pending");
        } else {
            add(self.can_undo(), 'u', "undo the last decision");
        }
        add(self.slots().len() > 1, 'L', "list all that is pending");
        add(self.slot().is_some(), '>', "on to the next proposal");
        add(self.position() > 0, '<', "back to the proposal before");
        let settled = self.slots().iter().any(|slot| slot.is_answered() && !slot.done);
        add(settled, 'W', "write what is decided so far");
        add(true, 'q', "quit; what was decided is kept");
        add(true, '?', "help");
        keys
    }
}
