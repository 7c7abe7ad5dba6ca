"""Downloads the newest source distribution that satisfies a requirement, and runs nothing of it.

Arguments: the requirement, the directory for the file, and "pre" if prereleases count. The
indexes and the certificates are those of pip's variables. pip itself cannot be asked: it runs the code of a source distribution
to learn its name. The libraries are those that pip carries.
"""
import hashlib
import html.parser
import os
import sys
import urllib.parse

from pip._vendor import requests
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.specifiers import SpecifierSet
from pip._vendor.packaging.utils import canonicalize_name, parse_sdist_filename

JSON = "application/vnd.pypi.simple.v1+json"


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


def candidates(session, wanted, pre, indexes):
    python = "%d.%d.%d" % sys.version_info[:3]
    for index in indexes:
        for f in files(session, index.rstrip("/") + "/" + canonicalize_name(wanted.name) + "/"):
            try:
                name, version = parse_sdist_filename(f["filename"])
                fits = SpecifierSet(f.get("requires-python") or "").contains(python, prereleases=True)
            except ValueError:
                continue
            exact = any(s.operator in ("==", "===") for s in wanted.specifier)
            if name == canonicalize_name(wanted.name) and fits and wanted.specifier.contains(version, prereleases=pre or None) and (exact or not f.get("yanked")):
                yield version, f, index


def main(requirement, to, pre):
    indexes = [os.environ["PIP_INDEX_URL"]] + os.environ.get("PIP_EXTRA_INDEX_URL", "").split()
    session = requests.Session()
    session.verify = os.environ.get("PIP_CERT") or True
    wanted = Requirement(requirement)
    found = sorted(candidates(session, wanted, pre == "pre", indexes), key=lambda c: c[0])
    if not found:
        sys.exit("ERROR: No matching distribution found for " + requirement)
    _, f, index = found[-1]
    auth, at, source = None, urllib.parse.urlsplit(f["url"]), urllib.parse.urlsplit(index)
    if source.username and (at.hostname, at.port) == (source.hostname, source.port):
        auth = (urllib.parse.unquote(source.username), urllib.parse.unquote(source.password or ""))
    digest = hashlib.sha256()
    name = os.path.basename(f["filename"])
    print("Downloading", f["url"])
    with session.get(f["url"], auth=auth, stream=True, timeout=15) as answer, open(os.path.join(to, name), "wb") as out:
        answer.raise_for_status()
        for part in answer.iter_content(1 << 16):
            digest.update(part)
            out.write(part)
    if f.get("hashes", {}).get("sha256", digest.hexdigest()) != digest.hexdigest():
        sys.exit("ERROR: DO NOT MATCH THE HASHES: " + name)


main(*sys.argv[1:])
