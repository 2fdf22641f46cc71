//! `aye mcp`: the tools over the Model Context Protocol.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::record::{apply, comment, reject, request_changes};
use crate::support::{Cmd, Repo};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("b.txt", "bee\n")];

/// The arguments of `changes` that propose an edit.
fn propose(path: &str, old: &str, new: &str) -> Value {
    json!({ "action": "propose", "file_path": path, "old_content": old, "new_content": new })
}

/// A client that has started the server.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    fn start(command: Cmd) -> Self {
        let mut command = command.into_inner();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("start aye mcp");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { input: child.stdin.take(), output, child, asked: 0 }
    }

    /// One that calls itself `name`, as clients before 2026 do.
    fn named(repo: &Repo, name: &str) -> Self {
        Self::listing(repo, name, &[])
    }

    /// One that is told of the tools that `options` say.
    fn listing(repo: &Repo, name: &str, options: &[&str]) -> Self {
        let mut client = Self::start(repo.cmd(&[&["mcp"], options].concat()));
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": name, "version": "1" },
        });
        assert_eq!(client.ask("initialize", hello)["result"]["protocolVersion"], "2025-11-25");
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("still open");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("write");
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("read");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.send(&request.to_string());
        let answer = self.receive();
        assert_eq!((&answer["id"], &answer["jsonrpc"]), (&json!(self.asked), &json!("2.0")));
        answer
    }

    /// What the tool answers; its text says the same.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{tool}: {answer:#}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), result["structuredContent"]);
        result["structuredContent"].clone()
    }

    /// How the tool fails: the error that the model reads.
    #[track_caller]
    fn fails(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{tool}: {answer:#}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        let failure: Value = serde_json::from_str(text).expect("JSON");
        failure.get("error").cloned().unwrap_or(failure)
    }

    #[track_caller]
    fn proposes(&mut self, path: &str, old: &str, new: &str) -> String {
        let answer = self.call("changes", propose(path, old, new));
        answer["proposal_id"].as_str().expect("an id").to_owned()
    }

    fn ends(mut self) {
        drop(self.input.take());
        let mut line = String::new();
        assert_eq!(self.output.read_line(&mut line).expect("read"), 0, "{line}");
        assert!(self.child.wait().expect("wait").success());
    }
}

#[test]
fn a_tool_that_panics_is_an_answer_and_the_server_answers_on() {
    let repo = Repo::with(FILES);
    for (action, status) in [("panic", "exit status: 101"), ("return", "SIGABRT")] {
        let stop = format!("tool.called={action}");
        let mut client = Client::start(repo.cmd(&["mcp"]).env("FAILPOINTS", stop));
        for _ in 0..2 {
            let error = client.fails("show", json!({ "proposal_id": "x" }));
            assert_eq!(error["code"], "internal_error", "{error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(status), "{message}");
        }
        // A tool without that place.
        let shell = client.call("readonly_shell", json!({ "command": "cat a.txt" }));
        assert_eq!(shell["output"], "one\ntwo\n", "{shell}");
        assert!(client.ask("tools/list", json!({}))["result"]["tools"].is_array());
    }
}

#[test]
fn an_agent_proposes_waits_and_hears_the_decision() {
    let repo = Repo::with(FILES);
    let mut client = Client::named(&repo, "codex-mcp-client");
    let id = client.proposes("a.txt", "one", "eins");
    assert_eq!(repo.text("a.txt"), "one\ntwo\n");
    let waiting = client.call("wait", json!({ "proposal_id": id, "timeout_s": 0 }));
    assert_eq!((&waiting["status"], &waiting["timed_out"]), (&json!("pending"), &json!(true)));
    let listed = client.call("changes", json!({ "action": "list" }));
    assert_eq!(listed["proposals"][0]["id"], id.as_str());
    assert_eq!(listed["proposals"][0]["proposed_by"], "codex");
    request_changes(&repo, &id, "In French, please");
    let sent_back = client.call("wait", json!({ "proposal_id": id, "timeout_s": 50 }));
    assert_eq!(sent_back["changes_requested"], true);
    assert_eq!(sent_back["reason"], "In French, please");
    let edit = json!({ "file_path": "a.txt", "old_content": "one", "new_content": "un" });
    let revised = client.call("revise", json!({ "proposal_id": id, "edits": [edit] }));
    assert_eq!(revised["revisions"], 2);
    client
        .call("comment", json!({ "proposal_id": id, "body": "Done", "path": "a.txt", "line": 1 }));
    let shown = client.call("show", json!({ "proposal_id": id }));
    assert!(shown["diff"].as_str().expect("a diff").contains("+un\n"), "{shown:#}");
    assert_eq!(shown["comments"][0]["body"], "Done");
    apply(&repo, &id);
    let applied = client.call("wait", json!({ "proposal_id": id }));
    assert_eq!((&applied["status"], &applied["by"]), (&json!("applied"), &json!("Ada Reviewer")));
    assert_eq!(repo.text("a.txt"), "un\ntwo\n");
    let patch = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-bee\n+wasp\n";
    let answer = client.call("apply_patch", json!({ "patch": patch, "propose": true }));
    let id = answer["proposal_id"].as_str().expect("an id");
    reject(&repo, id, "Bees are kinder");
    let rejected = client.call("wait", json!({ "proposal_id": id }));
    assert_eq!(rejected["reason"], "Bees are kinder");
    client.ends();
}

/// A `wait` may take 50 seconds, and clients give a call up after 60.
#[test]
fn a_wait_holds_up_no_other_call() {
    let repo = Repo::with(FILES);
    let mut client = Client::named(&repo, "codex-mcp-client");
    let one = client.proposes("a.txt", "one", "eins");
    let two = client.proposes("b.txt", "bee", "wasp");
    for id in [&one, &two] {
        let params = json!({ "name": "wait", "arguments": { "proposal_id": id } });
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        client.send(&request.to_string());
    }
    assert_eq!(client.call("changes", json!({ "action": "list" }))["count"], 2);
    client.proposes("a.txt", "two", "zwei");
    // Each wait is for its own.
    reject(&repo, &two, "no");
    let second = client.receive();
    assert_eq!(second["id"], two.as_str());
    assert_eq!(second["result"]["structuredContent"]["status"], "rejected");
    assert_eq!(client.ask("tools/list", json!({}))["error"], Value::Null);
    // Nor does the end of the input end it: whoever asks by a pipe has the answer.
    drop(client.input.take());
    reject(&repo, &one, "no");
    assert_eq!(client.receive()["id"], one.as_str());
    client.ends();
}

/// What writes holds up what comes behind it, and a `wait` there waits for the same turn.
#[test]
fn what_waits_for_its_turn_is_dropped_by_a_cancellation() {
    let repo = Repo::with(FILES);
    let mut client = Client::named(&repo, "codex-mcp-client");
    let id = client.proposes("a.txt", "two", "TWO");
    let lock = std::fs::File::options().write(true).open(repo.path(".git/aye/lock"));
    let lock = lock.expect("the lock");
    lock.lock().expect("to hold it");
    let call = |id: &str, tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
    };
    client.send(&call("writes", "comment", json!({ "proposal_id": id, "body": "so" })));
    client.send(&call("dropped", "changes", json!({ "action": "list" })));
    client.send(&call("waits", "wait", json!({ "proposal_id": id, "timeout_s": 0 })));
    let params = json!({ "requestId": "dropped" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    client.send(&cancel.to_string());
    client.send(r#"{"jsonrpc":"2.0","id":"alive","method":"ping"}"#);
    assert_eq!(client.receive()["id"], "alive");
    lock.unlock().expect("to let go");
    assert_eq!(client.receive()["id"], "writes");
    assert_eq!(client.receive()["id"], "waits");
    client.ends();
}

/// A client pings to learn whether the server lives, and gives a call up when its person presses Esc.
#[test]
fn while_a_call_waits_a_ping_is_answered_and_the_call_can_be_cancelled() {
    let repo = Repo::with(FILES);
    let mut client = Client::named(&repo, "codex-mcp-client");
    let id = client.proposes("a.txt", "two", "TWO");
    let request = |id: &str, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let cancel = |id: &str| {
        let params = json!({ "requestId": id, "reason": "Esc" });
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
            .to_string()
    };
    let wait = json!({ "name": "wait", "arguments": { "proposal_id": id } });
    client.send(&request("first", "tools/call", wait.clone()));
    client.send(&request("alive", "ping", json!({})));
    assert_eq!(client.receive(), json!({ "jsonrpc": "2.0", "id": "alive", "result": {} }));
    // One of another id goes on.
    client.send(&request("second", "tools/call", wait.clone()));
    client.send(&cancel("second"));
    client.send(&cancel("unheard-of"));
    let list = json!({ "name": "changes", "arguments": { "action": "list" } });
    client.send(&request("list", "tools/call", list));
    client.send(&cancel("first"));
    // Neither is answered.
    let list = client.receive();
    assert_eq!((&list["id"], &list["result"]["isError"]), (&json!("list"), &json!(false)));
    // Cancelled in the same breath.
    client.send(&format!("{}\n{}", request("third", "tools/call", wait.clone()), cancel("third")));
    client.send(&request("fourth", "tools/call", wait));
    client.send(&request("alive", "ping", json!({})));
    assert_eq!(client.receive()["id"], "alive");
    reject(&repo, &id, "no");
    let fourth = client.receive();
    assert_eq!(fourth["id"], "fourth");
    assert_eq!(fourth["result"]["structuredContent"]["status"], "rejected");
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn no_tool_decides_for_a_person() {
    let repo = Repo::with(FILES);
    let theirs =
        repo.agent("claude-code", &["propose", "b.txt", "--old", "bee", "--new", "B"]).id();
    let mut client = Client::named(&repo, "codex-mcp-client");
    let own = client.proposes("a.txt", "one", "eins");
    for id in [&own, &theirs] {
        let error = client.fails("changes", json!({ "action": "apply", "proposal_id": id }));
        assert_eq!(error["code"], "human_approval_required");
    }
    let reject = json!({ "action": "reject", "proposal_id": theirs });
    assert_eq!(client.fails("changes", reject)["code"], "human_approval_required");
    let edit = json!({ "file_path": "b.txt", "old_content": "bee", "new_content": "mine" });
    let revise = json!({ "proposal_id": theirs, "edits": [edit] });
    assert_eq!(client.fails("revise", revise)["code"], "human_approval_required");
    let reject = json!({ "action": "reject", "proposal_id": own, "reason": "Not needed" });
    assert_eq!(client.call("changes", reject)["status"], "rejected");
    client.ends();
    assert_eq!(repo.item(&own)["decision"]["withdrawn"], true);
    assert_eq!(repo.text("a.txt"), "one\ntwo\n");
}

#[test]
fn each_request_may_say_for_itself_who_asks() {
    let repo = Repo::with(FILES);
    let mut client = Client::start(repo.cmd(&["mcp"]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "claude-code", "version": "2" },
    });
    let found = client.ask("server/discover", json!({ "_meta": meta }));
    assert_eq!(found["result"]["resultType"], "complete");
    assert_eq!(found["result"]["capabilities"], json!({ "tools": {} }));
    let arguments = propose("a.txt", "one", "1");
    let params = json!({ "_meta": meta, "name": "changes", "arguments": arguments });
    let answer = client.ask("tools/call", params);
    assert_eq!(answer["result"]["structuredContent"]["proposed_by"], "claude-code");
    client.ends();
    repo.aye(&["list"]).ok().says("claude-code");
}

#[test]
fn what_is_named_by_the_environment_counts_before_the_client() {
    let repo = Repo::with(FILES);
    for (variable, value, client, expected) in [
        ("AYE_AGENT", "mine", "codex-mcp-client", "mine"),
        ("CLAUDECODE", "1", "codex-mcp-client", "codex"),
        ("CLAUDECODE", "1", "", "claude-code"),
        ("X", "1", "", "agent"),
        ("X", "1", "Some Agent", "some-agent"),
    ] {
        let mut client = {
            let mut server = Client::start(repo.cmd(&["mcp"]).env(variable, value));
            server.ask("initialize", json!({ "clientInfo": { "name": client } }));
            server
        };
        let answer = client.call("changes", propose("a.txt", "one", expected));
        assert_eq!(answer["proposed_by"], expected, "{variable}={value}");
        client.ends();
        repo.aye(&["list", "--status", "all"]).ok().lacks("Ada");
    }
}

#[test]
fn calls_are_what_the_schemas_of_arguments_say() {
    let repo = Repo::with(FILES);
    repo.aye(&["memory", "init"]).ok();
    let mut client = Client::named(&repo, "gemini-cli-mcp-client");
    let id = client.proposes("a.txt", "one", "eins");
    comment(&repo, &id, "looking");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n";
    let section = json!({
        "operation": "append_section", "path": "conventions.md", "heading": "Use tabs",
        "heading_level": 2, "content": "## Use tabs\n\nTabs, not blanks.\n",
    });
    let memory = json!({
        "intent": "update_conventions", "operations": [section],
        "sources": [{ "type": "user" }], "confidence": "confirmed",
    });
    let calls = [
        ("revise", json!({ "proposal_id": id, "description": "Better" })),
        ("comment", json!({ "proposal_id": id, "body": "Thanks" })),
        ("show", json!({ "proposal_id": id })),
        ("wait", json!({ "proposal_id": id, "timeout_s": 0 })),
        ("readonly_shell", json!({ "command": "cat a.txt" })),
        ("update_plan", json!({ "plan": [{ "step": "a", "status": "pending" }] })),
        ("memory_propose_update", memory),
        ("memory_search", json!({ "query": "tabs" })),
        ("changes", json!({ "action": "list" })),
        ("apply_patch", json!({ "patch": patch, "propose": true })),
    ];
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), calls.len());
    for (name, arguments) in calls {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("offered");
        let input = jsonschema::validator_for(&tool["inputSchema"]).expect("a schema");
        assert!(input.is_valid(&arguments), "{name}: {arguments}");
        client.call(name, arguments);
        assert!(tool.get("outputSchema").is_none(), "{name}");
        // A client that asks before what may destroy something asks before files are written.
        let destroys = &tool["annotations"]["destructiveHint"];
        assert_eq!(*destroys, json!(name == "apply_patch"), "{name}");
    }
    // What is refused is an answer that the model reads.
    let refused = client.fails("readonly_shell", json!({ "command": "rm a.txt" }));
    assert_eq!(refused["code"], "COMMAND_NOT_ALLOWED");
    client.ends();
    let mut client = Client::listing(&repo, "x", &["--tools", "memory.search,wait"]);
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].take();
    assert_eq!((&listed[0]["name"], &listed[2]), (&json!("memory_search"), &Value::Null));
    // One that is not listed is answered all the same.
    client.call("changes", json!({ "action": "list" }));
    client.ends();
    repo.aye(&["mcp", "--tools", "show,shwo"]).fails("unknown_tool", 3);
}

#[test]
fn rubbish_is_answered_and_the_next_message_too() {
    let repo = Repo::with(FILES);
    let mut client = Client::start(repo.cmd(&["mcp"]));
    for (line, code) in [
        ("{", -32700),
        ("\u{1b}[2J", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}"#, -32602),
    ] {
        client.send(line);
        assert_eq!(client.receive()["error"]["code"], code, "{line}");
    }
    client.send("");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#);
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    // Without a newline at the end of input.
    let input = client.input.as_mut().expect("open");
    input.write_all(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#).expect("write");
    drop(client.input.take());
    assert_eq!(client.receive()["id"], "last");
    client.ends();
}

#[test]
fn the_repository_may_be_another_one_or_none() {
    let (repo, other) = (Repo::with(FILES), Repo::with(&[("c.txt", "sea\n")]));
    let mut client =
        Client::start(repo.cmd(&["mcp", "--repo", other.root().to_str().expect("UTF-8")]));
    client.proposes("c.txt", "sea", "C");
    client.ends();
    other.aye(&["list"]).ok().says("c.txt");
    repo.aye(&["list"]).ok().lacks("c.txt");
    repo.aye(&["mcp", "--repo", "nowhere"]).fails("invalid_argument", 6);

    let mut client = Client::start(repo.cmd(&["mcp"]).dir(repo.outer()));
    assert_eq!(client.fails("show", json!({ "proposal_id": "x" }))["code"], "not_a_repository");
    client.ends();
}

/// Where hooks refuse edits of the checkout, no tool of aye's own writes there for an agent.
#[test]
fn a_patch_of_an_agent_waits_where_hooks_are_installed() {
    let patch = |new: &str| {
        format!("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+{new}\n*** End Patch")
    };
    for args in [
        &["claude-code", "--local"][..],
        &["claude-code", "--user", "--mode", "strict"],
        &["codex"],
        &["opencode", "--project"],
    ] {
        let repo = Repo::with(FILES);
        repo.aye(&[&["agents", "install"], args].concat()).ok();
        let mut client = Client::named(&repo, "claude-code");
        let answer = client.call("apply_patch", json!({ "patch": patch("mcp") }));
        assert_eq!((&answer["gated"], &answer["patch_applied"]), (&json!(true), &json!(false)));
        let message = answer["message"].as_str().expect("a message");
        assert!(message.contains("aye agents"), "{message}");
        client.ends();
        let call = json!({ "patch": patch("call") }).to_string();
        repo.aye(&["call", "apply_patch", &call]).ok().says("gated: true");
        repo.cmd(&["patch", "-"]).env("AYE_AGENT", "codex").stdin(patch("agent")).run().ok();
        assert_eq!(repo.text("a.txt"), "one\ntwo\n", "{args:?}");
        assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 3);
        // A person's is not held, nor what only tries it out.
        repo.cmd(&["patch", "--dry-run", "-"]).stdin(patch("dry")).run().ok();
        repo.cmd(&["patch", "-"]).stdin(patch("person")).run().ok();
        assert_eq!(repo.text("a.txt"), "person\ntwo\n", "{args:?}");
    }
    // Without hooks there is no gate.
    let repo = Repo::with(FILES);
    let mut client = Client::named(&repo, "claude-code");
    assert_eq!(client.call("apply_patch", json!({ "patch": patch("1") }))["patch_applied"], true);
    client.ends();
    // `aye init` shuts it.
    let repo = Repo::with(FILES);
    repo.aye(&["init"]).ok();
    let mut client = Client::named(&repo, "my-bot");
    let answer = client.call("apply_patch", json!({ "patch": patch("1") }));
    assert_eq!((&answer["gated"], &answer["patch_applied"]), (&json!(true), &json!(false)));
    client.ends();
    assert_eq!(repo.text("a.txt"), "one\ntwo\n");
}

/// The hooks of one work tree refuse edits of the others of its repository.
#[test]
fn hooks_of_another_work_tree_hold_a_patch_too() {
    let repo = Repo::with(FILES);
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "-b", "l", linked.to_str().expect("UTF-8")]);
    let patch =
        json!({ "patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+eins\n two\n" });
    let call = || {
        let run = repo.cmd(&["call", "apply_patch", &patch.to_string()]).dir(&linked);
        run.env("AYE_AGENT", "claude").run().ok()
    };
    repo.aye(&["agents", "install", "claude-code", "--local"]).ok();
    call().says("gated: true");
    assert_eq!(std::fs::read(linked.join("a.txt")).expect("the file"), b"one\ntwo\n");
    repo.aye(&["agents", "remove", "claude-code", "--local"]).ok();
    call().lacks("gated: true");
    assert_eq!(std::fs::read(linked.join("a.txt")).expect("the file"), b"eins\ntwo\n");
}
