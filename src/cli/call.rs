//! `aye call`: any public tool contract by name. JSON in, the contract's response out.

use std::io::IsTerminal as _;

use serde_json::Value;

use super::{Context, Format, output, paths, tool};
use crate::error::{Error, Exit, Result, codes};
use crate::tools::registry::{Answer, Form, TOOLS, Tool};
use crate::tools::{self, json};

/// Largest request, in bytes.
const MOST: u64 = 64 << 20;

const EXAMPLES: &str = "
Examples:
  aye call changes '{\"action\": \"list\", \"status\": \"pending\"}'
  aye call changes '{\"action\": \"apply\", \"proposal_id\": \"prop_m4k8n2c7qx\"}'    a mark
  aye call changes - < request.json
  echo '{\"name\": \"changes\", \"arguments\": {\"action\": \"list\"}}' | aye call changes";

/// Call a tool by name: JSON in, the contract's response out.
///
/// A tool call decides nothing: apply and reject of the changes tool are recorded as marks, and a
/// person still decides. An agent's reject of its own proposal withdraws it.
#[derive(Debug, clap::Args)]
#[command(after_help = help())]
pub struct Args {
    /// The tool.
    #[arg(value_name = "TOOL")]
    pub tool: String,
    /// The arguments as JSON, alone or as {"name": …, "arguments": …}; - or nothing reads
    /// standard input.
    #[arg(value_name = "JSON")]
    pub request: Option<String>,
}

/// Runs the command. Errors are printed in the tool's format too.
///
/// # Errors
/// `unknown_tool`, `invalid_json`, and the tool's own.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let tool = Tool::find(&args.tool).inspect_err(|_| {
        context.format.get_or_insert(Format::Json);
    })?;
    let format = *context.format.get_or_insert(own_format(tool));
    match answer(context, tool, args) {
        Ok(answer) => {
            let format = if format == Format::Text { own_format(tool) } else { format };
            context.print(output::structured(format, &answer.value)?.as_bytes())?;
            Ok(answer.exit)
        }
        Err(error) if format != Format::Text => {
            context.print(output::structured(format, &(tool.failure)(&error))?.as_bytes())?;
            Ok(error.code().exit)
        }
        Err(error) => Err(error),
    }
}

fn own_format(tool: &Tool) -> Format {
    match tool.form {
        Form::Json => Format::Json,
        Form::Yaml => Format::Yaml,
    }
}

fn answer(context: &Context, tool: &Tool, args: Args) -> Result<Answer> {
    let bytes = match args.request {
        Some(text) if text != "-" => text.into_bytes(),
        None if tool.bare && std::io::stdin().is_terminal() => Vec::new(),
        None if std::io::stdin().is_terminal() => {
            return Err(Error::new(&codes::USAGE, "no arguments given")
                .hint(format!("aye call {} '{{…}}', or pipe the JSON in", args.tool)));
        }
        _ => paths::content(context, "-".as_ref(), MOST)?,
    };
    let hint = "give one JSON object; quote it for the shell, or pipe it in";
    let request = match tool.bare && bytes.trim_ascii().is_empty() {
        true => Value::Object(serde_json::Map::new()),
        false => json::read(&bytes, "the request", hint)?,
    };
    let (named, arguments) = tools::open_envelope(request)?;
    let name = named.unwrap_or_else(|| args.tool.clone());
    if !tool.names.contains(&name.as_str()) {
        let hint = match Tool::find(&name) {
            Ok(_) => format!("aye call {name} …"),
            Err(unknown) => unknown.hint_text().unwrap_or_default().to_owned(),
        };
        return Err(Error::new(
            &tools::codes::INVALID_PARAMETER,
            format!("the request names the tool '{name}', the command line '{}'", args.tool),
        )
        .hint(hint));
    }
    tool::run(context, tool, &name, arguments, None)
}

/// The tools for `--help`.
fn help() -> String {
    let mut help = "Tools:\n".to_owned();
    for tool in TOOLS {
        let also = match &tool.names[1..] {
            [] => String::new(),
            [one] => format!(" (alias {one})"),
            several => format!(" (aliases {})", several.join(", ")),
        };
        let name = tool.name().to_owned() + &also;
        help += &format!("  {name:<67} {}\n", format!("{:?}", tool.form).to_uppercase());
    }
    help + EXAMPLES
}
