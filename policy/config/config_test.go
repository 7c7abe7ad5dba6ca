package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestLayers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := dir + "/" + name
		testkit.Must(t, os.WriteFile(p, []byte(text), 0o600))
		return p
	}
	a := write("a.toml", "[servers.s]\ncommand = \"a\"\narguments = [\"1\"]\nworkspace = \"w\"\nvariables = [\"A\"]\n[[servers.s.access.fs]]\npath = \"a\"\nread = true\n[[servers.s.access.net]]\nhost = \"a\"\nallow = false\n[[servers.s.access.inbound]]\nport = 1\n[servers.s.limits]\nprocesses = 1\nmemory_mb = 1\n[servers.s.access]\nsensitive_paths = [\"~/a\"]\n")
	b := write("b.toml", "[servers.s]\ncommand = \"b\"\narguments = [\"2\"]\nvariables = [\"B\"]\n[servers.s.access]\nsensitive_paths = [\"~/b\", \"~/a\"]\nfs = { strategy = \"prepend\", value = [{ path = \"b\", read = true }] }\nnet = { strategy = \"replace\", value = [{ host = \"b\", allow = false }] }\n")
	d := write("d.toml", "[servers.s]\nstateful = true\n[servers.s.access]\nfs = { strategy = \"dedup\", value = [{ path = \"a\", read = true }, { path = \"d\", read = true }] }\n[[servers.s.access.net]]\nhost = \"d\"\nallow = false\n[servers.s.limits]\nprocesses = 2\n[[servers.s.access.inbound]]\nport = 2\n[[servers.s.access.env]]\nname = \"E\"\nread = false\n")
	c, err := Load(LoadOptions{Files: []string{a, b, d}})
	testkit.Must(t, err)
	s := c.Servers["s"]
	var got []string
	for _, r := range s.Access.Fs {
		got = append(got, "fs:"+r.Path)
	}
	for _, r := range s.Access.Net {
		got = append(got, "net:"+r.Host)
	}
	for _, r := range s.Access.Inbound {
		got = append(got, fmt.Sprintf("in:%d", r.Port))
	}
	for _, r := range s.Variables {
		got = append(got, "var:"+r.Name)
	}
	got = append(got, fmt.Sprint(s.Settings.number("limits.processes"), s.Settings.number("limits.memory_mb")))
	got = append(got, s.Command, s.Workspace)
	got = append(append(got, s.Arguments...), s.Access.SensitivePaths...)
	if want := "fs:b fs:a fs:d net:b net:d in:1 in:2 var:A var:B 2 1 b w 2 ~/a ~/b"; strings.Join(got, " ") != want {
		t.Errorf("\n got %s\nwant %s", strings.Join(got, " "), want)
	}
	// The problem shows only when the layers are merged. It is in the earlier file.
	e := write("e.toml", "[servers.s]\nstateful = false\n")
	_, err = Load(LoadOptions{Files: []string{a, e}})
	if err == nil || !strings.Contains(err.Error(), "a.toml:17: [servers.s.access] cannot be enforced") {
		t.Errorf("a rule that cannot be enforced after the merge: %v", err)
	}
	_, err = Load(LoadOptions{Files: []string{a, dir + "/missing.toml"}})
	if err == nil || !strings.Contains(err.Error(), "missing.toml: cannot be read") {
		t.Errorf("a named file that is missing: %v", err)
	}
}
