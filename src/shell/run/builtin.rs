//! Commands answered in this process, where that is exactly what the program would say.

use super::super::steps::{Action, Step};
use super::super::world::World;
use super::super::{access, policy};

/// What a builtin says and its status.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
    pub(super) status: i32,
}

/// Answers a step that starts no program; `None` if it does start one.
pub(super) fn answer(step: &Step, world: &World) -> Option<Answer> {
    let name = step.argv[0].as_str();
    let args = &step.argv[1..];
    Some(match &step.action {
        Action::Run(_) => return None,
        Action::Move(_) => Answer::default(),
        Action::NoDirectory => {
            let directory = args.last().map_or("", String::as_str);
            failure(2, format!("cd: can't cd to {directory}\n"))
        }
        Action::Missing => failure(
            127,
            format!(
                "{name}: not found in {}, nor in a directory of PATH that only you can write\n",
                super::super::world::SEARCH[..3].join(", ")
            ),
        ),
        Action::Builtin => match name {
            "true" => Answer::default(),
            "false" => Answer { status: 1, ..Answer::default() },
            "echo" => echo(args),
            "pwd" => pwd(args, step),
            "which" | "type" | "command" => which(name, args, world),
            _ => failure(70, format!("{name}: a builtin that is not built in\n")),
        },
    })
}

fn failure(status: i32, message: String) -> Answer {
    Answer { err: message.into_bytes(), status, ..Answer::default() }
}

fn line(text: &str) -> Answer {
    Answer { out: format!("{text}\n").into_bytes(), ..Answer::default() }
}

fn echo(args: &[String]) -> Answer {
    match args.first().map(String::as_str) {
        Some("-n") => Answer { out: args[1..].join(" ").into_bytes(), ..Answer::default() },
        _ => line(&args.join(" ")),
    }
}

fn pwd(args: &[String], step: &Step) -> Answer {
    let physical = args.last().is_some_and(|arg| arg.ends_with('P'));
    let directory = match step.cwd.canonicalize() {
        Ok(resolved) if physical => resolved,
        _ => access::flatten(&step.cwd),
    };
    match directory.to_str() {
        Some(text) => line(text),
        None => failure(1, "pwd: the path is not valid UTF-8\n".into()),
    }
}

fn which(name: &str, args: &[String], world: &World) -> Answer {
    let mut answer = Answer::default();
    for wanted in args.iter().filter(|arg| !arg.starts_with('-')) {
        let builtin = policy::program(wanted).is_some_and(|program| program.builtin);
        let text = match (name, world.find(wanted)) {
            ("type", _) if builtin => format!("{wanted} is a shell builtin\n"),
            ("type", Some(path)) => format!("{wanted} is {}\n", path.display()),
            ("type", None) => {
                answer.status = 127;
                format!("{wanted}: not found\n")
            }
            ("command", _) if builtin => format!("{wanted}\n"),
            (_, Some(path)) => format!("{}\n", path.display()),
            (_, None) => {
                answer.status = if name == "command" { 127 } else { 1 };
                continue;
            }
        };
        answer.out.extend_from_slice(text.as_bytes());
    }
    answer
}
