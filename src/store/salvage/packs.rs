//! Packs with damaged objects, written again by git.
//!
//! An object that is written again lies beside the pack that has it damaged. Git takes the whole one when
//! it finds that out; gix takes the one that it meets first. So git is asked for new packs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gix::ObjectId;
use gix::odb::pack::index::File as Index;

use crate::error::{Error, Result};
use crate::store::{Store, codes};

impl Store {
    /// Has git write its packs again, of which some have an object of `damaged` that was written again
    /// beside them; these are kept under `aye/broken/objects/`. Returns what was done, in words; nothing
    /// where no pack has any of them.
    ///
    /// # Errors
    /// `lane_broken` where git cannot, since other objects are damaged, too; those of the file system.
    pub(super) fn pack_again(&mut self, damaged: &BTreeSet<ObjectId>) -> Result<Option<String>> {
        let packs = self.packs_with(damaged);
        let Some(first) = packs.first() else { return Ok(None) };
        let aside = self.make_private()?.make_inside("broken")?.make_inside("objects")?;
        for file in packs.iter().flat_map(|pack| [pack.clone(), pack.with_extension("idx")]) {
            let to = aside.path().join(file.file_name().unwrap_or_default());
            if to.symlink_metadata().is_err() {
                // As long as it takes no room.
                let _ = std::fs::hard_link(&file, &to);
            }
        }
        let answer = self.git()?.args(["repack", "-a", "-d", "-k", "-q"]).answer()?;
        self.reread();
        let is_left = damaged.iter().any(|id| self.repo.find_object(*id).is_err());
        if !answer.ok() || is_left {
            let said = String::from_utf8_lossy(&answer.stderr).into_owned();
            let said = said.lines().last().unwrap_or("a pack is kept").to_owned();
            let message = format!(
                "objects of lanes are damaged in {}, and git cannot write it again: {said}",
                first.display()
            );
            return Err(Error::new(&codes::LANE_BROKEN, message).hint(
                "their content is written beside it, and nothing was given up; `git fsck --full` names what \
                 else is damaged: fetch that, then `aye doctor --repair` again",
            ));
        }
        Ok(Some(format!("{} was damaged; git has written its packs again", first.display())))
    }

    /// The packs that have one of `objects`.
    fn packs_with(&self, objects: &BTreeSet<ObjectId>) -> Vec<PathBuf> {
        let directory = self.repo.objects.store_ref().path().join("pack");
        let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let packs = files.map(|entry| entry.path()).filter(|path| {
            path.extension().is_some_and(|end| end == "idx")
                && Index::at(path, self.repo.object_hash())
                    .is_ok_and(|index| objects.iter().any(|id| index.lookup(id).is_some()))
        });
        packs.map(|index| index.with_extension("pack")).collect()
    }
}
