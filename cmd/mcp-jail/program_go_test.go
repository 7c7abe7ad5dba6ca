//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestGoServer tests a server in Go under the default policy.
func TestGoServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, runAsEnv+"=go-server", "TEST_WORK="+w.work)
	self, err := os.Executable()
	must(t, err)
	s := open(t, w.jail("--env", runAsEnv, "--env", "TEST_WORK", "--", self), nil)
	if r := s.tool("probe", nil); r.texts() != "child loopback true\n" || r.IsError {
		t.Errorf("%s", r.raw)
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
	if testkit.ReadFile(t, filepath.Join(w.work, "from-go.txt")) != "x" {
		t.Error("nothing was written")
	}
}

// TestGoBinary tests the recipe of a static binary, which needs no rule at all.
func TestGoBinary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, runAsEnv+"=go-server", "TEST_WORK="+w.work)
	self, err := os.Executable()
	must(t, err)
	r := readRecipe(t, "binary", `command = "/home/me/bin/server"`,
		fmt.Sprintf("command = %q\nvariables = [%q, \"TEST_WORK\"]", self, runAsEnv))
	got := w.attempt(t, r.name, r.config(r.access...), func(t *testing.T, w *world, s *clientSession) toolResult { return s.tool("probe", nil) })
	if got.IsError || got.texts() != "child loopback true\n" {
		t.Errorf("%s", got.raw)
	}
	if _, err := os.Stat(filepath.Join(w.work, "from-go.txt")); err == nil {
		t.Error("it wrote into the workspace, which nothing grants")
	}
}
