//! The text of a hook: POSIX sh, no process started but the earlier hook and aye.
//!
//! The second line names the hook and the blob id of all that follows, so that a hook someone has
//! edited is told apart from one of ours.
//!
//! Git itself takes longer for a commit with any hook (it reads the index again), about as long as
//! `git --version`. So where nothing is pending the pre-commit hook does not even start aye: it
//! compares the first line of the idle stamp ([`crate::store::idle`]) with the lanes, with what is
//! built into the shell. Whatever it does not expect, it leaves to aye.
//!
//! Why a script: a link to the program would be left dangling when that goes, and git passes over
//! such a hook in silence; a copy would grow old; a program of two lines cannot be read.

use bstr::ByteSlice as _;

use super::Hook;
use crate::text::shell::quote;

const MARK: &str = "# aye-hook 1 ";

/// What a script is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<'p> {
    /// Path of the aye that installs it: tried first, then `PATH`.
    pub program: &'p str,
    /// The hook lies in the repository's own `hooks` directory, beside the store.
    pub beside_store: bool,
}

/// The script of `hook`, which runs the one that is kept in the directory `beside` that of the hooks.
pub fn text(hook: Hook, setting: Setting<'_>, beside: &str) -> String {
    let body = body(hook, setting, beside);
    format!("#!/bin/sh\n{MARK}{} {}\n{body}", hook.name(), sum(&body))
}

/// What a hook file is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptKind {
    /// Written by aye (this or another version) and not touched since.
    Ours,
    /// Written by aye and edited by someone.
    Edited,
    /// None of ours.
    Foreign,
}

/// Tells what `bytes`, the content of a hook file, are.
pub fn kind(bytes: &[u8]) -> ScriptKind {
    let Ok(text) = std::str::from_utf8(bytes) else { return ScriptKind::Foreign };
    let Some(rest) = text.strip_prefix("#!/bin/sh\n").and_then(|t| t.strip_prefix(MARK)) else {
        // The mark further down: someone put lines above it.
        return if text.lines().any(|line| line.starts_with(MARK)) {
            ScriptKind::Edited
        } else {
            ScriptKind::Foreign
        };
    };
    let Some((mark, body)) = rest.split_once('\n') else { return ScriptKind::Edited };
    match mark.split_once(' ') {
        Some((_, written)) if written == sum(body) => ScriptKind::Ours,
        _ => ScriptKind::Edited,
    }
}

/// Whether `bytes`, a hook of ours, runs the aye at `program`.
pub fn runs(bytes: &[u8], program: &str) -> bool {
    let own = format!("aye={}", quote(program));
    bytes.lines().any(|line| line == own.as_bytes())
}

fn sum(body: &str) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, body.as_bytes())
        .map(|id| id.to_string())
        .unwrap_or_default()
}

fn body(hook: Hook, setting: Setting<'_>, beside: &str) -> String {
    let name = hook.name();
    let (before, feed, after) = match hook {
        // Git writes the refs to standard input, and both hooks want to read them.
        Hook::PrePush => (
            "refs=$(cat)\n\
             if [ -x \"$chained\" ]; then\n    \
                 printf '%s' \"${refs:+$refs\n}\" | \"$chained\" \"$@\" || exit $?\n\
             fi\n",
            "printf '%s' \"${refs:+$refs\n}\" | ",
            "",
        ),
        // Nobody asks a post-commit hook whether it liked the commit.
        Hook::PostCommit => ("if [ -x \"$chained\" ]; then\n    \"$chained\" \"$@\"\nfi\n", "", ""),
        // What the earlier hook judges, and adds to, is the message without our trailers where
        // there is no other. Only a message that has them is aye's business.
        Hook::CommitMsg => {
            (CLAIMS, "", "if [ -x \"$chained\" ]; then\n    \"$chained\" \"$@\" || exit $?\nfi\n")
        }
        Hook::PreCommit | Hook::PrepareCommitMsg => {
            ("if [ -x \"$chained\" ]; then\n    \"$chained\" \"$@\" || exit $?\nfi\n", "", "")
        }
    };
    let shortcut = match hook {
        Hook::PreCommit if setting.beside_store => SHORTCUT,
        _ => "",
    };
    format!(
        "# Installed by `aye hooks install`; `aye hooks uninstall` takes it away. A hook that was\n\
         # here before is kept under its own name in a directory beside this one, and runs {when}.\n\
         \n\
         chained=\"${{0%/*}}/..\"/{beside}/{name}\n\
         {before}\
         \n\
         aye={program}\n\
         [ -x \"$aye\" ] || aye=aye\n\
         if command -v \"$aye\" >/dev/null 2>&1; then\n\
         {shortcut}    \
             {feed}\"$aye\" hooks run {name} \"$@\"\n    \
             status=$?\n\
         else\n    \
             status=127\n\
         fi\n\
         case $status in\n\
         126 | 127)\n    \
             echo \"warning: aye is gone, so {lost}\" >&2\n    \
             echo \"hint: install it again, or remove $0\" >&2\n    \
             status=0\n    \
             ;;\n\
         esac\n\
         {after}\
         exit $status\n",
        when = hook.when_chained(),
        beside = quote(beside),
        program = quote(setting.program),
        lost = lost(hook),
    )
}

/// What a commit or push goes without where there is no aye to run.
pub(super) fn lost(hook: Hook) -> &'static str {
    match hook {
        Hook::PreCommit => "this commit was not checked for pending proposals",
        Hook::PrePush => "this push was not checked for pending proposals",
        Hook::PrepareCommitMsg => "no Proposal-Id trailers were added",
        Hook::CommitMsg => "a message of nothing but trailers was not looked for",
        Hook::PostCommit => "the commit was not recorded on its proposals",
    }
}

/// Ends the hook where the stamp says that nothing is pending: the same lanes, one way of storing
/// refs, no interrupted apply; never through a symlink, nor from a pipe that nobody writes. Lanes of other clones, and those for others than the default remote, are left to aye. `packed-refs` has to be older
/// than the stamp; where `[` knows no `-nt`, that is a failure like any other.
const SHORTCUT: &str = r#"    idle() {
        [ ! -L "$1/aye" ] && [ ! -L "$1/aye/idle" ] && [ -f "$1/aye/idle" ] || return
        read -r stamp <"$1/aye/idle" || return
        for others in remotes private for; do
            [ ! -e "$1/refs/aye/$others" ] || return
        done
        [ ! -e "$1/reftable" ] || return
        lanes='aye idle 3'
        for lane in "$1"/refs/aye/log/* "$1"/refs/aye/log/*/*; do
            [ -e "$lane" ] && [ ! -d "$lane" ] || continue
            read -r tip <"$lane" || return
            lanes="$lanes ${lane#"$1"/refs/aye/log/} $tip"
        done
        if [ -e "$1/packed-refs" ]; then
            [ "$1/aye/idle" -nt "$1/packed-refs" ] || return
            lanes="$lanes packed"
        fi
        for left in "$1"/aye/journal/*.journal; do
            [ ! -e "$left" ] || return
        done
        [ "$lanes" = "$stamp" ]
    }
    if idle "${0%/*/*}" 2>/dev/null; then
        exit 0
    fi
"#;

/// Ends the hook, but for an earlier one, where the message has none of our trailers above what git
/// only shows.
const CLAIMS: &str = r#"claims() {
    while read -r line || [ -n "$line" ]; do
        case $line in
        Proposal-Id:*) return 0 ;;
        *'>8 -'*) return 1 ;;
        esac
    done <"$1"
    return 1
}
if ! claims "$1"; then
    [ ! -x "$chained" ] || exec "$chained" "$@"
    exit 0
fi
"#;
