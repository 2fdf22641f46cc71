//! Objects by id, fetched from the promisor remote in a partial clone.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::objs::{Exists as _, Kind};

use super::{Repository, codes};
use crate::error::codes::SIZE_LIMIT;
use crate::error::{Error, Result};
use crate::git;

/// Largest blob that is read: 256 MiB.
pub(crate) const MOST: u64 = 256 << 20;

const TRY_AGAIN: &str = "nothing is damaged here: try again when the remote can be reached";

/// `object_missing` for an unreadable tree or commit.
pub(crate) fn damaged(what: impl std::fmt::Display, why: &dyn std::fmt::Display) -> Error {
    Error::new(&codes::OBJECT_MISSING, format!("{what} cannot be read: {why}"))
        .hint("`git fsck` reports the damaged object; fetch it from another clone if there is one")
}

impl Repository {
    /// Tests for the object `id` (hex) without reading it.
    pub fn has(&self, id: &str) -> bool {
        ObjectId::from_hex(id.as_bytes())
            .is_ok_and(|id| self.recent.is_loose(&id) || self.repo.objects.exists(&id))
    }

    /// Caches an object just written.
    pub(crate) fn cache_object(&self, id: ObjectId, kind: Kind, data: &[u8]) {
        self.recent.keep(id, kind, data);
    }

    /// For a check before loading: an object may be of any size.
    pub(crate) fn header(&self, id: ObjectId) -> Result<(Kind, u64), gix::Error> {
        let mut small = Vec::new();
        if let Some(kind) = self.recent.find(&id, &mut small) {
            return Ok((kind, small.len() as u64));
        }
        let header = self.repo.find_header(id)?;
        Ok((header.kind(), header.size()))
    }

    pub fn blob(&self, id: &str) -> Result<Vec<u8>> {
        self.blob_of_at_most(id, MOST)
    }

    /// Reads at most `most` bytes. Another person may have named the blob, so its size is checked
    /// before inflating.
    ///
    /// # Errors
    /// `object_missing` if missing or damaged, `size_limit_exceeded`.
    pub fn blob_of_at_most(&self, id: &str, most: u64) -> Result<Vec<u8>> {
        let missing = |why: &dyn std::fmt::Display| {
            damaged(format_args!("blob {id}"), why).with("object", id)
        };
        let oid = ObjectId::from_hex(id.as_bytes()).map_err(|error| missing(&error))?;
        let over = |size: u64| {
            Error::new(&SIZE_LIMIT, format!("blob {id} has {size} bytes, over the limit of {most}"))
                .with("object", id)
                .with("limit", most)
                .hint("aye does not read it: reject the proposal that names it")
        };
        match self.header(oid) {
            Ok((_, size)) if size > most => return Err(over(size)),
            Err(_) if self.is_partial() => {
                let size = self.size_there(id).map_err(|_| self.missing_blob_error(id))?;
                if size > most {
                    return Err(over(size));
                }
            }
            _ => {}
        }
        match self.repo.find_blob(oid) {
            // Neither gix nor git verifies on reading: a loose object may have been overwritten.
            Ok(blob) if !is_hash(oid, &blob.data) => Err(missing(&"its content is another one's")),
            Ok(mut blob) => Ok(std::mem::take(&mut blob.data)),
            Err(_) if self.is_partial() => {
                self.fetched(id).map_err(|_| self.missing_blob_error(id))
            }
            Err(error) => Err(missing(&error)),
        }
    }

    /// `object_missing` for a blob that this partial clone lacks.
    pub(crate) fn missing_blob_error(&self, id: &str) -> Error {
        let remote = self.promisor().unwrap_or_default();
        let why = format!(
            "blob {id} is not in this partial clone, and its remote '{remote}' did not give it"
        );
        let error = Error::new(&codes::OBJECT_MISSING, why).with("object", id);
        match git::offline_key() {
            None => error.hint(TRY_AGAIN),
            Some(key) => error.hint(format!(
                "this repository's own configuration has {key}, and aye runs no program that it names: set it in \
                 your own (git config --global; includeIf says where it holds), or fetch with git"
            )),
        }
    }

    /// True in a partial clone: missing objects come from its promisor remote.
    pub(crate) fn is_partial(&self) -> bool {
        self.promisor().is_some()
    }

    pub(crate) fn promisor(&self) -> Option<&str> {
        self.promisor.get_or_init(|| super::promisor(&self.repo)).as_deref()
    }

    /// Git asks the promisor remote.
    fn size_there(&self, id: &str) -> Result<u64> {
        let size = self.git()?.args(["cat-file", "-s", id]).run()?;
        let size = std::str::from_utf8(&size).ok().and_then(|size| size.trim().parse().ok());
        size.ok_or_else(|| Error::bug("git has no size of a blob"))
    }

    /// Git may ask the promisor remote.
    fn fetched(&self, id: &str) -> Result<Vec<u8>> {
        self.git()?.args(["cat-file", "blob", id]).run()
    }
}

fn is_hash(id: ObjectId, bytes: &[u8]) -> bool {
    gix::objs::compute_hash(id.kind(), gix::objs::Kind::Blob, bytes).is_ok_and(|hash| hash == id)
}

pub(crate) fn loose_path(objects: &Path, id: &ObjectId) -> PathBuf {
    let hex = id.to_string();
    objects.join(&hex[..2]).join(&hex[2..])
}
