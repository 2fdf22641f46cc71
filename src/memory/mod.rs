//! Project memory: settings, Markdown sections, operations, provenance, routing, search.
//!
//! `.agent-memory/` is compatible with the public agent-memory project (v0.5). [`mod@plan`],
//! [`markdown`], [`settings`], [`merge`] and [`context`] are pure. [`service`] connects them with
//! the store and the work tree.

pub mod code_changes;
pub mod context;
pub mod disk;
pub mod guard;
pub mod intent;
pub mod lock;
pub mod markdown;
pub mod merge;
pub mod plan;
pub mod problem;
pub mod provenance;
pub mod request;
pub mod response;
pub mod scaffold;
pub mod search;
pub mod service;
pub mod settings;

pub use plan::{MemoryPlan, plan};
pub use problem::Problem;
pub use request::{OPERATIONS, Request};
pub use response::Response;
pub use settings::Settings;

pub const DIR: &str = ".agent-memory";

/// Bytes of the largest memory file that is read.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// Bytes of JSON.
pub const MAX_REQUEST_BYTES: usize = 16 << 20;

/// Reasons are reported inside a response with `status: "rejected"`.
pub mod codes {
    crate::codes! {
        NOT_INITIALIZED = "memory_not_initialized", NotFound, "there is no .agent-memory/meta/manifest.yaml here, or git has files of the store that the work tree lacks";
        CONFIG_INVALID = "memory_config_invalid", Invalid, "the manifest or the schema of the memory store is wrong";
        UNSUPPORTED_FORMAT = "unsupported_store_format", Invalid, "the memory store was written in a newer format";
        INVALID_INTENT = "invalid_intent", Negative, "the intent of a memory request is missing or unknown";
        NO_OPERATIONS = "no_operations", Negative, "a memory request has no operations";
        INVALID_OPERATION = "invalid_operation", Negative, "an operation is unknown, lacks a field or has one too many";
        VALIDATION_FAILED = "validation_failed", Negative, "a section breaks the schema, or a field of the request has a wrong value";
        INVALID_PATH = "invalid_path", Negative, "a path of an operation is not a path inside the memory store";
        UNKNOWN_CATEGORY = "unknown_category", Negative, "no category of the schema has that file";
        SERVER_MANAGED = "server_managed_category", Negative, "the file is generated or closed to proposals";
        WRITE_ONCE = "write_once_violation", Negative, "a file that is written once would be changed";
        LOCK_HELD = "lock_held", Busy, "another process is writing the memory store";
        LOCK_UNUSABLE = "lock_unusable", Conflict, "the lock file of the memory store is not a regular file, or cannot be locked";
        READ_ERROR = "read_error", Negative, "a memory file cannot be read";
        PLAN_FAILED = "plan_failed", Negative, "the operation does not fit the file: its target is missing, ambiguous or in the way";
        INVALID_MARKDOWN = "invalid_markdown", Negative, "the content would swallow, split or hide what surrounds it";
        ARCHIVE_EXISTS = "archive_exists", Negative, "the archive file exists already; archives are written once";
        PROVENANCE = "provenance_violation", Negative, "a required source is missing, of a type the category refuses, or does not exist";
        SERVER_ONLY = "server_only_category", Negative, "only the program itself may write that category";
        INTENT_PATH_MISMATCH = "intent_path_mismatch", Negative, "the intent does not cover the file's category";
        DUPLICATE_SECTION_ID = "duplicate_section_id", Negative, "a section id would occur twice in a file";
        TARGET_DRIFT = "target_drift", Conflict, "what the staged operation was written for has changed since";
    }
}
