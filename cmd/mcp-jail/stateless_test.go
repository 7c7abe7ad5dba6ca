//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// statelessSession opens a session with a stateless server. keys follow its first lines.
func (w *world) statelessSession(t *testing.T, program, keys string) *clientSession {
	t.Helper()
	config := filepath.Join(w.base, "percall.toml")
	must(t, os.WriteFile(config, []byte("version = 1\n[servers.s]\ncommand = \""+program+"\"\nstateful = false\n"+keys), 0o644))
	return open(t, w.jail("--config", config, "s"), nil)
}

// TestStatelessToolPolicies tests that three tools of a server have three policies, and
// none has the rights of another.
func TestStatelessToolPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"notes/a": "a note", "other/b": "something else"})
	out := filepath.Join(w.work, "out")
	must(t, os.Mkdir(out, 0o777))
	must(t, os.Chmod(out, 0o777))
	s := w.statelessSession(t, w.copySelf(t, "victim"), `
[[servers.s.tools.read.access.fs]]
path = "notes"
read = true
[[servers.s.tools.write.access.fs]]
path = "out"
write = true
[[servers.s.tools.env.access.env]]
name = "PLANTED_SECRET"
read = true
`)
	arg := func(a string) map[string]any { return map[string]any{"arg": a} }
	for _, step := range testkit.Table[struct {
		tool, arg, want string
		ok              bool
	}](t, "tool-policies.txt") {
		r := s.tool(step.tool, arg(step.arg))
		if text := r.texts(); r.IsError == step.ok || !strings.Contains(text, step.want) {
			t.Errorf("%s %s: %s", step.tool, step.arg, text)
		}
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d: %s", status, &s.stderr)
	}
	if got := testkit.ReadFile(t, filepath.Join(out, "x")); got != "by the victim\n" {
		t.Errorf("the file says %q", got)
	}
	w.noneLeft(t)
}

// TestStatelessToolsNeverShare calls two tools of a server, in turn and in parallel. One
// is granted a file. In hundreds of calls the other never reads it.
func TestStatelessToolsNeverShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"granted/file": twinsSecret})
	program := w.copySelf(t, "twins")
	arg := map[string]any{"arg": filepath.Join(w.work, "granted", "file"), "leave": filepath.Base(w.base)}
	w.plainTwins(t, program, arg)
	for _, mode := range []struct {
		name, keys string
		calls      int
		atOnce     int
		pause      time.Duration // lets warm processes start
	}{
		{"cold", "", 100, 8, 0},
		{"warm and hurried", "warm = 4\n", 600, 8, 0},
		{"warm", "warm = 4\n", 400, 2, 40 * time.Millisecond},
	} {
		mode.calls /= rounds(10, 4)
		s := w.statelessSession(t, program, mode.keys+`
[[servers.s.tools.granted.access.fs]]
path = "granted"
read = true
[[servers.s.tools.other.access.fs]]
path = "nothing/"
read = true
create = true
`)
		s.tools() // so that warm processes are started
		s.interleave(mode.name, mode.calls, mode.atOnce, mode.pause, arg)
		if status := s.close(); status != 0 {
			t.Errorf("exit status %d: %s", status, &s.stderr)
		}
		w.noneLeft(t)
	}
}

const twinsSecret = "planted for one of the twins"

// plainTwins is the control: without a jail both tools read the file, and one finds what
// the other left.
func (w *world) plainTwins(t *testing.T, program string, arg map[string]any) {
	t.Helper()
	cmd, tmp, home := w.plain(program), filepath.Join(w.base, "bare-tmp"), filepath.Join(w.base, "bare-home")
	for _, dir := range []string{tmp, home} {
		must(t, os.Mkdir(dir, 0o700))
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "HOME="+home)
	s := open(t, cmd, nil)
	if text := s.tool("other", arg).texts(); !strings.Contains(text, twinsSecret) {
		t.Errorf("a bare server does not read it either: %s", text)
	}
	s.tool("granted", arg)
	left := arg["leave"].(string)
	for _, dir := range []string{tmp, "/dev/shm", home} {
		text := s.tool("other", map[string]any{"arg": "/nowhere", "leave": left}).texts()
		if !strings.Contains(text, twinsSecret+" in "+dir) {
			t.Errorf("a bare server does not find what was left in %s either: %s", dir, text)
		}
	}
	s.close()
	must(t, os.Remove(filepath.Join("/dev/shm", left)))
}

// interleave calls both tools in turn, several calls at a time. It fails if one gets what
// only the other was granted.
func (s *clientSession) interleave(name string, calls, atOnce int, pause time.Duration, arg map[string]any) {
	var lanes sync.WaitGroup
	turns := make(chan int)
	for range atOnce {
		lanes.Go(func() {
			for i := range turns {
				tool := []string{"granted", "other"}[i%2]
				var m message
				select {
				case m = <-s.request("tools/call", map[string]any{"name": tool, "arguments": arg}):
				case <-s.stdoutClosed: // m stays empty, which fails below
				}
				read, absent := strings.Contains(string(m.Result), twinsSecret), strings.Contains(string(m.Result), "no such file")
				if m.Error != nil || read != (tool == "granted") || absent != (tool == "other") {
					s.t.Errorf("%s, call %d of %s: %s%s", name, i, tool, m.Result, m.Error)
				}
				time.Sleep(pause)
			}
		})
	}
	for i := range calls {
		turns <- i
	}
	close(turns)
	lanes.Wait()
}

// TestStatelessKilledLeavesNothing kills mcp-jail during eight calls. No process, mount
// or file is left that an orderly session does not leave.
func TestStatelessKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program := w.copySelf(t, "twins")
	keys := "warm = 2\n[[servers.s.tools.hang.access.fs]]\npath = \".\"\nread = true\n"
	hang := func(s *clientSession) {
		for range 8 {
			s.request("tools/call", map[string]any{"name": "hang"})
		}
	}
	servers := func() (n int) {
		for _, p := range w.processes() {
			if strings.HasSuffix(strings.TrimSpace(p), program) {
				n++
			}
		}
		return n
	}
	orderly := w.statelessSession(t, program, keys)
	hang(orderly)
	testkit.Eventually(t, "eight calls are under way", func() bool { return servers() >= 8 })
	if len(w.mounts()) == 0 {
		t.Error("the mounts of living jails are not seen")
	}
	orderly.cmd.Process.Signal(syscall.SIGTERM)
	orderly.wait()
	w.noneLeft(t)
	allowed := snapshot(t, w.base)

	step := 4
	if testkit.Long() {
		step = 1
	}
	for moment := 0; moment < 10; moment += step {
		s := w.statelessSession(t, program, keys)
		hang(s)
		testkit.Eventually(t, fmt.Sprintf("%d processes are there", moment), func() bool { return servers() >= moment })
		s.cmd.Process.Kill()
		s.wait()
		testkit.Eventually(t, "nothing is left", func() bool { return len(w.remains()) == 0 })
	}
	for name := range snapshot(t, w.base) {
		if _, ok := allowed[name]; !ok {
			t.Errorf("left behind: %s", name)
		}
	}
}
