//! `aye acp`: a played agent, and an editor that the test plays, over the Agent Client Protocol.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::record::{apply, reject};
use crate::support::sessions::{diff, no_session_is_left, nothing_pending, only, pending, read};
use crate::support::{Repo, until};

const FILES: &[(&str, &str)] =
    &[("a.txt", "one\ntwo\n"), ("sub/b.txt", "bee\n"), (".gitignore", "*.env\n")];

const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/acp_agent.py");

/// The published schema, of the npm package `@agentclientprotocol/sdk` 2.4.0 (Apache-2.0).
const SCHEMA: &str = include_str!("../data/acp-schema-1.json");

/// Holds a message to the definition of its method.
#[track_caller]
fn validate(method: &str, end: &str, value: &Value) {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema");
    let definitions = schema["$defs"].as_object().expect("definitions");
    let is_it = |(name, it): &(&String, &Value)| it["x-method"] == method && name.ends_with(end);
    let Some((name, _)) = definitions.iter().find(is_it) else {
        assert!(method.starts_with('_'), "the schema has no {method}");
        return;
    };
    let one = json!({ "$defs": schema["$defs"], "$ref": format!("#/$defs/{name}") });
    let validator = jsonschema::validator_for(&one).expect("a schema");
    let errors: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{value:#}");
}

/// Holds one direction of a connection to the schema; `asked` are the requests of the other one.
#[track_caller]
fn validate_all(messages: &[Value], asked: &[Value]) {
    for message in messages {
        assert_eq!(message["jsonrpc"], "2.0", "{message:#}");
        let method = |of: &Value| of["method"].as_str().unwrap_or_default().to_owned();
        if message.get("method").is_some() {
            let end = if message.get("id").is_some() { "Request" } else { "Notification" };
            validate(&method(message), end, &message["params"]);
        } else if let Some(result) = message.get("result") {
            let question = asked.iter().find(|it| it["id"] == message["id"]);
            validate(&method(question.expect("its request")), "Response", result);
        } else {
            assert!(message["error"]["code"].is_i64() && message["error"]["message"].is_string());
        }
    }
}

/// An editor that has started `aye acp`.
struct Editor<'a> {
    repo: &'a Repo,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    log: PathBuf,
    sent: Vec<Value>,
    received: Vec<Value>,
    /// By path: what it has not saved.
    buffers: Vec<(String, String)>,
}

impl<'a> Editor<'a> {
    fn start(repo: &'a Repo) -> Self {
        let log = repo.outer().join("agent.log");
        let mut command =
            repo.cmd(&["acp", "--", "python3", AGENT]).env("ACP_LOG", &log).into_inner();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("start aye acp");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (sent, received, buffers) = (Vec::new(), Vec::new(), Vec::new());
        let input = child.stdin.take();
        let mut editor = Self { repo, input, output, child, log, sent, received, buffers };
        let fs = json!({ "readTextFile": true, "writeTextFile": true });
        let params =
            json!({ "protocolVersion": 1, "clientCapabilities": { "fs": fs, "terminal": true } });
        editor.ask("initialize", params);
        editor
    }

    fn send(&mut self, message: Value) {
        self.send_line(&message.to_string());
        self.sent.push(message);
    }

    fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("still open");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("write");
    }

    fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("read");
        if line.is_empty() {
            return None;
        }
        let message: Value = serde_json::from_str(&line).expect("JSON");
        self.received.push(message.clone());
        Some(message)
    }

    /// The result; what the agent asks meanwhile is answered.
    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.ask_any(method, params).get("result").cloned().expect("a result")
    }

    fn ask_any(&mut self, method: &str, params: Value) -> Value {
        let id = self.sent.len() + 100;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive().expect("an answer");
            if message.get("method").is_none() && message["id"] == id {
                return message;
            }
            if message.get("id").is_some() && message.get("method").is_some() {
                self.answer(&message);
            }
        }
    }

    fn answer(&mut self, request: &Value) {
        let path = request["params"]["path"].as_str().unwrap_or_default();
        let result = match request["method"].as_str().expect("a method") {
            "fs/read_text_file" => {
                let buffer = self.buffers.iter().find(|(name, _)| path.ends_with(name));
                let text = buffer.map(|(_, text)| text.clone());
                let text = text.or_else(|| std::fs::read_to_string(path).ok());
                text.map(|text| json!({ "content": text }))
            }
            "session/request_permission" => {
                Some(json!({ "outcome": { "outcome": "selected", "optionId": "yes" } }))
            }
            "terminal/create" => Some(json!({ "terminalId": "t" })),
            _ => Some(json!({ "mine": true })),
        };
        let answer = match result {
            Some(result) => ("result", result),
            None => ("error", json!({ "code": -32002, "message": "not found" })),
        };
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], answer.0: answer.1 }));
    }

    fn session(&mut self) -> String {
        let params = json!({ "cwd": self.repo.root(), "mcpServers": [] });
        self.ask("session/new", params)["sessionId"].as_str().expect("an id").to_owned()
    }

    fn prompt(&mut self, session: &str, steps: &str) -> Value {
        self.prompt_with(session, steps, &[])
    }

    fn prompt_with(&mut self, session: &str, steps: &str, links: &[&str]) -> Value {
        let mut prompt = vec![json!({ "type": "text", "text": steps })];
        prompt.extend(links.iter().map(|link| {
            let uri = format!("file://{}", self.repo.path(link).display());
            json!({ "type": "resource_link", "name": link, "uri": uri })
        }));
        self.ask("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    /// What aye has said in the chat.
    fn said(&self) -> String {
        let chunks = self.received.iter().map(|message| &message["params"]["update"]);
        let chunks = chunks.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        let texts = chunks.filter_map(|update| update["content"]["text"].as_str());
        texts.filter(|text| text.contains("aye: ")).collect()
    }

    /// What the agent was sent.
    fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn sent_to_agent(&self, method: &str) -> Value {
        let found = self.log().into_iter().rfind(|message| message["method"] == method);
        found.expect("the message")["params"].clone()
    }

    /// Holds both directions to the schema, and waits for the end. The exit status.
    fn end(mut self) -> Option<i32> {
        self.input = None;
        while self.receive().is_some() {}
        let (log, received) = (self.log(), &self.received);
        let of_agent: Vec<Value> =
            received.iter().filter(|it| it.get("method").is_some()).cloned().collect();
        let own = |it: &&Value| it["id"].as_str().is_some_and(|id| id.starts_with("aye-"));
        let asked: Vec<Value> =
            self.sent.iter().chain(received.iter().filter(own)).cloned().collect();
        validate_all(received, &asked);
        validate_all(&log, &of_agent);
        self.child.wait().expect("wait").code()
    }
}

#[test]
fn a_turn_in_the_tree_is_one_proposal_with_a_line_in_the_chat() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let session = editor.session();
    let tree = editor.sent_to_agent("session/new")["cwd"].as_str().expect("a path").to_owned();
    assert!(tree.contains("/aye/trees/"), "{tree}");
    assert_eq!(
        editor.sent_to_agent("initialize")["clientCapabilities"],
        json!({ "terminal": true })
    );
    let ended = editor.prompt(&session, "write a.txt three\nwrite sub/b.txt wasp");
    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    let id = only(&repo);
    let expected = format!("aye: {id} 2 files +2 −0   decide: aye review {id}");
    assert!(editor.said().contains(&expected), "{}", editor.said());
    assert_eq!(editor.received.last().expect("the answer")["result"], ended);
    // Paths as the editor knows them, and text as it is.
    let calls = editor.received.iter().map(|message| &message["params"]["update"]);
    let call = calls.clone().find(|it| it["sessionUpdate"] == "tool_call").expect("a call");
    let path = repo.path("a.txt").display().to_string();
    assert_eq!(call["locations"][0]["path"], path);
    assert_eq!(call["content"][0]["path"], path);
    assert_eq!(call["title"], format!("Edit {tree}/a.txt"));
    let item = repo.item(&id);
    assert_eq!(item["proposed_by"], "python3");
    assert!(item["description"].as_str().is_some_and(|text| text.starts_with("Done.")), "{item:#}");
    // The next turn revises it; one without changes says so.
    editor.prompt(&session, "write a.txt four");
    assert_eq!(only(&repo), id);
    assert!(diff(&repo, &id).contains("+three\n+four\n"));
    assert_eq!(editor.end(), Some(0));
    assert_eq!(pending(&repo), [id]);
}

#[test]
fn a_session_without_changes_leaves_nothing() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let session = editor.session();
    editor.prompt(&session, "");
    assert_eq!(editor.said(), "");
    assert_eq!(editor.end(), Some(0));
    nothing_pending(&repo);
    no_session_is_left(&repo);
}

#[test]
fn a_loaded_session_finds_its_tree_and_its_agent_reads_the_verdict() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let session = editor.session();
    let tree = editor.sent_to_agent("session/new")["cwd"].clone();
    editor.prompt(&session, "write a.txt three");
    let id = only(&repo);
    editor.end();
    reject(&repo, &id, "Bees are kinder");
    let mut editor = Editor::start(&repo);
    let load = json!({ "sessionId": session, "cwd": repo.root(), "mcpServers": [] });
    editor.ask("session/load", load);
    assert_eq!(editor.sent_to_agent("session/load")["cwd"], tree);
    // A command of the agent gets no text of others as its argument.
    editor.prompt(&session, "/compact");
    assert_eq!(editor.sent_to_agent("session/prompt")["prompt"].as_array().map(Vec::len), Some(1));
    editor.prompt(&session, "write sub/b.txt wasp");
    let prompt = editor.sent_to_agent("session/prompt")["prompt"].clone();
    let news = prompt[1]["text"].as_str().expect("the verdict");
    assert!(news.contains(&id) && news.contains("Reason: Bees are kinder"), "{news}");
    let next = only(&repo);
    assert_ne!(next, id);
    assert!(!diff(&repo, &next).contains("three"));
    editor.prompt(&session, "");
    assert_eq!(editor.sent_to_agent("session/prompt")["prompt"].as_array().map(Vec::len), Some(1));
    apply(&repo, &next);
    editor.end();
    no_session_is_left(&repo);
}

#[test]
fn an_answer_to_a_permission_request_decides_nothing() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let session = editor.session();
    editor.prompt(&session, "write a.txt three\npermission");
    let asked = editor.received.iter().find(|it| it["method"] == "session/request_permission");
    let call = &asked.expect("a question")["params"]["toolCall"];
    assert_eq!(call["locations"][0]["path"], repo.path("a.txt").display().to_string());
    assert!(editor.log().iter().any(|it| it["result"]["outcome"]["optionId"] == "yes"));
    assert_eq!(repo.item(&only(&repo))["status"], "pending");
    assert_eq!(repo.text("a.txt"), "one\ntwo\n");
    editor.end();
}

#[test]
fn other_methods_pass_both_ways_and_files_are_not_the_editors() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let session = editor.session();
    let params = json!({ "path": repo.path("a.txt") });
    assert_eq!(editor.ask("_example/echo", params.clone())["echo"], "_example/echo");
    assert_eq!(editor.sent_to_agent("_example/echo"), params);
    editor.prompt(&session, "extension\nterminal\nfs");
    let extension = editor.received.iter().find(|it| it["method"] == "_example/ask");
    assert!(extension.is_some() && editor.log().iter().any(|it| it["result"]["mine"] == true));
    // A command that the editor runs is the agent's, in the tree.
    let terminal = editor.received.iter().find(|it| it["method"] == "terminal/create");
    let terminal = terminal.expect("a terminal")["params"].clone();
    assert_eq!(terminal["cwd"], editor.sent_to_agent("session/new")["cwd"]);
    assert_eq!(terminal["env"][0], json!({ "name": "AYE_AGENT", "value": "python3" }));
    assert!(!editor.received.iter().any(|it| it["method"] == "fs/write_text_file"));
    assert!(editor.log().iter().any(|it| it["error"]["code"] == -32601));
    assert_eq!(
        editor.ask_any("session/fork", json!({ "sessionId": session }))["error"]["code"],
        -32602
    );
    editor.end();
}

#[test]
fn malformed_messages_are_answered_by_an_error() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    for (line, code) in
        [("{", -32700), ("[]", -32600), (r#"{"id":7}"#, -32600), ("\u{fffd}", -32700)]
    {
        editor.send_line(line);
        assert_eq!(editor.receive().expect("an answer")["error"]["code"], code, "{line}");
    }
    editor.send_line("");
    for params in [json!({}), json!({ "cwd": "." }), json!({ "cwd": 5 }), json!([])] {
        assert_eq!(editor.ask_any("session/new", params)["error"]["code"], -32602);
        editor.sent.pop();
    }
    let outside = editor.ask_any("session/new", json!({ "cwd": repo.outer(), "mcpServers": [] }));
    assert_eq!(outside["error"]["data"]["code"], "not_a_repository");
    let unknown = editor.ask_any("session/prompt", json!({ "sessionId": "x", "prompt": [] }));
    assert_eq!(unknown["error"]["code"], -32602);
    let session = editor.session();
    editor.prompt(&session, "junk\nwrite a.txt three");
    assert!(editor.log().iter().any(|it| it["error"]["code"] == -32700));
    only(&repo);
    editor.end();
}

#[test]
fn unsaved_text_of_the_editor_is_the_base() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let session = editor.session();
    editor.buffers = vec![("a.txt".to_owned(), "one\nmine\n".to_owned())];
    editor.prompt_with(&session, "write a.txt theirs", &["a.txt", "sub/b.txt", "a%20b.txt"]);
    assert!(editor.said().contains("aye: a.txt: "), "{}", editor.said());
    assert!(!editor.said().contains("sub/b.txt"));
    let tree =
        editor.sent_to_agent("session/new")["cwd"].as_str().map(PathBuf::from).expect("a path");
    assert_eq!(read(&tree, "a.txt"), "one\nmine\ntheirs\n");
    let link = format!("file://{}/a.txt", tree.display());
    assert_eq!(editor.sent_to_agent("session/prompt")["prompt"][1]["uri"], link);
    let id = only(&repo);
    assert!(!diff(&repo, &id).contains("+mine"), "{}", diff(&repo, &id));
    assert_eq!(repo.text("a.txt"), "one\ntwo\n");
    // Saved, it is what was proposed on.
    repo.write("a.txt", "one\nmine\n");
    apply(&repo, &id);
    assert_eq!(repo.text("a.txt"), "one\nmine\ntheirs\n");
    editor.end();
}

#[test]
fn sessions_have_trees_of_their_own_and_lists_have_the_editors_paths() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let params = json!({ "cwd": repo.path("sub"), "mcpServers": [],
                         "additionalDirectories": [repo.path("sub"), "/usr"] });
    let first = editor.ask("session/new", params)["sessionId"].as_str().expect("an id").to_owned();
    let inside = editor.sent_to_agent("session/new");
    assert!(inside["cwd"].as_str().is_some_and(|cwd| cwd.ends_with("/sub")));
    assert_eq!(inside["additionalDirectories"], json!([inside["cwd"], "/usr"]));
    let second = editor.session();
    editor.prompt(&first, "write b.txt wasp");
    editor.prompt(&second, "write a.txt three");
    assert_eq!(pending(&repo).len(), 2);
    let list = editor.ask("session/list", json!({ "cwd": repo.root() }));
    assert_eq!(list["sessions"], json!([{ "sessionId": second, "cwd": repo.root() }]));
    let list = editor.ask("session/list", json!({}));
    assert_eq!(list["sessions"][0]["cwd"], repo.path("sub").display().to_string());
    editor.end();
}

#[test]
fn work_is_proposed_when_agent_or_proxy_are_ended() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let session = editor.session();
    let prompt = json!([{ "type": "text", "text": "write a.txt three\ndie" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    editor.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params }));
    while editor.receive().is_some() {}
    let id = only(&repo);
    assert!(editor.said().contains(&id));
    assert_eq!(editor.end(), Some(3));
    for signal in [Signal::TERM, Signal::INT] {
        let mut editor = Editor::start(&repo);
        let session = editor.session();
        let prompt = json!([{ "type": "text", "text": "write sub/b.txt wasp\nsleep" }]);
        let params = json!({ "sessionId": session, "prompt": prompt });
        editor.send(
            json!({ "jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params }),
        );
        while !editor
            .receive()
            .is_some_and(|it| it["params"]["update"]["sessionUpdate"] == "tool_call")
        {}
        let tree = editor.sent_to_agent("session/new")["cwd"].as_str().map(PathBuf::from);
        let file = tree.expect("a path").join("sub/b.txt");
        until("it is written", || {
            std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with("wasp\n"))
        });
        let before = pending(&repo);
        let pid = i32::try_from(editor.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a process"), signal).expect("kill");
        assert!(editor.end().is_some_and(|status| status != 0));
        let new: Vec<String> =
            pending(&repo).into_iter().filter(|id| !before.contains(id)).collect();
        let [id] = new.as_slice() else { panic!("{new:?}") };
        reject(&repo, id, "no");
    }
}

/// The agent ends with its input; what it left is the next command's to submit.
#[test]
fn a_killed_proxy_leaves_its_session() {
    let repo = Repo::with(FILES);
    let mut editor = Editor::start(&repo);
    let session = editor.session();
    editor.prompt(&session, "write a.txt three");
    editor.child.kill().expect("kill");
    editor.child.wait().expect("wait");
    let state = || repo.aye(&["session", "--json"]).ok().json()["sessions"][0]["state"].clone();
    until("the agent is gone", || state() == "left");
    only(&repo);
    let mut editor = Editor::start(&repo);
    let load = json!({ "sessionId": session, "cwd": repo.root(), "mcpServers": [] });
    editor.ask("session/load", load);
    editor.prompt(&session, "write a.txt four");
    assert!(diff(&repo, &only(&repo)).contains("+three\n+four\n"));
    editor.end();
}

#[test]
fn a_run_of_an_agent_for_editors_is_refused() {
    let repo = Repo::with(FILES);
    for words in [["gemini", "--acp"], ["opencode", "acp"], ["codex-acp", "-x"]] {
        let run = repo.aye(&["run", "--", words[0], words[1]]);
        run.fails("acp_command", 2).notes(&format!("aye acp -- {} {}", words[0], words[1]));
    }
    no_session_is_left(&repo);
    repo.aye(&["acp", "--", "no-such-agent"]).fails("invalid_argument", 6);
    no_session_is_left(&repo);
}
