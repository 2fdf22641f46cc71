//! The promisor remote, and programs that a partial clone's configuration names for fetching.

use bstr::{BStr, ByteSlice as _};
use gix::config::file::SectionRef;

/// The remote that has the missing objects; `None` in a full clone.
pub(crate) fn promisor(repo: &gix::Repository) -> Option<String> {
    let snapshot = repo.config_snapshot();
    let promises = |section: &SectionRef<'_>| {
        let value = section.value_implicit("promisor");
        value.is_some_and(|value| value.is_none_or(|v| v != "false"))
    };
    let mut remotes = snapshot.plumbing().sections_by_name("remote").into_iter().flatten();
    let named = remotes.find(promises).and_then(|section| {
        section.header().subsection_name().map(|name| name.to_str_lossy().into_owned())
    });
    named.or_else(|| Some(snapshot.string("extensions.partialClone")?.to_str_lossy().into_owned()))
}

/// Keys that make git run a program on fetching. Hooks and filters are disabled where aye starts
/// git. `protocol.allow` permits `ext::`, which runs one, too.
///
/// Source: git-config(1), <https://git-scm.com/docs/git-config>.
const PROGRAMS: [(&str, &[&str]); 5] = [
    ("core", &["sshCommand", "askPass", "gitProxy", "alternateRefsCommand"]),
    ("remote", &["uploadPack", "vcs"]),
    ("credential", &["helper"]),
    ("protocol", &["allow"]),
    ("url", &[]),
];

/// The first such key in the clone's own configuration (`.git/config`, `config.worktree`,
/// includes): its program would run in any command that lacks an object.
pub(super) fn program(repo: &gix::Repository) -> Option<String> {
    promisor(repo)?;
    let snapshot = repo.config_snapshot();
    PROGRAMS.iter().find_map(|(name, keys)| {
        let sections = snapshot.plumbing().sections_by_name(*name).into_iter().flatten();
        let mut own = sections.filter(|section| !super::settings::is_trusted(section.meta()));
        own.find_map(|section| {
            let subsection = section.header().subsection_name();
            let is_set =
                |key: &&&str| section.values(key).iter().any(|value| runs(key, value.as_ref()));
            let key = keys.iter().find(is_set).copied().or_else(|| is_ext(&section))?;
            let within = subsection.map(|within| format!("{within}.")).unwrap_or_default();
            Some(format!("{name}.{within}{key}"))
        })
    })
}

/// True if git runs a program of the repository; a helper with a plain name is the user's own.
fn runs(key: &str, value: &BStr) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    match key {
        "helper" => !value.iter().all(is_plain),
        "allow" => value != "never",
        _ => !value.trim().is_empty(),
    }
}

/// The key whose URL, or URL prefix, runs a command (`ext::`).
fn is_ext(section: &SectionRef<'_>) -> Option<&'static str> {
    let is_ext = |url: &BStr| url.trim_start().to_ascii_lowercase().starts_with(b"ext::");
    let in_name = section.header().name().eq_ignore_ascii_case(b"url")
        && section.header().subsection_name().is_some_and(is_ext);
    let in_value = section.header().name().eq_ignore_ascii_case(b"remote")
        && section.values("url").iter().any(|url| is_ext(url.as_ref()));
    match (in_name, in_value) {
        (true, _) => Some("insteadOf"),
        (_, true) => Some("url"),
        _ => None,
    }
}
