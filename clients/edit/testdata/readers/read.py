"""Reads files as read.mjs does, with the parsers of Python."""

import json
import sys
import tomllib

readers = {
    "json": {"json of Python": json.loads},
    "toml": {"tomllib": tomllib.loads},
    "yaml": {},
}
try:
    import yaml
except ImportError:
    pass
else:
    readers["yaml"]["PyYAML"] = yaml.safe_load


def started(root):
    table = root.get("servers") if isinstance(root, dict) else None
    out = []
    entries = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else []
    for name, entry in entries:
        command = entry.get("command") if isinstance(entry, dict) else None
        if not isinstance(command, str):
            continue
        args = entry.get("args")
        env = entry.get("env")
        out.append({
            "name": str(name),
            "words": [command] + [str(a) for a in args] if isinstance(args, list) else [command],
            "env": {str(k): str(v) for k, v in env.items()} if isinstance(env, dict) else {},
        })
    return out


for line in sys.stdin:
    given = json.loads(line)
    answer = {}
    for name, read in readers[given["format"]].items():
        try:
            answer[name] = {"servers": started(read(given["text"].removeprefix("\ufeff")))}
        except Exception as e:
            answer[name] = {"error": str(e)[:200]}
    print(json.dumps(answer), flush=True)
