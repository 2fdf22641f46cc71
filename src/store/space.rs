//! Private and shared: the two spaces of threads, this clone's name, and the remotes that it shares
//! with.
//!
//! The directory of a ref tells who sees it. `refs/aye/p/` is sent below this clone's own directory
//! at the remote, so pushes of two clones never conflict. `refs/aye/private/` is never sent.

use bstr::ByteSlice as _;
use gix::ObjectId;
use serde::{Deserialize, Serialize};

use super::refs::{self, CLOSED, GONE, Name, ROOT, is_clone_id};
use super::thread::{Source, Tip};
use super::{Store, View, codes};
use crate::error::{Error, Result};
use crate::repository::codes as repository_codes;

/// The directory of all clones' directories at a remote.
pub const BY: &str = "refs/aye/by/";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Space {
    /// Everybody who can read the remotes that this clone shares with.
    Shared,
    Private,
}

impl Space {
    pub const ALL: [Self; 2] = [Self::Shared, Self::Private];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Private => "private",
        }
    }

    /// The directory of this clone's refs, with a slash at its end.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Shared => refs::SHARED,
            Self::Private => refs::PRIVATE,
        }
    }

    pub fn name(self, id: &ObjectId) -> String {
        format!("{}{id}", self.directory())
    }

    pub fn tombstone(self, id: &ObjectId) -> String {
        format!("{}{GONE}/{id}", self.directory())
    }

    pub fn chunk(self, id: &ObjectId) -> String {
        format!("{}{CLOSED}/{id}", self.directory())
    }
}

/// The refspec for `git push` of the threads that `clone` shares.
pub fn push_refspec(clone: &str) -> String {
    format!("{}*:{BY}{clone}/*", refs::SHARED)
}

/// The refspec for `git fetch` of other clones' threads. It has no `+`: git itself refuses refs
/// that go back.
pub fn fetch_refspec(remote: &str) -> String {
    format!("{BY}*:{}{remote}/*", refs::REMOTES)
}

/// The directory of `clone` at every remote.
pub fn push_directory(clone: &str) -> String {
    format!("{BY}{clone}/")
}

/// The directory here of what was fetched of `clone` from `remote`.
pub fn fetched_directory(remote: &str, clone: &str) -> String {
    format!("{}{remote}/{clone}/", refs::REMOTES)
}

impl Store {
    /// This clone's name in events and at remotes: `aye.clone`, if set.
    pub fn clone_id(&self) -> Option<String> {
        if let Some(only) = &self.only_as {
            return only.clone();
        }
        let made = self.made_clone_id.borrow().clone();
        made.or_else(|| self.repository().config("aye.clone").filter(|id| !id.is_empty()))
    }

    /// [`Store::clone_id`], and this clone's former names.
    pub fn clone_ids(&self) -> Vec<String> {
        let config = self.repository().repo().config_snapshot();
        let former = config.plumbing().strings("aye.formerClone").unwrap_or_default();
        let former = former.iter().map(|id| id.to_str_lossy().into_owned());
        self.clone_id().into_iter().chain(former).collect()
    }

    /// [`Store::clone_id`], created at the first write. The caller holds the store's lock.
    ///
    /// # Errors
    /// `ci_has_no_clone`; `invalid_config`; `git_failed`.
    pub(super) fn make_clone_id(&self) -> Result<String> {
        self.require_clone()?;
        if let Some(id) = self.clone_id() {
            return accepted(id);
        }
        // Another process may have created it since this one read its configuration.
        let answer =
            self.repository().git()?.args(["config", "--local", "--get", "aye.clone"]).answer()?;
        let mut id = answer.stdout.to_str_lossy().trim().to_owned();
        if id.is_empty() {
            id = format!("{:016x}", crate::beneath::random_id());
            self.repository().git()?.args(["config", "--local", "aye.clone", &id]).run()?;
        }
        let id = accepted(id)?;
        *self.made_clone_id.borrow_mut() = Some(id.clone());
        Ok(id)
    }

    /// Fetched refs in this clone's own directory that its own refs do not reach. A copy of this
    /// clone, or this one before a backup was restored, has written them. No push of this clone
    /// will succeed.
    pub fn copied_refs(&self, view: &View<'_>) -> Result<Vec<String>> {
        let Some(here) = self.clone_id() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for id in view.threads.ids()? {
            let tips = view.threads.tips(&id)?;
            let is_copy = |tip: &&Tip| {
                let is_here = |clone: &String| *clone == here;
                matches!(&tip.source, Source::Fetched { clone, .. } if is_here(clone))
                    && tips.iter().all(|own| !own.is_own() || own.id != tip.id)
            };
            let copies: Vec<&Tip> = tips.iter().filter(is_copy).collect();
            let Some(thread) = (!copies.is_empty()).then(|| view.threads.read(&id).ok()).flatten()
            else {
                continue;
            };
            let at = |tip: &Tip| thread.history.at(&tip.id.to_string());
            let own: Vec<usize> = tips.iter().filter(|tip| tip.is_own()).filter_map(at).collect();
            let is_reached = |tip: usize| own.iter().any(|own| thread.history.saw(*own, tip));
            let copies =
                copies.into_iter().filter(|tip| at(tip).is_some_and(|tip| !is_reached(tip)));
            found.extend(copies.map(|tip| tip.name.clone()));
        }
        Ok(found)
    }

    /// Gives this clone a new name and returns it; the present one becomes a former one.
    ///
    /// # Errors
    /// `busy`, `git_failed`, `ci_has_no_clone`.
    pub fn renew_clone_id(&self) -> Result<String> {
        self.require_clone()?;
        let _lock = self.lock()?;
        let git = || Ok::<_, Error>(self.repository().git()?.args(["config", "--local"]));
        // After a crash the name is present and former at once, which is harmless.
        if let Some(former) = self.clone_id() {
            git()?.args(["--add", "aye.formerClone", &former]).run()?;
        }
        let id = format!("{:016x}", crate::beneath::random_id());
        git()?.args(["--replace-all", "aye.clone", &id]).run()?;
        *self.made_clone_id.borrow_mut() = Some(id.clone());
        Ok(id)
    }

    /// The names of the ref `name` at remotes, with the remote: the sent one, or the one that was
    /// fetched.
    pub fn at_remotes(&self, name: &str) -> Vec<(String, String)> {
        if let Some(rest) = name.strip_prefix(refs::SHARED) {
            let clones = self.clone_ids();
            let of = |remote: String| {
                let names = clones.iter().map(|clone| format!("{BY}{clone}/{rest}"));
                names.map(|name| (remote.clone(), name)).collect::<Vec<_>>()
            };
            return self.sync_remotes().into_iter().flat_map(of).collect();
        }
        let remotes = remotes(self.repository().repo());
        let hash = self.repository().repo().object_hash();
        let parsed = Name::parse(name, &remotes, hash).map(|name| name.source);
        let Some(Source::Fetched { remote, .. }) = parsed else { return Vec::new() };
        let rest = name.strip_prefix(refs::REMOTES).and_then(|name| name.strip_prefix(&*remote));
        let rest = rest.unwrap_or_default().trim_start_matches('/');
        vec![(remote.clone(), format!("{BY}{rest}"))]
    }

    /// Makes events name `clone` instead of this clone's `aye.clone`; without a name writes are
    /// refused (`ci_has_no_clone`). A build machine's clone is thrown away, and each run's
    /// directory would stay at the remote for ever.
    ///
    /// # Errors
    /// `invalid_config` if the name is invalid.
    pub fn write_only_as(&mut self, clone: Option<String>) -> Result<()> {
        self.only_as = Some(clone.map(accepted).transpose()?);
        Ok(())
    }

    /// Refuses a write without a clone's name.
    ///
    /// # Errors
    /// `ci_has_no_clone`.
    pub fn require_clone(&self) -> Result<()> {
        if self.only_as != Some(None) {
            return Ok(());
        }
        Err(Error::new(
            &codes::CI_HAS_NO_CLONE,
            "CI is set, and a build machine has no clone that this could be recorded for",
        )
        .hint(
            "to record it, name one, and fetch its refs before and push them afterwards: \
             git -c aye.clone=<16 hexadecimal digits> aye …",
        ))
    }

    pub fn sync_remotes(&self) -> Vec<String> {
        sync_remotes(self.repository().repo())
    }

    /// The remotes that git's configuration has.
    pub fn remotes(&self) -> Vec<String> {
        remotes(self.repository().repo())
    }

    /// The remotes that a person has enabled: the values of `aye.syncRemote`.
    pub fn enabled_remotes(&self) -> Vec<String> {
        enabled_remotes(self.repository().repo())
    }
}

pub(super) fn remotes(repo: &gix::Repository) -> Vec<String> {
    repo.remote_names().iter().map(|name| name.to_str_lossy().into_owned()).collect()
}

fn enabled_remotes(repo: &gix::Repository) -> Vec<String> {
    let config = repo.config_snapshot();
    let named = config.plumbing().strings("aye.syncRemote").unwrap_or_default();
    let named = named.iter().map(|name| name.to_str_lossy().into_owned());
    named.filter(|name| !name.is_empty()).collect()
}

/// The remotes of `aye.syncRemote`, or else `origin`, or else the only one.
pub(super) fn sync_remotes(repo: &gix::Repository) -> Vec<String> {
    let named = enabled_remotes(repo);
    if !named.is_empty() {
        return named;
    }
    let mut all = remotes(repo);
    if all.len() > 1 {
        all.retain(|name| name == "origin");
    }
    all
}

fn accepted(id: String) -> Result<String> {
    if is_clone_id(&id) {
        return Ok(id);
    }
    let why = format!("aye.clone is '{id}', not 16 hexadecimal digits");
    Err(Error::new(&repository_codes::INVALID_CONFIG, why).hint(
        "`openssl rand -hex 8` prints some; a build machine keeps the same ones for all its runs",
    ))
}

/// A line of a pre-push hook's input.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The ref here, or another name of the commit.
    pub local: &'a str,
    pub remote: &'a str,
}

impl Sent<'_> {
    /// The reason why no remote may get it: one of the names is this clone's own. Both are checked,
    /// as in `+private/x:p/x`.
    pub fn refusal(self) -> Option<String> {
        const NEVER: [&str; 7] =
            ["private/", "remotes/", "kept/", "broken/", "pending/", "session/", "before/"];
        let is_own = |name: &&str| {
            let rest = name.strip_prefix(ROOT);
            rest.is_some_and(|rest| NEVER.iter().any(|never| rest.starts_with(never)))
        };
        let name = [self.local, self.remote].into_iter().find(is_own)?;
        Some(format!("{name} is for this clone alone"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_refs_are_never_sent() {
        let refused = |local: &str, remote: &str| Sent { local, remote }.refusal().is_some();
        assert!(!refused("refs/aye/p/0", "refs/aye/by/c/0"));
        assert!(!refused("refs/heads/private/x", "refs/heads/private/x"));
        for never in
            ["private/0", "remotes/o/c/0", "kept/o/c.1/0", "pending/p", "session/s", "before/p"]
        {
            let name = format!("{ROOT}{never}");
            assert!(refused(&name, "refs/aye/by/c/0"), "{name}");
            assert!(refused("0123abcd", &name), "{name}");
        }
    }
}
