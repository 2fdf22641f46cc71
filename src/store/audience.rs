//! Whom a subject is for, as the refs say: a pure function of their names, of the lanes that hold
//! the subject, and of which remote is the default one.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::refs::{self, Audience};
use super::{Store, codes};
use crate::error::{Error, Result};

/// The audiences of all lanes that there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Audiences {
    /// The remotes whose lanes are for [`Audience::Default`]; `None`: every remote's are.
    home: Option<Vec<String>>,
    /// By lane: whom its refs are for that were written here.
    local: BTreeMap<String, BTreeSet<Audience>>,
    /// By lane: where it was fetched from.
    fetched: BTreeMap<String, BTreeSet<Audience>>,
}

impl Audiences {
    /// Of lanes with refs of these `names`, where `home` are the default remotes.
    pub(super) fn new<'n>(home: Option<Vec<String>>, names: impl Iterator<Item = &'n str>) -> Self {
        let mut found = Self { home, ..Self::default() };
        let mut kept = Vec::new();
        for name in names {
            let Some(audience) = found.of_ref(name) else { continue };
            let lanes = match name {
                _ if refs::is_local(name) => &mut found.local,
                _ if name.starts_with(refs::KEPT) => {
                    kept.push((refs::lane_of(name).to_owned(), audience));
                    continue;
                }
                _ => &mut found.fetched,
            };
            lanes.entry(refs::lane_of(name).to_owned()).or_default().insert(audience);
        }
        // Where a lane is now says more than where it was once.
        let is_gone = |lane: &str| !found.fetched.contains_key(lane);
        kept.retain(|(lane, _)| is_gone(lane));
        for (lane, audience) in kept {
            found.fetched.entry(lane).or_default().insert(audience);
        }
        found
    }

    /// Whom the lane of the ref `name` is for; `None` where that is not a lane.
    pub(super) fn of_ref(&self, name: &str) -> Option<Audience> {
        if let Some(audience) = Audience::of(name) {
            return Some(audience);
        }
        let remote = match name.strip_prefix(refs::KEPT) {
            // Of the default remote, or of one that an older version did not note.
            Some(kept) => match kept.rsplit_once('/') {
                None => return Some(Audience::Default),
                Some((remote, _)) => remote,
            },
            None => refs::remote_of(name)?,
        };
        Some(match &self.home {
            Some(home) if !home.iter().any(|home| home == remote) => {
                Audience::Remote(remote.to_owned())
            }
            _ => Audience::Default,
        })
    }

    /// Whether everything is for the default remote.
    pub(super) fn is_plain(&self) -> bool {
        let all = self.local.values().chain(self.fetched.values());
        all.flatten().all(|audience| *audience == Audience::Default)
    }

    /// Whether an event for `audience` may name `lane` as the ref `name` has it: one that this clone
    /// writes, as it stands here for the same audience; any other, as it was fetched from there.
    pub(super) fn is_named(&self, lane: &str, name: &str, audience: &Audience) -> bool {
        if refs::is_local(name) {
            return self.of_ref(name).as_ref() == Some(audience);
        }
        if self.local.get(lane).is_some_and(|local| !local.contains(audience)) {
            return false;
        }
        if name.starts_with(refs::KEPT) {
            self.fetched.get(lane).and_then(BTreeSet::first) == Some(audience)
        } else {
            self.of_ref(name).as_ref() == Some(audience)
        }
    }

    /// Whom `lane` is for: what this clone writes it for, or else where it was fetched from.
    pub(super) fn of_lane(&self, lane: &str) -> Option<Audience> {
        let first =
            |lanes: &BTreeMap<String, BTreeSet<Audience>>| lanes.get(lane)?.first().cloned();
        first(&self.local).or_else(|| first(&self.fetched))
    }

    /// Whom a subject is for whose first event, or its publication, is in the lanes `owners`;
    /// `speakers` are all lanes that hold events about it. Of what this clone has proposed or
    /// published: where that was. Of what it has fetched: where it has spoken of it before, so that
    /// this does not change with the remotes; or else where it came from. The first audience of
    /// several, in their order; nobody else only where no publication is known, not even one that this
    /// clone, which was copied or restored, has only fetched.
    pub(super) fn of_subject<E>(
        &self,
        owners: &BTreeSet<String>,
        speakers: impl FnOnce() -> std::result::Result<BTreeSet<String>, E>,
    ) -> std::result::Result<Audience, E> {
        let first = |lanes: &BTreeSet<String>, of: &BTreeMap<String, BTreeSet<Audience>>| {
            lanes.iter().filter_map(|lane| of.get(lane)?.first()).min().cloned()
        };
        if self.is_plain() {
            return Ok(Audience::Default);
        }
        let own = first(owners, &self.local);
        let is_private = own == Some(Audience::Private);
        if let Some(audience) = own.filter(|_| !is_private) {
            return Ok(audience);
        }
        // What was pushed of a private lane itself is no publication.
        let fetched =
            owners.iter().filter(|lane| !self.local.contains_key(*lane)).cloned().collect();
        let fetched = first(&fetched, &self.fetched);
        if is_private && fetched.is_none() {
            return Ok(Audience::Private);
        }
        let spoken = first(&speakers()?, &self.local).filter(|spoken| *spoken != Audience::Private);
        Ok(spoken.or(fetched).unwrap_or(Audience::Default))
    }
}

/// Whether the lane of the ref `name`, which was written here or fetched, is for the default audience, where
/// `home` are the default remotes; so is what is no lane. As [`Audiences::of_ref`] says, without composing it.
pub(super) fn is_default(home: Option<&[String]>, name: &str) -> bool {
    if refs::is_local(name) {
        return name.starts_with(refs::LOG);
    }
    let is_home = |remote: &str| home.is_none_or(|home| home.iter().any(|name| name == remote));
    refs::remote_of(name).is_none_or(is_home)
}

/// The remotes whose lanes are for the default audience: the one that `aye.remote` names, or else
/// `origin` if there is one, or else the only one there is; and all others at the same URL. `None`:
/// every remote's are.
pub(super) fn default_remotes(repo: &gix::Repository) -> Option<Vec<String>> {
    let config = repo.config_snapshot();
    let named = config.string("aye.remote").map(|name| name.to_str_lossy().into_owned());
    let mut names: Vec<String> = repo.remote_names().iter().map(ToString::to_string).collect();
    let default = named
        .filter(|name| !name.is_empty())
        .or_else(|| names.iter().find(|name| *name == "origin").cloned())
        .or_else(|| names.first().filter(|_| names.len() == 1).cloned())?;
    let url = |name: &str| config.string(&*format!("remote.{name}.url"));
    let home = url(&default);
    names.retain(|name| *name != default && home.is_some() && url(name) == home);
    names.insert(0, default);
    Some(names)
}

/// Configuration by which lanes go to a remote that they are not for.
#[derive(Clone, Debug)]
pub struct Pushes {
    /// The remote.
    pub remote: String,
    /// Key and value.
    pub why: String,
}

impl Store {
    /// Whether the remote `name` is pushed to at `url`.
    pub fn remote_has_url(&self, name: &str, url: &str) -> bool {
        let config = self.repository().repo.config_snapshot();
        let mut keys = ["url", "pushurl"].iter().map(|key| format!("remote.{name}.{key}"));
        keys.any(|key| {
            let values = config.plumbing().strings(&*key).unwrap_or_default();
            values.iter().any(|known| *known.as_slice() == *url.as_bytes())
        })
    }

    /// The names of several remotes of which none is the default one, so that what is said of proposals of one is
    /// for all; none where there is a default remote, or need not be one.
    pub fn remotes_without_default(&self) -> Vec<String> {
        let names: Vec<String> =
            self.repository().repo.remote_names().iter().map(ToString::to_string).collect();
        let is_told_apart = names.len() < 2 || default_remotes(&self.repository().repo).is_some();
        if is_told_apart { Vec::new() } else { names }
    }

    /// The name that `aye.remote` has, where there is no remote of that name.
    pub fn default_remote_missing(&self) -> Option<String> {
        let named = self
            .repository()
            .repo
            .config_snapshot()
            .string("aye.remote")?
            .to_str_lossy()
            .into_owned();
        let is_there =
            self.repository().repo.remote_names().iter().any(|name| name.to_str_lossy() == named);
        (!named.is_empty() && !is_there).then_some(named)
    }

    /// What in git's configuration would push lanes that are not for the remote.
    pub fn pushes_of_others(&self) -> Vec<Pushes> {
        let config = self.repository().repo.config_snapshot();
        let mut found = Vec::new();
        for name in self.repository().repo.remote_names().iter().map(ToString::to_string) {
            let key = format!("remote.{name}.mirror");
            if config.boolean(&*key) == Some(true) {
                found.push(Pushes { remote: name.clone(), why: format!("{key} is true") });
            }
            let key = format!("remote.{name}.push");
            for value in config.plumbing().strings(&*key).unwrap_or_default() {
                let refspec = value.to_str_lossy();
                if crate::store::refused::sends_others(&refspec, &name) {
                    let why = format!("{key} is {refspec}");
                    found.push(Pushes { remote: name.clone(), why });
                }
            }
        }
        found
    }

    /// The remotes that lanes for `audience` are sent to.
    pub fn remotes_of(&self, audience: &Audience) -> Vec<String> {
        match audience {
            Audience::Private => Vec::new(),
            Audience::Remote(remote) => vec![remote.clone()],
            Audience::Default => default_remotes(&self.repository().repo).unwrap_or_else(|| {
                self.repository().repo.remote_names().iter().map(ToString::to_string).collect()
            }),
        }
    }

    /// The remotes that may have lanes for `audience` although those are not sent there: what is for the default
    /// remote goes to whichever somebody names.
    pub fn remotes_beside(&self, audience: &Audience) -> Vec<String> {
        if *audience != Audience::Default {
            return Vec::new();
        }
        let home = self.remotes_of(audience);
        let all = self.repository().repo.remote_names();
        let names = all.iter().map(ToString::to_string);
        names.filter(|name| !home.contains(name)).collect()
    }

    /// Whether archives of `lane`, which is for `audience`, are here.
    ///
    /// # Errors
    /// `lane_broken` if a ref cannot be read.
    pub fn has_archives(&self, audience: &Audience, lane: &str) -> Result<bool> {
        let (above, mut found) = (audience.archives(), false);
        let begins = format!("{above}{lane}.");
        refs::each(&self.repository().repo, &above, |name, _| found |= name.starts_with(&begins))?;
        Ok(found)
    }

    /// Whom what is sent to the remote `name` is for.
    ///
    /// # Errors
    /// `remote_not_found` where there is none of that name.
    pub fn audience_of_remote(&self, name: &str) -> Result<Audience> {
        if !self
            .repository()
            .repo
            .remote_names()
            .iter()
            .any(|known| known.as_bytes() == name.as_bytes())
        {
            return Err(Error::new(&codes::REMOTE_NOT_FOUND, format!("no remote '{name}'"))
                .hint("`git remote` lists them"));
        }
        Ok(self.audience_at(name))
    }

    /// As [`Store::audience_of_remote`], whether there is such a remote or not.
    pub(super) fn audience_at(&self, name: &str) -> Audience {
        match default_remotes(&self.repository().repo) {
            Some(default) if !default.iter().any(|home| home == name) => {
                Audience::Remote(name.to_owned())
            }
            _ => Audience::Default,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audience(remote: Option<&str>, names: &[&str], owners: &[&str], said: &[&str]) -> Audience {
        let found = Audiences::new(remote.map(|name| vec![name.to_owned()]), names.iter().copied());
        let lanes = |lanes: &[&str]| lanes.iter().map(|lane| (*lane).to_owned()).collect();
        found.of_subject::<()>(&lanes(owners), || Ok(lanes(said))).unwrap()
    }

    #[test]
    fn a_subject_is_for_whom_its_lane_is() {
        let up = || Audience::Remote("up".into());
        let names = [
            "refs/aye/log/a",
            "refs/aye/private/b",
            "refs/aye/for/up/c",
            "refs/aye/remotes/origin/d",
            "refs/aye/remotes/up/e",
            "refs/aye/remotes/origin/f",
            "refs/aye/remotes/up/f",
            "refs/aye/remotes/up/a",
            "refs/aye/kept/g",
            "refs/aye/kept/up/h",
            "refs/aye/kept/i",
            "refs/aye/remotes/up/i",
            "refs/aye/remotes/up/b",
        ];
        let home = vec!["origin".to_owned()];
        let all = Audiences::new(Some(home.clone()), names.into_iter());
        for name in names.into_iter().filter(|name| !name.starts_with(refs::KEPT)) {
            let is_default = all.of_ref(name) == Some(Audience::Default);
            assert_eq!(super::is_default(Some(&home), name), is_default, "{name}");
            assert_eq!(
                super::is_default(None, name),
                !name.contains("private") && !name.contains("for")
            );
        }
        let of = |owners: &[&str], said: &[&str]| audience(Some("origin"), &names, owners, said);
        assert_eq!(of(&["a"], &["a"]), Audience::Default);
        assert_eq!(of(&["b"], &["b"]), Audience::Private);
        assert_eq!(of(&["c"], &["c"]), up());
        assert_eq!(of(&["d"], &["d"]), Audience::Default);
        assert_eq!(of(&["e"], &["e"]), up());
        // Published by somebody who has it too, or only pushed as it was.
        assert_eq!(of(&["b", "d"], &["b", "d"]), Audience::Default);
        assert_eq!(of(&["b", "e"], &["b", "e"]), up());
        assert_eq!(of(&["b", "e"], &["b", "e", "a"]), Audience::Default);
        // From both; published; unknown; kept when its remote has gone.
        assert_eq!(of(&["f"], &["f"]), Audience::Default);
        assert_eq!(of(&["b", "a"], &["a", "b"]), Audience::Default);
        assert_eq!(of(&["b", "c"], &["b", "c"]), up());
        assert_eq!(of(&["x"], &["x"]), Audience::Default);
        assert_eq!(of(&["g"], &["g"]), Audience::Default);
        assert_eq!(of(&["h"], &["h"]), up());
        assert_eq!(of(&["i"], &["i"]), up());
        // Where this clone has spoken of it, whatever the default remote is by now.
        assert_eq!(of(&["d"], &["d", "c"]), up());
        assert_eq!(audience(Some("up"), &names, &["e"], &["c", "e"]), up());
        assert_eq!(audience(None, &names, &["e"], &["e"]), Audience::Default);
    }
}
