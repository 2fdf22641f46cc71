// Written by `aye agents install opencode`: edits go through review. `aye agents remove opencode` removes it.
import { spawnSync } from "node:child_process";
const aye = "aye", strict = false, shared = false;
export const Aye = async ({ directory, client }) => {
  const ask = (event, call) => {
    const input = JSON.stringify({ directory, ...call });
    const args = ["agents", "hook", "opencode", event, ...(strict ? ["--strict"] : [])];
    const done = spawnSync(aye, args, { input, encoding: "utf8", maxBuffer: 1 << 28 });
    // Settings that are committed: a colleague without aye goes on without it.
    if (shared && done.error?.code === "ENOENT") return {};
    // Whatever is not an answer is a refusal: the gate is closed.
    if (done.status !== 0) throw new Error(`aye: ${done.stderr || done.error || "the hook failed"}`);
    return JSON.parse(done.stdout);
  };
  return {
    "tool.execute.before": async (input, output) => {
      const answer = ask("before", { session: input.sessionID, tool: input.tool, args: output.args });
      if (answer.refuse) throw new Error(answer.refuse);
      if (answer.args) Object.assign(output.args, answer.args);
    },
    "chat.message": async (input, output) => {
      const said = output.parts.find((part) => part.type === "text" && part.text);
      if (!said) return;
      const model = input.model?.modelID;
      const answer = ask("prompt", { session: input.sessionID, prompt: said.text, model });
      if (answer.inform) said.text = `${said.text}\n\n${answer.inform}`;
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return;
      const answer = ask("idle", { session: event.properties.sessionID });
      if (answer.say) await client.app.log({ body: { service: "aye", level: "info", message: answer.say } }).catch(() => {});
    },
  };
};
