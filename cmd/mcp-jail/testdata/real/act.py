"""An MCP server with one tool, act, which does one thing on the host and tells of a failure
in the words of some language or program."""

import json
import os
import socket
import subprocess
import sys

# What node and Go call the system call.
OPS = {
    "read": "open", "write": "open", "append": "open", "create": "open", "list": "scandir", "mkdir": "mkdir", "mkdirs": "mkdir",
    "rmdir": "rmdir", "remove": "unlink", "rename": "rename", "replace": "rename", "link": "link", "symlink": "symlink", "chmod": "chmod",
    "truncate": "truncate", "stat": "stat", "exec": "spawn", "execpath": "spawn",
}


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def append(path):
    with open(path, "a") as f:
        f.write("more\n")


def replace(path):
    """Writes beside a file and renames, as editors and databases do."""
    write(path + ".tmp", "new")
    os.rename(path + ".tmp", path)


def start(argv, says=""):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode or says not in done.stdout:
        raise Said(done.stdout or "exit status %d" % done.returncode)


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
    except OSError as e:
        raise OSError(e.errno, e.strerror, path)


def dial(port):
    try:
        socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()
    except OSError as e:
        raise OSError(e.errno, e.strerror, "127.0.0.1:" + port)


def database(path):
    import sqlite3
    c = sqlite3.connect(path)
    c.execute("create table if not exists t (x)")
    c.commit()


class Said(Exception):
    """A failure in the words of a program."""


ACTS = {
    "read": lambda a: open(a[0]).read(),
    "write": lambda a: write(a[0], "new"),
    "create": lambda a: write(a[0], "new"),
    "append": lambda a: append(a[0]),
    "truncate": lambda a: os.truncate(a[0], 0),
    "list": lambda a: os.listdir(a[0]),
    "stat": lambda a: os.stat(a[0]),
    "mkdir": lambda a: os.mkdir(a[0]),
    "mkdirs": lambda a: os.makedirs(a[0]),
    "rmdir": lambda a: os.rmdir(a[0]),
    "remove": lambda a: os.remove(a[0]),
    "rename": lambda a: os.rename(a[0], a[1]),
    "replace": lambda a: replace(a[0]),
    "link": lambda a: os.link(a[0], a[1]),
    "symlink": lambda a: os.symlink(a[0], a[1]),
    "chmod": lambda a: os.chmod(a[0], 0o600),
    "exec": lambda a: start(a),
    "execpath": lambda a: start(a),
    "shell": lambda a: start(["/bin/sh", "-c", a[0]]),
    "bash": lambda a: start(["/bin/bash", "-c", a[0]]),
    "python": lambda a: start([sys.executable, "-B", "-c", a[0]]),
    "node": lambda a: start(["node", "-e", a[0]]),
    "run": lambda a: start(a),
    "connect": lambda a: connect(a[0]),
    "dial": lambda a: dial(a[0]),
    "env": lambda a: os.environ[a[0]],
    "sqlite": lambda a: database(a[0]),
}


def words(act, voice, e, args):
    if isinstance(e, KeyError):
        return {
            "node": "Error: %s environment variable is required", "python": "KeyError: '%s'",
            "go": "environment variable %s not set", "libc": "prog: %s is not set", "java": "Missing environment variable: %s",
        }.get(voice, "it failed") % args[0] if voice != "nothing" else "it failed"
    if not isinstance(e, OSError):
        return str(e)
    path, said = e.filename or args[0], e.strerror
    two = getattr(e, "filename2", None)
    name = {1: "EPERM", 2: "ENOENT", 13: "EACCES", 16: "EBUSY", 18: "EXDEV", 30: "EROFS", 111: "ECONNREFUSED", 17: "EEXIST", 39: "ENOTEMPTY"}.get(e.errno, "EIO")
    low = {2: "no such file or directory", 13: "permission denied", 1: "operation not permitted", 30: "read-only file system", 18: "cross-device link not permitted"}.get(e.errno, said.lower())
    op = OPS.get(act, act)
    if voice == "nothing":
        return "it failed"
    if voice == "errno":
        return said
    if voice == "node":
        if act == "dial":
            return "connect %s %s" % (name, path)
        if act == "connect":
            return "connect %s %s" % (name, path)
        if op == "spawn":
            return "spawn %s %s" % (path, name)
        return "%s: %s, %s '%s'" % (name, low, op, path) + (" -> '%s'" % two if two else "")
    if voice == "go":
        if op == "spawn":
            return 'exec: "%s": executable file not found in $PATH' % path if e.errno == 2 and "/" not in path else "fork/exec %s: %s" % (path, said.lower())
        if act == "dial":
            return "dial tcp %s: connect: %s" % (path, said.lower())
        if act == "connect":
            return "dial unix %s: connect: %s" % (path, said.lower())
        return "%s %s%s: %s" % (op, path, " " + two if two else "", said.lower())
    if voice == "java":
        if op == "spawn":
            return 'java.io.IOException: Cannot run program "%s": error=%d, %s' % (path, e.errno, said)
        return {2: "java.nio.file.NoSuchFileException: %s", 13: "java.nio.file.AccessDeniedException: %s"}.get(e.errno, "java.nio.file.FileSystemException: %s: " + said) % (path + (" -> " + two if two else ""))
    if voice == "libc":
        if two:
            return "mv: cannot move '%s' to '%s': %s" % (path, two, said)
        return "prog: %s: %s" % (path, said)
    return str(e)  # python


def answer(m):
    if m["method"] == "initialize":
        return {"result": {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "act", "version": "1"}}}
    if m["method"] == "tools/list":
        return {"result": {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}}
    a = m["params"]["arguments"]
    text, bad = "done", False
    try:
        ACTS[a["act"]](a["args"])
    except FileExistsError if a["act"] == "mkdir" else ():
        pass  # mcp-jail has made it
    except Exception as e:
        text, bad = words(a["act"], a["voice"], e, a["args"]), True
    return {"result": {"content": [{"type": "text", "text": text}], "isError": bad}}


for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer(m)}), flush=True)
