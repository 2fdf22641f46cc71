//! Decides about a whole command text before anything of it runs.

use std::path::{Path, PathBuf};

use super::expand::{self, Scope};
use super::policy::{self, Verdict};
use super::steps::{Compound, Decided, List, Part, Pipeline};
use super::syntax::{self, Command, Link, Redirect, Script, Word};
use super::{Refusal, Result, World, access, history, programs, redact, repository};

pub use super::steps::{Action, CommandPlan, Step, Stream, Streams};

/// Most combinations of directory and status that a command text may lead to.
const MAX_STATES: usize = 24;
/// Most commands that a command text may lead to, each round of a loop and each directory counted.
const MAX_STEPS: usize = 1_000;

/// Flags that the policy inserts and that small versions of the programs do not have.
const INSERTED: &[&str] = &["--sandbox", "--buffer-size=1G", "--batch-size=256"];

/// Where a command text may be after a pipeline, and whether that succeeded, if it is certain
/// before anything runs: it is for `cd`, `true` and `false`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    directory: PathBuf,
    status: Option<bool>,
}

/// Parses `text` and decides about every command in it. Nothing of it is run; what a revision names
/// may be asked of git.
///
/// # Errors
/// The first refusal.
pub fn plan(text: &str, world: &World) -> Result<CommandPlan> {
    let script = syntax::parse(text)?;
    let mut planner = Planner { text, world, values: Vec::new(), left: MAX_STEPS };
    let start = State { directory: world.cwd.clone(), status: Some(true) };
    let (list, _) = planner.list(&script, vec![start])?;
    Ok(CommandPlan { list })
}

struct Planner<'a> {
    text: &'a str,
    world: &'a World,
    /// The variables of the loops around, with what they stand for in this round.
    values: Vec<(&'a str, String)>,
    /// How many more commands there may be.
    left: usize,
}

/// A set of states, in the order reached.
#[derive(Default)]
struct States(Vec<State>);

impl States {
    fn reach(&mut self, state: State) {
        if !self.0.contains(&state) {
            self.0.push(state);
        }
    }
}

impl<'a> Planner<'a> {
    /// Decides about a list that begins in one of `states`; returns those it may end in.
    fn list(&mut self, script: &Script<'a>, mut states: Vec<State>) -> Result<(List, Vec<State>)> {
        let mut list = List::default();
        for pipeline in &script.pipelines {
            let mut next = States::default();
            let mut decided: Vec<Decided> = Vec::new();
            let mut ends: Vec<Vec<State>> = Vec::new();
            for state in states {
                let wanted = match pipeline.link {
                    Link::Always => None,
                    Link::IfOk => Some(true),
                    Link::IfFailed => Some(false),
                };
                if wanted.is_some() && state.status != wanted {
                    let status = wanted.map(|ok| !ok);
                    next.reach(State { directory: state.directory.clone(), status });
                    if state.status.is_some() {
                        continue;
                    }
                }
                let known = decided.iter().position(|known| known.directory == state.directory);
                let at = match known {
                    Some(at) => at,
                    None => {
                        let (parts, after) = self.pipeline(pipeline, &state.directory)?;
                        decided.push(Decided { directory: state.directory, parts });
                        ends.push(after);
                        ends.len() - 1
                    }
                };
                for end in &ends[at] {
                    let status = end.status.map(|ok| ok != pipeline.negated);
                    next.reach(State { directory: end.directory.clone(), status });
                }
            }
            if next.0.len() > MAX_STATES {
                let message = "too many directories this could work in".to_owned();
                return Err(Refusal::new(message, "use one `cd` per call").by("limit"));
            }
            states = next.0;
            let (link, negated) = (pipeline.link, pipeline.negated);
            list.pipelines.push(Pipeline { link, negated, decided });
        }
        Ok((list, states))
    }

    /// The parts of one pipeline if it ran in `cwd`, and where it may end.
    fn pipeline(
        &mut self,
        pipeline: &syntax::Pipeline<'a>,
        cwd: &Path,
    ) -> Result<(Vec<Part>, Vec<State>)> {
        let in_pipe = pipeline.parts.len() > 1;
        let mut parts = Vec::with_capacity(pipeline.parts.len());
        let mut after = vec![State { directory: cwd.to_owned(), status: None }];
        for (index, part) in pipeline.parts.iter().enumerate() {
            let (span, part, ends) = match part {
                syntax::Part::Command(command) => {
                    let step = self.command(command, cwd)?;
                    if in_pipe && matches!(step.action, Action::Move(_) | Action::NoDirectory) {
                        return Err(Refusal::new(
                            "`cd` in a pipeline changes nothing",
                            "write it before: `cd DIR && …`",
                        )
                        .by("cd")
                        .at(command.span.start)
                        .in_segment(step.segment));
                    }
                    let ends = vec![after_step(&step, cwd)];
                    (&command.span, Part::Step(step), ends)
                }
                syntax::Part::Compound(compound) => {
                    let (part, ends) = self.compound(compound, cwd)?;
                    (&compound.span, Part::Compound(part), ends)
                }
            };
            if index > 0 && part.streams().input.is_some() {
                return Err(Refusal::new(
                    "`<` on a command that already reads from a pipe",
                    "leave one of the two out",
                )
                .at(span.start)
                .in_segment(&self.text[span.clone()]));
            }
            if !in_pipe {
                after = ends;
            }
            parts.push(part);
        }
        Ok((parts, after))
    }

    fn command(&mut self, command: &Command<'a>, cwd: &Path) -> Result<Step> {
        let segment = self.text.get(command.span.clone()).unwrap_or_default();
        let refused = |refusal: Refusal| refusal.at(command.span.start).in_segment(segment);
        let Some(left) = self.left.checked_sub(1) else {
            let message = format!("the loops lead to more than {MAX_STEPS} commands");
            let hint = "give several files to one command, or split it into several calls";
            return Err(refused(Refusal::new(message, hint).by("limit")));
        };
        self.left = left;
        let scope = Scope { cwd, values: &self.values, world: self.world };
        step(command, segment, &scope).map_err(refused)
    }

    fn compound(
        &mut self,
        compound: &syntax::Compound<'a>,
        cwd: &Path,
    ) -> Result<(Compound, Vec<State>)> {
        let scope = Scope { cwd, values: &self.values, world: self.world };
        let streams = streams(&compound.redirects, &scope).map_err(|refusal| {
            refusal.at(compound.span.start).in_segment(&self.text[compound.span.clone()])
        })?;
        let mut states = vec![State { directory: cwd.to_owned(), status: Some(true) }];
        let mut rounds = Vec::new();
        match &compound.each {
            None => {
                let (list, ends) = self.list(&compound.body, states)?;
                rounds.push(list);
                let mut outside = States::default();
                for end in ends {
                    outside.reach(State { directory: cwd.to_owned(), ..end });
                }
                states = outside.0;
            }
            Some(each) => {
                for value in expand::arguments(&each.words, None, &scope)? {
                    self.values.push((each.name, value));
                    let (list, ends) = self.list(&compound.body, states)?;
                    self.values.pop();
                    rounds.push(list);
                    states = ends;
                }
            }
        }
        let subshell = compound.each.is_none();
        Ok((Compound { rounds, subshell, cwd: cwd.to_owned(), streams }, states))
    }
}

/// Where `step` leads to from `cwd`, alone in its pipeline.
fn after_step(step: &Step, cwd: &Path) -> State {
    let status = match &step.action {
        Action::Move(target) => return State { directory: target.clone(), status: Some(true) },
        Action::NoDirectory | Action::Missing => Some(false),
        Action::Builtin if step.argv[0] == "true" => Some(true),
        Action::Builtin if step.argv[0] == "false" => Some(false),
        _ => None,
    };
    State { directory: cwd.to_owned(), status }
}

fn step(command: &Command<'_>, segment: &str, scope: &Scope<'_>) -> Result<Step> {
    let (cwd, world) = (scope.cwd, scope.world);
    let argv = expand::arguments(&command.words[1..], Some(&command.words[0]), scope)?;
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut verdict = policy::decide(&words)?;
    let mut step = Step {
        segment: segment.to_owned(),
        cwd: cwd.to_owned(),
        action: Action::Builtin,
        rule: verdict.rule,
        environment: command.assignments.iter().map(assignment).collect::<Result<_>>()?,
        helpers: verdict.helpers.iter().filter_map(|name| world.find(name)).collect(),
        streams: streams(&command.redirects, scope)?,
        redaction: None,
        denied: Vec::new(),
        argv,
    };
    let here = git_directory(&verdict, cwd, world)?;
    for path in verdict.paths.iter().chain(&verdict.paths_in_trees) {
        if verdict.rule == "ls" && is_listed(path, &here, world) {
            continue;
        }
        world.access.check(path, &here)?;
    }
    for path in &verdict.paths_in_trees {
        world.access.check(path, &world.root)?;
    }
    if verdict.recursive {
        read_below(&verdict, &mut step, &here, world)?;
    }
    if step.argv[0] == "cd" {
        step.action = change_directory(&step.argv[1..], cwd, world)?;
    } else if !verdict.programs.is_empty() {
        history::leave_out(&mut verdict, &here, world)?;
        program(verdict, &mut step, world)?;
    }
    Ok(step)
}

/// The variable that is set for a program.
fn assignment(word: &Word<'_>) -> Result<(String, String)> {
    let literal = word.literal();
    let (name, value) =
        literal.as_deref().and_then(|text| text.split_once('=')).unwrap_or_default();
    if World::sets(name, value) {
        return Ok((name.to_owned(), value.to_owned()));
    }
    Err(Refusal::new(
        "a variable assignment, of a variable or a value that may lead programs elsewhere",
        "leave it out; LANG, LC_…, TZ, COLUMNS, NO_COLOR and PAGER=cat may be set",
    )
    .by("assignment")
    .at(word.span.start))
}

/// A file whose directory may be listed: of it `ls` shows what it shows there, and reads nothing.
fn is_listed(path: &str, cwd: &Path, world: &World) -> bool {
    let full = cwd.join(path);
    let directory = full.parent().and_then(Path::to_str);
    full.symlink_metadata().is_ok_and(|facts| facts.is_file())
        && directory.is_some_and(|directory| world.access.check(directory, cwd).is_ok())
}

/// Fills in the program and its final arguments.
fn program(verdict: Verdict, step: &mut Step, world: &World) -> Result<()> {
    let mut args = Vec::new();
    if let Some(used) = &verdict.git {
        for directory in &used.directories {
            args.extend(["-C".to_owned(), directory.clone()]);
        }
        args.extend(repository::overrides(used, &step.cwd, world)?);
        step.redaction = Some(redact::Redaction::of(&used.verb, &verdict.args)?);
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
            step.helpers.extend(programs::toolchains(&path, world.home.as_deref()));
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

/// The directory git works in (`-C`), or `cwd`.
fn git_directory(verdict: &Verdict, cwd: &Path, world: &World) -> Result<PathBuf> {
    let mut here = cwd.to_owned();
    let Some(used) = &verdict.git else { return Ok(here) };
    for directory in &used.directories {
        here.push(directory);
    }
    if !used.directories.is_empty() && !inside(&here, &world.root) {
        return Err(Refusal::new(
            format!("`git -C {}` leaves the repository", used.directories.join(" -C ")),
            "name a directory inside the repository",
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

/// Where a command with these redirections reads and writes.
fn streams(redirects: &[Redirect<'_>], scope: &Scope<'_>) -> Result<Streams> {
    let (cwd, world) = (scope.cwd, scope.world);
    let mut streams = Streams::default();
    for redirect in redirects {
        match redirect {
            Redirect::OutNull => streams.stdout = Stream::Null,
            Redirect::ErrNull => streams.stderr = Stream::Null,
            Redirect::BothNull => (streams.stdout, streams.stderr) = (Stream::Null, Stream::Null),
            Redirect::ErrToOut => streams.stderr = streams.stdout,
            Redirect::OutToErr => streams.stdout = streams.stderr,
            Redirect::Input(word) => {
                let words = expand::arguments(std::slice::from_ref(word), None, scope)?;
                let [file] = words.as_slice() else {
                    return Err(Refusal::new("`<` with more than one file", "use `cat`"));
                };
                let path = cwd.join(file);
                if !inside(&path, &world.root) {
                    return Err(Refusal::new(
                        format!("`< {file}` is outside the repository"),
                        "give the file as an operand of the program instead",
                    )
                    .by("redirection"));
                }
                world.access.check(file, cwd)?;
                let wrong = match path.metadata() {
                    Ok(facts) if facts.is_file() => None,
                    Ok(facts) if facts.is_dir() => Some("is a directory"),
                    Ok(_) => Some("is not a regular file"),
                    Err(_) => Some("is not there"),
                };
                if let Some(wrong) = wrong {
                    return Err(Refusal::new(
                        format!("`< {file}` {wrong}"),
                        "name a file of the repository; `ls` shows what is there",
                    )
                    .by("redirection"));
                }
                streams.input = Some(path);
            }
        }
    }
    Ok(streams)
}

fn change_directory(args: &[String], cwd: &Path, world: &World) -> Result<Action> {
    let directory = args.iter().find(|arg| *arg != "--").map_or("", String::as_str);
    let target = access::flatten(&cwd.join(directory));
    if !inside(&target, &world.root) || !inside(&cwd.join(directory), &world.root) {
        return Err(Refusal::new(
            format!("`cd {directory}` leaves the repository"),
            "name a directory inside the repository; files outside can be read by their path",
        )
        .by("cd"));
    }
    Ok(if target.is_dir() { Action::Move(target) } else { Action::NoDirectory })
}

/// Finds what must stay unread below the directories this command reads as a whole.
fn read_below(verdict: &Verdict, step: &mut Step, cwd: &Path, world: &World) -> Result<()> {
    let here = [".".to_owned()];
    let tops = if verdict.paths.is_empty() { &here[..] } else { &verdict.paths[..] };
    for top in tops {
        step.denied.extend(world.access.denied_below(top, cwd, verdict.follows)?);
    }
    // Of a directory and a file, diff compares the file of that name in the directory.
    if let ("diff", [one, two]) = (verdict.rule, tops) {
        for (directory, file) in [(one, two), (two, one)] {
            if let Some(name) = Path::new(file).file_name().and_then(|name| name.to_str()) {
                world.access.check(&format!("{directory}/{name}"), cwd)?;
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
    let (configuration, denied): (Vec<&PathBuf>, Vec<&PathBuf>) =
        denied.iter().partition(|path| access::is_git_configuration(path));
    let mut names: Vec<String> = denied.into_iter().filter_map(pattern).collect();
    names.sort_unstable();
    names.dedup();
    let at = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let mut extra = Vec::new();
    if !configuration.is_empty() {
        // Its name is that of many other files: all of the git directory is left out.
        extra.push(match rule {
            "rg" => "--iglob=!**/.git/**".to_owned(),
            "diff" => "--exclude=.git".to_owned(),
            _ => "--exclude-dir=.git".to_owned(),
        });
    }
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
