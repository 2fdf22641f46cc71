//! The read-only shell: parser, policy, sandbox, runner.
