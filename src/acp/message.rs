//! Messages of JSON-RPC 2.0, in both directions. Pure.

use serde_json::{Value, json};

use crate::mcp::message::{Failure, codes, failure, id_of};
use crate::tools::json;

#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Request(Value, String),
    Notification,
    Response(Value),
}

/// `None` for an empty line.
///
/// # Errors
/// The answer to a malformed message.
pub(super) fn read(line: &[u8]) -> Result<Option<(Kind, Value)>, Value> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let value =
        json::read(line, "the message", "send one JSON object on a line").map_err(|error| {
            failure(&id_of(line), Failure::new(codes::PARSE_ERROR, error.message()))
        })?;
    let id = value.get("id").cloned();
    let kind = match (value.get("method").and_then(Value::as_str), &id) {
        (Some(method), Some(id)) => Some(Kind::Request(id.clone(), method.to_owned())),
        (Some(_), None) => Some(Kind::Notification),
        (None, Some(id)) => Some(Kind::Response(id.clone())),
        (None, None) => None,
    };
    let is_answer = value.get("result").or_else(|| value.get("error")).is_some();
    match kind.filter(|kind| is_answer || !matches!(kind, Kind::Response(_))) {
        Some(kind) => Ok(Some((kind, value))),
        None => {
            let id = id.filter(|id| id.is_string() || id.is_number()).unwrap_or_default();
            let why = "a message is one JSON object with a method or an answer";
            Err(failure(&id, Failure::new(codes::INVALID_REQUEST, why)))
        }
    }
}

/// Appended to the agent's own text, which editors show as one message.
pub(super) fn chunk(session: &str, lines: &[String]) -> Value {
    let content = json!({ "type": "text", "text": format!("\n\n{}\n", lines.join("\n")) });
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
    let params = json!({ "sessionId": session, "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let kind = |line: &str| read(line.as_bytes()).unwrap().map(|(kind, _)| kind);
        let request = Kind::Request(json!(1), "x".to_owned());
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#), Some(request));
        assert_eq!(kind(r#"{"method":"x"}"#), Some(Kind::Notification));
        assert_eq!(kind(r#"{"id":"a","result":null}"#), Some(Kind::Response(json!("a"))));
        assert_eq!(kind(" \r\n"), None);
        for (line, code) in [("[]", -32600), ("5", -32600), (r#"{"id":1}"#, -32600), ("{", -32700)]
        {
            assert_eq!(read(line.as_bytes()).unwrap_err()["error"]["code"], code, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = read(&line);
        }
    }
}
