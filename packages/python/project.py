"""Reads the pyproject.toml of a source distribution, and runs nothing of it.

Arguments: the archive, the file for the text, and the largest number of bytes of the archive when
it is unpacked. The file is empty if the archive has no pyproject.toml.
"""
import gzip
import posixpath
import sys
import tarfile

MAX_TEXT = 256 * 1024
MAX_MEMBERS = 200_000


class Bounded:
    def __init__(self, source, most):
        self.source, self.left = source, most

    def read(self, size=-1):
        data = self.source.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self.left -= len(data)
        if self.left < 0:
            sys.exit("ERROR: the source distribution is larger than it may be")
        return data


def main(archive, to, most):
    text = b""
    with gzip.open(archive) as unzipped, tarfile.open(fileobj=Bounded(unzipped, int(most)), mode="r|") as files:
        for n, member in enumerate(files):
            if n > MAX_MEMBERS:
                sys.exit("ERROR: the source distribution has too many files")
            parts = posixpath.normpath(member.name).split("/")
            if len(parts) == 2 and parts[1] == "pyproject.toml" and member.isreg():
                if member.size > MAX_TEXT:
                    sys.exit("ERROR: pyproject.toml of the source distribution is larger than it may be")
                text = files.extractfile(member).read()
                break
            files.members.clear()
    with open(to, "wb") as out:
        out.write(text)


try:
    main(*sys.argv[1:])
except (OSError, EOFError, tarfile.TarError, ValueError) as e:
    sys.exit("ERROR: the source distribution is no .tar.gz that can be read: %s" % e)
