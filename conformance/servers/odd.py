"""An MCP server of both eras that needs nothing but Python. It is in order by the
letter of the specification, and odd wherever that leaves room: spaces, escapes,
numbers, the order of members, line ends, members that nobody has heard of, batches.
A relay that decodes what it passes on cannot help changing something of it.

It works off one line after the other, so that its output is a function of its input.
"""

import json
import sys
import time

LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"

out = sys.stdout.buffer
state = {"asked": 0, "waiting": [], "asking": {}, "listen": None}


def line(text, end="\n"):
    out.write((text + end).encode("utf-8", "surrogatepass"))
    out.flush()


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def wide(value):
    return json.dumps(value, ensure_ascii=True, separators=(" ,  ", " : "))


def reply(id, result, render=compact):
    # The id goes back as it came, token for token.
    return '{"id":%s,"result":%s,"jsonrpc":"2.0"}' % (id, render(result))


def fault(id, code, message, data=None):
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return '{"jsonrpc":"2.0","id":%s,"error":%s}' % (id, compact(error))


def notify(method, params):
    line(compact({"jsonrpc": "2.0", "method": method, "params": params}))


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def tool(name, describe, **properties):
    return {
        "name": name,
        "description": describe,
        "inputSchema": {"type": "object", "properties": properties},
        "x-unknown": {"kept": [1, 2.50, None]},
    }


ICONS = [{"src": "data:image/png;base64,iVBORw0KGgo=", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}]
TASK = {"taskId": "täsk/1", "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z", "ttlMs": None, "pollIntervalMs": 5}
STRING, NUMBER = {"type": "string"}, {"type": "number"}
TOOLS = [
    tool("echo", "Says it again – ünïcode, \U0001f642, \u2028", text=STRING),
    tool("odd", "Answers in an odd but legal form", form=STRING),
    tool("fail", "Fails, as tools do"),
    tool("refuse", "Fails with an error of the protocol"),
    tool("count", "Tells its progress", to=NUMBER),
    tool("large", "Says a lot", bytes=NUMBER),
    tool("ask", "Asks the client: sampling, elicitation or roots", what=STRING),
    tool("wait", "Answers when it is cancelled, which is never"),
    tool("log", "Logs", lines=NUMBER),
    tool("change", "Says that the lists have changed"),
    tool("split", "Answers one byte at a time", text=STRING),
    tool("later", "Becomes a task") | {"icons": ICONS, "execution": {"taskSupport": "optional"}},
    tool("trace", "Answers with the _meta of the request"),
    tool("exit", "Answers and exits", status=NUMBER, end=STRING),
]
TOOLS[-1]["annotations"] = {"destructiveHint": True}

INPUT = {
    "sampling": ("sampling/createMessage", {"messages": [{"role": "user", "content": {"type": "text", "text": "wörds?"}}], "maxTokens": 10}),
    "elicitation": (
        "elicitation/create",
        {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {"which": {"type": "string", "enum": ["a", "b"]}}}},
    ),
    "roots": ("roots/list", {}),
    "url": ("elicitation/create", {"mode": "url", "elicitationId": "e-1", "url": "https://example.org/ü?a=b&c", "message": "Sign in"}),
    "tools": ("sampling/createMessage", {"messages": [{"role": "user", "content": [{"type": "tool_result", "toolUseId": "t 1", "content": []}]}], "maxTokens": 10, "tools": [{"name": "x", "inputSchema": {"type": "object"}}], "toolChoice": {"mode": "required"}}),
}

ODD = {
    # integers beyond 2^53, numbers that are equal and not the same
    "numbers": '{"jsonrpc":"2.0","id":%s,"result":{@"content":[],"structuredContent":{"big":9007199254740993,"huge":123456789012345678901234567890,"one":1.0,"exp":1e2,"E":1E+2,"minus":-0,"tiny":1e-400}}}',
    "spaces": ' \t{ "jsonrpc" : "2.0" ,\t"id" : %s , "result" : {@ "content" : [ ] } } \t',
    "escapes": '{"jsonrpc":"2.0","id":%s,"result":{@"content":[{"type":"text","text":"\\u00fc \\ud83d\\ude42 \\/ \\u2028 \\u0000 \\b\\f"}]}}',
    "keys": '{"\\u006asonrpc":"2.0","id":%s,"resul\\u0074":{@"content":[{"\\u0074ype":"text","text":"escaped names"}]}}',
    "order": '{"result":{@"_meta":{"example.org/z":[],"example.org/a":{}},"content":[]},"id":%s,"jsonrpc":"2.0"}',
    "strangers": '{"jsonrpc":"2.0","x":{"y":[{}]},"id":%s,"result":{@"content":[],"codex/sandbox-state-meta":{"a":1},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},"zz":null}',
    "deep": '{"jsonrpc":"2.0","id":%s,"result":{@"content":[],"structuredContent":{"d":' + "[" * 200 + "]" * 200 + "}}}",
    "twice": '{"jsonrpc":"2.0","id":%s,"result":{@"content":[],"structuredContent":{"same":1,"same":2}}}',
}


def main():
    for raw in sys.stdin.buffer:
        try:
            message = json.loads(raw.decode("utf-8", "replace"))
        except ValueError:
            line(fault("null", -32700, "Parse error"))
            continue
        if isinstance(message, list):
            # 2025-03-26: one line of answers for one line of requests. The tokens
            # of ids are not kept here, so only plain ones come in batches.
            answers = [a for a in (handle(m, json.dumps(m.get("id"))) for m in message) if a]
            if answers:
                line("[" + ", ".join(answers) + "]")
            continue
        answer = handle(message, token(raw))
        if answer is not None:
            line(answer)
    return 0


def token(raw):
    """The id of a message as it was written."""

    class Number(str):
        pass

    value = json.loads(raw.decode("utf-8", "replace"), parse_int=Number, parse_float=Number).get("id")
    return str(value) if isinstance(value, Number) else json.dumps(value)


def handle(m, id):
    method, params = m.get("method"), m.get("params") or {}
    if method is None:
        return answered(m)
    modern = META + "protocolVersion" in (params.get("_meta") or {})
    if "id" not in m:
        return notified(method, params)
    if modern and params["_meta"][META + "protocolVersion"] != MODERN:
        return fault(id, -32022, "Unsupported protocol version", {"supported": [MODERN], "requested": params["_meta"][META + "protocolVersion"]})
    return request(method, params, id, modern)


def done(id, result, modern, render=compact):
    if modern:
        result = {"resultType": "complete", **result, "_meta": {META + "serverInfo": {"name": "odd", "version": "1.0.0"}}}
    return reply(id, result, render)


CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
    "experimental": {"example.org/odd": {"x": 1}},
    "extensions": {META + "tasks": {}},
}


def request(method, params, id, modern):
    cached = {"ttlMs": 0, "cacheScope": "private"} if modern else {}
    if method == "initialize":
        wanted = params.get("protocolVersion")
        version = wanted if wanted in LEGACY else LEGACY[-1]
        return reply(id, {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": {"name": "odd", "version": "1.0.0"}, "instructions": "ünïcode\n\U0001f642"}, wide)
    if method == "server/discover":
        if not modern:
            return fault(id, -32602, "Invalid params: _meta is required")
        return done(id, {"supportedVersions": [MODERN], "capabilities": CAPABILITIES, **cached}, modern)
    if method == "ping" and not modern:
        return reply(id, {})
    if method == "tools/list":
        if "cursor" in params:
            return done(id, {"tools": TOOLS[6:], **cached}, modern)
        if params.get("all") or modern:
            return done(id, {"tools": TOOLS, **cached}, modern, wide)
        return done(id, {"tools": TOOLS[:6], "nextCursor": "ü/+=="}, modern)
    if method == "resources/list":
        return done(id, {"resources": [{"uri": "odd://ä b", "name": "one"}, {"uri": "odd://2", "name": "two", "size": 9007199254740993}], **cached}, modern)
    if method == "resources/templates/list":
        return done(id, {"resourceTemplates": [{"uriTemplate": "odd://{x}", "name": "any"}], **cached}, modern)
    if method == "resources/read":
        if params.get("uri") == "odd://nothing":
            return fault(id, -32602 if modern else -32002, "Resource not found", {"uri": "odd://nothing"})
        return done(id, {"contents": [{"uri": params.get("uri"), "text": "the text\r\n"}, {"uri": "odd://blob", "blob": "AAECAw=="}], **cached}, modern)
    if method in ("resources/subscribe", "resources/unsubscribe") and not modern:
        if method == "resources/subscribe":
            notify("notifications/resources/updated", {"uri": params.get("uri")})
        return reply(id, {})
    if method == "prompts/list":
        return done(id, {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}], **cached}, modern)
    if method == "prompts/get":
        return done(id, {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello %s" % (params.get("arguments") or {}).get("who")}}]}, modern)
    if method == "completion/complete":
        return done(id, {"completion": {"values": ["ada", "åsa"], "total": 2, "hasMore": False}}, modern)
    if method == "logging/setLevel" and not modern:
        return reply(id, {})
    if method == "subscriptions/listen" and modern:
        state["listen"] = id
        mark = {"_meta": {META + "subscriptionId": json.loads(id)}}
        notify("notifications/subscriptions/acknowledged", {"notifications": params.get("notifications"), **mark})
        notify("notifications/tools/list_changed", mark)
        return None
    if method.startswith("tasks/") and modern:
        notify("notifications/tasks", {**TASK, "status": "working", "_meta": params["_meta"]})
        return done(id, {} if method != "tasks/get" else {**TASK, "status": "input_required", "inputRequests": {"the one": {"method": INPUT["url"][0], "params": INPUT["url"][1]}}}, modern)
    if method == "tools/call":
        return call(params, id, modern)
    return fault(id, -32601, "Method not found", {"method": method})


def call(params, id, modern):
    name, arguments = params.get("name"), params.get("arguments") or {}
    progress = (params.get("_meta") or {}).get("progressToken")
    if name == "echo":
        return done(id, text(arguments.get("text")), modern)
    if name == "odd":
        form = arguments.get("form")
        if form == "crlf":
            line(done(id, text("a line that ends with CR LF"), modern), "\r\n")
            return None
        if form not in ODD:
            return fault(id, -32602, "no such form")
        return ODD[form].replace("@", '"resultType":"complete",' if modern else "", 1) % id
    if name == "fail":
        return done(id, text("it did not work out", isError=True), modern)
    if name == "refuse":
        return fault(id, 7, "no", {"why": ["just", {"so": None}]})
    if name == "count":
        for n in range(1, int(arguments.get("to", 3)) + 1):
            notify("notifications/progress", {"progressToken": progress, "progress": n, "total": arguments.get("to"), "message": "step %d – ü" % n})
        time.sleep(arguments.get("pause", 0))
        return done(id, text("counted"), modern)
    if name == "large":
        words = "ünd so weiter \U0001f642 "
        return done(id, text((words * (int(arguments["bytes"]) // len(words.encode()) + 1))), modern)
    if name == "ask":
        return ask(arguments.get("what"), params, id, modern)
    if name == "wait":
        state["waiting"].append(id)
        notify("notifications/progress", {"progressToken": progress, "progress": 1})
        return None
    if name == "log":
        for n in range(int(arguments.get("lines", 1))):
            notify("notifications/message", {"level": "warning", "logger": "odd", "data": {"n": n, "ü": "\u2028"}})
        return done(id, text("logged"), modern)
    if name == "change":
        for kind in ("tools", "resources", "prompts"):
            notify("notifications/%s/list_changed" % kind, {})
        return done(id, text("changed"), modern)
    if name == "later":
        return reply(id, {"resultType": "task", **TASK, "status": "working"})
    if name == "trace":
        return done(id, text("traced", structuredContent=params["_meta"]), modern)
    if name == "split":
        for byte in (done(id, text(arguments.get("text")), modern) + "\n").encode():
            out.write(bytes([byte]))
            out.flush()
        return None
    if name == "exit":
        line(done(id, text("goodbye"), modern), "" if arguments.get("end") == "none" else "\n")
        sys.exit(int(arguments.get("status", 0)))
    return fault(id, -32602, "Unknown tool: %s" % name)


def ask(what, params, id, modern):
    method, body = INPUT[what]
    if not modern:
        state["asking"][state["asked"]] = id
        line('{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}' % (state["asked"], method, compact(body)))
        state["asked"] += 1
        return None
    responses = params.get("inputResponses")
    if responses is None:
        asked = {"resultType": "input_required", "inputRequests": {"the one": {"method": method, "params": body}}, "requestState": "opäque \u2028 state=="}
        return reply(id, asked)
    if params.get("requestState") != "opäque \u2028 state==":
        return fault(id, -32602, "that is not my state")
    return done(id, text("heard " + compact(responses)), modern)


def answered(m):
    id = state["asking"].pop(m.get("id"), None)
    if id is None:
        return None
    return reply(id, text("heard " + compact(m.get("result", m.get("error")))))


def notified(method, params):
    if method == "notifications/cancelled":
        wanted = json.dumps(params.get("requestId"))
        if wanted in state["waiting"]:
            state["waiting"].remove(wanted)
            notify("notifications/message", {"level": "info", "data": "cancelled " + wanted})
        if wanted == state["listen"]:
            state["listen"] = None
            return reply(wanted, {"resultType": "complete"})
    return None


if __name__ == "__main__":
    sys.exit(main())
