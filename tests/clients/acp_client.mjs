// A played editor for acp.sh, on the official client library. Each argument after AYE and the agent's command
// (up to `--`) is a step: `new FILE…` and `load` begin a session, `prompt TEXT` asks with links to the FILEs,
// `run COMMAND` runs one in a shell. Reports what an editor would show.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import * as acp from "@agentclientprotocol/sdk";

const [aye, ...rest] = process.argv.slice(2);
const at = rest.indexOf("--");
const [command, steps] = [rest.slice(0, at), rest.slice(at + 1)];
const cwd = process.cwd();
const remembered = "../session";
const paths = new Set();
let chat = "";

const child = spawn(aye, ["acp", "--", ...command], { stdio: ["pipe", "pipe", "inherit"], cwd });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const note = (call) => {
  call?.locations?.forEach(({ path }) => paths.add(path));
  call?.content?.forEach?.((item) => item.type === "diff" && paths.add(item.path));
};
const app = acp
  .client({ name: "played-editor" })
  .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
      chat += update.content.text;
    if (update.sessionUpdate.startsWith("tool_call")) note(update);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params: { toolCall, options } }) => {
    note(toolCall);
    const { optionId } = options.find(({ kind }) => kind.startsWith("allow"));
    return { outcome: { outcome: "selected", optionId } };
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params: { path } }) => ({
    content: readFileSync(path, "utf8"),
  }))
  .onRequest(acp.methods.client.fs.writeTextFile, () => {
    throw new Error("the agent asks the editor to write");
  })
  .onRequest("*", ({ method }) => {
    throw acp.RequestError.methodNotFound(method);
  });

await app.connectWith(stream, async (agent) => {
  const { agent: to } = acp.methods;
  const hello = await agent.request(to.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: "played-editor", version: "1" },
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
  });
  assert.equal(hello.protocolVersion, 1);
  const auth = process.env.ACP_AUTH;
  if (auth) await agent.request(to.authenticate, { methodId: auth });
  let sessionId, files = [];
  for (const step of steps) {
    const [verb, ...words] = step.split(" ");
    if (verb === "new") {
      ({ sessionId } = await agent.request(to.session.new, { cwd, mcpServers: [] }));
      writeFileSync(remembered, sessionId);
      files = words;
    } else if (verb === "load") {
      sessionId = readFileSync(remembered, "utf8");
      const resumes = hello.agentCapabilities?.sessionCapabilities?.resume;
      const method = hello.agentCapabilities?.loadSession ? to.session.load : resumes && to.session.resume;
      if (!method) {
        console.log("loads no session");
        break;
      }
      await agent.request(method, { sessionId, cwd, mcpServers: [] });
    } else if (verb === "run") {
      execFileSync("sh", ["-c", words.join(" ")], { stdio: ["ignore", "ignore", "inherit"] });
    } else {
      chat = "";
      const links = files.map((name) => ({ type: "resource_link", name, uri: pathToFileURL(name).href }));
      const prompt = [{ type: "text", text: words.join(" ") }, ...links];
      const { stopReason } = await agent.request(to.session.prompt, { sessionId, prompt });
      console.log(`${stopReason}: ${chat.trim().replaceAll("\n", "\n    ")}`);
    }
  }
});
child.stdin.end();
await new Promise((done) => (child.exitCode === null ? child.on("exit", done) : done()));
// What an editor shows as a path is one that it can open.
for (const path of paths) assert.ok(path.startsWith(`${cwd}/`) || !path.includes("/aye/trees/"), path);
console.log(`paths: ${[...paths].filter((path) => existsSync(path)).join(" ") || "none"}`);
process.exit(0);
