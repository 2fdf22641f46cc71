//! JSON-RPC 2.0 as the protocol uses it. Pure.
//!
//! Source: <https://www.jsonrpc.org/specification>; codes from -32020 are the protocol's own.

use bstr::ByteSlice as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::tools::json;

pub const CALL: &str = "tools/call";

pub mod codes {
    pub const PARSE_ERROR: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Also for a tool that does not exist.
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL_ERROR: i64 = -32603;
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

/// A request that wants an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// String or number, returned in the answer.
    pub id: Value,
    pub method: String,
    pub params: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// One of [`codes`].
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Failure {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// Reads one line. `None` needs no answer: a notification, an empty line, or an answer, as this
/// side makes no requests.
///
/// # Errors
/// The answer to a malformed message, with the id if readable.
pub fn read(line: &[u8]) -> Result<Option<Request>, Value> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let wrong = |id: Value, code, what: &str| failure(&id, Failure::new(code, what));
    let value =
        json::read(line, "the message", "send one JSON object on a line").map_err(|error| {
            failure(&id_of(line), Failure::new(codes::PARSE_ERROR, error.message()))
        })?;
    let invalid = codes::INVALID_REQUEST;
    let Value::Object(mut message) = value else {
        return Err(wrong(
            Value::Null,
            invalid,
            "a message is one JSON object; there are no batches",
        ));
    };
    let id = message.shift_remove("id");
    let is_named = matches!(id, Some(Value::String(_) | Value::Number(_)));
    let known = id.clone().filter(|_| is_named).unwrap_or_default();
    let method = match message.shift_remove("method") {
        Some(Value::String(method)) => method,
        None if message.contains_key("result") || message.contains_key("error") => return Ok(None),
        _ => return Err(wrong(known, invalid, "the message has no method")),
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(wrong(known, invalid, "the message does not say \"jsonrpc\": \"2.0\""));
    }
    let Some(id) = id else { return Ok(None) };
    if !is_named {
        return Err(wrong(known, invalid, "the id of a request is a string or a number"));
    }
    let params = match message.shift_remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(wrong(id, codes::INVALID_PARAMS, "the params are not an object")),
    };
    Ok(Some(Request { id, method, params }))
}

pub fn cancelled(line: &[u8]) -> Option<Value> {
    const METHOD: &str = "notifications/cancelled";
    line.find(METHOD)?;
    let message: Value = serde_json::from_slice(line).ok()?;
    let is_cancel = message["method"] == METHOD && message.get("id").is_none();
    message.get("params")?.get("requestId").filter(|_| is_cancel).cloned()
}

/// The id in a line that is invalid as a whole: half a surrogate pair from JavaScript, or invalid
/// UTF-8. A client ignores an answer without its id.
pub fn id_of(line: &[u8]) -> Value {
    #[derive(Deserialize)]
    struct Named {
        id: Value,
    }
    let id = serde_json::from_slice(line).map(|named: Named| named.id).unwrap_or_default();
    if id.is_string() || id.is_number() { id } else { Value::Null }
}

pub fn failure(id: &Value, failure: Failure) -> Value {
    let mut error = json!({ "code": failure.code, "message": failure.message });
    if let Some(data) = failure.data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

pub fn success(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// `most` is in bytes.
pub fn too_long(most: u64) -> Value {
    let message = format!("the message is over {most} bytes");
    failure(&Value::Null, Failure::new(codes::INVALID_REQUEST, message))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cancellation_names_a_request() {
        let line = |params| format!(r#"{{"method":"notifications/cancelled","params":{params}}}"#);
        assert_eq!(cancelled(line(r#"{"requestId":7}"#).as_bytes()), Some(json!(7)));
        for params in ["5", "[]", "null", "{}", r#""requestId""#] {
            assert_eq!(cancelled(line(params).as_bytes()), None, "{params}");
        }
        let request = r#"{"id":1,"method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert_eq!(cancelled(request.as_bytes()), None);
        assert_eq!(cancelled(br#"{"method":"ping","params":{"requestId":7}}"#), None);
    }

    #[test]
    fn what_wants_an_answer_is_a_request() {
        let request = read(br#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":1}}"#);
        let request = request.unwrap().unwrap();
        assert_eq!((request.id, request.method.as_str()), (json!("a"), "ping"));
        assert_eq!(request.params["x"], 1);
        for silent in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            "  \r",
        ] {
            assert_eq!(read(silent.as_bytes()), Ok(None), "{silent}");
        }
    }

    #[test]
    fn what_is_no_message_says_so_with_the_id_where_there_is_one() {
        for (line, id, code) in [
            ("{", Value::Null, -32700),
            (r#"{"id":1,"id":2,"method":"ping","jsonrpc":"2.0"}"#, Value::Null, -32700),
            (r#"{"params":{"x":"a\ud83d"},"id":7,"method":"ping"}"#, json!(7), -32700),
            (r#"{"id":"a\ud83d","method":"ping"}"#, Value::Null, -32700),
            ("[]", Value::Null, -32600),
            ("5", Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, Value::Null, -32600),
            (r#"{"id":7,"method":"ping"}"#, json!(7), -32600),
            (r#"{"jsonrpc":"2.0","id":7}"#, json!(7), -32600),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#, json!(7), -32602),
        ] {
            let answer = read(line.as_bytes()).unwrap_err();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{line}");
        }
    }

    #[test]
    fn an_answer_to_bytes_that_are_not_utf8_has_the_id() {
        let answer =
            read(b"{\"id\":7,\"method\":\"ping\",\"params\":{\"x\":\"\xe9\"}}").unwrap_err();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32700)));
    }

    proptest! {
        #[test]
        fn any_line_is_read(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&line);
        }

        #[test]
        fn any_json_is_read(text in r#"[\{\}\[\]",:0-9a-z ]{0,80}"#) {
            let _ = read(text.as_bytes());
        }
    }
}
