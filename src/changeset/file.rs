//! What a file is: bytes and a mode.

/// The two modes of a regular file that git records and aye writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// `100644`
    #[default]
    Regular,
    /// `100755`
    Executable,
}

impl Mode {
    /// Git's spelling, as in `git ls-tree`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
        }
    }

    /// Reads git's spelling; `None` for anything but the two regular modes.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "100644" => Some(Self::Regular),
            "100755" => Some(Self::Executable),
            _ => None,
        }
    }
}

/// Content and mode of a regular file.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct File {
    /// The bytes, exactly.
    pub bytes: Vec<u8>,
    /// Executable or not.
    pub mode: Mode,
}

impl File {
    /// A file of mode `100644`.
    pub fn regular(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), mode: Mode::Regular }
    }

    /// The number of lines; a last one without LF counts.
    pub fn line_count(&self) -> usize {
        super::hunks::count_lines(&self.bytes)
    }

    /// Git's own test: a NUL in the first 8,000 bytes makes a file binary.
    pub fn is_binary(&self) -> bool {
        is_binary(&self.bytes)
    }
}

/// Git's own test: a NUL in the first 8,000 bytes makes content binary.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8000)].contains(&0)
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File")
            .field("mode", &self.mode.as_str())
            .field("bytes", &bstr::BStr::new(&self.bytes))
            .finish()
    }
}
