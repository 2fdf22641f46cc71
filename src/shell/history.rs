//! What git would show of denied files: from the work tree, the index and all of history.
//!
//! The kernel knows places on disk, not names inside a repository. So a verb that shows what is
//! in files gets pathspecs that leave the denied names out, and a file named by its object id
//! alone is refused. What was written under another name, or quoted in a commit message, stays
//! visible: nothing here looks at content, but for private keys.

use std::path::{Path, PathBuf};

use super::objects::{Named, Objects, is_pathspec};
use super::policy::Verdict;
use super::policy::git::{Content, Use};
use super::{Refusal, Result, World, access, repository};

/// Global flags that would make git read the pathspecs added here as names.
const LITERAL: &[&str] = &["--literal-pathspecs", "--noglob-pathspecs"];

/// Makes a git command leave denied files out of what it shows; `here` is the directory it works in.
///
/// # Errors
/// A refusal where git offers no way to leave them out.
pub(super) fn leave_out(verdict: &mut Verdict, here: &Path, world: &World) -> Result<()> {
    let Some(used) = verdict.git.clone() else { return Ok(()) };
    let Some(content) = &used.content else { return Ok(()) };
    let mut tops = repository::tops(here);
    if !tops.contains(&world.root) {
        tops.push(world.root.clone());
    }
    let excluded = world.access.pathspecs(&tops);
    if excluded.is_empty() && !tops.iter().any(|top| world.access.denies(top)) {
        return Ok(());
    }
    let refuse = |message: &str, hint: &str| Err(Refusal::new(message, hint).by("access"));
    if tops.iter().any(|top| world.access.denies(top)) {
        return refuse(
            "this repository as a whole is kept from reading",
            "ask the user for what you need from it; the list is `aye.shellDenyRead`",
        );
    }
    if used.globals.iter().any(|flag| LITERAL.contains(&flag.as_str())) {
        return refuse(
            "with literal pathspecs, files that stay unread cannot be excluded",
            "leave the flag out, and write `:(literal)` before the path",
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
            "`--full-diff` shows whole commits, so files that stay unread cannot be excluded",
            "leave it out, or add `--stat` in place of the patch",
        );
    }
    if used.verb == "stash show" {
        let latest = ["rev-parse", "--quiet", "--verify", "refs/stash"];
        // There is none: git says so.
        if content.operands.is_empty() && Objects::new(here, &used, world).ask(&latest) == Ok(None)
        {
            return Ok(());
        }
        return stash(verdict, content, excluded);
    }
    let objects = Objects::new(here, &used, world);
    let operands = Operands::read(verdict, &used, content, here, &objects)?;
    places(verdict, &used, &operands, &tops, here, world)?;
    keys(verdict, &used, content, &operands, world)?;
    match used.verb.as_str() {
        "cat-file" | "blame" => return Ok(()),
        "reflog" | "reflog show" | "stash list" => {
            return refuse(
                "a patch here could show files that stay unread",
                "write `git log -g -p` or `git show STASH`",
            );
        }
        // Two files named one by one, each looked at by its name: git takes no pathspec there.
        "diff" if operands.are_two_files(verdict, here) => return Ok(()),
        _ => {}
    }
    if !content.lines.is_empty() {
        // Of files looked at by their names; a pathspec is not taken beside them. Before it was
        // renamed, such a file may have had a name that is denied.
        let end = content.dashes.or_else(|| operands.paths.first().copied());
        verdict.args.insert(end.unwrap_or(verdict.args.len()), "--no-renames".into());
        return Ok(());
    }
    if content.follows {
        return follow(verdict, &used, &operands, &tops, &objects, here, world);
    }
    let whole = operands.paths.is_empty() && ["log", "show"].contains(&used.verb.as_str());
    if content.dashes.is_none() {
        let at = operands.paths.first().copied().unwrap_or(verdict.args.len());
        verdict.args.insert(at, "--".into());
    }
    verdict.args.extend(excluded);
    if whole {
        // Without these, pathspecs would also leave commits out.
        verdict.args.splice(1..1, ["--full-history".into(), "--sparse".into()]);
    }
    Ok(())
}

/// The operands of a verb, told apart as git does: what stands after `--` is a path, and without
/// it what names an object is a revision until something does not.
struct Operands {
    revisions: Vec<usize>,
    paths: Vec<usize>,
    /// What the revisions name, one by one.
    named: Vec<Named>,
}

impl Operands {
    /// # Errors
    /// A refusal for the content of a file that is named by no path.
    fn read(
        verdict: &Verdict,
        used: &Use,
        content: &Content,
        here: &Path,
        objects: &Objects<'_>,
    ) -> Result<Self> {
        let mut operands = Self { revisions: Vec::new(), paths: Vec::new(), named: Vec::new() };
        let only_revisions = used.verb == "cat-file";
        // Inside of it git does not look whether a revision is the name of a file as well.
        let in_git_dir = here.components().any(|part| part.as_os_str() == ".git");
        for at in &content.operands {
            let text = verdict.args[*at].as_str();
            let path = match content.dashes {
                _ if only_revisions => false,
                // Blame takes its file on either side of the revision.
                _ if used.verb == "blame" => true,
                Some(dashes) => *at > dashes,
                None => {
                    let exists = || here.join(text).symlink_metadata().is_ok();
                    !operands.paths.is_empty() || is_pathspec(text) || (!in_git_dir && exists())
                }
            };
            if path {
                operands.paths.push(*at);
                continue;
            }
            operands.named.push(objects.named(text)?);
            operands.revisions.push(*at);
        }
        Ok(operands)
    }

    /// Two files are compared: of revisions, or one of them from disk.
    fn are_two_files(&self, verdict: &Verdict, here: &Path) -> bool {
        let on_disk = |at: &usize| {
            let path = here.join(&verdict.args[*at]);
            path.symlink_metadata().is_ok_and(|meta| !meta.is_dir())
        };
        !self.named.is_empty()
            && self.named.iter().all(|named| named.a_file)
            && self.paths.len() <= 1
            && self.paths.iter().all(on_disk)
    }
}

/// # Errors
/// A refusal for what is denied by its place: a path, from whichever top, or a directory that has
/// lost its own.
fn places(
    verdict: &Verdict,
    used: &Use,
    operands: &Operands,
    tops: &[PathBuf],
    here: &Path,
    world: &World,
) -> Result<()> {
    for path in &verdict.paths_in_trees {
        for top in tops {
            world.access.check(path, top)?;
        }
    }
    let here = here.canonicalize().unwrap_or_else(|_| here.to_owned());
    let operand = |at: &usize| &verdict.args[*at];
    for path in operands.paths.iter().map(operand).chain(&verdict.paths_in_trees) {
        let path = access::flatten(&here.join(path));
        let inside = tops.iter().filter_map(|top| path.strip_prefix(top).ok()?.to_str());
        for path in inside {
            for top in tops {
                world.access.check(path, top)?;
            }
        }
    }
    if !world.access.denies_below(tops) {
        return Ok(());
    }
    let compares = !["show", "cat-file"].contains(&used.verb.as_str());
    if operands.named.iter().any(|named| named.from_a_directory || (compares && named.a_directory))
    {
        return Err(Refusal::new(
            "a directory of a revision is read without its place, and something in this repository \
             is kept from reading by its place",
            "name the commits, and the path after `:` or after `--`",
        )
        .by("access"));
    }
    Ok(())
}

/// # Errors
/// A refusal for a path that may be a private key in the history it is read from: with a pattern
/// or a directory such files are left out.
fn keys(
    verdict: &Verdict,
    used: &Use,
    content: &Content,
    operands: &Operands,
    world: &World,
) -> Result<()> {
    // The work tree is looked at where it stands.
    let on_disk = used.verb == "blame" && operands.paths.len() < 2;
    if !world.access.keeps_keys() || on_disk {
        return Ok(());
    }
    let paths = operands.paths.iter().map(|at| verdict.args[*at].as_str());
    let lines = content.lines.iter().map(|value| value.rsplit(':').next().unwrap_or(value));
    let mut keys = paths.chain(lines).filter(|path| !is_pathspec(path));
    match keys.find(|path| access::is_key_name(Path::new(path))) {
        Some(path) => Err(Refusal::new(
            format!("`{path}` may have been a private key: history is shown by names alone"),
            format!("write `cat {path}`, or `git show REV:{path}` for the file at one revision"),
        )
        .by("access")),
        None => Ok(()),
    }
}

/// Flags beside which the names a file had are found out as git finds them with the patch.
const FOLLOWED: &[&str] =
    &["--follow", "-p", "-u", "--patch", "--oneline", "--stat", "--no-ext-diff", "--no-textconv"];

/// `--follow` takes one path and no pathspec beside it: the names that it leads to are asked for
/// first.
///
/// # Errors
/// A refusal if one of them is denied, or they cannot be told.
fn follow(
    verdict: &Verdict,
    used: &Use,
    operands: &Operands,
    tops: &[PathBuf],
    objects: &Objects<'_>,
    here: &Path,
    world: &World,
) -> Result<()> {
    let refuse = |message: String| {
        let hint = "write `git log --follow --name-status -- FILE` for the names it had, then \
                    `git log -p -- NAME …`";
        Err(Refusal::new(message, hint).by("access"))
    };
    let is_file = |at: &usize| {
        here.join(&verdict.args[*at]).symlink_metadata().is_ok_and(|meta| !meta.is_dir())
    };
    let ([path], true) = (operands.paths.as_slice(), operands.paths.iter().all(is_file)) else {
        return refuse("`--follow` takes one path, and it must be a file that exists".into());
    };
    let mut flags = verdict.args[1..].iter().enumerate().map(|(at, flag)| (at + 1, flag.as_str()));
    let other = flags.find(|(at, flag)| {
        let number = flag.strip_prefix(['-']).is_some_and(|n| n.parse::<u32>().is_ok());
        let operand = operands.revisions.contains(at) || at == path || *flag == "--";
        !operand && !number && !FOLLOWED.contains(flag)
    });
    if let Some((_, flag)) = other {
        return refuse(format!("`{flag}` beside `--follow` with a patch cannot be vouched for"));
    }
    let mut args = vec![used.verb.as_str(), "--follow", "--name-status", "--format=", "-z"];
    args.extend(operands.revisions.iter().map(|at| verdict.args[*at].as_str()));
    args.extend(["--", verdict.args[*path].as_str()]);
    let names = objects.ask(&args)?.unwrap_or_default();
    let names = String::from_utf8_lossy(&names).into_owned();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let denied = tops.iter().any(|top| world.access.denies(&top.join(name)));
        if denied || (world.access.keeps_keys() && access::is_key_name(Path::new(name))) {
            return refuse(format!("the file was `{name}` once, which stays unread"));
        }
    }
    Ok(())
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
