//! Remarks from an agent that cannot write the git directory, as in a sandbox. The next command
//! outside reads this directory of the tree as hostile input.

use std::io::Read as _;
use std::path::Path;

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use crate::beneath::{self, Access, open_last};
use crate::error::{Error, Result};

/// At the top of the tree; never proposed.
pub const DIRECTORY: &str = ".aye-spool";

/// Files read in one round.
const MOST: usize = 256;

/// Bytes.
const LARGEST: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpoolRemark {
    /// Why, for the reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<String>,
}

/// Whole or not at all.
pub fn leave(tree: &Path, said: &SpoolRemark) -> Result<()> {
    let place = tree.join(DIRECTORY);
    let failed = |error: std::io::Error| Error::file("write", &place, &error);
    let bytes = serde_json::to_vec(said).map_err(|error| Error::bug(error.to_string()))?;
    std::fs::create_dir_all(&place).map_err(failed)?;
    // Names sort by age.
    let number = std::fs::read_dir(&place).map_err(failed)?.count();
    let name = format!("{number:06}-{:016x}.json", beneath::random_id());
    let mut file = tempfile::NamedTempFile::new_in(&place).map_err(failed)?;
    std::io::Write::write_all(&mut file, &bytes).map_err(failed)?;
    file.persist(place.join(name)).map(drop).map_err(|error| failed(error.error))
}

/// Merges the remarks, later fields over earlier ones, and removes every file. aye reads only
/// regular files of this user, with one link, within `LARGEST`. Nothing here fails.
pub fn take(tree: &Path) -> SpoolRemark {
    let mut all = SpoolRemark::default();
    let Ok(top) = open_last(tree) else { return all };
    let Ok(place) = top.open_directory(DIRECTORY.into()) else { return all };
    let mut names = place.names().unwrap_or_default();
    names.sort_unstable();
    for name in names.iter().take(MOST) {
        let said = if name.ends_with(b".json") {
            place.open(name.as_bstr(), Access::Read).ok().and_then(read)
        } else {
            None
        };
        let _ = place.unlink(name.as_bstr());
        let Some(SpoolRemark { description, domain, related_task_id }) = said else { continue };
        all.description = description.or(all.description);
        all.domain = domain.or(all.domain);
        all.related_task_id = related_task_id.or(all.related_task_id);
    }
    drop(place);
    let _ = top.rmdir(DIRECTORY.into());
    all
}

fn read(file: std::fs::File) -> Option<SpoolRemark> {
    let facts = file.metadata().ok()?;
    if !facts.is_file() || facts.len() > LARGEST || !is_own(&facts) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    // The file may have grown.
    let is_whole = bytes.len() as u64 <= LARGEST;
    is_whole.then(|| serde_json::from_slice(&bytes).ok()).flatten()
}

fn is_own(facts: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    facts.nlink() == 1 && facts.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> SpoolRemark {
        SpoolRemark { description: Some(text.to_owned()), ..SpoolRemark::default() }
    }

    #[test]
    fn what_was_left_is_taken_once_and_the_last_word_counts() {
        let tree = tempfile::tempdir().unwrap();
        assert_eq!(take(tree.path()), SpoolRemark::default());
        let first = SpoolRemark { domain: Some("ui".to_owned()), ..said("first") };
        leave(tree.path(), &first).unwrap();
        leave(tree.path(), &said("second")).unwrap();
        let expected = SpoolRemark { domain: Some("ui".to_owned()), ..said("second") };
        assert_eq!(take(tree.path()), expected);
        assert_eq!(take(tree.path()), SpoolRemark::default());
        assert!(!tree.path().join(DIRECTORY).exists());
    }

    #[test]
    fn junk_is_removed_unread_and_nothing_hangs() {
        let tree = tempfile::tempdir().unwrap();
        let (place, outside) = (tree.path().join(DIRECTORY), tree.path().join("outside.json"));
        std::fs::write(&outside, r#"{"description":"outside"}"#).unwrap();
        std::fs::create_dir(&place).unwrap();
        let mkfifo = std::process::Command::new("mkfifo").arg(place.join("a.json")).status();
        assert!(mkfifo.unwrap().success());
        std::os::unix::fs::symlink(&outside, place.join("b.json")).unwrap();
        std::fs::hard_link(&outside, place.join("c.json")).unwrap();
        let sparse = std::fs::File::create(place.join("d.json")).unwrap();
        sparse.set_len(10 << 30).unwrap();
        std::fs::write(place.join("e.json"), "[".repeat(100_000)).unwrap();
        std::fs::write(place.join("f.json"), r#"{"description":"x","apply":true}"#).unwrap();
        std::fs::create_dir(place.join("g.json")).unwrap();
        for number in 0..5_000 {
            std::fs::write(place.join(format!("junk-{number}")), "x").unwrap();
        }
        let mut rounds = 0;
        while place.exists() && rounds < 30 {
            assert_eq!(take(tree.path()), SpoolRemark::default());
            rounds += 1;
            let _ = std::fs::remove_dir(place.join("g.json"));
        }
        assert!(rounds < 30);
        assert!(outside.exists());
        std::fs::create_dir(tree.path().join("elsewhere")).unwrap();
        std::fs::write(tree.path().join("elsewhere/a.json"), r#"{"description":"x"}"#).unwrap();
        std::os::unix::fs::symlink(tree.path().join("elsewhere"), &place).unwrap();
        assert_eq!(take(tree.path()), SpoolRemark::default());
        assert!(tree.path().join("elsewhere/a.json").exists());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let tree = tempfile::tempdir().unwrap();
            std::fs::create_dir(tree.path().join(DIRECTORY)).unwrap();
            std::fs::write(tree.path().join(DIRECTORY).join("a.json"), bytes).unwrap();
            let _ = take(tree.path());
        }
    }
}
