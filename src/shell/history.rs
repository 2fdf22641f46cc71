//! What git would show of denied files: from the work tree, the index and all of history.
//!
//! The kernel knows places on disk, not names inside a repository. So a verb that shows what is
//! in files gets pathspecs that leave the denied names out, and a file named by its object id
//! alone is refused. What was written under another name, or quoted in a commit message, stays
//! visible: nothing here looks at content.

use std::path::Path;

use super::policy::Verdict;
use super::policy::git::Content;
use super::{Refusal, Result, World, repository};

/// Global flags that would make git read the pathspecs added here as names.
const LITERAL: &[&str] = &["--literal-pathspecs", "--noglob-pathspecs"];

/// Makes a git command leave denied files out of what it shows; `here` is the folder it works in.
///
/// # Errors
/// A refusal where git offers no way to leave them out.
pub(super) fn leave_out(verdict: &mut Verdict, here: &Path, world: &World) -> Result<()> {
    let Some(used) = verdict.git.clone() else { return Ok(()) };
    let Some(content) = &used.content else { return Ok(()) };
    let excluded = world.access.pathspecs(&world.root);
    if excluded.is_empty() {
        return Ok(());
    }
    let refuse = |message: &str, hint: &str| Err(Refusal::new(message, hint).by("access"));
    if used.globals.iter().any(|flag| LITERAL.contains(&flag.as_str())) {
        return refuse(
            "with pathspecs taken literally, files that stay unread cannot be left out",
            "leave the flag away, and write `:(literal)` before the path",
        );
    }
    if content.every && used.verb == "show" {
        return refuse(
            "every ref at once could show the content of a file without its name",
            "name the revisions, or write `git log` with the same flags",
        );
    }
    if content.full {
        return refuse(
            "`--full-diff` shows whole commits, so files that stay unread cannot be left out",
            "leave it away, or add `--stat` in place of the patch",
        );
    }
    let split = Split::new(verdict, content, here);
    let objects = Objects::read(verdict, &split.revisions, here)?;
    let compares = !["show", "cat-file"].contains(&used.verb.as_str());
    if objects.a_folder && compares && world.access.denies_below(&world.root) {
        return refuse(
            "a folder of a revision is compared without its place, and something in this \
             repository is kept from reading by its place",
            "name the revisions, and the folder after `--`",
        );
    }
    match used.verb.as_str() {
        "cat-file" => return Ok(()),
        "reflog" | "reflog show" | "stash list" => {
            return refuse(
                "a patch here could show files that stay unread",
                "write `git log -g -p` or `git show STASH`",
            );
        }
        "stash show" => return stash(verdict, content, excluded),
        // Two files named one by one, each looked at by its name: git takes no pathspec there.
        "diff" if objects.all_files && split.paths.is_empty() => return Ok(()),
        _ => {}
    }
    if !split.paths.is_empty() && split.paths.iter().all(|at| is_file(here, &verdict.args[*at])) {
        return Ok(());
    }
    if content.follows {
        return refuse(
            "`--follow` takes one path, and it must be a file that exists to be shown",
            "leave `--follow` away",
        );
    }
    let whole = split.paths.is_empty() && ["log", "show"].contains(&used.verb.as_str());
    if content.dashes.is_none() {
        let at = split.paths.first().copied().unwrap_or(verdict.args.len());
        verdict.args.insert(at, "--".into());
    }
    verdict.args.extend(excluded);
    if whole {
        // Without these, pathspecs would also leave commits out.
        verdict.args.splice(1..1, ["--full-history".into(), "--sparse".into()]);
    }
    Ok(())
}

/// Operands of a verb, told apart as git does: what stands after `--`, or from the first that
/// names a file or is a pattern, is a path.
struct Split {
    revisions: Vec<usize>,
    paths: Vec<usize>,
}

impl Split {
    fn new(verdict: &Verdict, content: &Content, here: &Path) -> Self {
        let is_path = |at: &usize| match content.dashes {
            Some(dashes) => *at > dashes,
            None => {
                let text = verdict.args[*at].as_str();
                text.starts_with(":(")
                    || text.starts_with(":!")
                    || text.starts_with(":^")
                    || (text.contains(['*', '?', '[']) && !text.contains(['^', ':']))
                    || here.join(text).symlink_metadata().is_ok()
            }
        };
        let first = content.operands.iter().position(is_path).unwrap_or(content.operands.len());
        let (revisions, paths) = content.operands.split_at(first);
        Self { revisions: revisions.to_vec(), paths: paths.to_vec() }
    }
}

/// What the revisions name.
struct Objects {
    /// Every one is the content of a file.
    all_files: bool,
    /// One is a folder, not a commit.
    a_folder: bool,
}

impl Objects {
    /// # Errors
    /// A refusal for the content of a file that is named by no path.
    fn read(verdict: &Verdict, revisions: &[usize], here: &Path) -> Result<Self> {
        let mut objects = Self { all_files: !revisions.is_empty(), a_folder: false };
        let plain = |text: &str| text == "HEAD";
        if revisions.iter().all(|at| plain(&verdict.args[*at])) {
            objects.all_files = false;
            return Ok(objects);
        }
        let Some(repository) = repository::open(here) else { return Ok(objects) };
        let kind = |text: &str| {
            let id = repository.rev_parse_single(text.trim_start_matches('^')).ok()?;
            let kind = id.header().ok()?.kind();
            // Git shows a tag together with what it names.
            if kind.is_tag() {
                return Some(id.object().ok()?.peel_tags_to_end().ok()?.kind);
            }
            Some(kind)
        };
        let is_file = |text: &str| kind(text).is_some_and(|kind| kind.is_blob());
        for at in revisions {
            let text = verdict.args[*at].as_str();
            let file = text.contains(':') && is_file(text);
            objects.all_files &= file;
            let ends = text.split("..").map(|end| end.trim_start_matches('.'));
            let mut ends = ends.filter(|end| !end.is_empty());
            objects.a_folder |=
                ends.clone().any(|end| kind(end).is_some_and(|kind| kind.is_tree()));
            let mut bare = ends.by_ref().filter(|end| !file && !end.contains(':'));
            if let Some(end) = bare.find(|end| is_file(end)) {
                return Err(Refusal::new(
                    format!("`{end}` is the content of a file without its name"),
                    "name it by its path, for example `HEAD:src/main.rs`: files that stay \
                     unread are told by their names",
                )
                .by("access"));
            }
        }
        Ok(objects)
    }
}

/// A path that is one file, and no pattern: it was checked by its name.
fn is_file(here: &Path, operand: &str) -> bool {
    !operand.starts_with(':')
        && !operand.contains(['*', '?', '['])
        && here.join(operand).symlink_metadata().is_ok_and(|meta| !meta.is_dir())
}

/// `git stash show` takes no paths: the diff that it is takes them.
fn stash(verdict: &mut Verdict, content: &Content, excluded: Vec<String>) -> Result<()> {
    let untracked = ["--include-untracked", "--only-untracked"];
    if verdict.args.iter().any(|arg| untracked.contains(&arg.as_str())) {
        return Err(Refusal::new(
            "a patch of untracked files in a stash could show files that stay unread",
            "write `git show 'stash@{0}^3:PATH'`",
        )
        .by("access"));
    }
    let name = match content.operands.first() {
        Some(at) => verdict.args[*at].clone(),
        None => "stash@{0}".to_owned(),
    };
    let number = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    let name = if number { format!("stash@{{{name}}}") } else { name };
    let flags = verdict.args.iter().enumerate().skip(2);
    let flags =
        flags.filter(|(at, _)| !content.operands.contains(at) && Some(*at) != content.dashes);
    let mut args = vec!["diff".to_owned()];
    args.extend(flags.map(|(_, flag)| flag.clone()));
    args.extend([format!("{name}^1"), name, "--".into()]);
    args.extend(excluded);
    verdict.args = args;
    Ok(())
}
