"""A scripted stand-in for the models behind coding agents, on loopback, in the protocols of their providers.

    model.py PROTOCOL STEPS LOG

Prints its port, then answers each request with the next call of a tool of STEPS, a JSON list of [name, input],
and with a text when there is none left. `@TREE@` in an input is the last session's tree that the model was told
of, and `@NAME@` the name of one that it was told to enter. PROTOCOL is `responses` (Codex), `chat` (Qwen Code,
Copilot CLI, OpenCode), `gemini` or `messages` (Claude Code). What it is sent goes to LOG, one JSON object a line.
A second turn goes on where the first ended.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROTOCOL, STEPS, LOG = sys.argv[1], json.load(open(sys.argv[2])), open(sys.argv[3], "w")


def said(text):
    """What it says at the end: what it was told last of its work, if that is anything."""
    told = re.findall(r"Reason: ([^\n\\<\"]+)|(Your proposal \w+ was (?:partially )?applied by [^.\\]+)", text)
    return f"I was told: {''.join(told[-1])}" if told else "Finished."


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_GET(self):
        body = {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []}
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def event(self, data, name=None):
        head = f"event: {name}\n" if name else ""
        self.wfile.write(f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode())

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {"raw": raw.decode(errors="replace")}
        LOG.write(json.dumps({"path": self.path, "body": body}) + "\n")
        LOG.flush()
        self.send_response(200)
        if "count_tokens" in self.path:
            self.end_headers()
            self.wfile.write(b'{"input_tokens": 1}')
            return
        stream = body.get("stream") or PROTOCOL == "gemini" and "stream" in self.path
        self.send_header("content-type", "text/event-stream" if stream else "application/json")
        self.end_headers()
        text = raw.decode(errors="replace").replace('\\"', '"')
        trees = re.findall(r"(/[^\s\"'\\,]*/aye/trees/[^\s\"'\\,/]+/[a-z0-9-]+)", text)
        self.said = said(text)
        done = self.results(body)
        call = STEPS[done] if done < len(STEPS) and self.has_tools(body) else None
        if call:
            names = re.findall(r"with name (\w+)", text)
            filled = json.dumps(call[1]).replace("@TREE@", trees[-1] if trees else "none")
            filled = filled.replace("@NAME@", names[-1] if names else "none")
            call = [call[0], json.loads(filled)]
        getattr(self, f"answer_{PROTOCOL}")(body, call, done, stream)

    @staticmethod
    def has_tools(body):
        return bool(body.get("tools"))

    @staticmethod
    def results(body):
        """How many calls of tools have an answer."""
        if PROTOCOL == "responses":
            items = body.get("input", [])
            return sum(1 for item in items if str(item.get("type", "")).endswith("_output"))
        if PROTOCOL == "chat":
            return sum(1 for message in body.get("messages", []) if message.get("role") == "tool")
        if PROTOCOL == "messages":
            lists = [message["content"] for message in body.get("messages", [])]
            parts = [part for content in lists if not isinstance(content, str) for part in content]
            return sum(1 for part in parts if part["type"] == "tool_result")
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        return sum(1 for part in parts if "functionResponse" in part)

    def answer_responses(self, body, call, done, _stream):
        number = f"{done}"
        self.event({"type": "response.created", "response": {"id": f"resp_{number}"}}, "response.created")
        if not call:
            item = {"type": "message", "role": "assistant", "id": f"msg_{number}",
                    "content": [{"type": "output_text", "text": self.said}]}
        elif isinstance(call[1], str):
            item = {"type": "custom_tool_call", "id": f"ct_{number}", "call_id": f"call_{number}",
                    "name": call[0], "input": call[1]}
        else:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                    "name": call[0], "arguments": json.dumps(call[1])}
        self.event({"type": "response.output_item.done", "output_index": 0, "item": item},
                   "response.output_item.done")
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1,
                 "output_tokens_details": None, "total_tokens": 2}
        self.event({"type": "response.completed", "response": {"id": f"resp_{number}", "usage": usage}},
                   "response.completed")

    def answer_chat(self, body, call, done, stream):
        base = {"id": f"c{done}", "created": 1, "model": body.get("model", "scripted")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        message = {"role": "assistant", "content": self.said}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            tool = {"index": 0, "id": f"call_{done}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [tool]}
        reason = "tool_calls" if call else "stop"
        if not stream:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            answer = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            self.wfile.write(json.dumps(answer).encode())
            return
        chunk = {**base, "object": "chat.completion.chunk"}
        self.event({**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]})
        self.event({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage})
        self.event("[DONE]")

    def answer_messages(self, body, call, done, _stream):
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{done}", "type": "message", "role": "assistant", "model": body["model"],
                   "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": self.said}
        if call:
            block = {"type": "tool_use", "id": f"toolu_{done}", "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        for event in [{"type": "message_start", "message": message},
                      {"type": "content_block_start", "index": 0, "content_block": block},
                      {"type": "content_block_delta", "index": 0, "delta": delta},
                      {"type": "content_block_stop", "index": 0},
                      {"type": "message_delta", "delta": stop, "usage": usage},
                      {"type": "message_stop"}]:
            self.event(event, event["type"])

    def answer_gemini(self, body, call, _done, stream):
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": self.said}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP",
                                  "index": 0}],
                  "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
                  "totalTokens": 1}
        if stream:
            self.event(answer)
        else:
            self.wfile.write(json.dumps(answer).encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
