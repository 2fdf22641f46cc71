//! The text of a hook: POSIX sh that starts no process but the earlier hook and aye.
//!
//! The blob id of the rest, in the second line, identifies an edited script.
//!
//! Any hook makes git read the index again, which takes about as long as `git --version`. So the
//! pre-commit hook does not start aye where nothing is pending. It compares the time of the idle
//! stamp (`store::idle`) with those of the refs, by shell builtins alone, and leaves anything
//! unexpected to aye.
//!
//! Rejected: git ignores a dangling symlink in silence, a copy grows old, and a binary cannot be
//! read.

use bstr::ByteSlice as _;

use super::{Hook, chain};
use crate::text::shell::quote;

const MARK: &str = "# aye-hook 2 ";

/// `program` is tried first, then `PATH`.
pub fn text(hook: Hook, program: &str) -> String {
    let body = body(hook, program);
    format!("#!/bin/sh\n{MARK}{} {}\n{body}", hook.name(), sum(&body))
}

/// False for an edited script.
pub fn is_ours(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let marked = text.strip_prefix("#!/bin/sh\n").and_then(|text| text.strip_prefix(MARK));
    let parts = marked.and_then(|rest| rest.split_once('\n'));
    parts.is_some_and(|(mark, body)| mark.ends_with(&format!(" {}", sum(body))))
}

pub fn runs(bytes: &[u8], program: &str) -> bool {
    let own = format!("aye={}", quote(program));
    bytes.lines().any(|line| line == own.as_bytes())
}

fn sum(body: &str) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, body.as_bytes())
        .map(|id| id.to_string())
        .unwrap_or_default()
}

fn body(hook: Hook, program: &str) -> String {
    let name = hook.name();
    // Git writes the refs to standard input, and both hooks read them.
    let run = match hook {
        Hook::PrePush => "refs=$(cat)\nrun() {\n    printf '%s' \"${refs:+$refs\n}\" | \"$@\"\n}\n",
        _ => "run() {\n    \"$@\"\n}\n",
    };
    let shortcut = if hook == Hook::PreCommit { SHORTCUT } else { "" };
    format!(
        "# Installed by `aye hooks install`; `aye hooks uninstall` removes it. A hook that was here\n\
         # before has the name {name}{suffix}, and runs first.\n\
         {run}\
         if [ -x \"$0{suffix}\" ]; then\n    \
             run \"$0{suffix}\" \"$@\" || exit $?\n\
         fi\n\
         aye={program}\n\
         [ -x \"$aye\" ] || aye=aye\n\
         status=127\n\
         if command -v \"$aye\" >/dev/null 2>&1; then\n\
         {shortcut}    \
             run \"$aye\" hooks run {name} \"$@\"\n    \
             status=$?\n\
         fi\n\
         if [ $status -ge 126 ]; then\n    \
             echo \"warning: aye is gone, so {lost}\" >&2\n    \
             exit 0\n\
         fi\n\
         exit $status\n",
        suffix = chain::SUFFIX,
        program = quote(program),
        lost = lost(hook),
    )
}

fn lost(hook: Hook) -> &'static str {
    match hook {
        Hook::PreCommit => "this commit was not checked for pending proposals",
        Hook::CommitMsg => "no Proposal-Id trailers were added",
        Hook::PostCommit => "the commit was not recorded on its proposals",
        Hook::PrePush => "this push was not checked for pending proposals",
    }
}

/// Ends the hook if the stamp says that nothing is pending: no ref has moved since, and no apply
/// was interrupted. Never follows a symlink, nor reads a pipe without a writer. Threads of other
/// clones and private ones are left to aye. A `[` without `-nt` fails.
const SHORTCUT: &str = r#"    idle() {
        [ ! -L "$1/aye" ] && [ ! -L "$1/aye/idle" ] && [ -f "$1/aye/idle" ] || return
        read -r stamp <"$1/aye/idle" || return
        for others in refs/aye/remotes refs/aye/private refs/aye/kept reftable; do
            [ ! -e "$1/$others" ] || return
        done
        for refs in refs/aye/p refs/aye/p/closed refs/aye/p/gone packed-refs; do
            [ ! -e "$1/$refs" ] || [ "$1/aye/idle" -nt "$1/$refs" ] || return
        done
        for left in "$1"/aye/journal/*.journal; do
            [ ! -e "$left" ] || return
        done
        [ "$stamp" = 'aye idle 4' ]
    }
    if idle "${0%/*/*}" 2>/dev/null; then
        exit 0
    fi
"#;
