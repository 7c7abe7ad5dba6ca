"""Has pip say which wheels it would download, and download none if the index has their metadata apart.

Arguments: the file for the list, and the words of pip. A line of the list has the name of a wheel and its hash. pip has
no option for that: its --dry-run downloads them all.
"""
import os
import runpy
import sys

from pip._internal.operations.prepare import RequirementPreparer

to = sys.argv[1]


def tell(self, requirements, *rest, **options):
    with open(to, "w") as out:
        for r in requirements:
            out.write("%s %s:%s\n" % (r.link.filename, r.link.hash_name, r.link.hash))
    os._exit(0)  # pip would go on


RequirementPreparer.prepare_linked_requirements_more = tell
sys.argv = ["pip"] + sys.argv[2:]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
