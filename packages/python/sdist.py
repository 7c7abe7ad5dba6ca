"""Downloads the newest source distribution that satisfies a requirement, and the wheels that its
build needs. It runs nothing of it.

Arguments: the requirement, the directory for the file, and that for the wheels. The indexes and the
certificates are those of pip's variables, the logins those of NETRC. pip itself cannot be asked for the file: it runs the
code of a source distribution to learn its name. The libraries are those that pip carries.
"""
import gzip
import hashlib
import html.parser
import os
import posixpath
import runpy
import sys
import tarfile
import urllib.parse

from pip._vendor import requests
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.specifiers import SpecifierSet
from pip._vendor.packaging.utils import canonicalize_name, parse_sdist_filename

try:
    import tomllib
except ImportError:  # before Python 3.11
    from pip._vendor import tomli as tomllib

JSON = "application/vnd.pypi.simple.v1+json"
MAX_BYTES = 1 << 30  # of an archive when it is unpacked
MAX_MEMBERS = 200_000
MAX_TEXT = 256 * 1024  # of pyproject.toml
USUAL = ["setuptools>=40.8.0", "wheel"]  # PEP 518


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.files = []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "a" and attrs.get("href"):
            address, fragment = urllib.parse.urldefrag(attrs["href"])
            name, _, digest = fragment.partition("=")
            self.files.append({
                "url": address, "filename": urllib.parse.unquote(address.rsplit("/", 1)[-1]), "hashes": {name: digest} if name else {},
                "requires-python": attrs.get("data-requires-python"), "yanked": "data-yanked" in attrs,
            })


def files(session, page):
    answer = session.get(page, headers={"Accept": JSON + ", text/html;q=0.1"}, timeout=15)
    if answer.status_code == 404:
        return []
    answer.raise_for_status()
    if answer.headers.get("Content-Type", "").startswith(JSON):
        found = answer.json()["files"]
    else:
        links = Links()
        links.feed(answer.text)
        found = links.files
    for f in found:
        f["url"] = urllib.parse.urljoin(answer.url, f["url"])
    return found


def candidates(session, wanted, indexes):
    python = "%d.%d.%d" % sys.version_info[:3]
    for index in indexes:
        for f in files(session, index.rstrip("/") + "/" + canonicalize_name(wanted.name) + "/"):
            try:
                name, version = parse_sdist_filename(f["filename"])
                fits = SpecifierSet(f.get("requires-python") or "").contains(python, prereleases=True)
            except ValueError:
                continue
            exact = any(s.operator in ("==", "===") for s in wanted.specifier)
            if name == canonicalize_name(wanted.name) and fits and wanted.specifier.contains(version) and (exact or not f.get("yanked")):
                yield version, f


def download(requirement, to):
    indexes = [os.environ["PIP_INDEX_URL"]] + os.environ.get("PIP_EXTRA_INDEX_URL", "").split()
    session = requests.Session()
    session.verify = os.environ.get("PIP_CERT") or True
    wanted = Requirement(requirement)
    found = sorted(candidates(session, wanted, indexes), key=lambda c: c[0])
    if not found:
        sys.exit("ERROR: No matching distribution found for " + requirement)
    f = found[-1][1]
    digest = hashlib.sha256()
    file = os.path.join(to, os.path.basename(f["filename"]))
    print("Downloading", f["url"])
    with session.get(f["url"], stream=True, timeout=15) as answer, open(file, "wb") as out:
        answer.raise_for_status()
        for part in answer.iter_content(1 << 16):
            digest.update(part)
            out.write(part)
    if f.get("hashes", {}).get("sha256", digest.hexdigest()) != digest.hexdigest():
        sys.exit("ERROR: DO NOT MATCH THE HASHES: " + os.path.basename(file))
    return file


class Bounded:
    def __init__(self, source):
        self.source, self.left = source, MAX_BYTES

    def read(self, size=-1):
        data = self.source.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self.left -= len(data)
        if self.left < 0:
            sys.exit("ERROR: the source distribution is larger than it may be")
        return data


def project(archive):
    """Returns the text of pyproject.toml, "" if there is none."""
    with gzip.open(archive) as unzipped, tarfile.open(fileobj=Bounded(unzipped), mode="r|") as members:
        for n, member in enumerate(members):
            if n > MAX_MEMBERS:
                sys.exit("ERROR: the source distribution has too many files")
            parts = posixpath.normpath(member.name).split("/")
            if len(parts) == 2 and parts[1] == "pyproject.toml" and member.isreg():
                if member.size > MAX_TEXT:
                    sys.exit("ERROR: pyproject.toml of the source distribution is larger than it may be")
                return members.extractfile(member).read().decode()
            members.members.clear()
    return ""


def needs(archive):
    """Returns what the build of a source distribution needs: its own words, or what is usual."""
    try:
        system = tomllib.loads(project(archive)).get("build-system")
        if system is None:
            return USUAL
        requires = [str(Requirement(r)) for r in system.get("requires", [])]
    except (OSError, EOFError, tarfile.TarError, ValueError, TypeError, AttributeError) as e:
        sys.exit("ERROR: the source distribution is no .tar.gz whose pyproject.toml can be read: %s" % e)
    if any(r.startswith("setuptools") for r in requires):
        requires.append("wheel")  # some versions of setuptools ask for it later
    return requires


def main(requirement, to, wheels):
    requires = needs(download(requirement, to))
    if requires:
        sys.argv = ["pip", "download", "--dest", wheels, "--only-binary", ":all:", "--"] + requires
        runpy.run_module("pip", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
