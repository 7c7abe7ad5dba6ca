package installed

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
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
