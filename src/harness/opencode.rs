//! OpenCode, as recorded from 1.18.33. It has no hooks but plugins: aye's own hands each call on, in a form
//! that is aye's on both sides.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::redirect::Field;
use super::sent::{self, Moment, Names, Said, ToolKind};
use super::{Answer, Call, Client, Missing, Settings, Way};

/// Name of the harness.
pub const NAME: &str = "opencode";

/// OpenCode.
pub static CLIENT: Client = Client {
    name: NAME,
    agent: NAME,
    hooks: &[("before", None), ("prompt", None), ("idle", None)],
    before: "before",
    way: Way::Rewrite,
    when_missing: Missing::Closed,
    read,
    write,
    settings: Settings::File(file),
};

const NAMES: Names = Names {
    moments: &[("before", Moment::Tool), ("prompt", Moment::Prompt), ("idle", Moment::Stop)],
    tools: &[
        ("edit", ToolKind::Edit(Field::Path("filePath"))),
        ("multiedit", ToolKind::Edit(Field::Path("filePath"))),
        ("write", ToolKind::Edit(Field::Path("filePath"))),
        ("apply_patch", ToolKind::Edit(Field::Patch("patchText"))),
        ("patch", ToolKind::Edit(Field::Patch("patchText"))),
        ("bash", ToolKind::Shell(Some("workdir"))),
        ("read", ToolKind::Read(Field::Path("filePath"))),
        ("grep", ToolKind::Read(Field::Search("path"))),
        ("glob", ToolKind::Read(Field::Search("path"))),
        ("list", ToolKind::Read(Field::Search("path"))),
    ],
};

#[derive(Debug, Deserialize)]
struct Sent {
    session: String,
    directory: PathBuf,
    #[serde(default)]
    tool: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    model: Value,
}

/// Reads what the plugin sends for `event`.
///
/// # Errors
/// In words, for what is not understood.
pub fn read(event: &str, bytes: &[u8]) -> Result<Call, String> {
    let sent: Sent = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let said = Said {
        session: sent.session,
        directory: sent.directory,
        model: sent.model.as_str().map(str::to_owned),
        tool: sent.tool,
        input: sent.args,
        prompt: sent.prompt,
        is_busy: false,
        ..Said::default()
    };
    sent::judge(&NAMES, event, said)
}

/// The bytes that the plugin gets for `answer`: always one object.
pub fn write(_event: &str, answer: &Answer) -> Vec<u8> {
    let value = match answer {
        Answer::Nothing | Answer::Tree(_) => json!({}),
        Answer::Refuse(reason) => json!({ "refuse": reason }),
        Answer::Rewrite(input) => json!({ "args": input }),
        Answer::Inform(text) => json!({ "inform": text }),
        Answer::Say(text) => json!({ "say": text }),
    };
    value.to_string().into_bytes()
}

fn file(program: &str, is_strict: bool) -> String {
    // A JSON text is one of JavaScript.
    let text = include_str!("opencode.js").replace("\"aye\"", &Value::from(program).to_string());
    text.replace("strict = false", if is_strict { "strict = true" } else { "strict = false" })
}
