//! Keys that apply now; the terminal rejects others.

use super::review::UnitKind;
use super::session::ReviewSession;
use crate::prompt::Key;

#[derive(Clone, Copy, Debug, Default)]
pub struct Facilities {
    /// `aye.tryCommand` is configured.
    pub can_try: bool,
    pub can_compare: bool,
    /// Less context is possible.
    pub has_context: bool,
}

/// Keys in every prompt where they apply.
const PROMPTED: &str = "ynadAes?";

impl ReviewSession {
    /// In the order of the legend.
    pub fn keys(&self, facilities: Facilities) -> Vec<Key> {
        let mut keys = Vec::new();
        let is_whole = self.review().is_some_and(super::Review::is_whole);
        let at = self.unit_index();
        let units = self.review().map_or(0, |review| review.units().len());
        let is_several = units > 1;
        let in_file = self
            .review()
            .zip(self.unit())
            .is_some_and(|(review, unit)| review.units_of(unit.file).end - at > 1);
        let is_folded = self.unit().is_some_and(|unit| unit.folded.is_some());
        let mut add = |applies: bool, key: char, help: &'static str| {
            if applies {
                let is_special = match key {
                    'o' => is_folded,
                    'a' | 'd' => in_file,
                    'A' => is_whole || is_several,
                    // Few keys apply to a proposal that is decided as a whole.
                    'R' | 'x' => is_whole,
                    _ => PROMPTED.contains(key),
                };
                keys.push(Key { key, help, is_prompted: is_special });
            }
        };
        if let (Some(review), Some(unit)) = (self.review(), self.unit()) {
            let count = review.units().len();
            let text =
                matches!(unit.part, UnitKind::Hunk(_)) || !review.file_of(at).entry().is_whole();
            let parts = !review.is_whole();
            let fits = unit.conflict.is_none();
            let takes_rest =
                review.units().iter().all(|it| it.decision.is_some() || it.conflict.is_none());
            add(parts && (fits || unit.is_edited()), 'y', "take this hunk");
            add(parts, 'n', "do not take it");
            add(parts && fits, 'a', "take the rest of the file; each n is kept");
            add(parts, 'd', "do not take the rest of the file");
            let rest =
                if parts { "take the rest of the proposal; each n is kept" } else { "apply it" };
            add(takes_rest, 'A', rest);
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
            add(at + 1 < count, 'j', "next hunk; this one stays as it is");
            add(at > 0, 'k', "previous hunk");
            let files = review.files().len();
            add(files > 1, 'J', "next file");
            add(files > 1, 'K', "previous file");
            add(files > 1, 'f', "list the files and go to one");
            add(count > 1, 'g', "list the hunks and go to one");
            add(count > 1, '/', "search in this proposal");
            add(self.can_undo(), 'u', "undo the last decision");
            add(text, 'w', "ignore changes of whitespace, or show them again");
            add(text, 'W', "word by word, or line by line again");
            add(is_hunk && fits, '+', "show more lines around it");
            add(is_hunk && fits && facilities.has_context, '-', "show fewer lines around it");
            if is_folded {
                add(true, 'o', "open it: decide on its hunks")
            } else {
                add(text, 'o', "the whole file")
            }
            add(true, 'p', "the whole proposal in the pager");
            add(facilities.can_compare, 'D', "its diff in your difftool");
            add(true, 'R', "reject it, with a reason");
            add(true, 'x', "request changes; it stays pending");
        } else {
            add(self.can_undo(), 'u', "undo the last decision");
        }
        add(facilities.can_try, 't', "run aye.tryCommand on what is taken so far");
        add(self.slots().len() > 1, 'L', "list all that is pending");
        add(self.slot().is_some(), '>', "on to the next proposal");
        add(self.place(self.position()) > 0, '<', "back to the proposal before");
        add(true, 'q', "quit: write, keep or drop what is decided");
        add(true, '?', "help");
        keys
    }
}
