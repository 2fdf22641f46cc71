//! What purged proposals and direct patches had for nobody else, or for another remote, without the text itself.
//!
//! A purge removes what a proposal said, and with it what tells that a line of a file is not for everybody; what a
//! direct patch wrote is in the files alone. Where such a line stands in the work tree still, the next proposal,
//! apply or publication would take it along. So the file `purged` in aye's own directory keeps, for the lines
//! that they brought, salted hashes: the salt, and then a line for each of `<16 hex> <audience>`. It never leaves
//! this clone.

use std::collections::{BTreeSet, HashMap, HashSet};

use bstr::ByteSlice as _;

use super::{Audience, Store, View};
use crate::beneath;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::private::Directory;
use crate::proposal::ProposalId;
use crate::proposal::event::Written;

const FILE: &str = "purged";

/// Most lines that are remembered: some two megabytes.
const MOST: usize = 100_000;

/// The lines of purged proposals and direct patches, by their hashes.
#[derive(Debug, Default)]
pub(super) struct PurgedLines {
    salt: String,
    /// Whom each was for.
    known: HashMap<String, String>,
}

impl PurgedLines {
    /// What is remembered here.
    ///
    /// # Errors
    /// `private_dir_unsafe`; if the file cannot be read.
    pub(super) fn read(private: &Directory) -> Result<Self> {
        let Some(bytes) = private.read(FILE)? else { return Ok(Self::default()) };
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        let salt = lines.next().unwrap_or_default().to_owned();
        let known = lines.filter_map(|line| line.split_once(' ')).take(MOST);
        let known = known.map(|(hash, of)| (hash.to_owned(), of.to_owned())).collect();
        Ok(Self { salt, known })
    }

    /// Whether one of `lines` of the file at `path` is of one that was not for `audience`.
    pub(super) fn has<'l>(
        &self,
        path: &RepoPath,
        mut lines: impl Iterator<Item = &'l [u8]>,
        audience: &Audience,
    ) -> bool {
        let audience = name(audience);
        !self.known.is_empty()
            && lines.any(|line| {
                self.known.get(&self.hash(path, line)).is_some_and(|of| *of != audience)
            })
    }

    /// True where nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn hash(&self, path: &RepoPath, line: &[u8]) -> String {
        let mut hash =
            crate::sha256::hex(&[self.salt.as_bytes(), path.as_bstr(), line].join(&b"\n"[..]));
        hash.truncate(16);
        hash
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("{}\n", self.salt);
        let lines: BTreeSet<(&String, &String)> = self.known.iter().collect();
        for (hash, of) in lines {
            text += &format!("{hash} {of}\n");
        }
        text.into_bytes()
    }
}

fn name(audience: &Audience) -> String {
    match audience {
        Audience::Default => "default".to_owned(),
        Audience::Private => "private".to_owned(),
        Audience::Remote(remote) => format!("for/{remote}"),
    }
}

/// The lines of `new` that `old` has not, without spaces around them; empty ones are none.
pub(super) fn brought<'t>(old: &[u8], new: &'t [u8]) -> HashSet<&'t [u8]> {
    let known: HashSet<&[u8]> = old.lines().map(<[u8]>::trim).collect();
    let lines = new.lines().map(<[u8]>::trim);
    lines.filter(|line| !line.is_empty() && !known.contains(line)).collect()
}

/// Whether a line is more than signs: a bracket stands in every file.
pub(super) fn says_something(line: &[u8]) -> bool {
    line.iter().any(|b| b.is_ascii_alphanumeric() || *b >= 0x80)
}

impl Store {
    /// Remembers the lines that `ids`, which are about to be purged, brought for somebody else than the default
    /// audience. What cannot be read any more is not remembered.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn remember_purged(
        &self,
        private: &Directory,
        view: &View,
        ids: &BTreeSet<ProposalId>,
    ) -> Result<()> {
        let mut proposals = Vec::new();
        for id in ids {
            let audience = view.audience(id)?;
            let proposal = view.proposal(id).ok().filter(|_| audience != Audience::Default);
            proposals.extend(proposal.map(|proposal| (proposal, audience)));
        }
        let brought = proposals.iter().flat_map(|(proposal, audience)| {
            let changes = proposal.revisions.iter().flat_map(|revision| &revision.changes);
            changes.map(move |change| {
                let sides = (self.side(&change.before), self.side(&change.after));
                (&change.path, sides, audience)
            })
        });
        remember(private, brought)
    }

    /// Remembers the lines that a direct patch for `audience` has just written, unless that is the default one.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn remember_patched(&self, written: &[Written], audience: &Audience) -> Result<()> {
        if *audience == Audience::Default {
            return Ok(());
        }
        let brought = written.iter().filter_map(|file| {
            let after = self.present(&file.path, file.after.as_ref()?)?;
            Some((&file.path, (self.side(&file.before), after), audience))
        });
        remember(&self.repository().make_private()?, brought)
    }
}

/// A file, what it was and became, and whom that is for.
type Step<'s> = (&'s RepoPath, (Vec<u8>, Vec<u8>), &'s Audience);

/// Remembers the lines that `steps` bring.
fn remember<'s>(private: &Directory, steps: impl Iterator<Item = Step<'s>>) -> Result<()> {
    let mut lines = PurgedLines::read(private)?;
    if lines.salt.is_empty() {
        lines.salt = format!("{:016x}{:016x}", beneath::random(), beneath::random());
    }
    let before = lines.known.len();
    for (path, (old, new), audience) in steps {
        for line in brought(&old, &new).into_iter().filter(|line| says_something(line)) {
            if lines.known.len() < MOST {
                lines.known.insert(lines.hash(path, line), name(audience));
            }
        }
    }
    if lines.known.len() == before {
        Ok(())
    } else {
        private.replace(FILE, &lines.to_bytes(), true)
    }
}
