//! Commits as checks read them: changes, trailers, agents.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use crate::actor::authors;
use crate::changeset::{File, RepoPath};
use crate::decide;
use crate::error::{Error, Result};
use crate::git::Git;
use crate::proposal::Entry;
use crate::proposal::steps::FileStep;
use crate::repository::{Repository, tree_changes};
use crate::scan::codes;
use crate::store::Store;

#[derive(Clone, Debug)]
pub struct Commit {
    pub id: ObjectId,
    pub tree: ObjectId,
    /// Tree of the first parent.
    pub parent_tree: Option<ObjectId>,
    /// Trees of further parents; `None` for one that a shallow clone lacks.
    pub merged: Vec<Option<ObjectId>>,
    /// Without duplicates, as the other trailer values.
    pub proposal_ids: Vec<String>,
    pub reviewers: Vec<String>,
    pub proposers: Vec<String>,
    /// Trailers that make an agent an author or accountable: key, agent.
    pub signed: Vec<(&'static str, &'static str)>,
    /// Coding agent named by author, committer or a trailer that names authors.
    pub author_agent: Option<&'static str>,
    /// Coding agents named by other trailers: `Proposed-by`, `Assisted-by`.
    pub helpers: Vec<&'static str>,
}

impl Commit {
    pub fn short(&self) -> String {
        self.id.to_hex_with_len(7).to_string()
    }

    /// True if nothing differs from the only parent.
    pub fn is_empty(&self) -> bool {
        self.merged.is_empty() && self.parent_tree == Some(self.tree)
    }
}

/// Oldest first.
///
/// # Errors
/// `invalid_range` with git's message.
pub fn list(repository: &Repository, arguments: &[&str]) -> Result<Vec<ObjectId>> {
    let answer =
        git_here(repository).args(["rev-list", "--reverse"]).args(arguments).arg("--").answer()?;
    if !answer.ok() {
        return Err(Error::new(
            &codes::INVALID_RANGE,
            format!("cannot list the commits of '{}': {}", arguments.join(" "), answer.reason()),
        )
        .hint("name a range such as origin/main..HEAD; a shallow clone may need `git fetch --unshallow`"));
    }
    let lines = answer.stdout.lines();
    lines.map(|line| ObjectId::from_hex(line).map_err(|e| Error::bug(e.to_string()))).collect()
}

/// Each work tree has its own HEAD.
fn git_here(repository: &Repository) -> Git {
    Git::new(repository.work_dir().unwrap_or_else(|| repository.repo().git_dir().to_owned()))
}

/// # Errors
/// `invalid_range` if the commit is missing or damaged.
pub fn read(repository: &Repository, id: ObjectId) -> Result<Commit> {
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("commit {id} cannot be read: {error}");
        Error::new(&codes::INVALID_RANGE, message).hint(match std::env::var_os("GIT_QUARANTINE_PATH") {
            // <https://git-scm.com/docs/git-receive-pack#_quarantine_environment>
            Some(_) => "in a pre-receive or update hook git keeps apart what is pushed: check it before the push, \
                 in CI, or in a post-receive hook",
            None => "`git fsck` reports the damaged object",
        })
    };
    let repo = repository.repo();
    let commit = repo.find_commit(id).map_err(|e| failed(&e))?;
    let tree = commit.tree_id().map_err(|e| failed(&e))?.detach();
    // A shallow clone lacks its boundary commits' parents.
    let mut parents = commit.parent_ids().map(|parent| {
        let parent = parent.object().ok()?.try_into_commit().ok()?;
        parent.tree_id().ok().map(gix::Id::detach)
    });
    let parent_tree = parents.next().flatten();
    let merged = parents.collect();
    let message = commit.message_raw().map_err(|e| failed(&e))?;
    let proposal_ids = trailer_values(message, b"proposal-id");
    let reviewers = trailer_values(message, b"reviewed-by");
    let proposers = trailer_values(message, b"proposed-by");
    let people = [commit.author().ok(), commit.committer().ok()].into_iter().flatten();
    let mut people = people.map(|who| (who.name.to_str_lossy(), who.email.to_str_lossy()));
    let mut author_agent = people.find_map(|(name, email)| authors::agent_of(&name, &email));
    let mut helpers = Vec::new();
    for (is_author, agent) in authors::agents_in(&message.to_str_lossy()) {
        match is_author {
            true => author_agent = author_agent.or(Some(agent)),
            false => helpers.push(agent),
        }
    }
    let signed = agent_trailers(message);
    Ok(Commit {
        id,
        tree,
        parent_tree,
        merged,
        proposal_ids,
        reviewers,
        proposers,
        signed,
        author_agent,
        helpers,
    })
}

/// Only people may be authors or accountable.
fn agent_trailers(message: &[u8]) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    for key in ["Signed-off-by", "Co-authored-by"] {
        for value in trailer_values(message, key.to_ascii_lowercase().as_bytes()) {
            let (name, email) = value.split_once('<').unwrap_or((&value, ""));
            let agent = authors::agent_of(name, email.trim_end_matches('>'));
            found.extend(agent.map(|agent| (key, agent)));
        }
    }
    found
}

/// Trailer values with the lower-case `key` anywhere in the body: a squash leaves trailers in the
/// middle. A value may be on the next line, indented further, as git unfolds trailers.
fn trailer_values(message: &[u8], key: &[u8]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let mut lines = message.lines().skip(1).peekable();
    let indent = |line: &[u8]| line.len() - line.trim_start().len();
    while let Some(line) = lines.next() {
        let Some((token, value)) = line.split_once_str(":") else { continue };
        if token.trim().eq_ignore_ascii_case(key) {
            let mut value = value.trim();
            if value.is_empty()
                && let Some(next) = lines.next_if(|next| indent(next) > indent(line))
            {
                value = next.trim();
            }
            let value = value.to_str_lossy().into_owned();
            if !value.is_empty() && !ids.contains(&value) {
                ids.push(value);
            }
        }
    }
    ids
}

/// An entry that differs from one parent's.
#[derive(Clone, Debug)]
pub struct Change {
    /// `None` if deleted.
    pub entry: Option<Entry>,
    /// True if the entry differs from every parent's, as in `git diff-tree -c`: a merge only brings
    /// in the others.
    pub is_own: bool,
}

/// Entries that differ from one parent's. Empty for a merge with a missing parent.
pub fn changes(repository: &Repository, commit: &Commit) -> Result<BTreeMap<BString, Change>> {
    let (first, others) = (&commit.parent_tree, &commit.merged);
    let mut found: BTreeMap<BString, Change> = BTreeMap::new();
    // Compared with nothing, every file would count as the merge's own.
    if !others.is_empty() && (first.is_none() || others.contains(&None)) {
        return Ok(found);
    }
    let mut is_first = true;
    for parent in std::iter::once(first).chain(others) {
        let changes = tree_changes(repository.repo(), *parent, commit.tree)?;
        for (name, change) in &mut found {
            change.is_own &= changes.contains_key(name);
        }
        for (name, entry) in changes {
            found.entry(name).or_insert(Change { entry, is_own: is_first });
        }
        is_first = false;
    }
    Ok(found)
}

#[derive(Clone, Debug)]
pub struct GitMerge {
    /// Includes conflicting files.
    pub tree: ObjectId,
    pub conflicts: Vec<BString>,
}

impl GitMerge {
    pub fn has(&self, repository: &Repository, path: &RepoPath, entry: &Option<Entry>) -> bool {
        let is_clean = !self.conflicts.iter().any(|name| name == path.as_bstr());
        is_clean && repository.entry_at(Some(self.tree), path) == *entry
    }
}

/// git's own merge of the two parents; `None` for another number of parents, and before git 2.38.
///
/// # Errors
/// `git_not_found`; `invalid_range` with git's message if git cannot merge them.
pub fn git_merge(repository: &Repository, commit: &Commit) -> Result<Option<GitMerge>> {
    /// Exit status of a git without these options.
    const USAGE: i32 = 129;
    if commit.merged.len() != 1 {
        return Ok(None);
    }
    let [one, two] = [1, 2].map(|parent| format!("{}^{parent}", commit.id));
    let merge = ["merge-tree", "--write-tree", "--allow-unrelated-histories", "--name-only", "-z"];
    let answer = git_here(repository).args(merge).args([&one, &two]).answer()?;
    // NUL-terminated: tree, conflicting names, an empty field, messages.
    let mut fields = answer.stdout.split(|byte| *byte == 0);
    let tree = fields.next().and_then(|tree| ObjectId::from_hex(tree).ok());
    if tree.is_none() && answer.status != USAGE {
        let (short, said) = (commit.short(), answer.stderr.to_str_lossy());
        let said = said.lines().next().unwrap_or_default();
        let message = format!("git cannot merge the parents of {short} to compare them: {said}");
        return Err(Error::new(&codes::INVALID_RANGE, message)
            .hint("the objects that `git merge-tree --write-tree` makes have to be written here"));
    }
    let names = fields.take_while(|name| !name.is_empty()).map(BString::from);
    let conflicts = if answer.ok() { Vec::new() } else { names.collect() };
    Ok(tree.map(|tree| GitMerge { tree, conflicts }))
}

/// True if `found`, a commit's file, has the change of `step` among others. False if undecidable.
pub fn has(store: &Store, step: &FileStep, found: Option<Entry>) -> bool {
    let mut there: BTreeMap<RepoPath, File> = BTreeMap::new();
    if let Some(entry) = found {
        // A symlink's target is not file content.
        if !entry.is_regular() {
            return false;
        }
        let Ok(file) = store.file(&entry) else { return false };
        there.insert(step.path.clone(), file);
    }
    decide::contains(store, step, &there).unwrap_or(false)
}

/// True if `commit` has the change of `step`, and its first parent does not.
pub fn brings(store: &Store, commit: &Commit, step: &FileStep) -> bool {
    let has = |tree| has(store, step, store.repository().entry_at(tree, &step.path));
    has(Some(commit.tree)) && !has(commit.parent_tree)
}

/// Trees of HEAD and of the commits in `MERGE_HEAD`.
pub fn sides(repository: &Repository) -> Vec<ObjectId> {
    let merged = std::fs::read(repository.repo().git_dir().join("MERGE_HEAD")).unwrap_or_default();
    let tree = |line: &[u8]| {
        let commit = repository.repo().find_commit(ObjectId::from_hex(line).ok()?).ok()?;
        commit.tree_id().ok().map(gix::Id::detach)
    };
    repository.head_tree().into_iter().chain(merged.lines().filter_map(tree)).collect()
}

/// Staged changes against HEAD; `None` for a deleted file. git reads `GIT_INDEX_FILE`, so a hook
/// sees exactly what the commit will change.
pub fn staged(repository: &Repository) -> Result<BTreeMap<BString, Option<Entry>>> {
    let Some(top) = repository.work_dir() else { return Ok(BTreeMap::new()) };
    let tree = match repository.head_tree() {
        Some(tree) => tree.to_string(),
        None => ObjectId::empty_tree(repository.repo().object_hash()).to_string(),
    };
    let out = Git::new(top)
        .args(["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev"])
        .args(["--no-ext-diff", "--ignore-submodules=none"])
        .arg(tree)
        .arg("--")
        .run()?;
    Ok(parse_raw_diff(&out))
}

/// Parses `:<mode> <mode> <id> <id> <status>\0<path>\0` records.
fn parse_raw_diff(out: &[u8]) -> BTreeMap<BString, Option<Entry>> {
    let mut found = BTreeMap::new();
    let mut fields = out.split(|byte| *byte == 0);
    while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
        let facts = facts.to_str_lossy();
        let words: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
        if let [_, mode, _, id, status] = words[..] {
            let entry = Entry::new(id, mode);
            found.insert(path.into(), (status != "D").then_some(entry));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_trailers_wherever_a_squash_left_them() {
        let message = b"Proposal-Id: prop_subject\n\nText\n\nproposal-id:  prop_a \r\n\nMore\n\n\
            Proposal-Id: prop_b\nProposal-Id: prop_a\nProposal-Id:\nNot-Proposal-Id: prop_x\n";
        assert_eq!(trailer_values(message, b"proposal-id"), ["prop_a", "prop_b"]);
        assert!(trailer_values(b"", b"proposal-id").is_empty());
    }

    #[test]
    fn an_id_may_stand_on_the_line_below_as_git_unfolds_it() {
        let message =
            b"Text\n\nProposal-Id:\n prop_a\nProposal-Id: \r\n\tprop_b\nProposal-Id:\nx\n";
        assert_eq!(trailer_values(message, b"proposal-id"), ["prop_a", "prop_b"]);
        // A squash indents trailers; the first one here is empty.
        let message =
            b"Text\n\n    Proposal-Id:\n    Proposed-by: bot\n    Proposal-Id:\n      prop_c";
        assert_eq!(trailer_values(message, b"proposal-id"), ["prop_c"]);
    }

    #[test]
    fn agents_that_sign_are_found_and_people_are_not() {
        let message = b"Fix\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n\
            Signed-off-by: Ada <ada@example.com>\nAssisted-by: Codex:gpt-5\nSigned-off-by: codex\n";
        assert_eq!(
            agent_trailers(message),
            [("Signed-off-by", "codex"), ("Co-authored-by", "claude")]
        );
    }

    #[test]
    fn raw_records_are_read() {
        let out = b":100644 100755 aa bb M\0a b\0:100644 000000 aa 00 D\0gone\0";
        let found = parse_raw_diff(out);
        let entry = Entry { id: "bb".into(), mode: "100755".into() };
        assert_eq!(found[&BString::from("a b")], Some(entry));
        assert_eq!(found[&BString::from("gone")], None);
        assert_eq!(found.len(), 2);
    }
}
