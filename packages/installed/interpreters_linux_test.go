package installed

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// localHost returns this machine, with nothing remembered.
func localHost(t testing.TB) *hostfs.Host {
	host := testkit.Get(hostfs.LocalHost())(t)
	host.CacheDir = t.TempDir()
	return &host
}

// TestInterpreters: what is read from files, and what interpreters tell in a jail, is what they
// tell without one.
func TestInterpreters(t *testing.T) {
	host := localHost(t)
	for _, lang := range []language{Node, Python} {
		got := testkit.Get(Interpreters(t.Context(), host, nil, nil, lang))(t)
		if len(got.Interpreters) == 0 {
			testkit.Skip(t, string(lang), "no %s: %v", lang, got.Refused)
		}
		for _, i := range got.Interpreters {
			answer, err := exec.Command(i.Path, "--version").Output()
			if v := versionIn(string(answer)); v != i.Version || err != nil {
				t.Errorf("%s is %s, not %s: %v", i.Path, v, i.Version, err)
			}
			jailed, err := askVersion(t.Context(), host, nil, i.Path)
			if jailed != string(answer) || err != nil {
				t.Errorf("%s in a jail: %q, %v", i.Path, jailed, err)
			}
			t.Log(i)
		}
		t.Log(got.Refused)
	}
}

// TestUnfitNode: as with npx, a package starts with a Node.js that its engines do not ask for, and mcp-jail says so.
// One that fits comes first. Python has no such choice: pip refuses the package.
func TestUnfitNode(t *testing.T) {
	host := localHost(t)
	host.Home = testkit.ShortDir(t)
	bin := filepath.Join(host.Home, "bin")
	host.Environ = []string{"PATH=" + bin}
	newer := filepath.Join(host.Home, ".fnm/node-versions/x/installation/bin/node")
	for file, version := range map[string]string{bin + "/node": "v20.1.0", newer: "v22.1.0", bin + "/python3": "Python 3.11.2"} {
		testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testkit.Must(t, testkit.WriteProgram(file, []byte("#!/bin/sh\necho "+version)))
	}
	for _, c := range []struct{ engines, path, unfit string }{
		{"", bin + "/node", ""}, {">=20", bin + "/node", ""}, {">=21", newer, ""},
		{">=99.1", bin + "/node", "the package asks for Node.js >=99.1, and this is 20.1.0 (" + bin + "/node): as with npx, it is started all the same"},
		{"latest", bin + "/node", "the package asks for Node.js latest, and this is 20.1.0 (" + bin + "/node): as with npx, it is started all the same"},
	} {
		p := &Program{Entry: &store.Entry{Engines: c.engines}}
		got, err := Finder{Host: host}.interpreter(t.Context(), p, Node, npm.EngineFits)
		if got.Path != c.path || p.Unfit != c.unfit || err != nil {
			t.Errorf("%q: %s, %q, %v", c.engines, got.Path, p.Unfit, err)
		}
	}
	_, err := Finder{Host: host}.interpreter(t.Context(), &Program{Entry: &store.Entry{Engines: ">=3.99"}}, Python, python.Fits)
	testkit.Fails(t, "Python", err, "the package needs Python >=3.99, and what is here does not fit: 3.11.2")
	testkit.Must(t, errors.Join(os.Remove(bin+"/node"), os.Remove(newer)))
	_, err = Finder{Host: host}.interpreter(t.Context(), &Program{Entry: &store.Entry{Engines: ">=20"}}, Node, npm.EngineFits)
	testkit.Fails(t, "without any", err, "the package needs Node.js >=20, and there is none in PATH")
}

// TestRemembered: a version is told once, and again when the file is another one or has changed.
func TestRemembered(t *testing.T) {
	host := localHost(t)
	host.Home = testkit.ShortDir(t)
	bin := filepath.Join(host.Home, "bin")
	host.Environ = []string{"PATH=" + bin}
	told := func() (version string) {
		t.Helper()
		got, err := Interpreters(t.Context(), host, nil, nil, Node)
		if err != nil || len(got.Interpreters) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, _, v := openVersions(host, nil).locate(Node); v != got.Interpreters[0].Version {
			t.Errorf("%q is remembered of %q", v, got.Interpreters[0].Version)
		}
		return got.Interpreters[0].Version
	}
	program := func(version string) {
		t.Helper()
		testkit.Must(t, testkit.WriteProgram(filepath.Join(bin, "node"), []byte("#!/bin/sh\necho v"+version+"\n")))
	}
	testkit.Must(t, os.MkdirAll(bin, 0o755))
	program("20.1.0")
	testkit.Equal(t, "at first", told(), "20.1.0")
	text := testkit.Get(os.ReadFile(filepath.Join(host.CacheDir, "interpreters.json")))(t)
	testkit.WriteFile(t, filepath.Join(host.CacheDir, "interpreters.json"), strings.ReplaceAll(string(text), "20.1.0", "20.1.9"))
	testkit.Equal(t, "it was asked again", told(), "20.1.9")
	// The same size and the same time of modification, which a server that writes it could set.
	file := filepath.Join(bin, "node")
	before := testkit.Get(os.Stat(file))(t)
	program("22.1.0")
	testkit.Must(t, os.Chtimes(file, before.ModTime(), before.ModTime()))
	testkit.Equal(t, "after a change", told(), "22.1.0")
}
