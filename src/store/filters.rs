//! Git's conversions between the work tree and what it stores: `core.autocrlf`, `core.eol`, and
//! the attributes `text`, `eol` and `ident`, through gix's filter pipeline.
//!
//! No program is run. A file that goes through a filter driver (Git LFS, for one), or that has an
//! encoding of its own in the work tree, is taken as it lies there, and never compared with a
//! commit ([`Store::refuse_foreign`]).

use std::cell::RefCell;

use bstr::{BStr, BString, ByteSlice as _};
use gix::attrs::{StateRef, search::Outcome};
use gix::filter::plumbing::eol::AutoCrlf;
use gix::filter::plumbing::pipeline::CrlfRoundTripCheck;
use gix::filter::plumbing::pipeline::convert::to_worktree;
use gix::worktree::stack::state::attributes::Source;

use super::{Store, codes};
use crate::changeset::{Changeset, RepoPath};
use crate::error::{Error, Result};
use crate::worktree::Conversion;

const ATTRIBUTES: [&str; 6] = ["filter", "working-tree-encoding", "text", "crlf", "eol", "ident"];

/// The conversions of one repository. Reads nothing before the first file.
pub(super) struct Filters {
    repo: gix::Repository,
    state: RefCell<Option<State>>,
}

struct State {
    stack: gix::worktree::Stack,
    pipeline: gix::filter::plumbing::Pipeline,
    found: Outcome,
    /// Filter drivers that have a program.
    drivers: Vec<BString>,
    /// Files without attributes are converted too.
    always: bool,
}

/// What aye does not convert.
pub(super) enum Foreign {
    /// It goes through the filter driver of that name.
    Driver(String),
    /// It has that encoding in the work tree.
    Encoding(String),
}

/// What becomes of one file.
enum Treatment {
    Nothing,
    Convert,
    Foreign(Foreign),
}

impl std::fmt::Debug for Filters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filters").finish_non_exhaustive()
    }
}

impl Filters {
    pub(super) fn new(repo: &gix::Repository) -> Self {
        Self { repo: repo.clone(), state: RefCell::new(None) }
    }

    fn with<T>(
        &self,
        path: &RepoPath,
        then: impl FnOnce(&mut State, Treatment) -> Result<T>,
    ) -> Result<T> {
        let mut slot = self.state.borrow_mut();
        let state = match &mut *slot {
            Some(state) => state,
            empty => empty.insert(State::new(&self.repo).map_err(|error| failed(path, &error))?),
        };
        let treatment = state.treatment(&self.repo, path).map_err(|error| failed(path, &error))?;
        then(state, treatment)
    }

    /// Why the file at `path` is not converted, if it ought to be.
    pub(super) fn foreign(&self, path: &RepoPath) -> Result<Option<Foreign>> {
        self.with(path, |_, treatment| match treatment {
            Treatment::Foreign(foreign) => Ok(Some(foreign)),
            Treatment::Nothing | Treatment::Convert => Ok(None),
        })
    }
}

impl State {
    fn new(repo: &gix::Repository) -> gix::Result<Self> {
        let mut options = gix::filter::Pipeline::options(repo)?;
        let programs = std::mem::take(&mut options.drivers).into_iter();
        let drivers = programs
            .filter(|d| {
                [&d.clean, &d.smudge, &d.process].into_iter().flatten().any(|p| !p.is_empty())
            })
            .map(|driver| driver.name)
            .collect();
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        let always = options.eol_config.auto_crlf != AutoCrlf::Disabled;
        // Attribute files that a sparse checkout leaves out are in the index alone.
        let sparse = repo.config_snapshot().boolean("core.sparseCheckout").unwrap_or(false);
        let source = Source::WorktreeThenIdMapping;
        let stack = match sparse {
            true => repo.attributes_only(&*repo.index_or_empty()?, source)?.detach(),
            false => {
                let index = gix::index::State::new(repo.object_hash());
                repo.attributes_only(&index, source)?.detach()
            }
        };
        let mut found = Outcome::default();
        found.initialize_with_selection(
            &gix::attrs::search::MetadataCollection::default(),
            ATTRIBUTES,
        );
        let pipeline = gix::filter::plumbing::Pipeline::new(
            gix::command::Context::default(),
            repo.object_hash(),
            options,
        );
        Ok(Self { stack, pipeline, found, drivers, always })
    }

    fn treatment(&mut self, repo: &gix::Repository, path: &RepoPath) -> std::io::Result<Treatment> {
        let entry = self.stack.at_entry(path.as_bstr(), None, &repo.objects)?;
        self.found.reset();
        entry.matching_attributes(&mut self.found);
        let mut any = self.always;
        for (name, found) in ATTRIBUTES.iter().zip(self.found.iter_selected()) {
            let state = found.assignment.state;
            match (*name, state) {
                (_, StateRef::Unspecified) => {}
                ("filter", StateRef::Value(value)) => {
                    let driver = value.as_bstr();
                    if self.drivers.iter().any(|known| known == driver) {
                        return Ok(Treatment::Foreign(Foreign::Driver(driver.to_string())));
                    }
                }
                ("working-tree-encoding", StateRef::Value(value)) => {
                    let encoding = value.as_bstr();
                    if !is_utf8(encoding) {
                        return Ok(Treatment::Foreign(Foreign::Encoding(encoding.to_string())));
                    }
                }
                ("filter" | "working-tree-encoding", _) => {}
                _ => any = true,
            }
        }
        Ok(if any { Treatment::Convert } else { Treatment::Nothing })
    }
}

fn is_utf8(encoding: &BStr) -> bool {
    encoding.eq_ignore_ascii_case(b"UTF-8") || encoding.eq_ignore_ascii_case(b"UTF8")
}

impl Conversion for Filters {
    fn to_git(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with(path, |state, treatment| {
            if !matches!(treatment, Treatment::Convert) {
                return Ok(None);
            }
            let State { stack, pipeline, .. } = state;
            let repo = &self.repo;
            let entry = stack
                .at_entry(path.as_bstr(), None, &repo.objects)
                .map_err(|error| failed(path, &error))?;
            let converted = pipeline
                .convert_to_git(
                    bytes,
                    &path.to_path(),
                    &mut |_, found| {
                        entry.matching_attributes(found);
                    },
                    // With `text=auto` a file that has CRLF in the index keeps it.
                    &mut |buffer| {
                        let index = repo.index_or_empty()?;
                        let Some(entry) = index.entry_by_path(path.as_bstr()) else {
                            return Ok(None);
                        };
                        let Ok(mut blob) = repo.find_blob(entry.id) else { return Ok(None) };
                        *buffer = std::mem::take(&mut blob.data);
                        Ok(Some(()))
                    },
                )
                .map_err(|error| failed(path, &error))?;
            Ok(converted.as_bytes().filter(|new| *new != bytes).map(<[u8]>::to_vec))
        })
    }

    fn to_worktree(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with(path, |state, treatment| {
            if !matches!(treatment, Treatment::Convert) {
                return Ok(None);
            }
            let State { stack, pipeline, .. } = state;
            let entry = stack
                .at_entry(path.as_bstr(), None, &self.repo.objects)
                .map_err(|error| failed(path, &error))?;
            let converted = pipeline
                .convert_to_worktree(
                    bytes,
                    path.as_bstr(),
                    &mut |_, found| {
                        entry.matching_attributes(found);
                    },
                    to_worktree::Options::default(),
                )
                .map_err(|error| failed(path, &error))?;
            let new = converted.as_bytes().filter(|new| *new != bytes);
            new.map(|new| spaced_ident(bytes, new)).transpose()
        })
    }
}

/// Git writes a blank before the closing `$` of an expanded `$Id$`, which the pipeline leaves out;
/// without it `git status` would be right and every comparison with a checkout's bytes wrong.
fn spaced_ident(stored: &[u8], written: &[u8]) -> Result<Vec<u8>> {
    if !stored.contains_str("$Id$") {
        return Ok(written.into());
    }
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, stored)
        .map_err(|error| Error::bug(format!("cannot hash a file: {error}")))?;
    Ok(written.replace(format!("$Id: {id}$"), format!("$Id: {id} $")))
}

fn failed(path: &RepoPath, error: &dyn std::fmt::Display) -> Error {
    Error::new(
        &codes::INVALID_CONFIG,
        format!("git's conversion of {} cannot be set up: {error:#}", path.display()),
    )
    .with("path", path.display().to_string())
    .hint("check .gitattributes, core.autocrlf, core.eol and core.attributesFile")
}

impl Store {
    /// Refuses files that aye takes as they lie in the work tree although git converts them:
    /// there, a commit's content and the work tree's cannot be told to be the same.
    ///
    /// # Errors
    /// `filtered_file`; `invalid_config` where attributes cannot be read.
    pub fn refuse_foreign(&self, changeset: &Changeset) -> Result<()> {
        if self.repo.workdir().is_none() {
            return Ok(());
        }
        let filters = Filters::new(&self.repo);
        for change in changeset.changes() {
            let path = &change.path;
            let what = match filters.foreign(path)? {
                None => continue,
                Some(Foreign::Driver(name)) => format!("goes through the filter '{name}'"),
                Some(Foreign::Encoding(name)) => {
                    format!("has the encoding {name} in the work tree")
                }
            };
            return Err(Error::new(
                &codes::FILTERED_FILE,
                format!("{} {what}, which aye does not apply", path.display()),
            )
            .with("path", path.display().to_string())
            .hint("commit it with git, and propose the other files"));
        }
        Ok(())
    }
}
