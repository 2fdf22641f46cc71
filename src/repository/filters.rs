//! Git's conversions between work tree and blobs: `core.autocrlf`, `core.eol`, and the attributes
//! `text`, `eol` and `ident`. The steps are those of gix's filter pipeline, which would also run
//! programs and re-encode.
//!
//! aye runs no program. A file with a filter driver (Git LFS) or its own encoding is read as it is,
//! and never compared with a commit (`Repository::refuse_foreign`).

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice as _};
use gix::attrs::{StateRef, search::Outcome};
use gix::filter::plumbing::{eol, ident};
use gix::index::{Entry, entry};
use gix::worktree::stack::state::attributes::Source;

use super::{Repository, codes};
use crate::changeset::{File, Mode, RepoPath};
use crate::error::{Error, Result};
use crate::worktree::Conversion;

const ATTRIBUTES: [&str; 7] =
    ["filter", "working-tree-encoding", "ident", "crlf", "text", "eol", "merge"];

pub(super) struct Filters {
    repo: gix::Repository,
    state: RefCell<Option<AttributeStack>>,
    /// `core.fileMode` is not false.
    has_modes: OnceCell<bool>,
    /// Attribute files that win over those of the work tree.
    attributes: Vec<(BString, gix::ObjectId)>,
    /// Conversions once the announced files are written.
    expected: OnceCell<Box<Filters>>,
}

struct AttributeStack {
    /// Cached between reading and writing a file.
    known: HashMap<RepoPath, FileAttributes>,
    stack: gix::worktree::Stack,
    found: Outcome,
    /// Filter drivers with a program.
    drivers: Vec<BString>,
    endings: eol::Configuration,
    /// `merge.default` names the driver `binary`.
    merges_none: bool,
}

/// Conversions that aye does not apply.
#[derive(Clone)]
pub(super) enum Unsupported {
    Driver(String),
    Encoding(String),
}

#[derive(Clone)]
struct FileAttributes {
    treatment: Treatment,
    merges_lines: bool,
}

#[derive(Clone)]
enum Treatment {
    Convert { endings: eol::AttributesDigest, ident: bool },
    Foreign(Unsupported),
}

impl std::fmt::Debug for Filters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filters").finish_non_exhaustive()
    }
}

fn has_modes(repo: &gix::Repository) -> bool {
    repo.config_snapshot().boolean("core.fileMode") != Some(false)
}

impl Repository {
    /// False if git ignores modes (`core.fileMode = false`).
    pub fn has_modes(&self) -> bool {
        has_modes(&self.repo)
    }
}

impl Filters {
    pub(super) fn new(repo: &gix::Repository) -> Self {
        Self::with_attributes(repo.clone(), Vec::new())
    }

    fn with_attributes(repo: gix::Repository, attributes: Vec<(BString, gix::ObjectId)>) -> Self {
        Self {
            repo,
            state: RefCell::new(None),
            has_modes: OnceCell::new(),
            attributes,
            expected: OnceCell::new(),
        }
    }

    fn treatment(&self, path: &RepoPath) -> Result<(Treatment, eol::Configuration)> {
        self.rules(path).map(|(rules, endings)| (rules.treatment, endings))
    }

    fn rules(&self, path: &RepoPath) -> Result<(FileAttributes, eol::Configuration)> {
        let mut slot = self.state.borrow_mut();
        let state = match &mut *slot {
            Some(state) => state,
            empty => empty.insert(
                AttributeStack::new(&self.repo, &self.attributes)
                    .map_err(|error| failed(path, &error))?,
            ),
        };
        let rules = match state.known.get(path) {
            Some(known) => known.clone(),
            None => {
                let found = state.rules(&self.repo, path);
                let found = found.map_err(|error| failed(path, &error))?;
                state.known.insert(path.clone(), found.clone());
                found
            }
        };
        Ok((rules, state.endings))
    }
}

impl AttributeStack {
    fn new(repo: &gix::Repository, attributes: &[(BString, gix::ObjectId)]) -> gix::Result<Self> {
        let config = repo.config_snapshot();
        let auto_crlf = match config.string("core.autocrlf") {
            Some(value) if value.eq_ignore_ascii_case(b"input") => eol::AutoCrlf::Input,
            _ if config.boolean("core.autocrlf") == Some(true) => eol::AutoCrlf::Enabled,
            _ => eol::AutoCrlf::Disabled,
        };
        let eol = match config.string("core.eol") {
            Some(value) if value.eq_ignore_ascii_case(b"crlf") => Some(eol::Mode::CrLf),
            Some(value) if value.eq_ignore_ascii_case(b"lf") => Some(eol::Mode::Lf),
            _ => None,
        };
        let mut drivers = Vec::new();
        for section in config.plumbing().sections_by_name("filter").into_iter().flatten() {
            let program = |key| section.value(key).is_some_and(|value| !value.is_empty());
            if let Some(name) = section.header().subsection_name()
                && ["clean", "smudge", "process"].into_iter().any(program)
            {
                drivers.push(name.to_owned());
            }
        }
        // Attribute files excluded by a sparse checkout are in the index alone.
        let sparse = config.boolean("core.sparseCheckout").unwrap_or(false);
        let stack = if attributes.is_empty() && sparse {
            repo.attributes_only(&*repo.index_or_empty()?, Source::WorktreeThenIdMapping)?.detach()
        } else {
            let mut index = gix::index::State::new(repo.object_hash());
            let (flags, mode) = (entry::Flags::empty(), entry::Mode::FILE);
            for (path, id) in attributes {
                let path = path.as_bstr();
                index.dangerously_push_entry(entry::Stat::default(), *id, flags, mode, path);
            }
            index.sort_entries();
            repo.attributes_only(&index, Source::IdMappingThenWorktree)?.detach()
        };
        let mut found = Outcome::default();
        found.initialize_with_selection(
            &gix::attrs::search::MetadataCollection::default(),
            ATTRIBUTES,
        );
        let (known, endings) = (HashMap::new(), eol::Configuration { auto_crlf, eol });
        let merges_none =
            config.string("merge.default").is_some_and(|name| name.as_bstr() == "binary");
        Ok(Self { known, stack, found, drivers, endings, merges_none })
    }

    fn rules(
        &mut self,
        repo: &gix::Repository,
        path: &RepoPath,
    ) -> std::io::Result<FileAttributes> {
        let entry = self.stack.at_entry(path.as_bstr(), None, &repo.objects)?;
        self.found.reset();
        entry.matching_attributes(&mut self.found);
        let states: Vec<StateRef<'_>> =
            self.found.iter_selected().map(|found| found.assignment.state).collect();
        let [filter, encoding, ident, crlf, text, eol, merge] = states[..] else {
            return Err(std::io::Error::other("attributes without an answer"));
        };
        // Git treats an unknown merge driver as text.
        let merges_lines = match merge {
            StateRef::Unset => false,
            StateRef::Value(name) => name.as_bstr() != "binary",
            StateRef::Unspecified => !self.merges_none,
            StateRef::Set => true,
        };
        let treatment = self.treatment([filter, encoding, ident, crlf, text, eol]);
        Ok(FileAttributes { treatment, merges_lines })
    }

    fn treatment(
        &self,
        [filter, encoding, ident, crlf, text, eol]: [StateRef<'_>; 6],
    ) -> Treatment {
        if let StateRef::Value(name) = filter
            && self.drivers.iter().any(|driver| driver == name.as_bstr())
        {
            return Treatment::Foreign(Unsupported::Driver(name.as_bstr().to_string()));
        }
        if let StateRef::Value(name) = encoding
            && !["UTF-8", "UTF8"]
                .iter()
                .any(|utf8| name.as_bstr().eq_ignore_ascii_case(utf8.as_bytes()))
        {
            return Treatment::Foreign(Unsupported::Encoding(name.as_bstr().to_string()));
        }
        let endings = digest(text, eol).or(digest(crlf, eol)).unwrap_or(match eol_mode(eol) {
            Some(mode) => mode.into(),
            None => self.endings.auto_crlf.into(),
        });
        // `text` alone leaves the ending to the configuration.
        let endings = match endings {
            eol::AttributesDigest::Text => self.endings.to_eol().into(),
            other => other,
        };
        Treatment::Convert { endings, ident: matches!(ident, StateRef::Set) }
    }
}

fn eol_mode(eol: StateRef<'_>) -> Option<eol::Mode> {
    match eol {
        StateRef::Value(value) if value.as_bstr() == "lf" => Some(eol::Mode::Lf),
        StateRef::Value(value) if value.as_bstr() == "crlf" => Some(eol::Mode::CrLf),
        _ => None,
    }
}

/// The meaning of `text` (or `crlf`, its old name) with `eol`, as `convert_attrs` in git's
/// `convert.c`.
fn digest(text: StateRef<'_>, eol: StateRef<'_>) -> Option<eol::AttributesDigest> {
    use eol::AttributesDigest as Digest;
    let set = match text {
        StateRef::Unset => return Some(Digest::Binary),
        StateRef::Set => Digest::Text,
        StateRef::Value(value) if value.as_bstr() == "auto" => Digest::TextAuto,
        StateRef::Value(value) if value.as_bstr() == "input" => return Some(Digest::TextInput),
        StateRef::Value(_) | StateRef::Unspecified => return None,
    };
    Some(match (set, eol_mode(eol)) {
        (Digest::TextAuto, Some(eol::Mode::Lf)) => Digest::TextAutoInput,
        (Digest::TextAuto, Some(eol::Mode::CrLf)) => Digest::TextAutoCrlf,
        (_, Some(mode)) => mode.into(),
        (set, None) => set,
    })
}

impl Conversion for Filters {
    fn to_git(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let (Treatment::Convert { endings, ident }, config) = self.treatment(path)? else {
            return Ok(None);
        };
        let mut out = Vec::new();
        // With `text=auto` a file with CRLF in the index keeps it.
        let mut stored = |buffer: &mut Vec<u8>| {
            let index = self.repo.index_or_empty()?;
            let Some(entry) = index.entry_by_path(path.as_bstr()) else { return Ok(None) };
            let Ok(mut blob) = self.repo.find_blob(entry.id) else { return Ok(None) };
            *buffer = std::mem::take(&mut blob.data);
            Ok(Some(()))
        };
        let options = eol::convert_to_git::Options { round_trip_check: None, config };
        let converted = eol::convert_to_git(bytes, endings, &mut out, &mut stored, options)
            .map_err(|error| failed(path, &error))?;
        let mut out = Some(out).filter(|_| converted);
        if ident {
            let mut collapsed = Vec::new();
            let source = out.as_deref().unwrap_or(bytes);
            if ident::undo(source, &mut collapsed).map_err(|error| failed(path, &error))? {
                out = Some(collapsed);
            }
        }
        Ok(out.filter(|out| out != bytes))
    }

    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        self.rules(path).map(|(rules, _)| rules.merges_lines)
    }

    fn mode(&self, path: &RepoPath) -> Option<Mode> {
        if *self.has_modes.get_or_init(|| has_modes(&self.repo)) {
            return None;
        }
        let index = self.repo.index_or_empty().ok()?;
        let entry = index.entry_by_path(path.as_bstr());
        let executable = |entry: &Entry| entry.mode == entry::Mode::FILE_EXECUTABLE;
        Some(if entry.is_some_and(executable) { Mode::Executable } else { Mode::Regular })
    }

    fn is_submodule(&self, path: &BStr) -> bool {
        let Ok(index) = self.repo.index_or_empty() else { return false };
        index.entry_by_path(path).is_some_and(|entry| entry.mode == entry::Mode::COMMIT)
    }

    fn to_worktree(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let (Treatment::Convert { endings, ident }, config) = self.treatment(path)? else {
            return Ok(None);
        };
        let expanded = if ident { expand_ident(bytes, self.repo.object_hash())? } else { None };
        let source = expanded.as_deref().unwrap_or(bytes);
        let mut out = Vec::new();
        let converted = eol::convert_to_worktree(source, endings, &mut out, config)
            .map_err(|error| failed(path, &error))?;
        Ok(if converted { Some(out) } else { expanded })
    }

    fn expect(&self, changes: &mut dyn Iterator<Item = (&RepoPath, Option<&File>)>) -> Result<()> {
        let named = |path: &RepoPath| path.file_name() == ".gitattributes";
        let mut changes = changes.filter(|(path, _)| named(path)).peekable();
        if changes.peek().is_none() {
            return Ok(());
        }
        // Announced attribute files exist in memory only.
        let repo = self.repo.clone().with_object_memory();
        let attributes = changes
            .map(|(path, file)| {
                let id = repo.write_blob(file.map_or(&[][..], |file| &file.bytes));
                Ok((path.as_bstr().to_owned(), id.map_err(|error| failed(path, &error))?.detach()))
            })
            .collect::<Result<_>>()?;
        let _ = self.expected.set(Box::new(Self::with_attributes(repo, attributes)));
        Ok(())
    }

    fn after_writes(&self) -> Option<&dyn Conversion> {
        self.expected.get().map(|filters| &**filters as &dyn Conversion)
    }
}

/// `$Id$` with the blob's id, as git writes it (gix omits the space before the closing `$`).
fn expand_ident(stored: &[u8], hash: gix::hash::Kind) -> Result<Option<Vec<u8>>> {
    if !stored.contains_str("$Id$") {
        return Ok(None);
    }
    let id = gix::objs::compute_hash(hash, gix::objs::Kind::Blob, stored)
        .map_err(|error| Error::bug(format!("cannot hash a file: {error}")))?;
    Ok(Some(stored.replace("$Id$", format!("$Id: {id} $"))))
}

fn failed(path: &RepoPath, error: &dyn std::fmt::Display) -> Error {
    Error::new(
        &codes::INVALID_CONFIG,
        format!("git's conversion of {} cannot be set up: {error:#}", path.display()),
    )
    .with("path", path.display().to_string())
    .hint("check .gitattributes, core.autocrlf, core.eol and core.attributesFile")
}

impl Repository {
    /// Conversions of `paths` that aye does not apply, in words.
    ///
    /// # Errors
    /// `invalid_config` for unreadable attributes.
    pub fn unsupported_conversions<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p RepoPath>,
    ) -> Result<Vec<Option<String>>> {
        let filters = Filters::new(&self.repo);
        let has_tree = self.repo.workdir().is_some();
        let said = |path: &RepoPath| {
            Ok(
                match has_tree.then(|| filters.treatment(path)).transpose()?.map(|(found, _)| found)
                {
                    Some(Treatment::Foreign(Unsupported::Driver(name))) => {
                        Some(format!("goes through the filter '{name}', which aye does not apply"))
                    }
                    Some(Treatment::Foreign(Unsupported::Encoding(name))) => Some(format!(
                        "has the encoding {name} in the work tree, which aye does not apply"
                    )),
                    Some(Treatment::Convert { .. }) | None => None,
                },
            )
        };
        paths.into_iter().map(said).collect()
    }

    /// Refuses files with conversions that aye does not apply: their content cannot be compared
    /// with a commit's.
    ///
    /// # Errors
    /// `filtered_file`, `invalid_config`.
    pub fn refuse_foreign<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p RepoPath> + Clone,
        hint: &'static str,
    ) -> Result<()> {
        let found = self.unsupported_conversions(paths.clone())?;
        match paths.into_iter().zip(found).find_map(|(path, what)| Some((path, what?))) {
            None => Ok(()),
            Some((path, what)) => {
                Err(Error::new(&codes::FILTERED_FILE, format!("{} {what}", path.display()))
                    .with("path", path.display().to_string())
                    .hint(hint))
            }
        }
    }

    /// True if a filter program makes git store other bytes, as git-crypt does. Git LFS does not
    /// count: the same people can read its content.
    ///
    /// # Errors
    /// `invalid_config` for unreadable attributes.
    pub fn is_filtered<'p>(&self, mut paths: impl Iterator<Item = &'p RepoPath>) -> Result<bool> {
        let snapshot = self.repo.config_snapshot();
        let mut sections = snapshot.plumbing().sections_by_name("filter").into_iter().flatten();
        let is_other = |name: &BStr| name != "lfs";
        if !sections.any(|section| section.header().subsection_name().is_some_and(is_other)) {
            return Ok(false);
        }
        let filters = Filters::new(&self.repo);
        paths.try_fold(false, |found, path| {
            Ok(found
                || match filters.treatment(path)?.0 {
                    Treatment::Foreign(Unsupported::Driver(name)) => is_other(name.as_str().into()),
                    _ => false,
                })
        })
    }
}

pub const HINT_COMMIT_WITH_GIT: &str = "commit it with git, and propose the other files";
