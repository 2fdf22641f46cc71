//! Recognises moves and copies by content, like `git diff -M`. A new file like a deleted one is a
//! rename; one like an edited file of the changeset is a copy. Pure.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Changeset, FileChange, RepoPath, file};

/// Least similarity of a rename in percent: git's default.
pub const RENAMED: u8 = 50;
/// Least similarity of a copy in percent. Git's is lower, but git looks for copies only on request:
/// files of a project resemble each other.
pub const COPIED: u8 = 80;
/// In bytes: short files are alike by chance.
pub const SMALLEST: usize = 100;
/// Most pairs compared by lines. Beyond it, as with git's `diff.renameLimit`, only identical
/// content counts.
const MOST_PAIRS: usize = 40_000;
/// In bytes.
const LARGEST: usize = 4 << 20;

impl Changeset {
    #[must_use]
    pub fn with_origins(mut self) -> Self {
        name_origins(&mut self.changes);
        self
    }
}

/// Names the origins of created files. Empty files are not copies.
pub fn name_origins(changes: &mut [FileChange]) {
    let found = Search::of(changes).found();
    for (at, origin) in found {
        changes[at].origin = Some(origin);
    }
}

/// Part of the larger content that is in the other, in percent. As in git, bytes of equal lines
/// count, in any order. 100 only for identical bytes.
pub fn similarity(before: &[u8], after: &[u8]) -> u8 {
    if before == after {
        return 100;
    }
    Spans::of(before).similarity(&Spans::of(after))
}

/// Bytes per distinct line.
struct Spans {
    size: usize,
    bytes: BTreeMap<u64, usize>,
}

impl Spans {
    fn of(content: &[u8]) -> Self {
        let is_text = !file::is_binary(content);
        let mut bytes = BTreeMap::new();
        let mut add = |span: &[u8]| {
            let mut hasher = DefaultHasher::new();
            span.hash(&mut hasher);
            *bytes.entry(hasher.finish()).or_default() += span.len();
        };
        // As in git: spans of at most 64 bytes; text without the CR of CRLF.
        let mut span = Vec::with_capacity(64);
        for (at, byte) in content.iter().enumerate() {
            if is_text && *byte == b'\r' && content.get(at + 1) == Some(&b'\n') {
                continue;
            }
            span.push(*byte);
            if span.len() == 64 || *byte == b'\n' {
                add(&span);
                span.clear();
            }
        }
        if !span.is_empty() {
            add(&span);
        }
        Self { size: content.len(), bytes }
    }

    fn similarity(&self, other: &Self) -> u8 {
        let (mut common, most) = (0, self.size.max(other.size));
        for (span, bytes) in &self.bytes {
            common += other.bytes.get(span).map_or(0, |others| *bytes.min(others));
        }
        let score = (common * SCORE).checked_div(most).unwrap_or_default();
        u8::try_from(score * 100 / SCORE).unwrap_or(100).min(99)
    }
}

/// Git's scale; git rounds down to it before it computes percents.
const SCORE: usize = 60_000;

/// True if sizes alone rule out a similarity of `least` percent.
pub fn is_apart(a: usize, b: usize, least: u8) -> bool {
    a.min(b) * 100 < a.max(b) * usize::from(least)
}

struct Source<'a> {
    path: &'a RepoPath,
    bytes: &'a [u8],
    is_deleted: bool,
    is_used: bool,
}

impl Source<'_> {
    /// True if a file can come from here: by a move if `goes`, else by a copy.
    fn is_open(&self, goes: bool) -> bool {
        self.is_deleted == goes && if goes { !self.is_used } else { self.bytes.len() >= SMALLEST }
    }
}

struct Search<'a> {
    created: Vec<(usize, &'a RepoPath, &'a [u8])>,
    sources: Vec<Source<'a>>,
}

impl<'a> Search<'a> {
    fn of(changes: &'a [FileChange]) -> Self {
        let named: Vec<&RepoPath> = changes.iter().filter_map(|c| c.origin.as_ref()).collect();
        let (mut created, mut sources) = (Vec::new(), Vec::new());
        for (at, change) in changes.iter().enumerate() {
            match (&change.before, &change.after) {
                (None, Some(after)) if change.origin.is_none() && !after.bytes.is_empty() => {
                    created.push((at, &change.path, after.bytes.as_slice()));
                }
                (Some(before), after) if !before.bytes.is_empty() => sources.push(Source {
                    path: &change.path,
                    bytes: &before.bytes,
                    is_deleted: after.is_none(),
                    is_used: named.contains(&&change.path),
                }),
                _ => {}
            }
        }
        Self { created, sources }
    }

    /// Index and origin.
    fn found(mut self) -> Vec<(usize, RepoPath)> {
        if self.created.is_empty() || self.sources.is_empty() {
            return Vec::new();
        }
        let mut found = self.same();
        found.extend(self.alike(true, RENAMED));
        found.extend(self.alike(false, COPIED));
        found
    }

    /// Identical content. A deleted source wins, then one of the same name.
    fn same(&mut self) -> Vec<(usize, RepoPath)> {
        let mut by_content: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (at, source) in self.sources.iter().enumerate() {
            by_content.entry(source.bytes).or_default().push(at);
        }
        let mut found = Vec::new();
        let sources = &mut self.sources;
        self.created.retain(|(at, path, bytes)| {
            let Some(equal) = by_content.get(bytes) else { return true };
            let open = equal.iter().filter(|at| {
                let source = &sources[**at];
                source.is_open(true) || source.is_open(false)
            });
            let best = open.max_by_key(|source| {
                let source = &sources[**source];
                (source.is_deleted, source.path.file_name() == path.file_name())
            });
            let Some(best) = best else { return true };
            found.push((*at, sources[*best].path.clone()));
            sources[*best].is_used |= sources[*best].is_deleted;
            false
        });
        found
    }

    /// Most similar pairs first. With `goes`, each deleted source is used once.
    fn alike(&mut self, goes: bool, least: u8) -> Vec<(usize, RepoPath)> {
        let is_it = |source: &&Source<'_>| source.is_open(goes);
        let open = self.sources.iter().filter(is_it).count();
        if open == 0 || self.created.len().saturating_mul(open) > MOST_PAIRS {
            return Vec::new();
        }
        let spans = |bytes: &[u8]| (bytes.len() <= LARGEST).then(|| Spans::of(bytes));
        let mut theirs: Vec<Option<Option<Spans>>> = Vec::new();
        theirs.resize_with(self.sources.len(), || None);
        let mut pairs = Vec::new();
        for (number, (_, path, bytes)) in self.created.iter().enumerate() {
            let mut own = None;
            for (at, source) in self.sources.iter().enumerate() {
                if !is_it(&source) || is_apart(bytes.len(), source.bytes.len(), least) {
                    continue;
                }
                let own = own.get_or_insert_with(|| spans(bytes));
                let theirs = theirs[at].get_or_insert_with(|| spans(source.bytes));
                let (Some(own), Some(theirs)) = (own, theirs) else { continue };
                let score = own.similarity(theirs);
                if score >= least {
                    pairs.push((score, source.path.file_name() == path.file_name(), number, at));
                }
            }
        }
        pairs
            .sort_unstable_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
        let mut found: Vec<(usize, RepoPath)> = Vec::new();
        let mut done = Vec::new();
        for (_, _, number, source) in pairs {
            if done.contains(&number) || goes && self.sources[source].is_used {
                continue;
            }
            self.sources[source].is_used |= goes;
            done.push(number);
            found.push((self.created[number].0, self.sources[source].path.clone()));
        }
        let mut number = 0..;
        self.created.retain(|_| number.next().is_some_and(|number| !done.contains(&number)));
        found
    }
}

#[cfg(test)]
mod tests;
