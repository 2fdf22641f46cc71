//! The error type: a stable code, a message and a hint.
//!
//! Each room declares its codes with `codes!`. `cli/` and `tools/` render errors; nothing below
//! prints.

use std::fmt;

/// Exit status, in classes that scripts may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    Done = 0,
    /// A check found something, or nothing matched.
    Negative = 1,
    Usage = 2,
    NotFound = 3,
    /// Refused by policy or the operating system, or a person must decide.
    Refused = 4,
    Conflict = 5,
    Invalid = 6,
    /// Another process holds a resource, or the disk is full.
    Busy = 7,
    /// The work was done, but not recorded.
    Unrecorded = 8,
    Bug = 70,
}

impl Exit {
    pub const ALL: [Self; 10] = [
        Self::Done,
        Self::Negative,
        Self::Usage,
        Self::NotFound,
        Self::Refused,
        Self::Conflict,
        Self::Invalid,
        Self::Busy,
        Self::Unrecorded,
        Self::Bug,
    ];

    /// Text of the documentation's table.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "the work was done",
            Self::Negative => "a negative answer: a check has findings, or nothing matched",
            Self::Usage => "the command line was wrong",
            Self::NotFound => "the named proposal, file or object does not exist",
            Self::Refused => "refused by policy or the operating system, or a person must decide",
            Self::Conflict => "a conflict, or a change since you looked",
            Self::Invalid => "the input is invalid",
            Self::Busy => "another process holds a lock, or the disk is full; try again",
            Self::Unrecorded => {
                "the work is done but not recorded; the message names the next command"
            }
            Self::Bug => "a bug in aye",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Shown in output, such as `old_content_not_found`.
    pub id: &'static str,
    pub exit: Exit,
    /// Text of the documentation's table.
    pub meaning: &'static str,
}

/// Declares a room's error codes as statics, and their list `ALL`.
#[macro_export]
macro_rules! codes {
    ($($name:ident = $id:literal, $exit:ident, $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub static $name: $crate::error::Code = $crate::error::Code {
                id: $id, exit: $crate::error::Exit::$exit, meaning: $meaning,
            };
        )*
        pub static ALL: &[&$crate::error::Code] = &[$(&$name),*];
    };
}

pub mod codes {
    codes! {
        USAGE = "usage", Usage, "the command line was wrong";
        INTERNAL = "internal_error", Bug, "a bug in aye";
        IO = "io_error", Refused, "the operating system refused a read or a write";
        DISK_FULL = "disk_full", Busy, "no space is left on the device; nothing was changed";
        READ_ONLY = "read_only", Refused, "the file system or directory is not writable";
        INVALID_UTF8 = "invalid_utf8", Invalid, "the bytes are not UTF-8";
        INVALID_JSON = "invalid_json", Invalid, "the JSON is malformed or has the wrong shape";
        INVALID_ARGUMENT = "invalid_argument", Invalid, "a value is missing, of the wrong type, or out of range";
        UNKNOWN_SCHEMA = "unknown_schema", NotFound, "no published schema has that name";
        SIZE_LIMIT = "size_limit_exceeded", Invalid, "the file or text is larger than the limit";
    }
}

/// Detail of an error that names unknown parameters of a call; a tool's response shows it
/// separately.
pub const IGNORED: &str = "ignored_parameters";

/// `message` is one lower-case sentence that quotes the caller's input, `hint` the next command,
/// `details` machine-readable data.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: &'static Code,
    message: String,
    hint: Option<String>,
    details: Vec<(&'static str, serde_json::Value)>,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(code: &'static Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { code, message: message.into(), hint: None, details: Vec::new() }))
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<serde_json::Value>) -> Self {
        self.0.details.push((key, value.into()));
        self
    }

    /// Prefixes the message with what was done nonetheless.
    #[must_use]
    pub fn after(mut self, what: impl fmt::Display) -> Self {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }

    /// `what` is a phrase such as `"write src/a.rs"`.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        use std::io::ErrorKind as K;
        let (code, hint): (&'static Code, &str) = match error.kind() {
            K::StorageFull | K::QuotaExceeded => {
                (&codes::DISK_FULL, "free some space and run the command again")
            }
            K::ReadOnlyFilesystem | K::PermissionDenied => {
                (&codes::READ_ONLY, "check the permissions of the directory and its owner")
            }
            _ => (
                &codes::IO,
                "the message is the system's own; run the command again once its cause is gone",
            ),
        };
        Self::new(code, format!("cannot {what}: {error}")).hint(hint)
    }

    /// `Error::io` on `path`; for denied permission it adds the owner of the nearest existing path,
    /// and this user.
    pub fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let mut failed = Self::io(format_args!("{what} {}", path.display()), error);
        if error.kind() == std::io::ErrorKind::PermissionDenied {
            use std::os::unix::fs::MetadataExt as _;
            let there = path.ancestors().find_map(|at| Some((at, at.symlink_metadata().ok()?)));
            if let Some((at, facts)) = there {
                let (owner, own) = (facts.uid(), rustix::process::geteuid().as_raw());
                let at = if at == path { "it".to_owned() } else { at.display().to_string() };
                failed.0.message += &format!("; {at} belongs to user {owner}, this is user {own}");
            }
        }
        failed
    }

    /// A state believed impossible.
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(&codes::INTERNAL, message)
            .hint("this is a bug in aye; `aye doctor` shows whether the store is sound")
    }

    pub fn code(&self) -> &'static Code {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// In order of addition.
    pub fn details(&self) -> &[(&'static str, serde_json::Value)] {
        &self.0.details
    }

    pub fn is(&self, code: &'static Code) -> bool {
        self.0.code.id == code.id
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind as K;

    use super::*;

    #[test]
    fn refusals_of_the_operating_system_are_no_bugs() {
        let table = [
            (K::StorageFull, "disk_full", Exit::Busy),
            (K::QuotaExceeded, "disk_full", Exit::Busy),
            (K::ReadOnlyFilesystem, "read_only", Exit::Refused),
            (K::PermissionDenied, "read_only", Exit::Refused),
            (K::NotADirectory, "io_error", Exit::Refused),
            (K::Other, "io_error", Exit::Refused),
        ];
        for (kind, code, exit) in table {
            let error = Error::io("write a", &kind.into());
            assert_eq!((error.code().id, error.code().exit), (code, exit), "{kind}");
            assert!(error.hint_text().is_some(), "{kind}");
        }
    }
}
