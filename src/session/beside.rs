//! Work that lies in the git directory of a session's tree and not in its files: commits of branches that are not
//! checked out, a stash, an operation of git that is not finished. Removing the tree would remove it.
//!
//! The git directory belongs to the agent: it is read as files, through no symlink, and no git runs there. What
//! cannot be read there counts as work.

use std::collections::{BTreeMap, HashSet};
use std::io::Read as _;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use gix::objs::ObjectRef;

use super::head::{MOST, line, packed};
use crate::beneath::{Content, Dir, FileKind, open_last};
use crate::repository::Repository;
use crate::text::shell;

/// Operations of git that keep what is still to be done in a file or directory: its name, the operation, what ends
/// it. A rebase leaves CHERRY_PICK_HEAD beside its own.
const OPERATIONS: [(&str, &str, &str); 7] = [
    ("rebase-merge", "a rebase", "rebase --continue or --abort"),
    ("rebase-apply/applying", "a git am", "am --continue or --abort"),
    ("rebase-apply", "a rebase", "rebase --continue or --abort"),
    ("REVERT_HEAD", "a revert", "revert --continue or --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "cherry-pick --continue or --abort"),
    ("MERGE_HEAD", "a merge", "merge --continue or --abort"),
    ("BISECT_LOG", "a bisect", "bisect reset"),
];

/// Where a series of picks or reverts keeps what is left of it, also between two of them.
const SERIES: &str = "sequencer/todo";

/// Deepest directory of refs, and most commits, that are read.
const DEEP: usize = 128;
const COMMITS: usize = 100_000;

/// Largest commit or tag that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// What the tree of session `name` holds beside its files: a path in `tree`, and what it is, with what to do, in
/// words. Untrusted. A commit whose files are those of HEAD, or of one of the commits `proposed`, is not among it.
pub fn of(
    repository: &Repository,
    tree: &Path,
    name: &str,
    proposed: &[&str],
) -> Vec<(String, String)> {
    let Ok(git) = open_last(tree).and_then(|top| top.enter(".git".into())) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let then = format!("in the tree, then aye session submit {name}");
    if let Some((path, what, command)) = operation(&git) {
        let why = format!("is {what} that is not finished: git {command} {then}");
        found.push((format!(".git/{path}"), why));
    }
    if git.stat("reftable".into()).is_ok() {
        let why =
            "holds refs in a format that aye does not read: git refs migrate --ref-format=files";
        found.push((".git/reftable".to_owned(), format!("{why} {then}")));
    }
    let refs = refs(&git);
    let known = |id: &ObjectId| repository.repo().has_object(*id);
    let objects = Objects::new(&git);
    let head = head(&git, &refs);
    let mut others = Vec::new();
    for (path, id) in refs {
        let is_stash = path == "refs/stash";
        if is_stash {
            found.push((format!(".git/{path}"), format!("is a stash: git stash pop {then}")));
        }
        // A remote, or the repository, has it; or a bisect, which is named as such.
        let is_others = path.starts_with(b"refs/remotes/") || path.starts_with(b"refs/bisect/");
        if is_stash || is_others || Some(id) == head || known(&id) {
            continue;
        }
        match objects.peel(id) {
            Some(Peeled::Commit(id, _)) if Some(id) == head || known(&id) => {}
            Some(Peeled::Other(id)) if known(&id) => {}
            // Nowhere to be found, and so not lost here.
            None if objects.are_all_loose() && !objects.has(&id) => {}
            Some(Peeled::Commit(commit, tree)) => others.push((path, commit, Some(tree))),
            _ => others.push((path, id, None)),
        }
    }
    if others.is_empty() {
        return found;
    }
    let mut seen = proposed_trees(repository, proposed);
    let above = head.map(|head| objects.above(head, known)).unwrap_or_default();
    seen.extend(head.and_then(|head| match objects.peel(head) {
        Some(Peeled::Commit(_, tree)) => Some(tree),
        _ => repository.repo().find_commit(head).ok()?.tree_id().ok().map(gix::Id::detach),
    }));
    others.retain(|(_, id, tree)| {
        !above.contains(id) && !tree.is_some_and(|tree| seen.contains(&tree))
    });
    found.extend(others.into_iter().map(|(path, id, tree)| {
        let short = id.to_hex_with_len(12).to_string();
        let name = path.to_str_lossy();
        let (what, merged, dropped) = match name.split_once('/') {
            Some(("refs", rest)) => match rest.split_once('/') {
                Some(("heads", branch)) => {
                    let branch = shell::word(branch);
                    ("a branch", branch.clone(), format!("git branch -d {branch}"))
                }
                Some(("tags", tag)) => {
                    let tag = shell::word(tag);
                    ("a tag", tag.clone(), format!("git tag -d {tag}"))
                }
                Some(("aye", _)) => {
                    let why = format!(
                        "is a record that aye has made in the tree itself, and nothing to merge: git update-ref -d \
                         {} {then}",
                        shell::word(&name)
                    );
                    return (format!(".git/{path}"), why);
                }
                Some(("notes", _)) => {
                    let why = format!(
                        "has notes, which no proposal holds: git update-ref -d {} {then}",
                        shell::word(&name)
                    );
                    return (format!(".git/{path}"), why);
                }
                _ => ("a ref", short, format!("git update-ref -d {}", shell::word(&name))),
            },
            _ => ("the HEAD of another work tree", short, "git worktree remove it".to_owned()),
        };
        let why = match tree {
            Some(_) => {
                format!("is {what} with commits that HEAD does not have: git merge {merged} {then}")
            }
            None => format!(
                "is {what} that cannot be looked into, for git has packed its objects: git merge {merged}, or {dropped} \
                 where HEAD has it, {then}"
            ),
        };
        (format!(".git/{path}"), why)
    }));
    found
}

fn operation(git: &Dir) -> Option<(&'static str, &'static str, &'static str)> {
    let has = |path: &str| match path.split_once('/') {
        Some((above, name)) => {
            git.enter(above.into()).is_ok_and(|above| above.stat(name.into()).is_ok())
        }
        None => git.stat(path.into()).is_ok(),
    };
    OPERATIONS.into_iter().find(|(path, ..)| has(path)).or_else(|| {
        let todo = git.enter("sequencer".into()).ok()?.read("todo".into(), MOST).ok()?;
        match todo {
            Content::File(text, _) if text.starts_with(b"revert") => {
                Some((SERIES, "a revert", "revert --continue or --abort"))
            }
            Content::Missing => None,
            _ => Some((SERIES, "a cherry-pick", "cherry-pick --continue or --abort")),
        }
    })
}

/// Commits, or tags, by the names of the refs that have them, and the HEADs of linked work trees by their paths.
/// Refs that only name another one are left out.
fn refs(git: &Dir) -> BTreeMap<BString, ObjectId> {
    let mut found = BTreeMap::new();
    packed(git, |(id, name)| {
        found.extend(hex(id).map(|id| (BString::from(name), id)));
        None::<()>
    });
    if let Ok(refs) = git.enter("refs".into()) {
        loose(&refs, "refs/", DEEP, &mut found);
    }
    let worktrees = git.enter("worktrees".into());
    for name in worktrees.iter().flat_map(|all| all.names().unwrap_or_default()) {
        let own = worktrees.iter().find_map(|all| all.enter(name.as_bstr()).ok());
        let id = own.and_then(|own| hex(&line(&own, "HEAD".into())?));
        found.extend(id.map(|id| (BString::from(format!("worktrees/{name}/HEAD")), id)));
    }
    found
}

fn loose(directory: &Dir, prefix: &str, deep: usize, found: &mut BTreeMap<BString, ObjectId>) {
    for (name, kind) in directory.kinds().unwrap_or_default() {
        let path = [prefix.as_bytes(), &name].concat();
        match kind {
            FileKind::Directory if deep > 0 => {
                if let Ok(below) = directory.enter(name.as_bstr()) {
                    loose(&below, &format!("{}/", path.as_bstr()), deep - 1, found);
                }
            }
            FileKind::File if !name.ends_with(b".lock") => {
                let id = line(directory, name.as_bstr()).and_then(|text| hex(&text));
                found.extend(id.map(|id| (BString::from(path), id)));
            }
            _ => {}
        }
    }
}

fn hex(text: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(text).ok()
}

fn head(git: &Dir, refs: &BTreeMap<BString, ObjectId>) -> Option<ObjectId> {
    let text = line(git, "HEAD".into())?;
    match text.strip_prefix(b"ref: ") {
        Some(name) => refs.get(name.trim().as_bstr()).copied(),
        None => hex(&text),
    }
}

/// The trees of `commits` of the repository.
fn proposed_trees(repository: &Repository, commits: &[&str]) -> HashSet<ObjectId> {
    let tree = |commit: &&str| {
        let commit = repository.repo().find_commit(hex(commit.as_bytes())?).ok()?;
        commit.tree_id().ok().map(gix::Id::detach)
    };
    commits.iter().filter_map(tree).collect()
}

/// What a ref comes to.
enum Peeled {
    /// A commit, and its tree.
    Commit(ObjectId, ObjectId),
    /// What the tree's own loose objects do not have, or no commit.
    Other(ObjectId),
}

/// What a commit or a tag names.
enum Names {
    /// Its tree, and the commits before it.
    Commit { tree: ObjectId, parents: Vec<ObjectId> },
    /// What it is a tag of.
    Tag(ObjectId),
}

/// The loose objects of the tree's own git directory: nothing packs them there, unless the agent does.
struct Objects(Option<Dir>);

impl Objects {
    fn new(git: &Dir) -> Self {
        Self(git.enter("objects".into()).ok())
    }

    fn are_all_loose(&self) -> bool {
        let packs = self.0.as_ref().and_then(|all| all.enter("pack".into()).ok());
        let names = packs.and_then(|packs| packs.names().ok()).unwrap_or_default();
        !names.iter().any(|name| name.ends_with(b".pack"))
    }

    fn at(&self, id: &ObjectId) -> Option<(Dir, String)> {
        let hex = id.to_string();
        let (directory, name) = hex.split_at(2);
        Some((self.0.as_ref()?.enter(BStr::new(directory)).ok()?, name.to_owned()))
    }

    fn has(&self, id: &ObjectId) -> bool {
        self.at(id).is_some_and(|(directory, name)| directory.stat(BStr::new(&name)).is_ok())
    }

    /// What the commit or tag `id` names.
    fn read(&self, id: &ObjectId) -> Option<Names> {
        let (directory, name) = self.at(id)?;
        let Ok(Content::File(bytes, _)) = directory.read(BStr::new(&name), LARGEST) else {
            return None;
        };
        let mut text = Vec::new();
        let unpacked = flate2::read::ZlibDecoder::new(bytes.as_slice());
        unpacked.take(LARGEST).read_to_end(&mut text).ok()?;
        match ObjectRef::from_loose(&text, id.kind()).ok()? {
            ObjectRef::Commit(commit) => {
                Some(Names::Commit { tree: commit.tree(), parents: commit.parents().collect() })
            }
            ObjectRef::Tag(tag) => Some(Names::Tag(tag.target())),
            ObjectRef::Tree(_) | ObjectRef::Blob(_) => None,
        }
    }

    /// `None` where the object is not there, or is neither commit nor tag.
    fn peel(&self, id: ObjectId) -> Option<Peeled> {
        let mut at = id;
        for _ in 0..DEEP {
            match self.read(&at) {
                Some(Names::Commit { tree, .. }) => return Some(Peeled::Commit(at, tree)),
                Some(Names::Tag(object)) => at = object,
                None => return (at != id).then_some(Peeled::Other(at)),
            }
        }
        None
    }

    /// The commits that `head` comes after, as far as they are not `known`; itself among them.
    fn above(&self, head: ObjectId, known: impl Fn(&ObjectId) -> bool) -> HashSet<ObjectId> {
        let (mut seen, mut next) = (HashSet::new(), vec![head]);
        while let Some(id) = next.pop() {
            if seen.len() >= COMMITS || known(&id) || !seen.insert(id) {
                continue;
            }
            if let Some(Names::Commit { parents, .. }) = self.read(&id) {
                next.extend(parents);
            }
        }
        seen
    }
}
