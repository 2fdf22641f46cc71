//! Notes in memory proposals, for deciders.

use serde_json::Value;

use crate::memory::service::locate::memory_data;
use crate::proposal::Proposal;
use crate::proposal::event::Subject;

/// In display order; empty for other proposals. Unescaped: not safe for a terminal.
pub fn notes(proposal: &Proposal) -> Vec<(&'static str, String)> {
    if proposal.subject != Subject::Memory {
        return Vec::new();
    }
    let text = |value: Option<&Value>, key: &str| {
        let text = value.and_then(|value| value.get(key)).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let request = memory_data(proposal, "request");
    let mut notes = vec![
        ("intent", text(request, "intent")),
        ("rationale", text(request, "rationale")),
        ("confidence", text(request, "confidence")),
    ];
    for source in list(request.and_then(|request| request.get("sources"))) {
        let source = Some(source);
        notes.push(("source", format!("{} {}", text(source, "type"), text(source, "ref"))));
    }
    notes.push(("routing", text(memory_data(proposal, "routing"), "reason")));
    for warning in list(memory_data(proposal, "warnings")) {
        notes.push(("warning", warning.as_str().unwrap_or_default().to_owned()));
    }
    notes.retain(|(_, text)| !text.trim().is_empty());
    notes
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
