package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// fakeUv knows the two command lines of package python, and lets pip carry them out. Any other
// word is an error.
const fakeUv = `#!PYTHON
import glob, hashlib, os, subprocess, sys, tempfile

args = sys.argv[1:]
assert os.environ["UV_NO_CONFIG"] == "1" and os.environ["UV_PYTHON_DOWNLOADS"] == "never", "variables"
index = ["--isolated", "--disable-pip-version-check", "--index-url", os.environ["UV_DEFAULT_INDEX"]]
command = args[:2]
del args[:2]
opts, rest = {}, []
while args:
    word = args.pop(0)
    if word in ("--generate-hashes", "--no-header", "--no-annotate", "--require-hashes", "--no-deps", "--no-compile-bytecode", "--no-build", "--no-python-downloads"):
        opts[word] = True
    elif word in ("--python", "--output-file", "--target", "--link-mode", "--requirement"):
        opts[word] = args.pop(0)
    else:
        assert not word.startswith("-"), word
        rest.append(word)
assert opts["--no-build"] and opts["--no-python-downloads"]
pip = [opts["--python"], "-I", "-m", "pip"]
if command == ["pip", "compile"]:
    with tempfile.TemporaryDirectory() as to, open(opts["--output-file"], "w") as out:
        subprocess.run(pip + ["download", "-q", "--only-binary", ":all:", "--dest", to, "-r", rest[0]] + index, check=True)
        for file in sorted(glob.glob(to + "/*.whl")):
            name, version = os.path.basename(file).split("-")[:2]
            digest = hashlib.sha256(open(file, "rb").read()).hexdigest()
            out.write("%s==%s \\\n    --hash=sha256:%s \\\n    --hash=sha256:%s\n" % (name, version, "0" * 64, digest))
else:
    assert command == ["pip", "install"] and opts["--require-hashes"] and opts["--no-deps"] and not rest
    subprocess.run(pip + ["install", "-q", "--no-deps", "--no-compile", "--require-hashes", "--target", opts["--target"], "-r", opts["--requirement"]] + index, check=True)
`

// TestPythonUv: with uv on the machine, uv resolves and fetches, and a pinned package is
// installed again from the hashes that it has written.
func TestPythonUv(t *testing.T) {
	testkit.NeedsLong(t)
	u := newPythonUser(t, serverWheel("fixture-server", "needed-one"), needed)
	out := testkit.Get(exec.Command("python3", "-c", "import sys; print(sys.executable)").Output())(t)
	dir := t.TempDir()
	testkit.Must(t, testkit.WriteProgram(filepath.Join(dir, "uv"), []byte(strings.Replace(fakeUv, "PYTHON", strings.TrimSpace(string(out)), 1))))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("UV_DEFAULT_INDEX", u.site.URL+"/simple")
	t.Setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
	u.Installer = newInstaller(t)
	words := []string{"uvx", "fixture-server"}
	first := u.install(words...).Entry
	if len(first.Packages) != 2 || len(strings.Fields(first.Integrity)) != 2 {
		t.Errorf("entry: %+v", first)
	}
	testkit.Equal(t, "the server", len(u.talk(words, about)), 1)
	trees, err := u.Store.Trees()
	if err != nil || len(trees) != 1 || u.Store.Remove(trees[0]) != nil {
		t.Fatal(trees, err)
	}
	newer := serverWheel("fixture-server", "needed-one")
	newer.Version = "2.0.0"
	u.site.Upload(newer)
	if again := u.install(words...).Entry; again.Tree != first.Tree || again.Files != first.Files {
		t.Errorf("installed again: %+v", again)
	}
}
