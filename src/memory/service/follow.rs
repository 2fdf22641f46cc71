//! What a file and its sections were called before: history goes on where somebody renamed them.

use std::collections::BTreeSet;

use super::history::{History, Place};
use crate::changeset::RepoPath;
use crate::git::Git;
use crate::memory::DIR;
use crate::memory::disk::store_path;
use crate::memory::markdown;
use crate::memory::plan::section_name;

impl History<'_> {
    /// The names that the file has had, as git finds renames: the present one first, then one that
    /// is renamed and not committed yet, then those of the commits.
    pub(super) fn names_of(&self, place: &Place) -> Vec<RepoPath> {
        let path = place.path();
        let mut names = vec![path.clone()];
        let diff = ["diff", "--name-status", "-z", "--find-renames", "--diff-filter=R", "HEAD"];
        let within = match place {
            Place::Memory(_) => DIR,
            Place::Instructions(_) => ".",
        };
        let moved = self.renames(&diff, within);
        names.extend(moved.into_iter().find(|(_, new)| new == path).map(|(old, _)| old));
        let committed = names.last().map(|name| format!(":(top,literal){}", name.display()));
        let log = ["log", "--follow", "--format=", "--name-status", "-z", "--diff-filter=R"];
        for (old, _) in committed.map_or_else(Vec::new, |at| self.renames(&log, &at)) {
            let is_memory = store_path(&old).is_some() || matches!(place, Place::Instructions(_));
            if is_memory && !names.contains(&old) {
                names.push(old);
            }
        }
        names
    }

    /// Old and new names, as a git command prints them; none where it fails.
    fn renames(&self, command: &[&str], path: &str) -> Vec<(RepoPath, RepoPath)> {
        let out = Git::new(self.worktree.root())
            .args(command)
            .arg("--")
            .arg(path)
            .run()
            .unwrap_or_default();
        let fields: Vec<&[u8]> = out.split(|b| *b == 0).collect();
        fields
            .chunks_exact(3)
            .filter_map(|field| {
                Some((RepoPath::from_tree(field[1]).ok()?, RepoPath::from_tree(field[2]).ok()?))
            })
            .collect()
    }
}

/// The ids (or headings) that `section` has had in `texts`, newest first, the present one among
/// them. A section that came up under a new name with the text of one that went is that one.
pub(super) fn ids_of(section: &str, texts: &[&str]) -> BTreeSet<String> {
    let mut ids = BTreeSet::from([section.to_owned()]);
    let mut bodies: BTreeSet<String> = BTreeSet::new();
    let mut later: BTreeSet<String> = BTreeSet::new();
    for text in texts {
        let document = markdown::parse(text);
        let all: Vec<(&str, &str)> = (0..document.sections.len())
            .map(|i| (section_name(&document, i), document.own_body(i).trim()))
            .collect();
        if !all.iter().any(|(name, _)| ids.contains(*name)) {
            let same = |(name, body): &&(&str, &str)| {
                !later.contains(*name) && !body.is_empty() && bodies.contains(*body)
            };
            ids.extend(all.iter().find(same).map(|(name, _)| (*name).to_owned()));
        }
        let own = all.iter().filter(|(name, _)| ids.contains(*name));
        bodies.extend(own.map(|(_, body)| (*body).to_owned()));
        later = all.into_iter().map(|(name, _)| name.to_owned()).collect();
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_followed_through_new_ids_but_not_into_another_one() {
        let one = "## A\n<!-- @id: a -->\n\nText.\n\n## B\n<!-- @id: b -->\n\nOther.\n";
        let renamed = one.replace("@id: a", "@id: x");
        let grown = renamed.replace("Text.", "Text, longer.");
        let again = grown.replace("@id: x", "@id: y");
        let ids = |id: &str, texts: &[&str]| ids_of(id, texts).into_iter().collect::<Vec<_>>();
        assert_eq!(ids("y", &[&again, &grown, &renamed, one]), ["a", "x", "y"]);
        assert_eq!(ids("a", &[one, one]), ["a"]);
        assert_eq!(ids("gone", &[one, one]), ["gone"]);
        // The text of a section that is there still is no earlier form of another one.
        let copied = format!("{one}\n## C\n<!-- @id: c -->\n\nText.\n");
        assert_eq!(ids("c", &[&copied, one]), ["c"]);
    }
}
