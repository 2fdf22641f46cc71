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
        NOT_INITIALIZED = "memory_not_initialized", NotFound, "the work tree has no memory store, or lacks files of it that git has";
        CONFIG_INVALID = "memory_config_invalid", Invalid, "the manifest or the schema of the memory store is invalid";
        UNSUPPORTED_FORMAT = "unsupported_store_format", Invalid, "a newer version wrote the memory store";
        INVALID_INTENT = "invalid_intent", Negative, "the request has no intent, or an unknown one";
        NO_OPERATIONS = "no_operations", Negative, "the request has no operations";
        INVALID_OPERATION = "invalid_operation", Negative, "an operation is unknown, lacks a field, or has an extra one";
        VALIDATION_FAILED = "validation_failed", Negative, "a section breaks the schema, or a field has an invalid value";
        INVALID_PATH = "invalid_path", Negative, "the path of an operation is not inside the memory store";
        UNKNOWN_CATEGORY = "unknown_category", Negative, "the schema has no category for that file";
        SERVER_MANAGED = "server_managed_category", Negative, "the file is generated or closed to requests";
        WRITE_ONCE = "write_once_violation", Negative, "a request changes a file that is written once";
        LOCK_HELD = "lock_held", Busy, "another process is writing the memory store";
        LOCK_UNUSABLE = "lock_unusable", Conflict, "the lock file of the memory store is not a regular file, or cannot be locked";
        READ_ERROR = "read_error", Negative, "a memory file cannot be read";
        PLAN_FAILED = "plan_failed", Negative, "the target of an operation is missing, ambiguous or in the way";
        INVALID_MARKDOWN = "invalid_markdown", Negative, "the content would hide or split the sections around it";
        ARCHIVE_EXISTS = "archive_exists", Negative, "the archive file exists, and archives are written once";
        PROVENANCE = "provenance_violation", Negative, "a required source is missing, unknown, or of a refused type";
        SERVER_ONLY = "server_only_category", Negative, "only aye itself writes that category";
        INTENT_PATH_MISMATCH = "intent_path_mismatch", Negative, "the intent does not cover the file's category";
        DUPLICATE_SECTION_ID = "duplicate_section_id", Negative, "a file would have the same section id twice";
        TARGET_DRIFT = "target_drift", Conflict, "the target of a staged operation has changed since";
    }
}
