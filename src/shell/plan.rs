//! Decides about a whole command text before anything of it runs.

use std::path::{Path, PathBuf};

use super::policy::{self, Verdict};
use super::steps::Decided;
use super::syntax::{self, Command, Link, Pipeline, Redirect};
use super::{Refusal, Result, World, access, expand, history, repository};

pub use super::steps::{Action, Plan, Step, Stream};

/// Most combinations of folder and status that a command text may lead to.
const MAX_STATES: usize = 24;

/// Flags that the policy inserts and that small versions of the programs do not have.
const INSERTED: &[&str] = &["--sandbox", "--buffer-size=1G", "--batch-size=256"];

/// Where a command text may be after a pipeline, and whether that succeeded, if it is certain
/// before anything runs: it is for `cd`, `true` and `false`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    folder: PathBuf,
    status: Option<bool>,
}

impl State {
    /// The state after `pipeline`, whose steps in this state's folder are `steps`, ran.
    fn after(&self, pipeline: &Pipeline<'_>, steps: &[Step]) -> Self {
        let mut next = Self { folder: self.folder.clone(), status: None };
        if let [step] = steps {
            match &step.action {
                Action::Move(target) => {
                    next = Self { folder: target.clone(), status: Some(true) };
                }
                Action::NoFolder | Action::Missing => next.status = Some(false),
                Action::Builtin if step.argv[0] == "true" => next.status = Some(true),
                Action::Builtin if step.argv[0] == "false" => next.status = Some(false),
                _ => {}
            }
        }
        next.status = next.status.map(|ok| ok != pipeline.negated);
        next
    }
}

/// Parses `text` and decides about every command in it. Nothing of it is run; what a revision names
/// may be asked of git.
///
/// # Errors
/// The first refusal.
pub fn plan<'t>(text: &'t str, world: &World) -> Result<Plan<'t>> {
    let script = syntax::parse(text)?;
    let mut states = vec![State { folder: world.cwd.clone(), status: Some(true) }];
    let mut decided: Vec<Decided> = Vec::new();
    for (index, pipeline) in script.pipelines.iter().enumerate() {
        let mut next: Vec<State> = Vec::new();
        let mut reach = |state: State| {
            if !next.contains(&state) {
                next.push(state);
            }
        };
        for state in states {
            let wanted = match pipeline.link {
                Link::Always => None,
                Link::IfOk => Some(true),
                Link::IfFailed => Some(false),
            };
            if wanted.is_some() && state.status != wanted {
                reach(State { folder: state.folder.clone(), status: wanted.map(|ok| !ok) });
                if state.status.is_some() {
                    continue;
                }
            }
            let known = decided.iter().find(|d| d.pipeline == index && d.folder == state.folder);
            if let Some(known) = known {
                reach(state.after(pipeline, &known.steps));
                continue;
            }
            let steps = pipeline_steps(pipeline, text, &state.folder, world)?;
            reach(state.after(pipeline, &steps));
            decided.push(Decided { pipeline: index, folder: state.folder, steps });
        }
        if next.len() > MAX_STATES {
            let message = "too many folders this could work in".to_owned();
            return Err(Refusal::new(message, "use one `cd` per call").by("limit"));
        }
        states = next;
    }
    Ok(Plan { script, decided })
}

/// The steps of one pipeline if it ran in `cwd`.
///
/// # Errors
/// The first refusal.
fn pipeline_steps(
    pipeline: &Pipeline<'_>,
    text: &str,
    cwd: &Path,
    world: &World,
) -> Result<Vec<Step>> {
    let mut steps = Vec::with_capacity(pipeline.commands.len());
    for (index, command) in pipeline.commands.iter().enumerate() {
        let segment = text.get(command.span.clone()).unwrap_or_default();
        let step = step(command, segment, cwd, world)
            .map_err(|refusal| refusal.at(command.span.start).in_segment(segment))?;
        let in_pipe = pipeline.commands.len() > 1;
        if in_pipe && matches!(step.action, Action::Move(_) | Action::NoFolder) {
            return Err(Refusal::new(
                "`cd` in a pipeline changes nothing",
                "write it before: `cd DIR && …`",
            )
            .by("cd")
            .at(command.span.start)
            .in_segment(segment));
        }
        if index > 0 && step.input.is_some() {
            return Err(Refusal::new(
                "`<` on a command that already reads from a pipe",
                "leave one of the two away",
            )
            .at(command.span.start)
            .in_segment(segment));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn step(command: &Command<'_>, segment: &str, cwd: &Path, world: &World) -> Result<Step> {
    let argv = expand::arguments(&command.words, cwd, world)?;
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut verdict = policy::decide(&words)?;
    let mut step = Step {
        segment: segment.to_owned(),
        cwd: cwd.to_owned(),
        action: Action::Builtin,
        rule: verdict.rule,
        helpers: verdict.helpers.iter().filter_map(|name| world.find(name)).collect(),
        stdout: Stream::Out,
        stderr: Stream::Err,
        input: None,
        denied: Vec::new(),
        argv,
    };
    redirect(command, &mut step, world)?;
    let here = git_folder(&verdict, cwd, world)?;
    for path in verdict.paths.iter().chain(&verdict.paths_in_trees) {
        world.access.check(path, &here)?;
    }
    for path in &verdict.paths_in_trees {
        world.access.check(path, &world.root)?;
    }
    if verdict.recursive {
        read_below(&verdict, &mut step, &here, world)?;
    }
    if step.argv[0] == "cd" {
        step.action = change_folder(&step.argv[1..], cwd, world)?;
    } else if !verdict.programs.is_empty() {
        history::leave_out(&mut verdict, &here, world)?;
        program(verdict, &mut step, world)?;
    }
    Ok(step)
}

/// Fills in the program and its final arguments.
fn program(verdict: Verdict, step: &mut Step, world: &World) -> Result<()> {
    let mut args = Vec::new();
    if let Some(used) = &verdict.git {
        for folder in &used.folders {
            args.extend(["-C".to_owned(), folder.clone()]);
        }
        args.extend(repository::overrides(used, &step.cwd, world)?);
        if !world.kernel && used.verb == "describe" {
            let refreshes =
                |arg: &String| arg.starts_with("--dirty") || arg.starts_with("--broken");
            if verdict.args.iter().any(refreshes) {
                return Err(Refusal::new(
                    "`git describe --dirty` writes the index, and no sandbox is available here",
                    "use `git describe` and `git status --short`",
                ));
            }
        }
    }
    args.extend(verdict.inserted.iter().map(|word| (*word).to_owned()));
    let written = step.argv.split_off(1);
    args.extend(if verdict.git.is_some() { verdict.args } else { written });
    if !step.denied.is_empty() {
        leave_out(step.rule, &step.denied, &mut args);
    }
    if verdict.rootless {
        step.cwd = PathBuf::from("/");
    }
    let found = verdict.programs.iter().find_map(|name| world.find(name));
    step.action = match found {
        Some(path) => {
            if is_busybox(&path) {
                args.retain(|arg| !INSERTED.contains(&arg.as_str()));
            }
            if step.rule.starts_with("git") {
                step.helpers.extend(git_core(&path));
            }
            Action::Run(path)
        }
        None => Action::Missing,
    };
    step.argv.extend(args);
    Ok(())
}

fn is_busybox(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| {
        path.file_name().is_some_and(|name| name == "busybox" || name == "toybox")
    })
}

/// The copy of git that git itself starts for some verbs (`stash list`).
fn git_core(git: &Path) -> Vec<PathBuf> {
    let git = git.canonicalize().unwrap_or_else(|_| git.to_owned());
    let Some(prefix) = git.parent().and_then(Path::parent) else { return Vec::new() };
    let candidates = [prefix.join("libexec/git-core/git"), prefix.join("lib/git-core/git")];
    candidates.into_iter().filter(|path| path.exists()).collect()
}

/// The folder git works in (`-C`), or `cwd`.
fn git_folder(verdict: &Verdict, cwd: &Path, world: &World) -> Result<PathBuf> {
    let mut here = cwd.to_owned();
    let Some(used) = &verdict.git else { return Ok(here) };
    for folder in &used.folders {
        here.push(folder);
    }
    if !used.folders.is_empty() && !inside(&here, &world.root) {
        return Err(Refusal::new(
            format!("`git -C {}` leaves the repository", used.folders.join(" -C ")),
            "name a folder inside the repository",
        )
        .by("git"));
    }
    Ok(here)
}

/// True when `path` is inside `root`, symlinks resolved; for one that does not exist, as text.
fn inside(path: &Path, root: &Path) -> bool {
    match path.canonicalize() {
        Ok(resolved) => resolved.starts_with(root),
        Err(_) => access::flatten(path).starts_with(root),
    }
}

fn redirect(command: &Command<'_>, step: &mut Step, world: &World) -> Result<()> {
    for redirect in &command.redirects {
        match redirect {
            Redirect::OutNull => step.stdout = Stream::Null,
            Redirect::ErrNull => step.stderr = Stream::Null,
            Redirect::BothNull => (step.stdout, step.stderr) = (Stream::Null, Stream::Null),
            Redirect::ErrToOut => step.stderr = step.stdout,
            Redirect::OutToErr => step.stdout = step.stderr,
            Redirect::Input(word) => {
                let words = expand::arguments(std::slice::from_ref(word), &step.cwd, world)?;
                let [file] = words.as_slice() else {
                    return Err(Refusal::new("`<` with more than one file", "use `cat`"));
                };
                let path = step.cwd.join(file);
                if !inside(&path, &world.root) {
                    return Err(Refusal::new(
                        format!("`< {file}` is outside the repository"),
                        "give the file as an operand of the program instead",
                    )
                    .by("redirection"));
                }
                world.access.check(file, &step.cwd)?;
                let wrong = match path.metadata() {
                    Ok(facts) if facts.is_file() => None,
                    Ok(facts) if facts.is_dir() => Some("is a folder"),
                    Ok(_) => Some("is no ordinary file"),
                    Err(_) => Some("is not there"),
                };
                if let Some(wrong) = wrong {
                    return Err(Refusal::new(
                        format!("`< {file}` {wrong}"),
                        "name a file of the repository; `ls` shows what is there",
                    )
                    .by("redirection"));
                }
                step.input = Some(path);
            }
        }
    }
    Ok(())
}

fn change_folder(args: &[String], cwd: &Path, world: &World) -> Result<Action> {
    let folder = args.iter().find(|arg| *arg != "--").map_or("", String::as_str);
    let target = access::flatten(&cwd.join(folder));
    if !inside(&target, &world.root) || !inside(&cwd.join(folder), &world.root) {
        return Err(Refusal::new(
            format!("`cd {folder}` leaves the repository"),
            "name a folder inside the repository; files outside can be read by their path",
        )
        .by("cd"));
    }
    Ok(if target.is_dir() { Action::Move(target) } else { Action::NoFolder })
}

/// Finds what must stay unread below the folders this command reads as a whole.
fn read_below(verdict: &Verdict, step: &mut Step, cwd: &Path, world: &World) -> Result<()> {
    let here = [".".to_owned()];
    let tops = if verdict.paths.is_empty() { &here[..] } else { &verdict.paths[..] };
    for top in tops {
        step.denied.extend(world.access.denied_below(top, cwd, verdict.follows)?);
    }
    // Of a folder and a file, diff compares the file of that name in the folder.
    if let ("diff", [one, two]) = (verdict.rule, tops) {
        for (folder, file) in [(one, two), (two, one)] {
            if let Some(name) = Path::new(file).file_name().and_then(|name| name.to_str()) {
                world.access.check(&format!("{folder}/{name}"), cwd)?;
            }
        }
    }
    Ok(())
}

/// Tells the program itself to leave the denied files out: the only lock where the kernel has
/// none to offer. Their names are patterns to it.
fn leave_out(rule: &str, denied: &[PathBuf], args: &mut Vec<String>) {
    let pattern = |path: &PathBuf| {
        let mut pattern = String::new();
        for c in path.file_name()?.to_string_lossy().chars() {
            match c {
                // What stands for bytes that are not UTF-8.
                char::REPLACEMENT_CHARACTER => pattern.push('*'),
                '*' | '?' | '[' | ']' | '{' | '}' | '\\' | ' ' => pattern.extend(['\\', c]),
                c => pattern.push(c),
            }
        }
        Some(pattern)
    };
    let mut names: Vec<String> = denied.iter().filter_map(pattern).collect();
    names.sort_unstable();
    names.dedup();
    let at = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let mut extra = Vec::new();
    for name in names {
        match rule {
            // The last one decides, and all of these come after --glob.
            "rg" => extra.push(format!("--iglob=!{name}")),
            "diff" => extra.push(format!("--exclude={name}")),
            _ => extra.extend([format!("--exclude={name}"), format!("--exclude-dir={name}")]),
        }
    }
    args.splice(at..at, extra);
}
