//! Recovery from crashed processes, before each command.

use super::Context;
use crate::error::Error;
use crate::repository::trial;
use crate::store::Store;
use crate::text::escape;
use crate::worktree::journal;

impl Context {
    /// Recovers, and warns of unsafe files. A failure is reported and stops only commands that
    /// write files.
    pub(super) fn recover_leftovers(&self, store: &Store) {
        let private = match store.repository().private() {
            Ok(None) => return,
            Ok(Some(private)) => private,
            Err(error) => return self.warn_of(&[error]),
        };
        // One listing replaces a look at each name.
        let (mut sound, mut unsafe_) = (Vec::new(), Vec::new());
        for (name, usable) in private.contents() {
            match usable {
                Ok(()) => sound.push(name),
                Err(error) => unsafe_.push(error),
            }
        }
        self.warn_of(&unsafe_);
        if sound.iter().any(|name| name == "try") {
            trial::sweep(store.repository().common_dir());
        }
        if sound.iter().any(|name| name == "journal") && journal::is_pending(&private) {
            self.recover(store);
        }
    }

    fn recover(&self, store: &Store) {
        match crate::apply::recover(store) {
            Ok(settled) => {
                for recovery in settled.done {
                    self.note(&format!("note: {}", escape::line(&recovery.message)));
                    for left in &recovery.left {
                        self.note(&format!("warning: {}", escape::line(left)));
                    }
                }
                self.warn_of(&settled.refused);
            }
            Err(error) if error.is(&crate::private::codes::PRIVATE_DIR_UNSAFE) => {}
            Err(error) => self.note(&format!("warning: {}", escape::line(error.message()))),
        }
    }

    /// Prints the first error and the number of others.
    fn warn_of(&self, errors: &[Error]) {
        let Some(first) = errors.first() else { return };
        let more = match errors.len() {
            1 => String::new(),
            n => format!(" (and {} more; `aye doctor` lists them)", n - 1),
        };
        let hint = first.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
        let text = format!("{}{hint}{more}", first.message());
        self.note(&format!("warning[{}]: {}", first.code().id, escape::line(&text)));
    }
}
