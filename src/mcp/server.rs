//! The answer to each request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Cancel;
use super::message::{self, Failure, Request, codes};
use crate::error::Result;
use crate::tools::registry::Tool;
use crate::tools::wait;

/// Revisions with `initialize`, newest first.
const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Revisions whose requests name their revision, newest first.
const STATELESS: [&str; 1] = ["2026-07-28"];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Time for which clients may cache constant answers, in milliseconds.
const FRESH: u64 = 3_600_000;

/// Text that some clients show a model unasked. Instructions of a client's hooks take precedence.
const INSTRUCTIONS: &str = "Changes of this repository go through review. Where aye's hooks say how to edit, do as \
                            they say: what you leave in the work tree of the session is offered for review when you \
                            stop. Elsewhere propose each change, with `changes`, or several files at once with \
                            `apply_patch` and \"propose\": true. Tell the person the id, and call `wait` to hear \
                            whether it was applied, rejected or sent back, and why; only a person decides.";

pub fn is_wait(request: &Request) -> bool {
    let name = request.params.get("name").and_then(Value::as_str);
    request.method == message::CALL && name == Some(wait::NAME)
}

/// Runs the tools.
pub trait ToolHost: Sync {
    /// `name` is the name that the client used for `tool`; `client` names the client.
    fn call(
        &self,
        tool: &'static Tool,
        name: &str,
        arguments: Value,
        client: Option<&str>,
        cancel: &Cancel,
    ) -> CallResult;
}

/// The contract's response or error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    pub value: Value,
    pub is_error: bool,
}

impl CallResult {
    pub fn new(tool: &Tool, answered: Result<Value>) -> Self {
        match answered {
            Ok(value) => Self { value, is_error: false },
            Err(error) => Self { value: tool.failure(&error), is_error: true },
        }
    }
}

pub struct Server {
    /// Every tool can be called, also unlisted ones.
    listed: Vec<&'static Tool>,
    /// Name from the client's `initialize`.
    client: Mutex<Option<String>>,
}

impl Server {
    pub fn new(listed: Vec<&'static Tool>) -> Self {
        Self { listed, client: Mutex::default() }
    }

    pub fn answer(&self, request: &Request, host: &dyn ToolHost, cancel: &Cancel) -> Value {
        match self.result(request, host, cancel) {
            Ok(result) => message::success(&request.id, result),
            Err(failure) => message::failure(&request.id, failure),
        }
    }

    fn client(&self) -> MutexGuard<'_, Option<String>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn result(
        &self,
        request: &Request,
        host: &dyn ToolHost,
        cancel: &Cancel,
    ) -> Result<Value, Failure> {
        let params = &request.params;
        let is_stateless = is_stateless(params)?;
        let result = match request.method.as_str() {
            "initialize" => self.initialize(params),
            "server/discover" => cacheable(json!({
                "supportedVersions": supported(),
                "capabilities": capabilities(),
                "serverInfo": server_info(),
                "instructions": INSTRUCTIONS,
            })),
            "ping" => json!({}),
            "tools/list" => cacheable(json!({ "tools": self.tools() })),
            message::CALL => {
                let named = params
                    .get("_meta")
                    .and_then(|meta| meta.get(CLIENT)?.get("name")?.as_str().map(str::to_owned));
                let client = named.or_else(|| self.client().clone());
                call(params, client.as_deref(), host, cancel)?
            }
            other => {
                let shown: String = other.chars().take(60).collect();
                let message = format!("there is no method '{shown}'");
                return Err(Failure::new(codes::METHOD_NOT_FOUND, message));
            }
        };
        Ok(if is_stateless { complete(result) } else { result })
    }

    fn tools(&self) -> Vec<Value> {
        let listed = self.listed.iter().map(|tool| {
            json!({
                "name": tool.plain_name(),
                "description": tool.description,
                "inputSchema": tool.parameters(),
                "annotations": {
                    "readOnlyHint": tool.read_only,
                    // Clients need not ask before the other tools: a proposal changes nothing that
                    // exists.
                    "destructiveHint": tool.destructive,
                    "idempotentHint": tool.read_only,
                    "openWorldHint": false,
                },
            })
        });
        listed.collect()
    }

    fn initialize(&self, params: &Map<String, Value>) -> Value {
        let client = params.get("clientInfo").and_then(|info| info.get("name")?.as_str());
        *self.client() = client.map(str::to_owned);
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        let spoken = HANDSHAKE.iter().find(|version| wanted == Some(version));
        json!({
            "protocolVersion": spoken.unwrap_or(&HANDSHAKE[0]),
            "capabilities": capabilities(),
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        })
    }
}

/// True if the request names its revision.
///
/// # Errors
/// An unknown revision, or missing capabilities.
fn is_stateless(params: &Map<String, Value>) -> Result<bool, Failure> {
    let Some(meta) = params.get("_meta") else { return Ok(false) };
    let Some(version) = meta.get(VERSION) else { return Ok(false) };
    if !version.as_str().is_some_and(|version| STATELESS.contains(&version)) {
        return Err(Failure {
            data: Some(json!({ "supported": supported(), "requested": version })),
            ..Failure::new(codes::UNSUPPORTED_VERSION, "Unsupported protocol version")
        });
    }
    if !meta.get(CAPABILITIES).is_some_and(Value::is_object) {
        let message = format!("_meta has no '{CAPABILITIES}'");
        return Err(Failure::new(codes::INVALID_PARAMS, message));
    }
    Ok(true)
}

/// Newest first.
fn supported() -> Vec<&'static str> {
    STATELESS.into_iter().chain(HANDSHAKE).collect()
}

fn capabilities() -> Value {
    json!({ "tools": {} })
}

fn server_info() -> Value {
    json!({ "name": "aye", "title": "aye", "version": env!("CARGO_PKG_VERSION") })
}

/// Adds cache fields, which older clients ignore.
fn cacheable(mut result: Value) -> Value {
    result["ttlMs"] = FRESH.into();
    result["cacheScope"] = "public".into();
    result
}

/// Adds the fields of a stateless revision.
fn complete(mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({ SERVER: server_info() });
    result
}

/// Calls a tool. A failure of the tool itself is an answer, which the model reads.
fn call(
    params: &Map<String, Value>,
    client: Option<&str>,
    host: &dyn ToolHost,
    cancel: &Cancel,
) -> Result<Value, Failure> {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let tool = Tool::find(name).map_err(|error| {
        let hint = error.hint_text().unwrap_or_default();
        Failure::new(codes::INVALID_PARAMS, format!("{}; {hint}", error.message()))
    })?;
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(arguments @ Value::Object(_)) => arguments.clone(),
        Some(_) => {
            return Err(Failure::new(codes::INVALID_PARAMS, "the arguments are not an object"));
        }
    };
    let CallResult { value, is_error } = host.call(tool, name, arguments, client, cancel);
    let text = json!({ "type": "text", "text": value.to_string() });
    Ok(json!({ "content": [text], "structuredContent": value, "isError": is_error }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::registry::TOOLS;

    struct Echo;

    impl ToolHost for Echo {
        fn call(
            &self,
            tool: &'static Tool,
            name: &str,
            arguments: Value,
            client: Option<&str>,
            _cancel: &Cancel,
        ) -> CallResult {
            let value = json!({ "tool": tool.name(), "name": name, "client": client });
            CallResult { value, is_error: arguments.get("fail").is_some() }
        }
    }

    fn server() -> Server {
        Server::new(TOOLS.iter().collect())
    }

    fn ask(server: &Server, message: Value) -> Value {
        let request = message::read(message.to_string().as_bytes()).unwrap().unwrap();
        server.answer(&request, &Echo, &Cancel::default())
    }

    fn request(method: &str, params: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
    }

    fn stateless(version: &str) -> Value {
        json!({ VERSION: version, CAPABILITIES: {}, CLIENT: { "name": "new", "version": "1" } })
    }

    #[test]
    fn a_revision_that_is_known_is_spoken_and_the_newest_offered_otherwise() {
        for (wanted, spoken) in [
            (json!("2025-06-18"), "2025-06-18"),
            (json!("2025-11-25"), "2025-11-25"),
            (json!("2026-07-28"), "2025-11-25"),
            (json!(null), "2025-11-25"),
        ] {
            let server = server();
            let hello = request("initialize", json!({ "protocolVersion": wanted }));
            let result = &ask(&server, hello)["result"];
            assert_eq!(result["protocolVersion"], spoken, "{wanted}");
            assert_eq!(result["serverInfo"]["name"], "aye");
            assert!(result.get("resultType").is_none());
        }
    }

    #[test]
    fn a_request_may_say_for_itself_what_it_speaks() {
        let server = server();
        let discover = request("server/discover", json!({ "_meta": stateless("2026-07-28") }));
        let result = ask(&server, discover)["result"].take();
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["supportedVersions"][0], "2026-07-28");
        let old = request("tools/list", json!({ "_meta": stateless("1900-01-01") }));
        let error = &ask(&server, old)["error"];
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"]["requested"], "1900-01-01");
        assert_eq!(error["data"]["supported"], result["supportedVersions"]);
        let bare = request("tools/list", json!({ "_meta": { VERSION: "2026-07-28" } }));
        assert_eq!(ask(&server, bare)["error"]["code"], -32602);
    }

    #[test]
    fn the_client_is_who_says_so_in_the_request_or_in_the_handshake() {
        let server = server();
        let info = json!({ "clientInfo": { "name": "codex-mcp-client", "version": "1" } });
        ask(&server, request("initialize", info));
        let called = |server: &Server, params| {
            ask(server, request("tools/call", params))["result"]["structuredContent"].clone()
        };
        let plain = called(&server, json!({ "name": "memory_search" }));
        assert_eq!(plain["client"], "codex-mcp-client");
        assert_eq!(plain["tool"], "memory.search");
        let params = json!({ "name": "show", "_meta": stateless("2026-07-28") });
        assert_eq!(called(&server, params)["client"], "new");
    }

    #[test]
    fn a_tool_that_fails_is_an_answer() {
        let params = json!({ "name": "show", "arguments": { "fail": "why" } });
        let result = &ask(&server(), request("tools/call", params))["result"];
        assert_eq!(result["isError"], true);
        assert!(result["content"][0]["text"].as_str().unwrap().contains("\"tool\":\"show\""));
    }

    #[test]
    fn all_that_is_offered_is_there_and_no_decision() {
        let tools = server().tools();
        let text = serde_json::to_string(&tools).unwrap();
        assert!(text.len() <= 16 << 10, "{} bytes", text.len());
        assert!(!text.contains("$ref") && !text.contains("null"));
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(name.len() <= 40, "{name}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
            for choice in ["oneOf", "anyOf", "allOf"] {
                assert!(tool["inputSchema"].get(choice).is_none(), "{name}");
            }
        }
        for decision in ["apply", "approve", "reject", "undo", "reopen"] {
            assert!(Tool::find(decision).is_err(), "{decision}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let server = server();
        assert_eq!(ask(&server, request("resources/list", json!({})))["error"]["code"], -32601);
        let params = json!({ "name": "apply" });
        assert_eq!(ask(&server, request("tools/call", params))["error"]["code"], -32602);
        let params = json!({ "name": "show", "arguments": [] });
        assert_eq!(ask(&server, request("tools/call", params))["error"]["code"], -32602);
    }
}
