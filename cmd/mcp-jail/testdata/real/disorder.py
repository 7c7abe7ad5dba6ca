"""An MCP server with one tool: run SEED COUNT does random things to the files of the working directory,
in many of the ways in which programs do. Some files stay open from call to call."""

import ctypes
import json
import mmap
import os
import random
import shutil
import sys

NAMES = "a b c d d/a d/e d/e/b f f/x f/y l m m/n".split()
LIBC = ctypes.CDLL(None, use_errno=True)
held = []


def descriptor(name, flags):
    return os.open(name, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)


def through(name, flags, act):
    fd = descriptor(name, flags)
    try:
        act(fd)
    finally:
        os.close(fd)


def mapped(name, text):
    with open(name, "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        m[0] = text[0]


def saved(name, text):
    """As programs save: a file without a name gets one."""
    fd = os.open(os.path.dirname(name) or ".", os.O_TMPFILE | os.O_WRONLY, 0o644)
    os.write(fd, text)
    os.link("/proc/self/fd/%d" % fd, name, follow_symlinks=True)
    os.close(fd)


def reopened(name, text):
    with open(name, "rb") as f, open("/proc/self/fd/%d" % f.fileno(), "wb") as g:
        g.write(text)


def hold(name, text):
    held.append(descriptor(name, os.O_RDWR | os.O_CREAT))
    os.write(held[-1], text)


def copied(name, other):
    with open(other, "rb") as f, open(name, "r+b") as g:
        os.copy_file_range(f.fileno(), g.fileno(), 100, 0, 1)


def renamed(name, other, flags):
    LIBC.renameat2(-100, name.encode(), -100, other.encode(), flags)


def remove(name, _):
    shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.unlink(name)


def mode(name, choice):
    if not os.path.islink(name):
        os.chmod(name, choice.choice([0o755, 0o700, 0o500] if os.path.isdir(name) else [0o644, 0o600, 0o400, 0o200]))


def step(choice, n):
    name, other = choice.choice(NAMES), choice.choice(NAMES)
    text = b"server's %d " % n * choice.choice([1, 5, 300])
    choice.choice([
        lambda: through(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, lambda fd: os.write(fd, text)),
        lambda: through(name, os.O_WRONLY | os.O_APPEND, lambda fd: os.write(fd, text)),
        lambda: through(name, os.O_WRONLY, lambda fd: os.pwrite(fd, text, 3)),
        lambda: through(name, os.O_RDONLY | os.O_TRUNC, lambda fd: None),
        lambda: through(name, os.O_WRONLY, lambda fd: os.posix_fallocate(fd, 0, 9000)),
        lambda: os.truncate(name, choice.randrange(5000)),
        lambda: os.write(choice.choice(held), text),
        lambda: hold(name, text),
        lambda: hold(name, text),
        lambda: mapped(name, text),
        lambda: saved(name, text),
        lambda: reopened(name, text),
        lambda: copied(name, other),
        lambda: os.rename(name, other),
        lambda: os.rename(name, name + "~"),
        lambda: renamed(name, other, 1),
        lambda: renamed(name, other, 2),
        lambda: os.makedirs(name),
        lambda: os.symlink(choice.choice(["a", "d", "e/b", "nothing"]), name),
        lambda: remove(name, None),
        lambda: mode(name, choice),
        lambda: os.utime(name, (1, choice.randrange(10**9)), follow_symlinks=False),
    ])()


def run(seed, count):
    choice = random.Random(seed)
    for fd in held:  # of earlier calls, by descriptors alone
        os.write(fd, b"held ")
    for n in range(int(count)):
        try:
            step(choice, n)
        except (OSError, ValueError, IndexError, shutil.Error):
            pass  # what is not possible there


for line in sys.stdin:
    m = json.loads(line)
    result = {}
    if m.get("method") == "initialize":
        version = m["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "disorder", "version": "1"}}
    elif m.get("method") == "tools/list":
        result = {"tools": [{"name": "run", "inputSchema": {"type": "object"}}]}
    elif m.get("method") == "tools/call":
        run(*m["params"]["arguments"]["argv"])
        result = {"content": []}
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
