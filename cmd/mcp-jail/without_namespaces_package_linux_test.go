package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestWithoutNamespacesNothingRuns tests that mcp-jail starts no npm and no interpreter for itself on
// a host that can make no jail for them, also if the user waives the server's jail, and that the
// error names the cause.
func TestWithoutNamespacesNothingRuns(t *testing.T) {
	w, _ := newShop(t, fixture.Stock{Packages: []fixture.Package{fixture.MCPServer{Name: "server"}.Package()}})
	t.Parallel()
	bin, mark := filepath.Join(w.home, "own", "bin"), filepath.Join(w.home, "ran")
	must(t, os.MkdirAll(bin, 0o755))
	for _, name := range []string{"npm", "node", "python3"} {
		must(t, testkit.WriteProgram(filepath.Join(bin, name), []byte("#!/bin/sh\necho "+name+" >>'"+mark+"'\necho v20.1.0\n")))
	}
	w.env = append(slices.Clip(w.env), "PATH="+bin+":/usr/bin:/bin")
	s := start(t, withoutUserns(w.jail(append(slices.Clip(waiveNamespaces), "--", "npx", "-y", "server")...)))
	m := s.call("initialize", map[string]any{})
	s.close()
	const want = "the installation of a package needs a jail, which this host cannot make (user namespaces are refused"
	if told := string(m.Error) + s.stderr.String(); !strings.Contains(told, want) {
		t.Errorf("nothing of %q in:\n%s", want, told)
	}
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("they ran without a jail: %s", ran)
	}
	for _, name := range []string{"npm", "node"} { // the control
		os.Remove(mark)
		must(t, exec.Command(filepath.Join(bin, name)).Run())
		if !pathExists(mark) {
			t.Errorf("control: %s leaves no mark", name)
		}
	}
}
