//! Paths that are one file where the file system does not tell upper case from lower case. Pure.

use std::collections::HashMap;

use super::{RepoPath, codes};
use crate::error::{Error, Result};

/// Refuses `paths`, files that are to be there together, if two of them differ in case alone.
///
/// # Errors
/// `path_invalid`.
pub fn refuse<'a>(paths: impl Iterator<Item = &'a RepoPath>) -> Result<()> {
    let mut seen: HashMap<String, &RepoPath> = HashMap::new();
    for path in paths {
        let folded = path.as_bstr().to_string().to_lowercase();
        if let Some(other) = seen.insert(folded, path).filter(|other| *other != path) {
            let (one, two) = (other.display().to_string(), path.display().to_string());
            return Err(Error::new(
                &codes::PATH_INVALID,
                format!("'{one}' and '{two}' are one file here: they differ in case alone"),
            )
            .with("path", two)
            .hint(
                "rename one of them; core.ignoreCase says that this work tree is case-insensitive",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_differ_in_case_alone_are_refused() {
        let check = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(|path| RepoPath::new(path).unwrap()).collect();
            refuse(paths.iter()).map_err(|error| error.message().to_owned())
        };
        assert_eq!(check(&["a", "b", "a/b"]), Ok(()));
        assert!(check(&["dir/A.txt", "Dir/a.txt"]).unwrap_err().contains("'dir/A.txt'"));
        assert!(check(&["Ä", "ä"]).is_err());
        assert_eq!(check(&["a", "a"]), Ok(()));
    }
}
