"""An MCP server with one tool: run starts a program and returns what it printed.
With "errors" as its argument a failure is an error of the protocol, no result."""

import json
import os
import subprocess
import sys


def run(argv, env=None, cwd=None, input=""):
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, **(env or {})}, input=input,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )
    return done.stdout, done.returncode


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "exec", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": "run", "inputSchema": {"type": "object"}}]}
    if method == "tools/call":
        arguments = params["arguments"]
        if arguments["argv"][0] == "python":  # this one
            arguments["argv"][0] = sys.executable
        try:
            out, code = run(**arguments)
        except OSError as e:
            out, code = str(e), 127
        return {
            "content": [{"type": "text", "text": out}], "structuredContent": {"code": str(code)},
            "isError": code != 0,
        }
    return {}


for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        frame = {"jsonrpc": "2.0", "id": m["id"], "result": answer(m["method"], m.get("params"))}
        if frame["result"].get("isError") and "errors" in sys.argv:
            text = frame.pop("result")["content"][0]["text"]
            frame["error"] = {"code": -32603, "message": text}
        print(json.dumps(frame), flush=True)
