package python

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

func TestRequirement(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"uvx Mcp_Server.time", "mcp-server-time"},
		{"uvx server@1.2.3", "server==1.2.3"},
		{"uvx server@latest", "server"},
		{"uvx --from server[b,a]>=1,<2 x", "server[a,b]>=1,<2"},
	} {
		line, err := runline.Parse(strings.Fields(c.words))
		testkit.Must(t, err)
		if got := Requirement(line.Packages[0]); got != c.want {
			t.Errorf("%s: %q; want %q", c.words, got, c.want)
		}
	}
}

func TestVersionRange(t *testing.T) {
	for request, want := range map[string]string{
		"": "", "3.12": "==3.12.*", "3": "==3.*", "312": "==3.12.*", "python3.11": "==3.11.*", "cpython@3.10": "==3.10.*", "3.12.4": "==3.12.4", ">=3.11,<3.13": ">=3.11,<3.13",
		"pypy": "!", "/usr/bin/python3": "!", "3.x": "!", "3..1": "!",
	} {
		got, ok := VersionRange(request)
		if ok != (want != "!") || ok && got != want {
			t.Errorf("%s: %q, %v; want %q", request, got, ok, want)
		}
	}
}

func TestParseWheel(t *testing.T) {
	for file, want := range map[string]string{
		"Needed_One-1.5-py3-none-any.whl":                         "needed-one 1.5 free",
		"six-1.16.0-py2.py3-none-any.whl":                         "six 1.16.0 free",
		"pydantic_core-2.1-cp312-cp312-manylinux_2_17_x86_64.whl": "pydantic-core 2.1 bound",
		"cryptography-43.0-cp37-abi3-manylinux_2_28_x86_64.whl":   "cryptography 43.0 free",
		"x-1-2build-cp311-none-any.whl":                           "x 1 bound",
		"ruff-0.5-py3-none-manylinux_2_17_x86_64.whl":             "ruff 0.5 free",
		"x-1.tar.gz":              "!",
		"../x-1-py3-none-any.whl": "!",
		"x-1-py3-none.whl":        "!",
		"a-b-c-d-e-f-g.whl":       "!",
	} {
		w, err := ParseWheel(file)
		got := w.Name + " " + w.Version + map[bool]string{true: " bound", false: " free"}[w.Bound()]
		if (err != nil) != (want == "!") || err == nil && got != want {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
	if !BoundTags("Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n") || BoundTags("Tag: cp311-cp311-linux\nTag: py3-none-any\n") || BoundTags("") {
		t.Error("the tags of an installed package")
	}
}

func hash(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// TestRequirements: the list that uv writes is read, and written for the next installation.
func TestRequirements(t *testing.T) {
	const text = "anyio==4.4.0 \\\n    --hash=sha256:%1 \\\n    --hash=sha256:%0\n# a comment\nMcp==1.0 --hash=sha256:%2  # via x\n"
	filled := strings.NewReplacer("%0", strings.Repeat("0", 64), "%1", strings.Repeat("1", 64), "%2", strings.Repeat("2", 64)).Replace(text)
	got, err := ReadRequirements(filled)
	if err != nil || len(got) != 2 || got[0].Name != "anyio" || got[1].Name != "mcp" || !slices.Equal(got[0].Hashes, []string{hash("0"), hash("1")}) {
		t.Fatalf("%+v, %v", got, err)
	}
	again, err := ReadRequirements(Requirements(got))
	if err != nil || Digest(again) != Digest(got) {
		t.Errorf("again: %+v, %v", again, err)
	}
	for _, bad := range []string{"x==1", "x --hash=" + hash("0"), "x==1 --hash=md5:00", "x==1 ; python_version<'3' --hash=" + hash("0"), "x==1 --index-url=http://a --hash=" + hash("0"), "-e ."} {
		if _, err := ReadRequirements(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestSame(t *testing.T) {
	pinned := []Package{{"a", "1", []string{hash("0"), hash("1")}}, {"b", "2", []string{hash("2")}}}
	never := func(string) bool { return false }
	for _, c := range []struct {
		name string
		now  []Package
		may  func(string) bool
		want bool
	}{
		{"one of several files", []Package{{"b", "2", []string{hash("2")}}, {"a", "1", []string{hash("1")}}}, never, true},
		{"another file", []Package{{"a", "1", []string{hash("3")}}, pinned[1]}, never, false},
		{"another file of a bound wheel", []Package{{"a", "1", []string{hash("3")}}, pinned[1]}, func(n string) bool { return n == "a" }, true},
		{"another version", []Package{{"a", "2", []string{hash("0")}}, pinned[1]}, never, false},
		{"one more", append(slices.Clone(pinned), Package{"c", "1", nil}), never, false},
		{"one less", pinned[:1], never, false},
	} {
		if got := Same(pinned, c.now, c.may); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if a, b := Common(pinned, []Package{{Name: "b"}, {Name: "c"}}); len(a) != 1 || len(b) != 1 || a[0].Name != "b" || b[0].Name != "b" {
		t.Errorf("common: %v %v", a, b)
	}
}

func TestEntryPoints(t *testing.T) {
	programs, pipx := EntryPoints("[console_scripts]\n# comment\nserver = pkg.cli:main\nobj=pkg:App.run [extra]\nbad = pkg\n../x = pkg:main\nevil = os;import sys:main\n[gui_scripts]\ngui = g:main\n[pipx.run]\np = pkg:run\n[other]\nx = y:z\n")
	want := []EntryPoint{{"server", "pkg.cli", "main"}, {"obj", "pkg", "App.run"}, {"gui", "g", "main"}}
	if !slices.Equal(programs, want) || !slices.Equal(pipx, []EntryPoint{{"p", "pkg", "run"}}) {
		t.Errorf("%v %v", programs, pipx)
	}
	text := want[1].Starter()
	if !strings.Contains(text, "    from pkg import App\n    sys.exit(App.run())\n") || !IsStarter([]byte(text)) || strings.Contains(text, "%!") {
		t.Errorf("starter: %s", text)
	}
}

func TestPortable(t *testing.T) {
	for program, want := range map[string]string{
		"#!/home/u/.pyenv/bin/python3.11\nx\n":                            "#!/usr/bin/env python3\nx\n",
		"#!/bin/sh\n'''exec' /long/path/python \"$0\" \"$@\"\n' '''\nx\n": "#!/usr/bin/env python3\nx\n",
		"#!/bin/bash\necho\n":                                             "",
		"\x7fELF":                                                         "",
	} {
		got, ok := Portable([]byte(program))
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%q: %q, %v", program, got, ok)
		}
	}
	record := "pkg/__init__.py,sha256=x,1\n../../bin/server,sha256=y,2\nbin/server,,\npkg/__pycache__/a.cpython-311.pyc,,\npkg-1.dist-info/INSTALLER,sha256=z,4\npkg-1.dist-info/RECORD,,\n"
	if got := PortableRecord(record); got != "pkg/__init__.py,sha256=x,1\npkg-1.dist-info/RECORD,,\n" {
		t.Errorf("record: %q", got)
	}
}

func TestRange(t *testing.T) {
	m := func(python string) Metadata { return Metadata{Python: python} }
	for _, c := range []struct {
		packages []Metadata
		bound    bool
		want     string
	}{
		{[]Metadata{m(""), m("")}, false, ""},
		{[]Metadata{m(">=3.8"), m(">=3.10,<4"), m(">= 3.9, !=3.9.1")}, false, ">=3.10,!=3.9.1,<4"},
		{[]Metadata{m(">=3.8")}, true, ">=3.8,==3.11.*"},
		{[]Metadata{m(">=3.8.dev0, ===3.11")}, false, ""},
	} {
		if got := Range(c.packages, c.bound, "3.11.7"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.packages, got, c.want)
		}
	}
	got := ReadMetadata("Metadata-Version: 2.1\nName: A.b\nVersion: 1\nRequires-Dist: tomli>=1; python_version < '3.11'\nRequires-Python: >=3.9\n\nName: not this\n")
	if got.Name != "a-b" || !got.Bound() || got.Python != ">=3.9" || (Metadata{Requires: []string{"x; extra == 'python_versions'", "python_version"}}).Bound() {
		t.Errorf("metadata: %+v", got)
	}
}

func TestNetrc(t *testing.T) {
	got := Netrc("# comment\nmachine a.example login me password s3 # word\nmachine b.example\n  login you\n  password \"two words\"\nmachine c.example login x password y\ndefault login z password z\n", []string{"a.example", "b.example"})
	if got != "machine a.example login me password s3\n" {
		t.Errorf("%q", got)
	}
}

func TestBuildRequires(t *testing.T) {
	for text, want := range map[string]string{
		"[build-system]\nrequires = [\"hatchling\"]\n":      "hatchling",
		"[build-system]\nrequires = [\"setuptools>=61\"]\n": "setuptools>=61 wheel",
		"[build-system]\nrequires = []\n":                   "",
		"[project]\nname = \"x\"\n":                         "setuptools>=40.8.0 wheel",
		"":                                                  "setuptools>=40.8.0 wheel",
	} {
		got, err := BuildRequires([]byte(text))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := BuildRequires([]byte("[")); err == nil {
		t.Error("a broken file is read")
	}
}

// TestReadProject runs the script, which needs nothing but Python's own library.
func TestReadProject(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		testkit.Skip(t, "python3", "%v", err)
	}
	dir := t.TempDir()
	pack := func(files map[string]string, zeros int) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name]) + zeros), Mode: 0o644, Typeflag: tar.TypeReg})
			w.Write([]byte(files[name]))
			w.Write(make([]byte, zeros))
		}
		w.Close()
		z.Close()
		file := filepath.Join(dir, "x.tar.gz")
		testkit.Must(t, os.WriteFile(file, b.Bytes(), 0o600))
		return file
	}
	read := func(archive string, most int64) (text, failed string) {
		to := filepath.Join(dir, "text")
		os.Remove(to)
		out, err := exec.Command("python3", ReadProject(archive, to, most)...).CombinedOutput()
		if err != nil {
			return "", string(out)
		}
		b, err := os.ReadFile(to)
		testkit.Must(t, err)
		return string(b), ""
	}
	project := map[string]string{"x-1/a": "", "x-1/pyproject.toml": "text", "x-1/sub/pyproject.toml": "["}
	if text, failed := read(pack(project, 0), 1<<20); text != "text" || failed != "" {
		t.Errorf("%q %s", text, failed)
	}
	if text, failed := read(pack(map[string]string{"x-1/sub/pyproject.toml": "["}, 0), 1<<20); text != "" || failed != "" {
		t.Errorf("without one: %q %s", text, failed)
	}
	if _, failed := read(pack(map[string]string{"x-1/a": "", "x-1/pyproject.toml": "text"}, 100<<10), 50<<10); !strings.Contains(failed, "larger than it may be") {
		t.Errorf("a large archive: %q", failed)
	}
	if _, failed := read(pack(map[string]string{"x-1/pyproject.toml": "text"}, 300<<10), 1<<20); !strings.Contains(failed, "pyproject.toml of the source distribution is larger") {
		t.Errorf("a large file: %q", failed)
	}
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "x.tar.gz"), []byte("PK"), 0o600))
	if _, failed := read(filepath.Join(dir, "x.tar.gz"), 1<<20); !strings.Contains(failed, "ERROR: the source distribution is no .tar.gz") {
		t.Errorf("a zip: %q", failed)
	}
}
