//! What a revision names, read as git reads it: a commit, a directory, or the content of a file.
//!
//! What cannot be read here, for its form or for the format of the repository, is asked of git,
//! for git has forms of its own (`x-1-gABCD` is an abbreviated id, whatever stands before it).

use std::cell::OnceCell;
use std::path::Path;

use super::policy::git::Use;
use super::{Refusal, Result, World, access, repository, run};

/// The rule of a refusal for what only git can answer, where it may not be asked.
pub const NOT_ASKED: &str = "git is not asked";

/// What a revision names; a tag names what it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RevisionKind {
    Commit,
    Directory,
    File,
}

/// The objects of the repository that git finds from a directory.
pub(super) struct Objects<'a> {
    here: &'a Path,
    used: &'a Use,
    world: &'a World,
    repository: OnceCell<Option<gix::Repository>>,
}

/// What one operand names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Named {
    /// It is a revision or a range of them.
    pub(super) anything: bool,
    /// It is the content of one file, named by its path.
    pub(super) a_file: bool,
    /// It, or an end of the range that it is, is a directory and no commit.
    pub(super) a_directory: bool,
    /// It is a path in a directory that is no commit's.
    pub(super) from_a_directory: bool,
}

impl<'a> Objects<'a> {
    pub(super) fn new(here: &'a Path, used: &'a Use, world: &'a World) -> Self {
        Self { here, used, world, repository: OnceCell::new() }
    }

    /// What `operand` names.
    ///
    /// # Errors
    /// A refusal for the content of a file without its name, and for a private key.
    pub(super) fn named(&self, operand: &str) -> Result<Named> {
        let operand = operand.strip_prefix('^').unwrap_or(operand);
        let mut named = Named::default();
        if let Some((from, to)) = operand.split_once("..") {
            let ends = [from, to.strip_prefix('.').unwrap_or(to)];
            let mut both = true;
            for end in ends.into_iter().filter(|end| !end.is_empty()) {
                let kind = self.end(end, &mut named)?;
                both &= kind.is_some();
            }
            named.anything = both;
        }
        if !named.anything {
            let kind = self.end(operand, &mut named)?;
            named.a_file = kind == Some(RevisionKind::File);
            named.anything = kind.is_some();
        }
        Ok(named)
    }

    /// What a single revision names, noted in `named`.
    fn end(&self, end: &str, named: &mut Named) -> Result<Option<RevisionKind>> {
        let kind = self.kind(end)?;
        named.a_directory |= kind == Some(RevisionKind::Directory);
        let place = in_tree(end);
        if let Some((tree, _)) = place.filter(|(tree, _)| kind.is_some() && !tree.is_empty()) {
            named.from_a_directory |= self.kind(tree)? != Some(RevisionKind::Commit);
        }
        if kind != Some(RevisionKind::File) {
            return Ok(kind);
        }
        let Some((_, path)) = place.filter(|_| !is_described(end)) else {
            return Err(Refusal::new(
                format!("`{end}` is the content of a file without its name"),
                "name it by its path, for example `HEAD:src/main.rs`: files that stay unread \
                 are told by their names",
            )
            .by("access"));
        };
        if access::is_key_name(Path::new(path)) {
            let content = self.ask(&["cat-file", "blob", end])?.unwrap_or_default();
            if access::is_key(&content) {
                return Err(access::secret(end));
            }
        }
        Ok(kind)
    }

    /// What `text`, which is no range, names.
    fn kind(&self, text: &str) -> Result<Option<RevisionKind>> {
        let parents = text.rfind("^-").filter(|at| {
            text[at + 2..].bytes().all(|b| b.is_ascii_digit()) && in_tree(text).is_none()
        });
        let text = parents.map_or(text, |at| &text[..at]);
        let text = text.strip_suffix("^!").or_else(|| text.strip_suffix("^@")).unwrap_or(text);
        if text == "HEAD" {
            return Ok(Some(RevisionKind::Commit));
        }
        if let Some(kind) = self.read(text) {
            return Ok(Some(kind));
        }
        let kind = self.asked(text)?;
        let peeled = (kind.as_deref() == Some("tag")).then(|| format!("{text}^{{}}"));
        let kind = peeled.map_or(Ok(kind), |text| self.asked(&text))?;
        Ok(match kind.as_deref() {
            Some("blob") => Some(RevisionKind::File),
            Some("tree") => Some(RevisionKind::Directory),
            Some("commit") => Some(RevisionKind::Commit),
            _ => None,
        })
    }

    /// What `text` names, if that can be read here.
    fn read(&self, text: &str) -> Option<RevisionKind> {
        let repository = self.repository.get_or_init(|| repository::open(self.here)).as_ref()?;
        let id = repository.rev_parse_single(text).ok()?;
        let mut kind = id.header().ok()?.kind();
        // Git shows a tag together with what it names.
        if kind.is_tag() {
            kind = id.object().ok()?.peel_tags_to_end().ok()?.kind;
        }
        Some(match kind {
            gix::object::Kind::Blob => RevisionKind::File,
            gix::object::Kind::Tree => RevisionKind::Directory,
            _ => RevisionKind::Commit,
        })
    }

    fn asked(&self, text: &str) -> Result<Option<String>> {
        let said = self.ask(&["cat-file", "-t", "--", text])?;
        Ok(said.map(|said| String::from_utf8_lossy(&said).trim().to_owned()))
    }

    /// What git says to `args`; nothing if it fails.
    ///
    /// # Errors
    /// A refusal if it cannot be asked.
    pub(super) fn ask(&self, args: &[&str]) -> Result<Option<Vec<u8>>> {
        if !self.world.asks {
            let what = args.last().copied().unwrap_or_default();
            return Err(Refusal::new(
                format!("git is asked what `{what}` names when the command runs"),
                "run the command, or name a commit by its id or a branch",
            )
            .by(NOT_ASKED));
        }
        let Some(program) = self.world.find("git") else { return Ok(None) };
        let used =
            Use { globals: self.used.globals.clone(), verb: args[0].to_owned(), ..Use::default() };
        let mut argv = vec!["git".to_owned()];
        argv.extend(repository::overrides(&used, self.here, self.world)?);
        argv.extend(args.iter().map(|arg| (*arg).to_owned()));
        run::ask(program, argv, self.here, self.world).map_err(|error| {
            Refusal::new(
                format!("what this names could not be found out: {}", error.message()),
                "name a commit by its id or a branch, and a file by its path after it",
            )
            .by("access")
        })
    }
}

/// The two parts of `rev:path`, split where git splits it: at the first colon outside of braces.
/// For the index (`:path`, `:2:path`) the first is empty.
fn in_tree(text: &str) -> Option<(&str, &str)> {
    if let Some(path) = text.strip_prefix(':') {
        let staged = ["0:", "1:", "2:", "3:"];
        return Some(("", staged.iter().find_map(|n| path.strip_prefix(n)).unwrap_or(path)));
    }
    let mut depth = 0_usize;
    let at = text.bytes().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        byte == b':' && depth == 0
    })?;
    Some((&text[..at], &text[at + 1..]))
}

/// True for what git may take for the output of `git describe`, of which only the id counts.
fn is_described(text: &str) -> bool {
    let mut text = text;
    while let Some(at) = text.rfind("^{").filter(|_| text.ends_with('}')) {
        text = &text[..at];
    }
    let id = text.rsplit_once("-g").map(|(_, id)| id);
    id.is_some_and(|id| id.len() >= 4 && id.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// True for what can be no revision, however git reads it: a pathspec.
pub(super) fn is_pathspec(text: &str) -> bool {
    let magic = [":(", ":!", ":^"].iter().any(|start| text.starts_with(start));
    let pattern = text.contains(['*', '?', '[']) && !text.contains(['^', ':', '@']);
    (magic || pattern) && !is_described(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_tree_begins_at_the_first_colon_outside_of_braces() {
        for (text, parts) in [
            ("HEAD:a:b", Some(("HEAD", "a:b"))),
            ("main@{1:2}:a", Some(("main@{1:2}", "a"))),
            ("main@{1:2}", None),
            (":a", Some(("", "a"))),
            (":2:a", Some(("", "a"))),
            ("HEAD", None),
        ] {
            assert_eq!(in_tree(text), parts, "{text}");
        }
    }

    #[test]
    fn ids_hide_behind_descriptions() {
        for text in ["v1-3-gabcd", "HEAD:x-gABCD", "[x-1-gabcdef0^{}", "a..-gabcd^{blob}^{}"] {
            assert!(is_described(text), "{text}");
        }
        for text in ["v1-3-gabc", "HEAD:x-gabcd.txt", "main", "x-gabcz"] {
            assert!(!is_described(text), "{text}");
        }
        assert!(is_pathspec("*.rs") && is_pathspec(":(top)x") && !is_pathspec("[x-1-gabcd"));
    }
}
