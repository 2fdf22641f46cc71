"""A scripted stand-in for the model behind Claude Code, on loopback.

Prints its port, then answers each request with the next step of a fixed task: an edit in the checkout, the
tool that the refusal names, the edit again in the work tree, a command there, and a last try at the checkout.
What it is told goes to the file named on the command line, one JSON object for each request.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHECKOUT, LOG = sys.argv[1], open(sys.argv[2], "w")


def texts(messages):
    """All text that the model sees, and the results of tools among it."""
    seen, results = [], []
    for message in messages:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "tool_result":
                results.append(json.dumps(part["content"]))
                seen.append(results[-1])
            elif part["type"] == "text":
                seen.append(part["text"])
    return seen, results


def step(seen, number):
    """The call of a tool that comes next; None at the end."""
    text = "\n".join(seen)
    name = re.search(r"with name (\w+)", text)
    trees = re.findall(r'Created worktree at ([^\s"]+?)\.(?: |")', text)
    tree = trees[-1] if trees else CHECKOUT
    task = [
        ("Write", {"file_path": f"{CHECKOUT}/new.txt", "content": "new\n"}),
        ("EnterWorktree", {"name": name.group(1) if name else "none"}),
        ("Write", {"file_path": f"{tree}/new.txt", "content": "new\n"}),
        ("Bash", {"command": "sed -i s/bee/wasp/ b.txt && cat b.txt new.txt", "description": "Edit"}),
        ("Write", {"file_path": f"{CHECKOUT}/escape.txt", "content": "x\n"}),
    ]
    return task[number] if number < len(task) else None


def repeated(text):
    """What it says at the end: the last reason that it was told, if there is one."""
    reasons = re.findall(r"Reason: ([^\n<]+)", text)
    return f"I was told: {reasons[-1]}" if reasons else "Finished."


class Model(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def send(self, event, data):
        self.wfile.write(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        if "count_tokens" in self.path:
            self.end_headers()
            self.wfile.write(b'{"input_tokens": 1}')
            return
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        seen, results = texts(body["messages"])
        # Titles and summaries are asked for without tools.
        call = step(seen, len(results)) if body.get("tools") else None
        LOG.write(json.dumps({"seen": seen, "results": results}) + "\n")
        LOG.flush()
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
                   "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        self.send("message_start", {"type": "message_start", "message": message})
        if call:
            block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        else:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": repeated("\n".join(seen))}
        self.send("content_block_start",
                  {"type": "content_block_start", "index": 0, "content_block": block})
        self.send("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta})
        self.send("content_block_stop", {"type": "content_block_stop", "index": 0})
        stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        self.send("message_delta", {"type": "message_delta", "delta": stop, "usage": usage})
        self.send("message_stop", {"type": "message_stop"})


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
