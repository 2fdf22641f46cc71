//! The state of a connection: what each message becomes. Pure but for its host.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::message::{self, Kind};
use super::paths::{self, PathMap};
use crate::error::{Error, Result};
use crate::mcp::message::{Failure, codes, failure, success};

/// The session engine, as the proxy uses it. `key` names one of its open sessions.
pub trait SessionHost {
    /// A tree for `cwd`: that of the agent's session `acp`, or a new one.
    fn open(&mut self, cwd: &Path, acp: Option<&str>) -> Result<Opened>;
    /// Records the agent's name of a session.
    fn bind(&mut self, key: &str, acp: &str) -> Result<()>;
    /// Before a prompt: the tree follows decisions and the unsaved text of the editor.
    fn prepare(&mut self, key: &str, unsaved: Vec<(PathBuf, String)>) -> Result<PromptNews>;
    /// Lines for the person.
    fn submit(&mut self, key: &str) -> Vec<String>;
    /// Submits, then removes the tree if nothing in it is undecided.
    fn end(&mut self, key: &str) -> Vec<String>;
    /// The sessions of the repository around `cwd`.
    fn all(&mut self, cwd: &Path) -> Vec<PathMap>;
}

#[derive(Clone, Debug)]
pub struct Opened {
    pub key: String,
    pub paths: PathMap,
    /// In the tree.
    pub cwd: PathBuf,
    /// For commands that the agent has the editor run.
    pub environment: Vec<(String, String)>,
}

#[derive(Debug, Default)]
pub struct PromptNews {
    pub for_agent: Option<String>,
    pub for_person: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub enum Output {
    Agent(Vec<u8>),
    Editor(Vec<u8>),
}

struct Session {
    /// `None` until the agent has named it.
    acp: Option<String>,
    opened: Opened,
}

/// Requests of the editor whose answer the proxy waits for.
enum Asked {
    Initialize,
    New(String),
    /// The key if the session was opened for this request.
    Load(Option<String>),
    Prompt(String),
    List(Option<PathBuf>),
    Close(String),
}

/// A prompt that waits for the editor's text of the files in it.
struct HeldPrompt {
    id: Value,
    acp: String,
    message: Value,
    /// By the ids of the proxy's requests.
    waiting: HashMap<String, PathBuf>,
    unsaved: Vec<(PathBuf, String)>,
}

/// Files read for one prompt.
const MOST_FILES: usize = 64;

pub struct Proxy<H> {
    host: H,
    reads_files: bool,
    sessions: Vec<Session>,
    /// Sessions of earlier connections, met in lists.
    others: Vec<PathMap>,
    asked: HashMap<String, Asked>,
    held: Vec<HeldPrompt>,
    requests: u64,
    output: Vec<Output>,
}

impl<H: SessionHost> Proxy<H> {
    pub fn new(host: H) -> Self {
        Self {
            host,
            reads_files: false,
            sessions: Vec::new(),
            others: Vec::new(),
            asked: HashMap::new(),
            held: Vec::new(),
            requests: 0,
            output: Vec::new(),
        }
    }

    pub fn host(&mut self) -> &mut H {
        &mut self.host
    }

    pub fn from_editor(&mut self, line: &[u8]) -> Vec<Output> {
        match message::read(line) {
            Err(answer) => self.to_editor(&answer),
            Ok(None) => {}
            Ok(Some((Kind::Request(id, method), value))) => {
                if let Err(refusal) = self.request(&id, &method, value, line) {
                    self.to_editor(&failure(&id, refusal));
                }
            }
            Ok(Some((Kind::Response(id), value))) => self.file_text(&id, &value, line),
            Ok(Some((Kind::Notification(method), value))) => {
                let acp = value["params"]["sessionId"].as_str();
                let is_it = |held: &HeldPrompt| Some(held.acp.as_str()) == acp;
                match self.held.iter().position(is_it) {
                    Some(at) if method == "session/cancel" => {
                        let held = self.held.remove(at);
                        self.to_editor(&success(&held.id, json!({ "stopReason": "cancelled" })));
                    }
                    _ => self.pass_to_agent(line),
                }
            }
        }
        std::mem::take(&mut self.output)
    }

    pub fn from_agent(&mut self, line: &[u8]) -> Vec<Output> {
        match message::read(line) {
            Err(answer) => self.to_agent(&answer),
            Ok(None) => {}
            Ok(Some((Kind::Request(id, method), value))) => {
                self.agent_request(&id, &method, value, line);
            }
            Ok(Some((Kind::Notification(method), value))) => self.outward(&method, value, line),
            Ok(Some((Kind::Response(id), value))) => match self.asked.remove(&id.to_string()) {
                Some(asked) => self.answer(asked, value, line),
                None => self.pass_to_editor(line),
            },
        }
        std::mem::take(&mut self.output)
    }

    /// The agent is gone: ends all sessions.
    pub fn end(&mut self) -> Vec<Output> {
        for session in std::mem::take(&mut self.sessions) {
            let lines = self.host.end(&session.opened.key);
            self.show(session.acp.as_deref(), &lines);
        }
        std::mem::take(&mut self.output)
    }

    fn request(
        &mut self,
        id: &Value,
        method: &str,
        mut value: Value,
        line: &[u8],
    ) -> Result<(), Failure> {
        let mut none = Value::Null;
        let params = value.get_mut("params").unwrap_or(&mut none);
        let acp = params["sessionId"].as_str().map(str::to_owned);
        let asked = match method {
            "initialize" => {
                let fs = params
                    .get_mut("clientCapabilities")
                    .and_then(|offered| offered.as_object_mut()?.shift_remove("fs"));
                self.reads_files = fs.is_some_and(|fs| fs["readTextFile"] == true);
                // A later version has other messages.
                if params["protocolVersion"].as_u64().is_some_and(|version| version > 1) {
                    params["protocolVersion"] = 1.into();
                }
                Some(Asked::Initialize)
            }
            "session/new" => Some(Asked::New(self.open(params, None)?)),
            "session/load" | "session/resume" => {
                let acp = acp.ok_or_else(|| invalid("the request names no session"))?;
                let is_open = self.session(&acp).is_some();
                let key = self.open(params, Some(acp))?;
                Some(Asked::Load((!is_open).then_some(key)))
            }
            // A copy of the conversation without a copy of its tree would mislead the agent.
            "session/fork" => {
                let why = "aye acp does not fork sessions: begin a new one";
                return Err(Failure::new(codes::METHOD_NOT_FOUND, why));
            }
            "session/prompt" => {
                let acp = acp.filter(|acp| self.session(acp).is_some());
                let acp =
                    acp.ok_or_else(|| invalid("aye acp has no such session: load it first"))?;
                self.prompt(id, acp, value);
                return Ok(());
            }
            "session/list" => {
                let cwd = params.get_mut("cwd").map(Value::take);
                let cwd = cwd.and_then(|cwd| cwd.as_str().map(PathBuf::from));
                let above = cwd.as_deref().unwrap_or(Path::new("."));
                self.others = self.host.all(above);
                Some(Asked::List(cwd))
            }
            "session/close" | "session/delete" => {
                let session = acp.and_then(|acp| self.session(&acp));
                session.map(|session| Asked::Close(session.opened.key.clone()))
            }
            _ => None,
        };
        match asked {
            Some(asked) => {
                self.asked.insert(id.to_string(), asked);
                self.to_agent(&value);
            }
            None => self.pass_to_agent(line),
        }
        Ok(())
    }

    fn open(&mut self, params: &mut Value, acp: Option<String>) -> Result<String, Failure> {
        let cwd = params["cwd"].as_str().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
        let cwd = cwd.ok_or_else(|| invalid("cwd is not an absolute path"))?;
        let opened = self.host.open(&cwd, acp.as_deref()).map_err(|error| refused(&error))?;
        params["cwd"] = opened.cwd.to_string_lossy().into();
        paths::replace("session/new", params, &|path| opened.paths.to_tree(path));
        let key = opened.key.clone();
        self.sessions.retain(|session| session.opened.key != key);
        self.sessions.push(Session { acp, opened });
        Ok(key)
    }

    /// Passes the prompt on once the editor has sent its text of the files in it.
    fn prompt(&mut self, id: &Value, acp: String, value: Value) {
        let mut held = HeldPrompt {
            id: id.clone(),
            waiting: HashMap::new(),
            unsaved: Vec::new(),
            message: value,
            acp,
        };
        for path in self.files(&held).into_iter().take(MOST_FILES) {
            self.requests += 1;
            let id = format!("aye-{}", self.requests);
            let params = json!({ "sessionId": held.acp, "path": path.to_string_lossy() });
            self.to_editor(&message::request(&id, "fs/read_text_file", params));
            held.waiting.insert(id, path);
        }
        if held.waiting.is_empty() { self.release(held) } else { self.held.push(held) }
    }

    /// Files of the checkout that a prompt names.
    fn files(&self, held: &HeldPrompt) -> Vec<PathBuf> {
        let Some(session) = self.session(&held.acp).filter(|_| self.reads_files) else {
            return Vec::new();
        };
        let blocks = held.message["params"]["prompt"].as_array();
        let uri = |block: &Value| {
            let of = if block["type"] == "resource" { &block["resource"] } else { block };
            Some(paths::of_uri(of["uri"].as_str()?)?.0)
        };
        let mut files: Vec<PathBuf> = blocks.into_iter().flatten().filter_map(uri).collect();
        files.retain(|file| session.opened.paths.to_tree(file).is_some());
        files.sort_unstable();
        files.dedup();
        files
    }

    /// An answer of the editor: to the proxy's own question, or to the agent's.
    fn file_text(&mut self, id: &Value, value: &Value, line: &[u8]) {
        let asked = id.as_str().and_then(|id| {
            let at = self.held.iter().position(|held| held.waiting.contains_key(id))?;
            Some((at, self.held[at].waiting.remove(id)?))
        });
        let Some((at, path)) = asked else { return self.pass_to_agent(line) };
        // A file that the editor cannot read, such as a directory, is as it is on the disk.
        let text = value["result"]["content"].as_str().map(|text| (path, text.to_owned()));
        self.held[at].unsaved.extend(text);
        if self.held[at].waiting.is_empty() {
            let held = self.held.remove(at);
            self.release(held);
        }
    }

    fn release(&mut self, held: HeldPrompt) {
        let HeldPrompt { id, acp, mut message, unsaved, .. } = held;
        let Some(session) = self.session(&acp) else {
            return self.to_editor(&failure(&id, invalid("the session is closed")));
        };
        let Opened { key, paths, .. } = session.opened.clone();
        let blocks = message["params"]["prompt"].as_array();
        // Text after a command of the agent (`/compact`) would become its argument.
        let is_command = blocks.and_then(|all| all.first()).is_some_and(|first| {
            first["text"].as_str().is_some_and(|text| text.trim_start().starts_with('/'))
        });
        if !is_command {
            let news = self.host.prepare(&key, unsaved).unwrap_or_else(|error| PromptNews {
                for_person: vec![format!("aye: {}", describe(&error))],
                for_agent: None,
            });
            self.show(Some(&acp), &news.for_person);
            if let Some(text) = news.for_agent
                && let Some(blocks) =
                    message.pointer_mut("/params/prompt").and_then(Value::as_array_mut)
            {
                blocks.push(json!({ "type": "text", "text": text }));
            }
        }
        if let Some(params) = message.get_mut("params") {
            paths::replace("session/prompt", params, &|path| paths.to_tree(path));
        }
        self.asked.insert(id.to_string(), Asked::Prompt(acp));
        self.to_agent(&message);
    }

    fn agent_request(&mut self, id: &Value, method: &str, mut value: Value, line: &[u8]) {
        match method {
            // Not among the capabilities that the agent was offered: the editor has the checkout.
            "fs/read_text_file" | "fs/write_text_file" => {
                let why = "read and write the files of the session's directory directly";
                self.to_agent(&failure(id, Failure::new(codes::METHOD_NOT_FOUND, why)));
            }
            "terminal/create" => {
                let acp = value["params"]["sessionId"].as_str().unwrap_or_default();
                let Some(session) = self.session(acp) else {
                    return self.to_agent(&failure(id, invalid("there is no such session")));
                };
                let Opened { cwd, paths, environment, .. } = session.opened.clone();
                let params = &mut value["params"];
                paths::replace(method, params, &|path| paths.to_tree(path));
                if !params["cwd"].is_string() {
                    params["cwd"] = cwd.to_string_lossy().into();
                }
                if !params["env"].is_array() {
                    params["env"] = json!([]);
                }
                let variables = environment.iter();
                let variables =
                    variables.map(|(name, value)| json!({"name": name, "value": value}));
                params["env"].as_array_mut().into_iter().for_each(|env| {
                    env.extend(variables.clone());
                });
                self.to_editor(&value);
            }
            _ => self.outward(method, value, line),
        }
    }

    /// Trees have paths of their own, so a path belongs to one session.
    fn outward(&mut self, method: &str, mut value: Value, line: &[u8]) {
        let is_changed = value
            .get_mut("params")
            .is_some_and(|params| paths::replace(method, params, &|path| self.to_checkout(path)));
        if is_changed { self.to_editor(&value) } else { self.pass_to_editor(line) }
    }

    fn to_checkout(&self, path: &Path) -> Option<PathBuf> {
        let open = self.sessions.iter().map(|session| &session.opened.paths);
        open.chain(&self.others).find_map(|paths| paths.to_checkout(path))
    }

    fn answer(&mut self, asked: Asked, mut value: Value, line: &[u8]) {
        let is_error = value.get("error").is_some();
        match asked {
            Asked::Initialize => {
                let of = value.pointer_mut("/result/agentCapabilities/sessionCapabilities");
                of.and_then(|of| of.as_object_mut()?.shift_remove("fork"));
                return self.to_editor(&value);
            }
            Asked::New(key) => match value["result"]["sessionId"].as_str() {
                Some(acp) => {
                    let of_key = |session: &&mut Session| session.opened.key == key;
                    if let Some(session) = self.sessions.iter_mut().find(of_key) {
                        session.acp = Some(acp.to_owned());
                    }
                    if let Err(error) = self.host.bind(&key, acp) {
                        self.show(Some(acp), &[format!("aye: {}", describe(&error))]);
                    }
                }
                None => self.close(&key),
            },
            Asked::Load(Some(key)) if is_error => self.close(&key),
            Asked::Load(_) => {}
            Asked::Prompt(acp) => {
                if let Some(key) = self.session(&acp).map(|it| it.opened.key.clone()) {
                    let lines = self.host.submit(&key);
                    self.show(Some(&acp), &lines);
                }
            }
            Asked::List(cwd) => {
                value.get_mut("result").into_iter().for_each(|result| {
                    paths::replace("session/list", result, &|path| self.to_checkout(path));
                });
                let all = value.pointer_mut("/result/sessions").and_then(Value::as_array_mut);
                if let Some((all, cwd)) = all.zip(cwd) {
                    all.retain(|it| it["cwd"].as_str().is_some_and(|at| Path::new(at) == cwd));
                }
                return self.to_editor(&value);
            }
            Asked::Close(key) if !is_error => self.close(&key),
            Asked::Close(_) => {}
        }
        self.pass_to_editor(line);
    }

    fn close(&mut self, key: &str) {
        let at = self.sessions.iter().position(|session| session.opened.key == key);
        if let Some(session) = at.map(|at| self.sessions.remove(at)) {
            let lines = self.host.end(key);
            self.show(session.acp.as_deref(), &lines);
        }
    }

    fn session(&self, acp: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.acp.as_deref() == Some(acp))
    }

    fn show(&mut self, acp: Option<&str>, lines: &[String]) {
        if let Some(acp) = acp.filter(|_| !lines.is_empty()) {
            self.to_editor(&message::chunk(acp, lines));
        }
    }

    fn to_agent(&mut self, value: &Value) {
        self.pass_to_agent(value.to_string().as_bytes());
    }

    fn to_editor(&mut self, value: &Value) {
        self.pass_to_editor(value.to_string().as_bytes());
    }

    fn pass_to_agent(&mut self, line: &[u8]) {
        self.output.push(Output::Agent(line.to_vec()));
    }

    fn pass_to_editor(&mut self, line: &[u8]) {
        self.output.push(Output::Editor(line.to_vec()));
    }
}

fn invalid(why: &str) -> Failure {
    Failure::new(codes::INVALID_PARAMS, why)
}

fn describe(error: &Error) -> String {
    let hint = error.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{} [{}]{hint}", error.message(), error.code().id)
}

fn refused(error: &Error) -> Failure {
    let data = json!({ "code": error.code().id, "hint": error.hint_text() });
    let message = format!("aye: {}", describe(error));
    Failure { data: Some(data), ..Failure::new(codes::INVALID_PARAMS, message) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sessions without a repository.
    #[derive(Default)]
    struct Engine {
        calls: Vec<String>,
    }

    impl SessionHost for Engine {
        fn open(&mut self, cwd: &Path, acp: Option<&str>) -> Result<Opened> {
            let key = acp.map_or_else(|| format!("t{}", self.calls.len()), str::to_owned);
            self.calls.push(format!("open {key}"));
            let tree = Path::new("/trees").join(&key);
            let (checkout, is_there) = (vec![cwd.to_owned()], (|_| false) as fn(&Path) -> bool);
            let paths = PathMap { checkout, tree: vec![tree.clone()], is_there };
            Ok(Opened { key, paths, cwd: tree, environment: Vec::new() })
        }

        fn bind(&mut self, key: &str, acp: &str) -> Result<()> {
            self.calls.push(format!("bind {key} {acp}"));
            Ok(())
        }

        fn prepare(&mut self, key: &str, unsaved: Vec<(PathBuf, String)>) -> Result<PromptNews> {
            self.calls.push(format!("prepare {key} {}", unsaved.len()));
            Ok(PromptNews { for_agent: Some("verdict".to_owned()), for_person: Vec::new() })
        }

        fn submit(&mut self, key: &str) -> Vec<String> {
            self.calls.push(format!("submit {key}"));
            vec!["aye: prop".to_owned()]
        }

        fn end(&mut self, key: &str) -> Vec<String> {
            self.calls.push(format!("end {key}"));
            Vec::new()
        }

        fn all(&mut self, _cwd: &Path) -> Vec<PathMap> {
            Vec::new()
        }
    }

    fn request(id: u64, method: &str, params: Value) -> Vec<u8> {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into()
    }

    fn result(id: impl Into<Value>, result: Value) -> Vec<u8> {
        success(&id.into(), result).to_string().into()
    }

    fn value(output: &Output) -> Value {
        let (Output::Agent(line) | Output::Editor(line)) = output;
        serde_json::from_slice(line).unwrap()
    }

    /// With a session `s` in the tree `/trees/t0`.
    fn proxy() -> Proxy<Engine> {
        let mut proxy = Proxy::new(Engine::default());
        let capabilities = json!({ "fs": { "readTextFile": true }, "terminal": true });
        let hello = json!({ "protocolVersion": 2, "clientCapabilities": capabilities });
        let sent = proxy.from_editor(&request(0, "initialize", hello));
        let expected = json!({ "protocolVersion": 1, "clientCapabilities": { "terminal": true } });
        assert_eq!(value(&sent[0])["params"], expected);
        let new = proxy.from_editor(&request(1, "session/new", json!({ "cwd": "/shop" })));
        assert_eq!(value(&new[0])["params"]["cwd"], "/trees/t0");
        proxy.from_agent(&result(1, json!({ "sessionId": "s" })));
        proxy
    }

    fn prompt(uri: Option<&str>) -> Value {
        let link = uri.map(|uri| json!({ "type": "resource_link", "name": "x", "uri": uri }));
        let prompt: Vec<Value> =
            [json!({ "type": "text", "text": "go" })].into_iter().chain(link).collect();
        json!({ "sessionId": "s", "prompt": prompt })
    }

    #[test]
    fn a_prompt_waits_for_the_editors_text_and_its_answer_for_the_proposal() {
        let mut proxy = proxy();
        let params = prompt(Some("file:///shop/a"));
        let asked = proxy.from_editor(&request(2, "session/prompt", params));
        assert_eq!(value(&asked[0])["params"], json!({ "sessionId": "s", "path": "/shop/a" }));
        let sent = proxy.from_editor(&result("aye-1", json!({ "content": "x" })));
        let blocks = value(&sent[0])["params"]["prompt"].clone();
        assert_eq!(blocks[1]["uri"], "file:///trees/t0/a");
        assert_eq!(blocks[2], json!({ "type": "text", "text": "verdict" }));
        let answer = result(2, json!({ "stopReason": "end_turn" }));
        let shown = proxy.from_agent(&answer);
        assert_eq!(value(&shown[0])["params"]["update"]["content"]["text"], "\n\naye: prop\n");
        assert_eq!(shown[1], Output::Editor(answer));
        let calls = ["open t0", "bind t0 s", "prepare t0 1", "submit t0", "end t0"];
        proxy.end();
        assert_eq!(proxy.host.calls, calls);
    }

    #[test]
    fn a_prompt_that_waits_is_cancelled_here() {
        let mut proxy = proxy();
        proxy.from_editor(&request(2, "session/prompt", prompt(Some("file:///shop/a"))));
        let cancel = json!({ "method": "session/cancel", "params": { "sessionId": "s" } });
        let cancel = cancel.to_string();
        let answered = proxy.from_editor(cancel.as_bytes());
        assert_eq!(value(&answered[0])["result"]["stopReason"], "cancelled");
        assert_eq!(proxy.from_editor(cancel.as_bytes()), [Output::Agent(cancel.into())]);
    }

    #[test]
    fn a_session_that_the_agent_refuses_is_ended() {
        let mut proxy = proxy();
        let load = json!({ "cwd": "/shop", "sessionId": "other" });
        proxy.from_editor(&request(2, "session/load", load));
        let refusal = failure(&2.into(), invalid("no")).to_string();
        assert_eq!(proxy.from_agent(refusal.as_bytes()), [Output::Editor(refusal.into())]);
        assert_eq!(proxy.host.calls.last().map(String::as_str), Some("end other"));
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<u8>().prop_map(Value::from),
            "(s|/shop/a|/trees/t0/a|file:///shop/a|diff|content|resource|[a-z]{0,3})"
                .prop_map(Value::from),
        ];
        let key = "(sessionId|prompt|update|toolCall|content|locations|path|uri|type|resource|cwd|env|sessions|clientCapabilities|fs|additionalDirectories)";
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(key, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_message_is_answered_or_passed(
            method in "(initialize|session/(new|load|prompt|list|close|fork|update|cancel|request_permission)|terminal/create|fs/read_text_file|_x)",
            params in json_value(), is_request in any::<bool>(), is_editor in any::<bool>(),
        ) {
            let mut proxy = proxy();
            let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            if is_request { message["id"] = 7.into(); }
            let line = message.to_string();
            let output = if is_editor { proxy.from_editor(line.as_bytes()) } else { proxy.from_agent(line.as_bytes()) };
            prop_assert!(!output.is_empty());
            if method == "_x" {
                let line = line.into_bytes();
                prop_assert_eq!(output, [if is_editor { Output::Agent(line) } else { Output::Editor(line) }]);
            }
            for other in [json!({ "id": 7, "result": params }), json!({ "id": 7, "error": params })] {
                let _ = proxy.from_agent(other.to_string().as_bytes());
                let _ = proxy.from_editor(other.to_string().as_bytes());
            }
        }
    }
}
