//! Globs over paths of the repository, as configuration has them.

use globset::{GlobBuilder, GlobSet};

/// The set of `globs`: one without a slash in front of its end matches a name in any directory, any
/// other the whole path; a directory stands for what is in it. Upper and lower case are the same,
/// because they may be in the file system.
///
/// # Errors
/// The glob that is none.
pub fn set<T: AsRef<str>>(globs: &[T]) -> Result<GlobSet, String> {
    let mut set = GlobSet::builder();
    for glob in globs {
        let text = glob.as_ref();
        let wrong = || text.to_owned();
        let inner = text.trim().trim_end_matches('/');
        let inner = match inner.strip_prefix('/') {
            Some(inner) => inner.to_owned(),
            None if inner.contains('/') => inner.to_owned(),
            None => format!("**/{inner}"),
        };
        if inner.is_empty() || inner == "**/" {
            return Err(wrong());
        }
        for glob in [format!("{inner}/**"), inner] {
            let glob =
                GlobBuilder::new(&glob).literal_separator(true).case_insensitive(true).build();
            set.add(glob.map_err(|_| wrong())?);
        }
    }
    set.build().map_err(|error| error.to_string())
}
