"""A played agent of the Agent Client Protocol, for tests/it/acp.rs.

What it is sent goes to the file ACP_LOG, one message a line. A prompt is a list of steps, one a line:
`write PATH TEXT`, `permission`, `terminal`, `fs`, `junk`, `extension`, `sleep`, `die`.
"""

import json
import os
import sys
import time

LOG = open(os.environ["ACP_LOG"], "a")
SESSIONS, asked = {}, 0


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    LOG.write(line)
    LOG.flush()
    return json.loads(line)


def ask(method, params):
    global asked
    asked += 1
    send({"id": asked, "method": method, "params": params})
    while (answer := receive()).get("id") != asked or "method" in answer:
        pass


def update(session, **what):
    send({"method": "session/update", "params": {"sessionId": session, "update": what}})


def step(session, words):
    cwd = SESSIONS[session]
    path = os.path.join(cwd, words[1] if len(words) > 1 else "a.txt")
    call = {"toolCallId": "call", "title": f"Edit {path}", "locations": [{"path": path, "line": 1}],
            "content": [{"type": "diff", "path": path, "newText": "x"}]}
    if words[0] == "write":
        update(session, sessionUpdate="tool_call", **call)
        with open(path, "a") as file:
            file.write(words[2] + "\n")
    elif words[0] == "permission":
        options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
        ask("session/request_permission", {"sessionId": session, "toolCall": call, "options": options})
    elif words[0] == "terminal":
        ask("terminal/create", {"sessionId": session, "command": "ls"})
    elif words[0] == "fs":
        ask("fs/write_text_file", {"sessionId": session, "path": path, "content": "x"})
    elif words[0] == "junk":
        print("a line of a log", flush=True)
        receive()
    elif words[0] == "extension":
        ask("_example/ask", {"path": path})
    elif words[0] == "sleep":
        time.sleep(60)
    elif words[0] == "die":
        os._exit(3)


def answer(method, params):
    session = params.get("sessionId")
    if method == "initialize":
        capabilities = {"loadSession": True, "sessionCapabilities": {"list": {}}}
        return {"protocolVersion": 1, "agentCapabilities": capabilities}
    if method == "session/new":
        session = f"{os.getpid()}-{len(SESSIONS)}"
        SESSIONS[session] = params["cwd"]
        return {"sessionId": session}
    if method == "session/load":
        SESSIONS[session] = params["cwd"]
        return {}
    if method == "session/list":
        return {"sessions": [{"sessionId": name, "cwd": cwd} for name, cwd in SESSIONS.items()]}
    if method == "session/prompt":
        for line in params["prompt"][0]["text"].splitlines():
            step(session, line.split(" ", 2))
        update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Done."})
        return {"stopReason": "end_turn"}
    return {"echo": method}


while True:
    message = receive()
    if "method" in message and "id" in message:
        send({"id": message["id"], "result": answer(message["method"], message.get("params") or {})})
