//! The text of a hook: POSIX sh, no process started but the earlier hook and aye.
//!
//! The second line names the hook and the blob id of all that follows, so that a hook someone has
//! edited is told apart from one of ours.
//!
//! Git itself takes longer for a commit with any hook (it reads the index again), about as long as
//! `git --version`. So where nothing is pending the pre-commit hook does not even start aye: it
//! compares the time of the idle stamp ([`crate::store::idle`]) with those of the refs, with what is
//! built into the shell. Whatever it does not expect, it leaves to aye.
//!
//! Why a script: a link to the program would be left dangling when that goes, and git passes over
//! such a hook in silence; a copy would grow old; a program of two lines cannot be read.

use bstr::ByteSlice as _;

use super::{Hook, chain};
use crate::text::shell::quote;

const MARK: &str = "# aye-hook 2 ";

/// The script of `hook`, for the aye at `program`: tried first, then `PATH`.
pub fn text(hook: Hook, program: &str) -> String {
    let body = body(hook, program);
    format!("#!/bin/sh\n{MARK}{} {}\n{body}", hook.name(), sum(&body))
}

/// Whether `bytes` are a script of ours, as aye wrote it.
pub fn is_ours(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let marked = text.strip_prefix("#!/bin/sh\n").and_then(|text| text.strip_prefix(MARK));
    let parts = marked.and_then(|rest| rest.split_once('\n'));
    parts.is_some_and(|(mark, body)| mark.ends_with(&format!(" {}", sum(body))))
}

/// Whether `bytes`, a script of ours, run the aye at `program`.
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
    // Git writes the refs to standard input, and both hooks want to read them.
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

/// What a commit or push goes without where there is no aye to run.
fn lost(hook: Hook) -> &'static str {
    match hook {
        Hook::PreCommit => "this commit was not checked for pending proposals",
        Hook::CommitMsg => "no Proposal-Id trailers were added",
        Hook::PostCommit => "the commit was not recorded on its proposals",
        Hook::PrePush => "this push was not checked for pending proposals",
    }
}

/// Ends the hook where the stamp says that nothing is pending: no ref has moved since, and no apply was
/// interrupted; never through a symlink, nor from a pipe that nobody writes. Threads of other clones, and
/// private ones, are left to aye. Where `[` knows no `-nt`, that is a failure like any other.
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
