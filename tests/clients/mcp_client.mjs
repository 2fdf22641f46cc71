// One talk with `aye mcp` through a TypeScript SDK: `handshake` is the first generation, `auto` the second.
import assert from "node:assert/strict";

const [generation, command] = process.argv.slice(2);
const server = { command, args: ["mcp", "--repo", "repository"] };
let client;
if (generation === "handshake") {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  client = new Client({ name: "handshake", version: "1" });
  await client.connect(new StdioClientTransport(server));
} else {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  client = new Client({ name: "auto", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StdioClientTransport(server));
  assert.equal(client.getNegotiatedProtocolVersion(), "2026-07-28");
}
const { tools } = await client.listTools();
assert.equal(tools.length, 15);
const edits = [{ file_path: "a.txt", old_content: "one", new_content: generation }];
const proposed = await client.callTool({ name: "propose", arguments: { edits } });
assert.equal(proposed.structuredContent.proposed_by, generation);
const proposal_id = proposed.structuredContent.proposal_id;
const waited = await client.callTool({ name: "wait", arguments: { proposal_id, timeout_s: 1 } });
assert.equal(waited.structuredContent.timed_out, true);
const refused = await client.callTool({ name: "changes", arguments: { action: "apply", proposal_id } });
assert.equal(refused.isError, true);
await client.close();
console.log(`TypeScript, ${generation}: as expected`);
