package python

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
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
	for words, want := range map[string]string{
		"uvx Mcp_Server.time":            "mcp-server-time",
		"uvx server@1.2.3":               "server==1.2.3",
		"uvx server@latest":              "server",
		"uvx --from server[b,a]>=1,<2 x": "server[a,b]>=1,<2",
	} {
		line := testkit.Get(runline.Parse(strings.Fields(words)))(t)
		testkit.Equal(t, words, Requirement(line.Packages[0]), want)
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
	for file, want := range testkit.Named[string](t, "parse-wheel.txt") {
		name, version, err := ParseWheel(file)
		if got := name + " " + version; (err != nil) != (want == "!") || err == nil && got != want {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
	for tags, want := range map[string]bool{
		"cp311-cp311-linux_x86_64": true, "cp311-none-any": true, "": false, "cp37-abi3-manylinux_2_28_x86_64": false,
		"py2.py3-none-any": false, "py3-none-manylinux_2_17_x86_64": false, "cp311-cp311-linux\nTag: py3-none-any": false,
	} {
		testkit.Equal(t, tags, BoundTags("Wheel-Version: 1.0\nTag: "+tags+"\n"), want)
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
		testkit.Fails(t, fmt.Sprintf("%q is read", bad), testkit.ErrorOf(ReadRequirements(bad)), "")
	}
}

func TestSame(t *testing.T) {
	pinned := []Package{{"a", "1", []string{hash("0"), hash("1")}}, {"b", "2", []string{hash("2")}}}
	for _, c := range []struct {
		name string
		now  []Package
		want bool
	}{
		{"one of several files", []Package{{"b", "2", []string{hash("2")}}, {"a", "1", []string{hash("1")}}}, true},
		{"another file", []Package{{"a", "1", []string{hash("3")}}, pinned[1]}, false},
		{"another version", []Package{{"a", "2", []string{hash("0")}}, pinned[1]}, false},
		{"one more", append(slices.Clone(pinned), Package{"c", "1", nil}), false},
		{"one less", pinned[:1], false},
		{"another one", []Package{pinned[0], {"c", "2", []string{hash("2")}}}, false},
	} {
		testkit.Equal(t, c.name, Same(pinned, c.now), c.want)
	}
}

func TestEntryPoints(t *testing.T) {
	programs := EntryPoints("[console_scripts]\n# comment\nserver = pkg.cli:main\nobj=pkg:App.run [extra]\nbad = pkg\n../x = pkg:main\nevil = os;import sys:main\n[gui_scripts]\ngui = g:main\n[other]\nx = y:z\n")
	want := []EntryPoint{{"server", "pkg.cli", "main"}, {"obj", "pkg", "App.run"}, {"gui", "g", "main"}}
	testkit.Equal(t, "", programs, want)
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
	files, err := ReadRecord(record)
	if got := PortableRecord(files); err != nil || got != "pkg/__init__.py,sha256=x,1\npkg-1.dist-info/RECORD,,\n" {
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
		testkit.Equal(t, c.packages, Range(c.packages, c.bound, "3.11.7"), c.want)
	}
	got := ReadMetadata("Metadata-Version: 2.1\nName: A.b\nVersion: 1\nRequires-Dist: tomli>=1; python_version < '3.11'\nRequires-Python: >=3.9\n\nName: not this\n")
	if got.Name != "a-b" || !got.Bound() || got.Python != ">=3.9" || (Metadata{Requires: []string{"x; extra == 'python_versions'", "python_version"}}).Bound() {
		t.Errorf("metadata: %+v", got)
	}
}

// TestSourceNeeds runs the part of sdist.py that reads a source distribution.
func TestSourceNeeds(t *testing.T) {
	if err := exec.Command("python3", "-c", "import pip").Run(); err != nil {
		testkit.Skip(t, "python3", "with pip: %v", err)
	}
	pack := func(project string, zeros int) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, f := range []struct{ name, text string }{{"x-1/a", string(make([]byte, zeros))}, {"x-1/sub/pyproject.toml", "["}, {"x-1/pyproject.toml", project}} {
			w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: 0o644, Typeflag: tar.TypeReg})
			w.Write([]byte(f.text))
		}
		w.Close()
		z.Close()
		return b.Bytes()
	}
	build := func(requires string) []byte { return pack("[build-system]\nrequires = "+requires+"\n", 0) }
	rows := []struct {
		name    string
		archive []byte
		want    string
	}{
		{"its own", build(`["hatchling>=1 ; python_version > '3'"]`), `['hatchling>=1; python_version > "3"']`},
		{"of setuptools", build(`["setuptools>=61"]`), "['setuptools>=61', 'wheel']"},
		{"nothing", build("[]"), "[]"},
		{"what is usual", pack("[project]\nname = 'x'\n", 0), "['setuptools>=40.8.0', 'wheel']"},
		{"a word for pip", build(`["--index-url=http://x"]`), "can be read"},
		{"no TOML", pack("[", 0), "whose pyproject.toml can be read"},
		{"a large archive", pack("", 500<<10), "larger than it may be"},
		{"a large file", pack(strings.Repeat(" ", 300<<10), 0), "pyproject.toml of the source distribution is larger"},
		{"a zip", []byte("PK"), "ERROR: the source distribution is no .tar.gz"},
	}
	words := []string{"-I", "-c", strings.NewReplacer("MAX_BYTES = 1 << 30", "MAX_BYTES = 400 << 10", "    main(*sys.argv[1:])", `
    for file in sys.argv[1:]:
        try:
            print(needs(file), end="\0")
        except SystemExit as e:
            print(e, end="\0")
`).Replace(sdist)}
	for i, c := range rows {
		words = append(words, filepath.Join(t.TempDir(), fmt.Sprint(i, ".tar.gz")))
		testkit.Must(t, os.WriteFile(words[len(words)-1], c.archive, 0o600))
	}
	out, err := exec.Command("python3", words...).CombinedOutput()
	said := strings.Split(string(out), "\x00")
	if err != nil || len(said) != len(rows)+1 {
		t.Fatalf("%v, %s", err, out)
	}
	for i, c := range rows {
		if !strings.Contains(said[i], c.want) || (said[i][0] == '[') != (c.want[0] == '[') {
			t.Errorf("%s: %s", c.name, said[i])
		}
	}
}

// TestCommands: the command lines of uv and pip, which take wheels only.
func TestCommands(t *testing.T) {
	r := Request{Requirements: []string{"server[x]>=1", "other"}, Versions: "V", Local: "B"}
	for _, c := range []struct {
		name string
		got  []string
		want string
	}{
		{"pip download", r.PipDownload("W"), "-I -m pip download --dest W --only-binary :all: --find-links B --constraint V -- server[x]>=1 other"},
		{"pip download, pinned", Request{Pinned: "F"}.PipDownload("W"), "-I -m pip download --dest W --only-binary :all: --no-deps --require-hashes --requirement F"},
		{"pip install", PipInstall("S", []string{"a.whl"}), "-I -m pip install --no-index --no-deps --no-compile --no-warn-script-location --target S -- a.whl"},
		{"uv pip compile", r.UvCompile("P", "IN", "OUT"), "pip compile --python P --no-build --no-python-downloads --generate-hashes --no-header --no-annotate --output-file OUT --constraints V IN"},
		{"uv pip install", UvInstall("P", "S", "OUT"), "pip install --python P --no-build --no-python-downloads --target S --require-hashes --no-deps --link-mode copy --no-compile-bytecode --requirement OUT"},
	} {
		testkit.Equal(t, c.name, strings.Join(c.got, " "), c.want)
	}
}

func TestFits(t *testing.T) {
	for _, c := range testkit.Table[struct {
		rng, version string
		want         bool
	}](t, "fits.txt") {
		testkit.Equal(t, fmt.Sprintf("%q, %s", c.rng, c.version), testkit.Get(Fits(c.rng, c.version))(t), c.want)
	}
	for _, rng := range []string{"3.10", ">=3.x", "~=3", ">=", "^3.10", ">=99999999999999999999"} {
		testkit.Fails(t, fmt.Sprintf("%q is read", rng), testkit.ErrorOf(Fits(rng, "3.11.0")), "cannot be read")
	}
}
