//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

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
