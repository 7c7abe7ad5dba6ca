"""Runs pip's arguments, in a Python that starts no other program.

--only-binary does not count for a requirement that names an address. To learn what such a source
distribution needs, pip would run its code: where the network and the index's credentials are.
"""

import runpy
import sys


def refuse(event, _):
    if event in STARTS:
        raise PermissionError("mcp-jail: no program is started while packages are fetched")


STARTS = {
    "subprocess.Popen",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "os.startfile",
    "os.startfile/2",
    "_winapi.CreateProcess",
}
sys.addaudithook(refuse)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
