//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// goServerMain is an MCP server in Go: the test binary with go-server in runAsEnv. Its tool
// uses threads, a child process, loopback and files.
func goServerMain() {
	serve("go", []string{"probe"}, func(toolCall) (string, error) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { runtime.LockOSThread(); runtime.Gosched() })
		}
		wg.Wait()
		out, err := exec.Command("sh", "-c", "echo child").Output()
		if err != nil {
			return "", err
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		defer l.Close()
		go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "loopback") }))
		r, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		var body bytes.Buffer
		body.ReadFrom(r.Body)
		_, sshErr := os.ReadDir(filepath.Join(filepath.Dir(os.Getenv("TEST_WORK")), "home", ".ssh"))
		return strings.TrimSpace(string(out)) + " " + body.String() + fmt.Sprint(" ", sshErr != nil), os.WriteFile("from-go.txt", []byte("x"), 0o644)
	})
	os.Exit(0)
}

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
	if read(t, filepath.Join(w.work, "from-go.txt")) != "x" {
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
	got := w.attempt(t, r.name, r.config(r.access...), func(t *testing.T, w *world, s *session) toolResult { return s.tool("probe", nil) })
	if got.IsError || got.texts() != "child loopback true\n" {
		t.Errorf("%s", got.raw)
	}
	if _, err := os.Stat(filepath.Join(w.work, "from-go.txt")); err == nil {
		t.Error("it wrote into the workspace, which nothing grants")
	}
}
