"""An MCP server on stdio without dependencies. definitions.json beside it says who it is."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "definitions.json"), encoding="utf-8") as f:
    DEFINITIONS = json.load(f)


def write(args):
    file = os.path.join(HERE, args["name"])
    with open(file, "w", encoding="utf-8") as f:
        f.write(args["text"])
    return file


def read(args):
    with open(args["path"], encoding="utf-8") as f:
        return f.read()


def about(args):
    return json.dumps({
        "name": DEFINITIONS["name"], "version": DEFINITIONS["version"], "file": os.path.abspath(__file__), "dependencies": {},
        "interpreter": sys.executable, "runtime": sys.version.split()[0], "args": sys.argv[1:], "cwd": os.getcwd(),
    })


TOOLS = {
    "echo": lambda args: str(args["text"]),
    "env": lambda args: str(os.environ.get(args["name"])) if "name" in args else json.dumps(dict(os.environ)),
    "read": read,
    "write": write,
    "about": about,
}


def call(params):
    try:
        if params["name"] not in TOOLS:
            raise LookupError("no such tool: " + params["name"])
        return {"content": [{"type": "text", "text": TOOLS[params["name"]](params.get("arguments") or {})}]}
    except Exception as e:
        return {"isError": True, "content": [{"type": "text", "text": str(e)}]}


def main():
    if DEFINITIONS.get("attackAtStart"):
        from . import attack  # noqa: F401
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        if "id" not in message:
            continue
        method, params, body = message.get("method"), message.get("params") or {}, {}
        if method == "initialize":
            body["result"] = {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": DEFINITIONS["name"], "version": DEFINITIONS["version"]},
            }
        elif method == "ping":
            body["result"] = {}
        elif method == "tools/list":
            body["result"] = {"tools": DEFINITIONS["tools"]}
        elif method == "tools/call":
            body["result"] = call(params)
        else:
            body["error"] = {"code": -32601, "message": "no such method: %s" % method}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


if __name__ == "__main__":
    main()
