//! Globs over repository paths, as in settings.

use globset::{GlobBuilder, GlobSet};

/// A glob without an inner slash matches a name in any directory, others match the whole path. A
/// directory includes its content. Case is ignored: the file system may ignore it.
///
/// # Errors
/// The invalid glob.
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
