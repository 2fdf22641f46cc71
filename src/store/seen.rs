//! What a full look has found true, told by the facts of files: that refs and files of a pending
//! proposal are as they should be, also those that memory keeps of what is staged. While these files are the same another
//! look would find the same, as git believes of the files in its index. It is told to whoever asks
//! `doctor`, once for all that has not changed; nothing is decided by it, and `doctor
//! --full` looks itself.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use chrono::{DateTime, Utc};

use super::Store;
pub use super::facts::Above;
use crate::private::Directory;

/// What was found of refs and projections.
pub(super) const EXAMINED: &str = "examined";

/// How either file begins: what is checked, and how projections look, may be other in another
/// version.
const VERSION: &str = concat!("aye ", env!("CARGO_PKG_VERSION"), "\n");

/// Most proposals that are noted.
const MOST: usize = 100_000;

impl Store {
    fn noted(&self, name: &str) -> Option<String> {
        let private = self.repository().private().ok()??;
        let text = String::from_utf8(private.read(name).ok()??).ok()?;
        text.strip_prefix(VERSION).map(str::to_owned)
    }

    fn note(&self, name: &str, text: &str) {
        let _ = Directory::make(&self.repository().private_dir()).and_then(|private| {
            private.replace(name, format!("{VERSION}{text}").as_bytes(), false)
        });
    }
}

/// What was found of pending proposals one by one, each told by a hash of all that it depended on.
pub struct Sound<'s> {
    store: &'s Store,
    name: &'static str,
    known: HashSet<String>,
    found: String,
    count: usize,
    is_new: bool,
}

impl<'s> Sound<'s> {
    /// What the look before has left under `name`; nothing where this one `is_full`.
    pub fn load(store: &'s Store, name: &'static str, is_full: bool) -> Self {
        let text = if is_full { None } else { store.noted(name) };
        let known: HashSet<String> =
            text.iter().flat_map(|t| t.lines()).map(str::to_owned).collect();
        Self { store, name, known, found: String::new(), count: 0, is_new: false }
    }

    /// Whether something was found as it should be, by what the line says that [`line()`] made.
    pub fn has(&mut self, line: &str) -> bool {
        let is_known = self.known.contains(line);
        if is_known {
            self.keep(line);
        }
        is_known
    }

    /// Notes that it is.
    pub fn add(&mut self, line: &str) {
        self.is_new = true;
        self.keep(line);
    }

    fn keep(&mut self, line: &str) {
        self.count += 1;
        let _ = writeln!(self.found, "{line}");
    }

    /// Writes what was found for the next look.
    pub fn save(self) {
        let is_other = self.is_new || self.count != self.known.len();
        if is_other && self.count <= MOST && (self.count > 0 || !self.known.is_empty()) {
            self.store.note(self.name, &self.found);
        }
    }
}

/// What is to be remembered of something that is as `what` says, on one line, with the files at
/// `names` beneath `above`. `None` where one of them was changed only now.
pub fn line<'p>(
    what: &str,
    above: &Above,
    names: impl IntoIterator<Item = &'p Path>,
    now: DateTime<Utc>,
) -> Option<String> {
    let mut bytes = what.as_bytes().to_owned();
    for name in names {
        above.facts(name).filter(|facts| facts.is_old(now))?.put(&mut bytes);
    }
    Some(crate::sha256::hex(&bytes))
}
