//! The state of a connection: what each message becomes. Pure but for its host.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::message::{self, Kind};
use super::paths::{self, PathMap};
use crate::error::{Error, Result};
use crate::mcp::message::{Failure, codes, failure};

/// The session engine. `key` names one of its open sessions.
pub trait SessionHost {
    /// With a tree for `cwd`: that of the agent's session `acp`, or a new one.
    fn open(&mut self, cwd: &Path, acp: Option<&str>) -> Result<Session>;
    /// Records the agent's name of a session.
    fn bind(&mut self, key: &str, acp: &str) -> Result<()>;
    /// Before a prompt: the tree follows decisions and the unsaved text of the editor. Returns text
    /// for the agent, and lines for the person.
    fn prepare(
        &mut self,
        key: &str,
        unsaved: Vec<(PathBuf, String)>,
    ) -> Result<(Option<String>, Vec<String>)>;
    /// `words` are the agent's last message. Returns lines for the person.
    fn submit(&mut self, key: &str, words: &str) -> Vec<String>;
    /// Submits, then removes the tree if nothing in it is undecided.
    fn end(&mut self, key: &str) -> Vec<String>;
    /// The sessions of the repository around `cwd`.
    fn all(&mut self, cwd: &Path) -> Vec<PathMap>;
}

#[derive(Clone, Debug)]
pub struct Session {
    pub key: String,
    /// `None` until the agent has named it.
    pub acp: Option<String>,
    pub paths: PathMap,
    /// In the tree.
    pub cwd: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Editor,
    Agent,
}

/// Requests of the editor whose answer the proxy waits for, with the session's key.
enum Asked {
    Open(String),
    Prompt(String),
    Close(String),
    List(Option<PathBuf>),
}

/// A prompt that waits for the editor's text of the files in it.
struct HeldPrompt {
    session: Session,
    message: Value,
    /// By the ids of the proxy's requests.
    waiting: HashMap<String, PathBuf>,
    unsaved: Vec<(PathBuf, String)>,
}

/// Files read for one prompt.
const MOST_FILES: usize = 64;

/// Bytes of the agent's last message, about.
const MOST_WORDS: usize = 4 << 10;

pub struct Proxy<'a, H> {
    host: &'a mut H,
    /// In the environment of commands that the editor runs for the agent.
    variable: (&'a str, &'a str),
    reads_files: bool,
    sessions: Vec<Session>,
    /// Sessions of earlier connections, met in lists.
    others: Vec<PathMap>,
    /// The agent's text since its last tool call, by its names of sessions.
    words: HashMap<String, String>,
    /// By the ids of requests.
    asked: HashMap<String, Asked>,
    held: Vec<HeldPrompt>,
    requests: u64,
    output: Vec<(Side, Vec<u8>)>,
}

impl<'a, H: SessionHost> Proxy<'a, H> {
    pub fn new(host: &'a mut H, variable: (&'a str, &'a str)) -> Self {
        Self {
            host,
            variable,
            reads_files: false,
            sessions: Vec::new(),
            others: Vec::new(),
            words: HashMap::new(),
            asked: HashMap::new(),
            held: Vec::new(),
            requests: 0,
            output: Vec::new(),
        }
    }

    /// Returns messages, with their receivers.
    pub fn receive(&mut self, from: Side, line: &[u8]) -> Vec<(Side, Vec<u8>)> {
        match (message::read(line), from) {
            (Err(answer), _) => self.send(from, &answer),
            (Ok(None), _) => {}
            (Ok(Some((Kind::Request(id, method), value))), _) => {
                let passed = match from {
                    Side::Editor => self.request(&id, &method, value, line),
                    Side::Agent => self.agent_request(&method, value, line),
                };
                if let Err(refusal) = passed {
                    self.send(from, &failure(&id, refusal));
                }
            }
            (Ok(Some((Kind::Response(id), value))), Side::Editor) => {
                self.file_text(&id, &value, line);
            }
            (Ok(Some((Kind::Response(id), value))), Side::Agent) => self.answer(&id, value, line),
            (Ok(Some((Kind::Notification, _))), Side::Editor) => self.pass(Side::Agent, line),
            (Ok(Some((Kind::Notification, value))), Side::Agent) => self.outward(value, line),
        }
        std::mem::take(&mut self.output)
    }

    /// The agent is gone. Processes of it that still run keep their trees.
    pub fn end(&mut self, is_outlived: bool) -> Vec<(Side, Vec<u8>)> {
        for session in std::mem::take(&mut self.sessions) {
            let key = &session.key;
            let lines = if is_outlived { self.host.submit(key, "") } else { self.host.end(key) };
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
        let session = acp.as_deref().and_then(|acp| self.session(acp)).cloned();
        let asked = match method {
            "initialize" => {
                let offered = params.get_mut("clientCapabilities").and_then(Value::as_object_mut);
                let fs = offered.and_then(|offered| offered.shift_remove("fs"));
                self.reads_files = fs.is_some_and(|fs| fs["readTextFile"] == true);
                // A later version has other messages.
                if params["protocolVersion"].as_u64().is_some_and(|version| version > 1) {
                    params["protocolVersion"] = 1.into();
                }
                self.send(Side::Agent, &value);
                return Ok(());
            }
            "session/new" => Asked::Open(self.open(params, None)?),
            "session/load" | "session/resume" if acp.is_some() => {
                Asked::Open(self.open(params, acp)?)
            }
            "session/prompt" => {
                let session =
                    session.ok_or_else(|| invalid("there is no such session: load it"))?;
                self.prompt(session, value);
                return Ok(());
            }
            "session/list" => {
                let cwd = params.get_mut("cwd").map(Value::take);
                let cwd = cwd.and_then(|cwd| cwd.as_str().map(PathBuf::from));
                self.others = self.host.all(cwd.as_deref().unwrap_or(Path::new(".")));
                Asked::List(cwd)
            }
            // A copy of the conversation without a copy of its tree would mislead the agent.
            "session/fork" | "session/load" | "session/resume" => {
                return Err(invalid("aye acp does not do that: begin a new session"));
            }
            "session/close" | "session/delete" if session.is_some() => {
                Asked::Close(session.map(|session| session.key).unwrap_or_default())
            }
            _ => {
                self.pass(Side::Agent, line);
                return Ok(());
            }
        };
        self.asked.insert(id.to_string(), asked);
        self.send(Side::Agent, &value);
        Ok(())
    }

    fn open(&mut self, params: &mut Value, acp: Option<String>) -> Result<String, Failure> {
        let cwd = params["cwd"].as_str().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
        let cwd = cwd.ok_or_else(|| invalid("cwd is not an absolute path"))?;
        let session = self.host.open(&cwd, acp.as_deref()).map_err(|error| Failure {
            data: Some(json!({ "code": error.code().id })),
            ..invalid(&describe(&error))
        })?;
        params["cwd"] = session.cwd.to_string_lossy().into();
        paths::replace("session/new", params, &|path| session.paths.to_tree(path));
        let key = session.key.clone();
        self.sessions.retain(|other| other.key != key);
        self.sessions.push(session);
        Ok(key)
    }

    /// Passes the prompt on once the editor has sent its text of the files in it.
    fn prompt(&mut self, session: Session, message: Value) {
        let mut waiting = HashMap::new();
        for path in self.files(&session, &message).into_iter().take(MOST_FILES) {
            self.requests += 1;
            let id = format!("aye-{}", self.requests);
            let params = json!({ "sessionId": session.acp, "path": path.to_string_lossy() });
            let method = "fs/read_text_file";
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            self.send(Side::Editor, &request);
            waiting.insert(id, path);
        }
        self.held.push(HeldPrompt { session, message, waiting, unsaved: Vec::new() });
        self.release();
    }

    /// Files of the checkout that a prompt names.
    fn files(&self, session: &Session, message: &Value) -> Vec<PathBuf> {
        let uri = |block: &Value| {
            let of = if block["type"] == "resource" { &block["resource"] } else { block };
            Some(paths::of_uri(of["uri"].as_str()?)?.0)
        };
        let blocks = message["params"]["prompt"].as_array().filter(|_| self.reads_files);
        let mut files: Vec<PathBuf> = blocks.into_iter().flatten().filter_map(uri).collect();
        files.retain(|file| session.paths.to_tree(file).is_some());
        files.sort_unstable();
        files.dedup();
        files
    }

    /// An answer of the editor: to the proxy's own question, or to the agent's.
    fn file_text(&mut self, id: &Value, value: &Value, line: &[u8]) {
        let asked = self.held.iter_mut().find_map(|held| {
            let path = held.waiting.remove(id.as_str()?)?;
            Some((held, path))
        });
        let Some((held, path)) = asked else { return self.pass(Side::Agent, line) };
        // A file that the editor cannot read, such as a directory, is as it is on the disk.
        let text = value["result"]["content"].as_str().map(|text| (path, text.to_owned()));
        held.unsaved.extend(text);
        self.release();
    }

    fn release(&mut self) {
        let Some(at) = self.held.iter().position(|held| held.waiting.is_empty()) else { return };
        let HeldPrompt { session, mut message, unsaved, .. } = self.held.remove(at);
        let blocks = message.pointer_mut("/params/prompt").and_then(Value::as_array_mut);
        // Text after a command of the agent (`/compact`) would become its argument.
        let is_command = |block: &Value| {
            block["text"].as_str().is_some_and(|text| text.trim_start().starts_with('/'))
        };
        if let Some(blocks) = blocks.filter(|blocks| !blocks.first().is_some_and(is_command)) {
            let news = self.host.prepare(&session.key, unsaved);
            let (text, lines) = news.unwrap_or_else(|error| (None, vec![describe(&error)]));
            blocks.extend(text.map(|text| json!({ "type": "text", "text": text })));
            self.show(session.acp.as_deref(), &lines);
        }
        if let Some(params) = message.get_mut("params") {
            paths::replace("session/prompt", params, &|path| session.paths.to_tree(path));
        }
        self.asked.insert(message["id"].to_string(), Asked::Prompt(session.key));
        self.send(Side::Agent, &message);
    }

    fn agent_request(
        &mut self,
        method: &str,
        mut value: Value,
        line: &[u8],
    ) -> Result<(), Failure> {
        match method {
            // The editor has the checkout, and did not offer them to the agent.
            "fs/read_text_file" | "fs/write_text_file" => {
                let why = "read and write the files of the session's directory directly";
                Err(Failure::new(codes::METHOD_NOT_FOUND, why))
            }
            "terminal/create" => {
                let acp = value["params"]["sessionId"].as_str().unwrap_or_default();
                let session =
                    self.session(acp).ok_or_else(|| invalid("there is no such session"))?;
                let Session { cwd, paths, .. } = session.clone();
                let params = &mut value["params"];
                paths::replace(method, params, &|path| paths.to_tree(path));
                if !params["cwd"].is_string() {
                    params["cwd"] = cwd.to_string_lossy().into();
                }
                let mut variables = params["env"].as_array().cloned().unwrap_or_default();
                variables.push(json!({ "name": self.variable.0, "value": self.variable.1 }));
                params["env"] = variables.into();
                self.send(Side::Editor, &value);
                Ok(())
            }
            _ => {
                self.outward(value, line);
                Ok(())
            }
        }
    }

    /// Trees have paths of their own, so a path belongs to one session.
    fn outward(&mut self, mut value: Value, line: &[u8]) {
        let update = &value["params"]["update"];
        let text = update["content"]["text"].as_str();
        if let Some(acp) = value["params"]["sessionId"].as_str() {
            let words = self.words.entry(acp.to_owned()).or_default();
            match (update["sessionUpdate"].as_str(), text) {
                // Gemini CLI reports its mode as a message.
                (Some("agent_message_chunk"), Some(text))
                    if words.len() < MOST_WORDS && !text.starts_with("[MODE_UPDATE]") =>
                {
                    words.push_str(text);
                }
                (Some("tool_call" | "user_message_chunk"), _) => words.clear(),
                _ => {}
            }
        }
        let method = value["method"].as_str().unwrap_or_default().to_owned();
        let is_changed = value
            .get_mut("params")
            .is_some_and(|params| paths::replace(&method, params, &|path| self.to_checkout(path)));
        if is_changed { self.send(Side::Editor, &value) } else { self.pass(Side::Editor, line) }
    }

    fn to_checkout(&self, path: &Path) -> Option<PathBuf> {
        let open = self.sessions.iter().map(|session| &session.paths);
        open.chain(&self.others).find_map(|paths| paths.to_checkout(path))
    }

    fn answer(&mut self, id: &Value, mut value: Value, line: &[u8]) {
        let is_error = value.get("error").is_some();
        match self.asked.remove(&id.to_string()) {
            Some(Asked::Open(key)) if is_error => self.close(&key),
            Some(Asked::Open(key)) => self.bind(&key, value["result"]["sessionId"].as_str()),
            Some(Asked::Prompt(key)) => {
                let session = self.sessions.iter().find(|session| session.key == key);
                let acp = session.and_then(|session| session.acp.clone()).unwrap_or_default();
                let words = self.words.remove(&acp).unwrap_or_default();
                let lines = self.host.submit(&key, &words);
                self.show(Some(&acp), &lines);
            }
            Some(Asked::Close(key)) if !is_error => self.close(&key),
            Some(Asked::List(cwd)) if !is_error => {
                if let Some(result) = value.get_mut("result") {
                    paths::replace("session/list", result, &|path| self.to_checkout(path));
                }
                let all = value.pointer_mut("/result/sessions").and_then(Value::as_array_mut);
                if let Some((all, cwd)) = all.zip(cwd) {
                    all.retain(|it| it["cwd"].as_str().is_some_and(|at| Path::new(at) == cwd));
                }
                return self.send(Side::Editor, &value);
            }
            _ => {}
        }
        self.pass(Side::Editor, line);
    }

    /// A loaded session has its name already.
    fn bind(&mut self, key: &str, acp: Option<&str>) {
        let session = self.sessions.iter_mut().find(|session| session.key == key);
        let Some((session, acp)) = session.zip(acp) else { return };
        session.acp = Some(acp.to_owned());
        if let Err(error) = self.host.bind(key, acp) {
            self.show(Some(acp), &[describe(&error)]);
        }
    }

    fn close(&mut self, key: &str) {
        let at = self.sessions.iter().position(|session| session.key == key);
        let session = at.map(|at| self.sessions.remove(at));
        let lines = self.host.end(key);
        self.show(session.and_then(|session| session.acp).as_deref(), &lines);
    }

    fn session(&self, acp: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.acp.as_deref() == Some(acp))
    }

    fn show(&mut self, acp: Option<&str>, lines: &[String]) {
        if let Some(acp) = acp.filter(|_| !lines.is_empty()) {
            self.send(Side::Editor, &message::chunk(acp, lines));
        }
    }

    fn send(&mut self, to: Side, value: &Value) {
        self.pass(to, value.to_string().as_bytes());
    }

    fn pass(&mut self, to: Side, line: &[u8]) {
        self.output.push((to, line.to_vec()));
    }
}

fn invalid(why: &str) -> Failure {
    Failure::new(codes::INVALID_PARAMS, why)
}

fn describe(error: &Error) -> String {
    let hint = error.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("aye: {} [{}]{hint}", error.message(), error.code().id)
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
        fn open(&mut self, cwd: &Path, acp: Option<&str>) -> Result<Session> {
            let key = acp.map_or_else(|| format!("t{}", self.calls.len()), str::to_owned);
            self.calls.push(format!("open {key}"));
            let tree = Path::new("/trees").join(&key);
            let (checkout, is_there) = (vec![cwd.to_owned()], (|_| false) as fn(&Path) -> bool);
            let paths = PathMap { checkout, tree: vec![tree.clone()], is_there };
            Ok(Session { key, acp: acp.map(str::to_owned), paths, cwd: tree })
        }

        fn bind(&mut self, key: &str, acp: &str) -> Result<()> {
            self.calls.push(format!("bind {key} {acp}"));
            Ok(())
        }

        fn prepare(
            &mut self,
            key: &str,
            unsaved: Vec<(PathBuf, String)>,
        ) -> Result<(Option<String>, Vec<String>)> {
            self.calls.push(format!("prepare {key} {}", unsaved.len()));
            Ok((Some("verdict".to_owned()), Vec::new()))
        }

        fn submit(&mut self, key: &str, words: &str) -> Vec<String> {
            self.calls.push(format!("submit {key} {words}"));
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
        json!({ "jsonrpc": "2.0", "id": id.into(), "result": result }).to_string().into()
    }

    fn value((_, line): &(Side, Vec<u8>)) -> Value {
        serde_json::from_slice(line).unwrap()
    }

    /// With a session `s` in the tree `/trees/t0`.
    fn proxy(engine: &mut Engine) -> Proxy<'_, Engine> {
        let mut proxy = Proxy::new(engine, ("AYE_AGENT", "robo"));
        let capabilities = json!({ "fs": { "readTextFile": true }, "terminal": true });
        let hello = json!({ "protocolVersion": 2, "clientCapabilities": capabilities });
        let sent = proxy.receive(Side::Editor, &request(0, "initialize", hello));
        let expected = json!({ "protocolVersion": 1, "clientCapabilities": { "terminal": true } });
        assert_eq!(value(&sent[0])["params"], expected);
        let new =
            proxy.receive(Side::Editor, &request(1, "session/new", json!({ "cwd": "/shop" })));
        assert_eq!(value(&new[0])["params"]["cwd"], "/trees/t0");
        proxy.receive(Side::Agent, &result(1, json!({ "sessionId": "s" })));
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
        let mut engine = Engine::default();
        let mut proxy = proxy(&mut engine);
        let params = prompt(Some("file:///shop/a"));
        let asked = proxy.receive(Side::Editor, &request(2, "session/prompt", params));
        assert_eq!(value(&asked[0])["params"], json!({ "sessionId": "s", "path": "/shop/a" }));
        let sent = proxy.receive(Side::Editor, &result("aye-1", json!({ "content": "x" })));
        let blocks = value(&sent[0])["params"]["prompt"].clone();
        assert_eq!(blocks[1]["uri"], "file:///trees/t0/a");
        assert_eq!(blocks[2], json!({ "type": "text", "text": "verdict" }));
        let update = |kind: &str, text: &str| {
            let content = json!({ "type": "text", "text": text });
            let update = json!({ "sessionUpdate": kind, "content": content });
            let params = json!({ "sessionId": "s", "update": update });
            json!({ "method": "session/update", "params": params }).to_string()
        };
        for (kind, text) in [
            ("agent_message_chunk", "first"),
            ("tool_call", ""),
            ("agent_message_chunk", "I fixed"),
            ("agent_message_chunk", " it"),
        ] {
            proxy.receive(Side::Agent, update(kind, text).as_bytes());
        }
        let answer = result(2, json!({ "stopReason": "end_turn" }));
        let shown = proxy.receive(Side::Agent, &answer);
        assert_eq!(value(&shown[0])["params"]["update"]["content"]["text"], "\n\naye: prop\n");
        assert_eq!(shown[1], (Side::Editor, answer));
        let calls = ["open t0", "bind t0 s", "prepare t0 1", "submit t0 I fixed it", "end t0"];
        proxy.end(false);
        assert_eq!(engine.calls, calls);
    }

    #[test]
    fn a_session_that_the_agent_refuses_is_ended() {
        let mut engine = Engine::default();
        let mut proxy = proxy(&mut engine);
        let load = json!({ "cwd": "/shop", "sessionId": "other" });
        proxy.receive(Side::Editor, &request(2, "session/load", load));
        let refusal = failure(&2.into(), invalid("no")).to_string();
        assert_eq!(
            proxy.receive(Side::Agent, refusal.as_bytes()),
            [(Side::Editor, refusal.into())]
        );
        assert_eq!(engine.calls.last().map(String::as_str), Some("end other"));
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
            let mut engine = Engine::default();
        let mut proxy = proxy(&mut engine);
            let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            if is_request { message["id"] = 7.into(); }
            let line = message.to_string();
            let output = if is_editor { proxy.receive(Side::Editor, line.as_bytes()) } else { proxy.receive(Side::Agent, line.as_bytes()) };
            prop_assert!(!output.is_empty());
            if method == "_x" {
                let line = line.into_bytes();
                prop_assert_eq!(output, [(if is_editor { Side::Agent } else { Side::Editor }, line)]);
            }
            for other in [json!({ "id": 7, "result": params }), json!({ "id": 7, "error": params })] {
                let _ = proxy.receive(Side::Agent, other.to_string().as_bytes());
                let _ = proxy.receive(Side::Editor, other.to_string().as_bytes());
            }
        }
    }
}
