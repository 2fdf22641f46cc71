//! Compares many files with blobs, byte for byte, on a few threads.

use gix::ObjectId;
use gix::objs::Kind;

use super::{Worktree, read, workers};
use crate::changeset::{Mode, RepoPath};
use crate::error::Result;

impl Worktree {
    /// True for files (in path order) with this mode and the blob's bytes; `false` also if
    /// unreadable.
    pub fn match_blobs(&self, files: &[(RepoPath, Mode, ObjectId)]) -> Result<Vec<bool>> {
        let (root, limit) = (&self.root, self.size_limit);
        let stamps = workers::each(root, 0..files.len(), |directories, number| {
            let (path, _, id) = &files[number];
            let found = read(root, directories, path, limit).ok().flatten();
            Ok(found.and_then(|(bytes, stamp)| {
                let there = gix::objs::compute_hash(id.kind(), Kind::Blob, &bytes).ok()?;
                (there == *id).then_some(stamp)
            }))
        })?;
        let is_same = |(stamp, (path, mode, _)): (_, &(RepoPath, Mode, ObjectId))| {
            Option::is_some_and(stamp, |stamp| self.mode(path, &stamp) == *mode)
        };
        Ok(stamps.into_iter().zip(files).map(is_same).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_bytes_and_mode_are_the_same() {
        let directory = tempfile::tempdir().expect("a directory");
        let hash = |bytes: &[u8]| {
            gix::objs::compute_hash(gix::hash::Kind::Sha1, Kind::Blob, bytes).expect("an id")
        };
        std::fs::create_dir(directory.path().join("d")).expect("a directory");
        for (name, content) in [("d/same", "a\n"), ("other", "b\n"), ("short", "")] {
            std::fs::write(directory.path().join(name), content).expect("a file");
        }
        let file = |name: &str, mode, content: &str| {
            (RepoPath::new(name).expect("a path"), mode, hash(content.as_bytes()))
        };
        let files = [
            file("d", Mode::Regular, ""),
            file("d/none", Mode::Regular, ""),
            file("d/same", Mode::Regular, "a\n"),
            file("d/same", Mode::Executable, "a\n"),
            file("other", Mode::Regular, "a\n"),
            file("other/beneath", Mode::Regular, "a\n"),
            file("short", Mode::Regular, ""),
        ];
        let worktree = Worktree::open(directory.path()).expect("a work tree");
        let same = worktree.match_blobs(&files).expect("an answer");
        assert_eq!(same, [false, false, true, false, false, false, true]);
        assert!(worktree.match_blobs(&[]).expect("an answer").is_empty());
    }
}
