//! A scripted stand-in for the model behind a coding agent: what a provider's endpoint answers, in its own
//! form. It calls one tool after the other, as far as the conversation has results of them, and then says
//! that it is done. Pure.

use serde_json::{Value, json};

/// The protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic's messages, as Claude Code speaks them.
    Messages,
    /// OpenAI's responses: Codex.
    Responses,
    /// OpenAI's chat completions: Qwen Code, Copilot CLI, OpenCode.
    Chat,
    /// Google's generateContent: Gemini CLI.
    Gemini,
}

/// A call of one of the client's tools. In texts of `input`, `@TREE@` is the work tree and `@NAME@` the session
/// that the client was told of last.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The tool.
    pub tool: &'static str,
    /// What it is called with; a text for a tool that takes one.
    pub input: Value,
}

/// What is sent back for one request.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// Whether the body is a stream of events; JSON otherwise.
    pub is_stream: bool,
    /// The body.
    pub body: Vec<u8>,
    /// Which of the steps it calls for.
    pub step: Option<usize>,
}

/// What the model says at its end.
pub const LAST: &str = "Finished.";

/// Answers the request to `path` with `body`, where the trees of sessions lie below `trees`.
pub fn reply(wire: Wire, path: &str, body: &Value, steps: &[Step], trees: &str) -> Reply {
    if wire == Wire::Messages && path.contains("count_tokens") {
        return whole(&json!({ "input_tokens": 1 }));
    }
    // Titles and summaries are asked for without tools.
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let done = results(wire, body);
    let step = (has_tools && done < steps.len()).then_some(done);
    let call = step.map(|at| (steps[at].tool, filled(&steps[at].input, body, trees)));
    let call = call.as_ref().map(|(tool, input)| (*tool, input));
    let reply = match wire {
        Wire::Messages => messages(body, call, done),
        Wire::Responses => responses(call, done),
        Wire::Chat => chat(body, call, done),
        Wire::Gemini => gemini(path, call),
    };
    Reply { step, ..reply }
}

/// The answer to a question for the models that there are.
pub fn models() -> Reply {
    whole(&json!({
        "object": "list",
        "data": [{ "id": "scripted", "object": "model" }],
        "models": [],
    }))
}

fn whole(value: &Value) -> Reply {
    Reply { is_stream: false, body: value.to_string().into_bytes(), step: None }
}

/// A stream of events, each with its name where the protocol has names.
fn stream(events: &[(&str, Value)]) -> Reply {
    let mut body = String::new();
    for (name, data) in events {
        if !name.is_empty() {
            body += &format!("event: {name}\n");
        }
        body += &format!("data: {data}\n\n");
    }
    Reply { is_stream: true, body: body.into_bytes(), step: None }
}

/// How many calls of tools have a result in the conversation.
fn results(wire: Wire, body: &Value) -> usize {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let is = |value: &Value, word: &str| value.as_str() == Some(word);
    match wire {
        Wire::Messages => list(&body["messages"])
            .iter()
            .flat_map(|message| list(&message["content"]))
            .filter(|part| is(&part["type"], "tool_result"))
            .count(),
        Wire::Responses => list(&body["input"])
            .iter()
            .filter(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output")))
            .count(),
        Wire::Chat => {
            list(&body["messages"]).iter().filter(|message| is(&message["role"], "tool")).count()
        }
        Wire::Gemini => list(&body["contents"])
            .iter()
            .flat_map(|content| list(&content["parts"]))
            .filter(|part| part.get("functionResponse").is_some())
            .count(),
    }
}

fn messages(body: &Value, call: Option<(&str, &Value)>, done: usize) -> Reply {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = json!({
        "id": format!("msg_{done}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let (block, delta, why) = match call {
        Some((tool, input)) => (
            json!({ "type": "tool_use", "id": format!("toolu_{done}"), "name": tool, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
            "tool_use",
        ),
        None => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": LAST }),
            "end_turn",
        ),
    };
    let stop = json!({ "stop_reason": why, "stop_sequence": null });
    let event = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        (name, data)
    };
    stream(&[
        event("message_start", json!({ "message": message })),
        event("content_block_start", json!({ "index": 0, "content_block": block })),
        event("content_block_delta", json!({ "index": 0, "delta": delta })),
        event("content_block_stop", json!({ "index": 0 })),
        event("message_delta", json!({ "delta": stop, "usage": usage })),
        event("message_stop", json!({})),
    ])
}

fn responses(call: Option<(&str, &Value)>, done: usize) -> Reply {
    let item = match call {
        None => json!({
            "type": "message", "role": "assistant", "id": format!("msg_{done}"),
            "content": [{ "type": "output_text", "text": LAST }],
        }),
        Some((tool, Value::String(text))) => json!({
            "type": "custom_tool_call", "id": format!("ct_{done}"), "call_id": format!("call_{done}"),
            "name": tool, "input": text,
        }),
        Some((tool, input)) => json!({
            "type": "function_call", "id": format!("fc_{done}"), "call_id": format!("call_{done}"),
            "name": tool, "arguments": input.to_string(),
        }),
    };
    let id = format!("resp_{done}");
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null,
        "output_tokens": 1, "output_tokens_details": null, "total_tokens": 2,
    });
    let event = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        (name, data)
    };
    stream(&[
        event("response.created", json!({ "response": { "id": id } })),
        event("response.output_item.done", json!({ "output_index": 0, "item": item })),
        event("response.completed", json!({ "response": { "id": id, "usage": usage } })),
    ])
}

fn chat(body: &Value, call: Option<(&str, &Value)>, done: usize) -> Reply {
    let model = body["model"].as_str().unwrap_or("scripted");
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    let (message, why) = match call {
        Some((tool, input)) => {
            let function = json!({ "name": tool, "arguments": input.to_string() });
            let call = json!({
                "index": 0, "id": format!("call_{done}"), "type": "function", "function": function,
            });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
        None => (json!({ "role": "assistant", "content": LAST }), "stop"),
    };
    let answer = |kind: &str, choice: Value| {
        json!({
            "id": format!("c{done}"), "created": 1, "model": model, "object": kind,
            "choices": [choice],
        })
    };
    if body["stream"] != true {
        let choice = json!({ "index": 0, "message": message, "finish_reason": why });
        let mut answer = answer("chat.completion", choice);
        answer["usage"] = usage;
        return whole(&answer);
    }
    let kind = "chat.completion.chunk";
    let first = json!({ "index": 0, "delta": message, "finish_reason": null });
    let mut last = answer(kind, json!({ "index": 0, "delta": {}, "finish_reason": why }));
    last["usage"] = usage;
    let mut reply = stream(&[("", answer(kind, first)), ("", last)]);
    reply.body.extend_from_slice(b"data: [DONE]\n\n");
    reply
}

fn gemini(path: &str, call: Option<(&str, &Value)>) -> Reply {
    let part = match call {
        Some((tool, input)) => json!({ "functionCall": { "name": tool, "args": input } }),
        None => json!({ "text": LAST }),
    };
    let content = json!({ "role": "model", "parts": [part] });
    let answer = json!({
        "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
        "totalTokens": 1,
    });
    match path.contains("stream") {
        true => stream(&[("", answer)]),
        false => whole(&answer),
    }
}

/// `input` with what the conversation in `body` named last: the tree of a session, and the session.
fn filled(input: &Value, body: &Value, trees: &str) -> Value {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let (mut tree, mut name) = (None, None);
    each_text(body, &mut |text| {
        if let Some(at) = text.rfind(trees).filter(|_| !trees.is_empty()) {
            let rest = &text[at + trees.len()..];
            let mut parts = rest
                .split('/')
                .map(|part| part.split(|c: char| !is_name(c)).next().unwrap_or_default());
            if let (Some(""), Some(repository), Some(session)) =
                (parts.next(), parts.next(), parts.next())
            {
                tree = Some(format!("{trees}/{repository}/{}", session.trim_end_matches('.')));
            }
        }
        if let Some((_, rest)) = text.rsplit_once("with name ") {
            let word = rest.split(|c: char| !is_name(c)).next();
            name = word.map(|word| word.trim_end_matches('.').to_owned()).or(name.take());
        }
    });
    let fill = |text: &str| {
        text.replace("@TREE@", tree.as_deref().unwrap_or("none"))
            .replace("@NAME@", name.as_deref().unwrap_or("none"))
    };
    match input {
        Value::Object(fields) => {
            let filled = fields.iter().map(|(key, value)| {
                let value = value.as_str().map_or_else(|| value.clone(), |text| fill(text).into());
                (key.clone(), value)
            });
            Value::Object(filled.collect())
        }
        Value::String(text) => fill(text).into(),
        other => other.clone(),
    }
}

fn each_text(value: &Value, seen: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => seen(text),
        Value::Array(list) => list.iter().for_each(|value| each_text(value, seen)),
        Value::Object(fields) => fields.values().for_each(|value| each_text(value, seen)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps() -> Vec<Step> {
        vec![
            Step { tool: "write", input: json!({ "path": "@TREE@/a", "n": 1 }) },
            Step { tool: "patch", input: "*** @NAME@".into() },
        ]
    }

    fn texts(reply: &Reply) -> String {
        String::from_utf8(reply.body.clone()).unwrap()
    }

    /// A conversation in which `count` tools have answered.
    fn body(wire: Wire, count: usize) -> Value {
        let told = "call it with name c1f2. It lies in /s/aye/trees/shop-1/c1f2, and so on";
        let repeat = |value: Value| vec![value; count];
        let mut body = match wire {
            Wire::Messages => {
                json!({ "messages": [
                    { "content": told },
                    { "content": repeat(json!({ "type": "tool_result", "content": "x" })) },
                ]})
            }
            Wire::Responses => {
                let mut items = vec![json!({ "type": "message", "content": told })];
                items.extend(repeat(json!({ "type": "function_call_output", "output": "x" })));
                json!({ "input": items })
            }
            Wire::Chat => {
                let mut items = vec![json!({ "role": "user", "content": told })];
                items.extend(repeat(json!({ "role": "tool", "content": "x" })));
                json!({ "messages": items, "stream": true })
            }
            Wire::Gemini => json!({ "contents": [
                { "parts": [{ "text": told }] },
                { "parts": repeat(json!({ "functionResponse": {} })) },
            ]}),
        };
        body["tools"] = json!([{}]);
        body
    }

    const ALL: [Wire; 4] = [Wire::Messages, Wire::Responses, Wire::Chat, Wire::Gemini];

    #[test]
    fn steps_follow_each_other_by_the_results_and_then_it_stops() {
        for wire in ALL {
            let ask = |count| reply(wire, "/stream", &body(wire, count), &steps(), "/s/aye/trees");
            let first = ask(0);
            assert_eq!((first.step, first.is_stream), (Some(0), true), "{wire:?}");
            assert!(texts(&first).contains("/s/aye/trees/shop-1/c1f2/a"), "{}", texts(&first));
            let second = ask(1);
            assert_eq!(second.step, Some(1));
            assert!(texts(&second).contains("*** c1f2"), "{}", texts(&second));
            let third = ask(2);
            assert_eq!(third.step, None);
            assert!(texts(&third).contains(LAST));
            // Without tools it is no turn of the task.
            let mut bare = body(wire, 0);
            bare["tools"] = Value::Null;
            assert_eq!(reply(wire, "/", &bare, &steps(), "/t").step, None);
        }
    }

    #[test]
    fn what_is_asked_for_whole_is_json() {
        let mut asked = body(Wire::Chat, 0);
        asked["stream"] = false.into();
        for (wire, asked) in [(Wire::Chat, asked), (Wire::Gemini, body(Wire::Gemini, 0))] {
            let whole = reply(wire, "/generate", &asked, &steps(), "/t");
            assert!(!whole.is_stream);
            assert!(serde_json::from_slice::<Value>(&whole.body).is_ok());
        }
        let counted = reply(Wire::Messages, "/v1/count_tokens", &json!({}), &steps(), "/t");
        assert_eq!(counted.body, b"{\"input_tokens\":1}");
        assert!(serde_json::from_slice::<Value>(&models().body).is_ok());
    }

    proptest! {
        #[test]
        fn anything_is_answered(text in ".{0,40}", path in ".{0,20}", trees in ".{0,4}") {
            for wire in ALL {
                for body in [json!(text), json!([text]), json!({"messages": [text], "tools": [1]})] {
                    reply(wire, &path, &body, &steps(), &trees);
                }
            }
        }
    }
}
