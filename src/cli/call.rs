//! The command `aye call`.

use serde_json::Value;

use super::{Context, Format, output, paths, tool};
use crate::error::{Error, Exit, Result};
use crate::tools::registry::{OutputFormat, TOOLS, Tool};
use crate::tools::{self, json};

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
#[command(after_help = help(), disable_help_flag = true)]
pub struct Args {
    /// The tool.
    #[arg(value_name = "TOOL", required_unless_present = "help")]
    pub tool: Option<String>,
    /// The arguments as JSON, alone or as {"name": …, "arguments": …}; - or nothing reads
    /// standard input.
    #[arg(value_name = "JSON")]
    pub request: Option<String>,
    /// Print help; with a tool, its parameters.
    #[arg(short, long)]
    pub help: bool,
}

/// Errors are printed in the tool's format, too.
///
/// # Errors
/// `unknown_tool`, `invalid_json`, and the tool's own.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let Some(name) = args.tool.as_deref() else {
        let mut all = <super::Cli as clap::CommandFactory>::command();
        all.build();
        let help = all.find_subcommand_mut("call").map(|call| call.render_long_help().to_string());
        return context.print(help.unwrap_or_default().as_bytes());
    };
    let tool = Tool::find(name).inspect_err(|_| {
        context.format.get_or_insert(Format::Json);
    })?;
    if args.help {
        return context.print(parameters(tool).as_bytes());
    }
    let format = *context.format.get_or_insert(own_format(tool));
    match answer(context, tool, name, args.request.as_deref()) {
        Ok(answer) => {
            let format = if format == Format::Text { own_format(tool) } else { format };
            context.print(output::structured(format, &answer)?.as_bytes())
        }
        Err(error) if format != Format::Text => {
            context.print(output::structured(format, &tool.failure(&error))?.as_bytes())?;
            Ok(error.code().exit)
        }
        Err(error) => Err(error),
    }
}

fn own_format(tool: &Tool) -> Format {
    match tool.form {
        OutputFormat::Json => Format::Json,
        OutputFormat::Yaml(_) => Format::Yaml,
    }
}

fn answer(context: &Context, tool: &Tool, given: &str, request: Option<&str>) -> Result<Value> {
    let hint = "give one JSON object; quote it for the shell, or pipe it in";
    let request = json::read(&paths::text_or_input(context, request, hint)?, "the request", hint)?;
    let (named, arguments) = tools::open_envelope(request)?;
    let name = named.unwrap_or_else(|| given.to_owned());
    if !tool.names.contains(&name.as_str()) {
        let hint = match Tool::find(&name) {
            Ok(_) => format!("aye call {name} …"),
            Err(unknown) => unknown.hint_text().unwrap_or_default().to_owned(),
        };
        return Err(Error::new(
            &tools::codes::INVALID_PARAMETER,
            format!("the request names the tool '{name}', the command line '{given}'"),
        )
        .hint(hint));
    }
    tool::run(context, tool, &name, arguments, None)
}

fn help() -> String {
    let mut help = "Tools:\n".to_owned();
    for tool in TOOLS {
        let also = match &tool.names[1..] {
            [] => String::new(),
            [one] => format!(" (alias {one})"),
            several => format!(" (aliases {})", several.join(", ")),
        };
        let name = tool.name().to_owned() + &also;
        help += &format!("  {name:<67} {}\n", format!("{:?}", own_format(tool)).to_uppercase());
    }
    help + EXAMPLES
}

fn parameters(tool: &Tool) -> String {
    let mut help = format!("{}\n\nUsage: aye call {} '{{…}}'\n", tool.description, tool.name());
    list_parameters(&mut help, &tool.parameters(), 2);
    help
}

fn list_parameters(help: &mut String, schema: &Value, indent: usize) {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.iter().any(|it| it == name);
        let kind = match (property["enum"].as_array(), property["type"].as_str()) {
            (Some(words), _) => {
                words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|")
            }
            (None, kind) => kind.unwrap_or("string").to_owned(),
        };
        let required = if is_required { ", required" } else { "" };
        let about = property["description"].as_str().unwrap_or_default();
        *help += &format!("\n{:indent$}{name} ({kind}{required})\n", "");
        for line in about.lines() {
            *help += &format!("{:indent$}    {line}\n", "");
        }
        let inner = if property["items"].is_object() { &property["items"] } else { property };
        list_parameters(help, inner, indent + 4);
    }
}
