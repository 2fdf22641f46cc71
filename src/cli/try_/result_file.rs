//! The file of `aye try --result`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::beneath::random_id;
use crate::changeset;
use crate::cli::Context;
use crate::error::{Error, Result};
use crate::proposal::try_result::TryResult;
use crate::worktree::TEMPORARY;

pub(super) struct ResultFile {
    path: PathBuf,
    shown: String,
    file: tempfile::NamedTempFile,
}

impl ResultFile {
    /// An error must come before the command runs.
    pub(super) fn open(context: &Context, path: &Path) -> Result<Self> {
        let shown = path.to_string_lossy().into_owned();
        let path = context.directory.join(path);
        if path.is_dir() || path.file_name().is_none() || shown.ends_with(std::path::is_separator) {
            return Err(Error::new(
                &changeset::codes::DIRECTORY,
                format!("--result: '{shown}' is a directory"),
            )
            .hint("name the file that is to be written"));
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        // `doctor` and git's exclude file recognise aye's temporary files.
        let name = format!("{TEMPORARY}{:016x}", random_id());
        builder.prefix(&name).rand_bytes(0);
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(directory).map_err(|e| cannot_write(&shown, &e))?;
        Ok(Self { path, shown, file })
    }

    /// Returns the path as typed.
    pub(super) fn write(mut self, result: &TryResult) -> Result<String> {
        let bytes = result.to_bytes()?;
        self.file.write_all(&bytes).map_err(|e| cannot_write(&self.shown, &e))?;
        self.file.persist(&self.path).map_err(|e| cannot_write(&self.shown, &e.error))?;
        Ok(self.shown)
    }
}

fn cannot_write(shown: &str, error: &std::io::Error) -> Error {
    Error::io(format_args!("write the result to {shown}"), error)
}
