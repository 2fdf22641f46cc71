//! Fetches that git's configuration asks for and that write over refs of this clone's own.

use bstr::ByteSlice as _;

use super::{Store, refs};

/// A refspec of a remote by which every fetch writes over own lanes, or those of another remote, or removes them with
/// `--prune`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overwrites {
    /// The remote.
    pub remote: String,
    /// The key in git's configuration.
    pub key: String,
    /// Its value.
    pub refspec: String,
    /// What fetches the lanes of others instead, where it is not among the refspecs already.
    pub instead: Option<String>,
    /// The other remote whose lanes it writes over, as after `git remote rename`; `None`: own ones.
    pub other: Option<String>,
}

impl Store {
    /// What in git's configuration takes this clone's own lanes, or those of a remote, back to what another remote has.
    pub fn fetches_over_own(&self) -> Vec<Overwrites> {
        let config = self.repository().repo.config_snapshot();
        let mut found = Vec::new();
        let names: Vec<String> =
            self.repository().repo.remote_names().iter().map(ToString::to_string).collect();
        let url = |name: &str| config.string(&*format!("remote.{name}.url"));
        for remote in &names {
            let key = format!("remote.{remote}.fetch");
            let all = config.plumbing().strings(&*key).unwrap_or_default();
            let all: Vec<String> =
                all.iter().map(|value| value.to_str_lossy().into_owned()).collect();
            let instead = format!("+{}*:{}{remote}/*", refs::LOG, refs::REMOTES);
            let instead = Some(instead).filter(|instead| !all.contains(instead));
            for refspec in &all {
                // Two at one place are one.
                let other = lanes_of(refspec)
                    .and_then(|of| names.iter().find(|name| *name == of && *name != remote))
                    .filter(|other| url(other) != url(remote));
                if other.is_none() && !writes_over_own(refspec) {
                    continue;
                }
                found.push(Overwrites {
                    remote: remote.clone(),
                    key: key.clone(),
                    refspec: refspec.clone(),
                    instead: instead.clone(),
                    other: other.cloned(),
                });
            }
        }
        found
    }
}

/// The remote as whose lanes a fetch by `refspec` writes what it gets.
fn lanes_of(refspec: &str) -> Option<&str> {
    refspec.split_once(':')?.1.strip_prefix(refs::REMOTES)?.strip_suffix("/*")
}

/// Whether a fetch by `refspec` writes refs where this clone's own lanes are.
fn writes_over_own(refspec: &str) -> bool {
    let refspec = refspec.strip_prefix('+').unwrap_or(refspec);
    let Some((_, to)) = refspec.split_once(':') else { return false };
    let mut own = [refs::LOG, refs::PRIVATE, refs::FOR].into_iter();
    match to.split_once('*') {
        Some((above, _)) => own.any(|own| own.starts_with(above) || above.starts_with(own)),
        None => own.any(|own| to.starts_with(own)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refspec_may_write_over_own_lanes() {
        for wrong in [
            "+refs/aye/log/*:refs/aye/log/*",
            "refs/aye/log/*:refs/aye/log/*",
            "refs/aye/log/l:refs/aye/log/l",
            "+refs/aye/*:refs/aye/*",
            "+refs/*:refs/*",
            "refs/aye/log/*:refs/aye/for/up/*",
            "refs/x/*:refs/aye/private/*",
        ] {
            assert!(writes_over_own(wrong), "{wrong}");
        }
        for fine in [
            "+refs/heads/*:refs/remotes/origin/*",
            "+refs/aye/log/*:refs/aye/remotes/origin/*",
            "refs/aye/log/*",
            "^refs/aye/log/l",
            "refs/notes/*:refs/notes/*",
            "+refs/aye/archive/*:refs/aye/archive/*",
        ] {
            assert!(!writes_over_own(fine), "{fine}");
        }
    }
}
