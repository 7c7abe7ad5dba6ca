package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestKeptPackage tests what status shows and removes of a package of npx: after its first session,
// after an update, and after its removal, when the next session fetches it again.
func TestKeptPackage(t *testing.T) {
	t.Parallel()
	if can, err := hostCan("jail"); err != nil || !can {
		testkit.Skip(t, "userns", "no jail: %v", err)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		testkit.Skip(t, "npm", "%v", err)
	}
	version := func(v string) fixture.Package { return fixture.MCPServer{Version: v}.Package() }
	site := fixture.Start(t, fixture.Stock{Packages: []fixture.Package{version("1.0.0")}})
	home := filepath.Join(testkit.ShortDir(t), "home")
	project := filepath.Join(home, "project")
	script := filepath.Join(home, "session.jsonl")
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"inspector","version":"3.1"}}}` + "\n"
	testkit.Must(t, os.MkdirAll(project, 0o700))
	testkit.Must(t, os.WriteFile(script, []byte(hello), 0o600))
	t.Cleanup(func() { makeWritable(home) })
	run := func(wanted bool, words ...string) string {
		t.Helper()
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = project, fixture.Environ(site.URL, home)
		out, err := cmd.CombinedOutput()
		if (err == nil) != wanted {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
		return string(out)
	}
	session := func() { t.Helper(); run(true, "client", script, "mcp-jail", "run", "--", "npx", "-y", "mcp-fixture") }
	list := func() (l keptOutput) {
		t.Helper()
		testkit.Must(t, json.Unmarshal([]byte(run(true, "mcp-jail", "status", "--all", "--format", "json")), &l))
		return l
	}

	session()
	l := list()
	if len(l.Servers) != 1 || len(l.Stored.Unused) != 0 || len(l.Stored.Leftovers) != 0 {
		t.Fatalf("after a session: %+v", l)
	}
	s := l.Servers[0]
	if s.Version != "1.0.0" || s.Stored.Package != "mcp-fixture@1.0.0" || s.Client.Name != "inspector" || strings.Join(s.Command, " ") != "npx -y mcp-fixture" ||
		s.Stored.PackageBytes < 1000 || s.Stored.Bytes <= s.Stored.PackageBytes || l.Stored.Bytes != s.Stored.Bytes {
		t.Errorf("after a session: %+v", s)
	}
	newest := "1.0.0"
	if testkit.Long() {
		newest = "1.1.0"
		site.Publish(version("1.1.0"))
		run(true, "mcp-jail", "install", "--update", "--yes", "--", "npx", "-y", "mcp-fixture")
		if l = list(); len(l.Stored.Unused) != 1 || l.Stored.Unused[0].Package != "mcp-fixture@1.0.0" || l.Servers[0].Version != "1.1.0" {
			t.Errorf("after an update: %+v", l)
		}
		if text := run(true, "mcp-jail", "status", "--remove", "--unused", "30d", "--yes"); !strings.Contains(text, "the package mcp-fixture@1.0.0: ~/.local/share/mcp-jail/packages/") || strings.Contains(text, "1.1.0") {
			t.Errorf("it says %s", text)
		}
		if l = list(); len(l.Stored.Unused) != 0 || len(l.Servers) != 1 {
			t.Errorf("after the old version: %+v", l)
		}
	}

	run(false, "mcp-jail", "status", "--remove", "mcp-fixture@"+newest)
	run(true, "mcp-jail", "status", "--remove", "--yes", "mcp-fixture@"+newest)
	if l = list(); len(l.Servers)+len(l.Stored.Unused)+len(l.Stored.Leftovers) != 0 || l.Stored.Bytes != 0 {
		t.Errorf("after the server: %+v", l)
	}
	if text, err := os.ReadFile(filepath.Join(home, ".config/mcp-jail/mcp-jail.lock")); err != nil || strings.Contains(string(text), "mcp-fixture") {
		t.Errorf("the lock file is %s, %v", text, err)
	}
	if testkit.Long() {
		session()
		if l = list(); len(l.Servers) != 1 || l.Servers[0].Version != "1.1.0" {
			t.Errorf("installed again: %+v", l)
		}
	}
}

// keptOutput is the part of the output of status --all --format json that is tested.
type keptOutput struct {
	Servers []struct {
		Version string
		Command []string
		Client  struct{ Name string } `json:"last_client"`
		Stored  struct {
			Package      string
			Bytes        int64
			PackageBytes int64 `json:"package_bytes"`
		}
	}
	Stored struct {
		Unused    []struct{ Package string } `json:"unused_packages"`
		Leftovers []struct{ Path string }
		Bytes     int64
	}
}

// makeWritable lets the directories of a test be removed.
func makeWritable(dir string) {
	filepath.WalkDir(dir, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
}
