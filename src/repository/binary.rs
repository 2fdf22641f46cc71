//! Binary changes of patches, applied by `git apply`.

use std::path::Path;

use bstr::ByteSlice as _;

use crate::changeset::limits::codes;
use crate::error::{Error, Result, codes as general};
use crate::git::{Git, GitOutput};

/// Applies `patch`, one binary change of a file `f`, to `before`.
///
/// Git runs in a new directory outside every repository: without configuration, attributes, filters
/// or other programs, and without writing the patched repository.
///
/// # Errors
/// `patch_invalid` if git refuses it, `size_limit_exceeded` over `most` bytes.
pub fn apply(before: &[u8], patch: &[u8], most: usize) -> Result<Vec<u8>> {
    let failed = |error: std::io::Error| Error::io("prepare a directory for git apply", &error);
    let directory = tempfile::tempdir().map_err(failed)?;
    let file = directory.path().join("f");
    if !patch.contains_str("\nnew file mode ") {
        std::fs::write(&file, before).map_err(failed)?;
    }
    if is_sha256(patch) {
        // Outside a repository git reads every id as SHA-1.
        let init = ["init", "--quiet", "--template=", "--object-format=sha256"];
        git(directory.path()).args(init).run()?;
    }
    // A change may be compressed a thousandfold; a delta states the size of its result.
    let limit = (most as u64 + (1 << 20)).to_string();
    let apply = git(directory.path()).env("GIT_ALLOC_LIMIT", limit).args(["apply", "-"]);
    let answer = apply.stdin(patch).answer()?;
    if !answer.ok() {
        return Err(refused(&answer));
    }
    std::fs::read(&file).map_err(|error| Error::io("read the result of git apply", &error))
}

fn git(directory: &Path) -> Git {
    let outer = directory.parent().unwrap_or(directory);
    Git::new(directory)
        .without_local_env()
        .env("HOME", directory)
        .env("XDG_CONFIG_HOME", directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", outer)
}

fn is_sha256(patch: &[u8]) -> bool {
    let ids = patch.lines().find_map(|line| line.strip_prefix(b"index "));
    ids.and_then(|ids| ids.split_once_str("..")).is_some_and(|(old, _)| old.len() == 64)
}

fn refused(answer: &GitOutput) -> Error {
    let words = answer.stderr.to_str_lossy();
    if words.contains("over limit") {
        return Error::new(
            &general::SIZE_LIMIT,
            "a binary change of the patch makes too large a file",
        )
        .hint("put the file in place by hand, or keep it outside the repository");
    }
    let why = words.lines().next().unwrap_or("git apply failed").to_owned();
    Error::new(&codes::PATCH_INVALID, format!("git does not apply a binary change: {why}"))
        .hint("make the patch again with `git diff --binary`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changeset::{FileChange, RepoPath, emit, patch};

    struct Files(Option<crate::changeset::File>);

    impl crate::changeset::Snapshot for Files {
        fn file(&self, _: &RepoPath) -> Result<Option<crate::changeset::File>> {
            Ok(self.0.clone())
        }

        fn binary(&self, before: &[u8], patch: &[u8], most: usize) -> Result<Vec<u8>> {
            apply(before, patch, most)
        }
    }

    fn change(before: Option<&[u8]>, after: Option<&[u8]>) -> FileChange {
        let file = |bytes: &[u8]| crate::changeset::File::regular(bytes);
        FileChange {
            path: RepoPath::new("f").unwrap(),
            before: before.map(file),
            after: after.map(file),
            origin: None,
            snippets: Vec::new(),
        }
    }

    #[test]
    fn binary_changes_are_those_that_git_makes() {
        let sides: [Option<&[u8]>; 4] = [None, Some(b""), Some(b"\0old"), Some(b"\0new\xff\r\n")];
        for hash in [gix::hash::Kind::Sha1, gix::hash::Kind::Sha256] {
            for (before, after) in sides.iter().flat_map(|a| sides.map(|b| (*a, b))) {
                let change = change(before, after);
                let printed = emit::file_patch(&change, 3, hash);
                if !printed.contains_str("GIT binary patch") {
                    continue;
                }
                let read = |bytes: &[u8], files: &Files, reverse| {
                    let options = patch::Options { reverse, ..Default::default() };
                    patch::read(bytes, files, &options)
                };
                let (old, new) = (Files(change.before.clone()), Files(change.after.clone()));
                let forward = read(&printed, &old, false).unwrap();
                assert_eq!(forward.changeset.changes()[0].after, change.after);
                let back = read(&printed, &new, true).unwrap();
                assert_eq!(back.changeset.changes()[0].after, change.before);
                let other = Files(Some(crate::changeset::File::regular(&b"\0other"[..])));
                assert!(read(&printed, &other, false).is_err());
                let bent = printed.replace("literal ", "literal 9");
                assert!(after.is_none() || read(&bent, &old, false).is_err());
            }
        }
    }

    #[test]
    fn a_change_that_makes_too_much_is_refused() {
        let change = change(None, Some(&[0; 8 << 20]));
        let printed = emit::file_patch(&change, 3, gix::hash::Kind::Sha1);
        let error = apply(b"", &printed, 1 << 20).unwrap_err();
        assert!(error.is(&general::SIZE_LIMIT), "{error}");
    }
}
