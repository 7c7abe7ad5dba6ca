// An MCP server with one tool: run starts a program and returns what it printed.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

function run({ argv, env, cwd, input }) {
  return new Promise((resolve) => {
    const child = spawn(argv[0], argv.slice(1), { cwd, env: { ...process.env, ...env } });
    let out = "";
    child.stdout.on("data", (b) => (out += b));
    child.stderr.on("data", (b) => (out += b));
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
    child.on("error", (e) => resolve({ out: String(e), code: 127 }));
    child.on("close", (code, signal) => resolve({ out, code: signal ?? code }));
  });
}

const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  switch (method) {
    case "initialize":
      return say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "exec", version: "1" } });
    case "tools/list":
      return say(id, { tools: [{ name: "run", inputSchema: { type: "object" } }] });
    case "tools/call": {
      const { out, code } = await run(params.arguments);
      return say(id, { content: [{ type: "text", text: out }], structuredContent: { code: String(code) }, isError: code !== 0 });
    }
  }
  say(id, {});
});
