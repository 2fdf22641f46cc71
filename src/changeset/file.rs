//! A regular file: bytes and a mode.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// `100644`
    #[default]
    Regular,
    /// `100755`
    Executable,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
        }
    }

    /// `None` for other modes.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "100644" => Some(Self::Regular),
            "100755" => Some(Self::Executable),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct File {
    pub bytes: Vec<u8>,
    pub mode: Mode,
}

impl File {
    pub fn regular(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), mode: Mode::Regular }
    }

    /// A last line without LF counts.
    pub fn line_count(&self) -> usize {
        super::hunks::count_lines(&self.bytes)
    }

    pub fn is_binary(&self) -> bool {
        is_binary(&self.bytes)
    }
}

/// Git's test: a NUL in the first 8,000 bytes.
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
