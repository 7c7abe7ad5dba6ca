package doctorcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestReadBuild tests that the version of a program is read from its file, and that a file of another
// kind is none of ours. None of them runs: most could not.
func TestReadBuild(t *testing.T) {
	dir := t.TempDir()
	own := ownBinary(t)
	for name, content := range map[string][]byte{
		"devel": own, "release": asVersion(t, own, "v1.2.34"), "script": []byte("#!/bin/sh\necho mcp-jail 1.0\n"), "empty": nil,
		"cut": own[:4096], "header": append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...), "foreign": []byte(strings.ReplaceAll(string(own), "mod\t"+ourModule, "mod\t"+strings.ToUpper(ourModule))),
	} {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), content, 0o755))
	}
	testkit.Must(t, os.Mkdir(filepath.Join(dir, "directory"), 0o755))
	for name, want := range map[string]string{"devel": "development", "release": "1.2.34", "script": "", "empty": "", "cut": "", "header": "", "foreign": "", "directory": "", "missing": ""} {
		b, err := readBuild(filepath.Join(dir, name))
		if b.Version != want || (err == nil) != (want != "") {
			t.Errorf("%s: %+v, %v, want %q", name, b, err, want)
		}
	}
}

// TestCopies tests what doctor says of layouts of programs. "a" is the version of this mcp-jail.
func TestCopies(t *testing.T) {
	own := ownBinary(t)
	versions := map[string][]byte{"a": asVersion(t, own, "v1.0.00"), "b": asVersion(t, own, "v2.0.00")}
	id := buildID(bytes.NewReader(own))
	if len(id) < 8 {
		t.Fatalf("the build ID is %q", id)
	}
	versions["again"] = bytes.ReplaceAll(versions["a"], []byte(id), []byte(strings.Repeat("x", len(id))))
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	native := "home/.npm-global/lib/node_modules/mcp-jail/node_modules/@mcp-jail/" + runtime.GOOS + "-" + arch + "/bin/"
	whole := map[string]string{"bin/mcp-jail": "a", "bin/mcp-jail-cli": "a", "bin/mcp-jail-tls": "a"}
	with := func(more ...string) map[string]string {
		files := map[string]string{}
		for name, version := range whole {
			files[name] = version
		}
		for n := 0; n < len(more); n += 2 {
			if files[more[n]] = more[n+1]; more[n+1] == "" {
				delete(files, more[n])
			}
		}
		return files
	}
	for name, c := range map[string]struct {
		files  map[string]string // "->" begins a link
		path   string            // directories of PATH
		copies int
		want   string
	}{
		"one":                   {whole, "bin", 1, ""},
		"two names":             {with("home/.local/bin/mcp-jail", "->bin/mcp-jail"), "home/.local/bin:bin", 1, ""},
		"the same twice":        {with("home/go/bin/mcp-jail", "a", "home/go/bin/mcp-jail-cli", "a"), "bin", 2, ""},
		"no cli":                {with("bin/mcp-jail-cli", ""), "bin", 1, "! mcp-jail-cli is missing beside DIR/bin/mcp-jail"},
		"no tls":                {with("bin/mcp-jail-tls", ""), "bin", 1, ""}, // the features say so
		"cli of another":        {with("bin/mcp-jail-cli", "b"), "bin", 1, "! DIR/bin/mcp-jail is 1.0.00, and mcp-jail-cli beside it is 2.0.00"},
		"tls of another":        {with("bin/mcp-jail-tls", "b"), "bin", 1, "! DIR/bin/mcp-jail is 1.0.00, and mcp-jail-tls beside it is 2.0.00"},
		"a script in its place": {with("bin/mcp-jail-cli", "#!/bin/sh"), "bin", 1, "! mcp-jail-cli is missing beside DIR/bin/mcp-jail"},
		"an older one":          {with("home/go/bin/mcp-jail", "b"), "bin", 2, "2 copies of mcp-jail are of different builds"},
		"another build":         {with("home/go/bin/mcp-jail", "again"), "bin", 2, "2 copies of mcp-jail are of different builds"},
		"cli of another build":  {with("bin/mcp-jail-cli", "again"), "bin", 1, ""}, // the programs take it for the same
		"another is first": {with("home/go/bin/mcp-jail", "b", "home/go/bin/mcp-jail-cli", "b", "home/go/bin/mcp-jail-tls", "b"), "home/go/bin:bin", 2,
			"the command mcp-jail is another copy, ~/go/bin/mcp-jail 2.0.00: it is the first in PATH\n2 copies of mcp-jail are of different builds"},
		"a script is first":  {with("home/go/bin/mcp-jail", "#!/bin/sh"), "home/go/bin:bin", 1, ""},
		"npm's launcher":     {with("home/.npm-global/bin/mcp-jail", "->home/.npm-global/lib/node_modules/mcp-jail/bin/mcp-jail.js", "home/.npm-global/lib/node_modules/mcp-jail/bin/mcp-jail.js", "#!/usr/bin/env node", native+"mcp-jail", "a"), "bin", 2, ""},
		"what clients start": {with("home/.local/share/mcp-jail/bin/mcp-jail", "b"), "bin", 2, "2 copies of mcp-jail are of different builds"},
		"nothing":            {nil, "bin", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			i, dir := newInstallation(t)
			for file, version := range c.files {
				path := filepath.Join(dir, file)
				testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				target, isLink := strings.CutPrefix(version, "->")
				content, ok := versions[version]
				if !ok {
					content = []byte(version)
				}
				if isLink {
					testkit.Must(t, os.Symlink(filepath.Join(dir, target), path))
				} else {
					testkit.Must(t, os.WriteFile(path, content, 0o755))
				}
			}
			var path []string
			for _, d := range strings.Split(c.path, ":") {
				path = append(path, filepath.Join(dir, d))
			}
			i.host.Environ = append(i.host.Environ, "PATH="+strings.Join(path, ":"))
			i.lookCopies()
			if got := strings.ReplaceAll(texts(i.checkCopies()), dir, "DIR"); got != c.want || len(i.copies) != c.copies {
				t.Errorf("%d copies, want %d; says\n%s\nwant\n%s", len(i.copies), c.copies, got, c.want)
			}
		})
	}
}

// TestNPMTarget: the packages of packaging/npm are named as node names systems.
func TestNPMTarget(t *testing.T) {
	for _, c := range [][3]string{{"linux", "amd64", "linux-x64"}, {"darwin", "arm64", "darwin-arm64"}, {"windows", "amd64", "win32-x64"}} {
		if got := npmTarget(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %s", c[0], c[1], got)
		}
	}
}
