package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// waitForDaemons waits until both daemons of the daemon server run, so that a later
// search for them can find something.
func (s *clientSession) waitForDaemons(w *world) {
	s.t.Helper()
	testkit.Eventually(s.t, "the daemons are up", func() bool {
		n := 0
		for _, p := range w.processes() {
			if strings.Contains(p, "while :; do sleep") {
				n++
			}
		}
		return n >= 2
	})
}

// TestClientLeavesEarly tests that nothing is left of a client that goes away at any
// stage of the handshake.
func TestClientLeavesEarly(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*world, *clientSession){
		"at once":              func(w *world, s *clientSession) { s.in.Close() },
		"after half a message": func(w *world, s *clientSession) { s.in.Write([]byte(`{"jsonrpc":"2.0","id":0,"met`)); s.in.Close() },
		"after a request":      func(w *world, s *clientSession) { s.request("initialize", map[string]any{}); s.in.Close() },
		"after the handshake":  func(w *world, s *clientSession) { s.initialize(nil); s.waitForDaemons(w); s.in.Close() },
		"during a call": func(w *world, s *clientSession) {
			s.initialize(nil)
			s.waitForDaemons(w)
			s.request("no/answer", nil)
			s.in.Close()
		},
		"deaf": func(w *world, s *clientSession) {
			s.initialize(nil)
			s.cmd.Process.Signal(syscall.SIGPIPE)
			s.in.Close()
		},
		"with a signal, at once": func(w *world, s *clientSession) { s.in.Close(); s.cmd.Process.Signal(syscall.SIGTERM) },
		"killed during start":    func(w *world, s *clientSession) { s.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := start(t, w.jail("--", "sh", w.fixture(t, "daemon.sh"), ""))
			leave(w, s)
			s.wait()
			w.noneLeft(t)
			w.noLitter(t)
		})
	}
}

// endingStep is a step by which a client ends a session. After a delay it sends a signal,
// or closes stdin.
type endingStep struct {
	after time.Duration
	sig   syscall.Signal
}

// closeStdin stands for closing stdin in an endingStep.
const closeStdin = syscall.Signal(0)

// endSession does the steps until the process has ended. With a jail it waits longer
// before SIGKILL, the last step of most clients, since the machine may be busy. status is
// 128 + n after signal n.
func endSession(s *clientSession, pushes []endingStep, bare bool) (status int, last syscall.Signal, took time.Duration) {
	since := time.Now()
	for _, p := range pushes {
		wait := p.after
		if !bare && p.sig == syscall.SIGKILL {
			wait *= 5
		}
		select {
		case <-s.exited:
			return statusAfter(s.cmd.ProcessState), last, time.Since(since)
		case <-time.After(wait):
		}
		last, since = p.sig, time.Now()
		if p.sig == closeStdin {
			s.in.Close()
		} else {
			s.cmd.Process.Signal(p.sig)
		}
		if bare && p.sig == syscall.SIGKILL {
			// Kill the process group, since Wait also waits for other processes that
			// have its stderr. The daemons are in other groups.
			syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		}
	}
	select {
	case <-s.exited:
	case <-time.After(testkit.Patience):
		return -1, last, testkit.Patience
	}
	return statusAfter(s.cmd.ProcessState), last, time.Since(since)
}

// TestClientsEndSessions ends sessions as real clients do. An ordinary server ends with
// its own status; a server that ignores all requests to end is killed. Both have daemons
// in sessions of their own. With a jail no process is left and only a client that starts
// with SIGKILL must kill. Without a jail the daemons stay.
func TestClientsEndSessions(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		pushes   []endingStep
		ordinary []int // exit statuses
		only     bool  // only in make test-long
	}{
		"TypeScript SDK":         {[]endingStep{{0, closeStdin}, {2 * s, syscall.SIGTERM}, {2 * s, syscall.SIGKILL}}, []int{0}, false},
		"its probe sibling":      {[]endingStep{{0, closeStdin}, {0, syscall.SIGTERM}, {1 * s, syscall.SIGKILL}}, []int{0, 143}, false},
		"mcp-go":                 {[]endingStep{{0, closeStdin}, {2 * s, syscall.SIGTERM}, {3 * s, syscall.SIGKILL}}, []int{0}, true},
		"Go SDK":                 {[]endingStep{{0, closeStdin}, {5 * s, syscall.SIGTERM}, {5 * s, syscall.SIGKILL}}, []int{0}, true},
		"VS Code":                {[]endingStep{{0, closeStdin}, {2 * s, syscall.SIGTERM}, {2 * s, syscall.SIGKILL}}, []int{0}, true},
		"Claude Code":            {[]endingStep{{0, syscall.SIGINT}, {1 * s, syscall.SIGKILL}}, []int{130}, false},
		"Claude Code in a hurry": {[]endingStep{{0, syscall.SIGKILL}}, []int{137}, false},
		"a supervisor":           {[]endingStep{{0, syscall.SIGTERM}, {1 * s, syscall.SIGKILL}}, []int{143}, false},
		"a terminal that closes": {[]endingStep{{0, syscall.SIGHUP}, {1 * s, syscall.SIGKILL}}, []int{129}, false},
	} {
		if c.only && !testkit.Long() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type ending struct {
				kind, server string
				w            *world
				s            *clientSession
				status       int
				last         syscall.Signal
				took         time.Duration
			}
			var endings []*ending
			for _, kind := range []string{"bare", "jailed"} {
				for _, server := range []string{"ordinary", "stubborn"} {
					e := &ending{kind: kind, server: server, w: newWorld(t)}
					file := e.w.fixture(t, "daemon.sh")
					cmd := e.w.plain("sh", file, server)
					if kind == "jailed" {
						cmd = e.w.jail("--", "sh", file, server)
					}
					e.s = open(t, cmd, nil)
					e.s.waitForDaemons(e.w)
					endings = append(endings, e)
				}
			}
			var all sync.WaitGroup
			for _, e := range endings {
				all.Go(func() { e.status, e.last, e.took = endSession(e.s, c.pushes, e.kind == "bare") })
			}
			all.Wait()
			for _, e := range endings {
				want, killed := c.ordinary, e.last == syscall.SIGKILL
				if e.server == "stubborn" {
					want = []int{137}
				}
				what := fmt.Sprintf("%s, %s: exit status %d, %v after: %v", e.kind, e.server, e.status, e.took.Round(time.Millisecond), e.last)
				t.Log(what)
				if !slices.Contains(want, e.status) {
					t.Errorf("%s: want %v\nstderr: %s", what, want, &e.s.stderr)
				}
				inVain := e.kind == "bare" && e.server == "stubborn" || len(c.pushes) == 1
				if killed != inVain {
					t.Errorf("%s: the client had to kill: %v, want %v", what, killed, inVain)
				}
				if e.kind == "jailed" {
					e.w.noneLeft(t)
					e.w.noLitter(t)
					continue
				}
				left := e.w.processes()
				if len(left) < 2 {
					t.Errorf("%s: the daemons of a bare server are gone, so nothing is shown: %q", what, left)
				}
				e.w.kill()
			}
		})
	}
}

func (w *world) noLitter(t *testing.T) {
	t.Helper()
	if left, _ := filepath.Glob("/tmp/*" + filepath.Base(w.base) + "*"); len(left) > 0 {
		t.Errorf("litter: %q", left)
	}
}

// configure writes a configuration with a time of its own, and returns its file.
func (w *world) configure(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(w.base, "reload.toml")
	must(t, os.WriteFile(file+".new", []byte(text), 0o644))
	must(t, os.Rename(file+".new", file)) // as editors do
	return file
}

// reading returns a table that grants a server, or one of its tools, a directory to read.
func reading(table, dir string) string {
	return fmt.Sprintf("[[servers.s.%s.fs]]\npath = %q\nread = true\n", table, dir)
}

// TestReloadStateless tests that the next call has the policy that the file says by then, that
// the last good one stays in force while the file has a mistake, which every call says, and that
// the list of tools comes from the new program.
func TestReloadStateless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"a/f": "in a", "b/f": "in b"})
	victim := w.copySelf(t, "victim")
	head := "[servers.s]\ncommand = \"" + victim + "\"\nstateful = false\nwarm = 1\n"
	file := w.configure(t, head+reading("tools.read.access", "a"))
	s := open(t, w.jail("--config", file, "s"), nil)
	s.call("logging/setLevel", map[string]any{"level": "warning"})
	reads := func(a, b bool) {
		t.Helper()
		for name, want := range map[string]bool{"a/f": a, "b/f": b} {
			r := s.tool("read", map[string]any{"arg": name})
			if got := !r.IsError && strings.Contains(r.texts(), "in "); got != want {
				t.Errorf("%s is read: %v, want %v: %s", name, got, want, r.texts())
			}
		}
	}
	reads(true, false) // the control
	w.configure(t, head+reading("tools.read.access", "b"))
	reads(false, true)
	if said := s.stderr.String(); strings.Count(said, `calls of server "s" are under its new policy now`) != 1 {
		t.Errorf("stderr: %s", said)
	}

	w.configure(t, head+"nonsense = 1\n"+reading("tools.read.access", "a"))
	reads(false, true)
	reads(false, true)
	const problem = `:5: servers.s.nonsense is not a known key`
	testkit.Eventually(t, "a warning of each call", func() bool { // which stderr may have after the answer
		said := s.stderr.String()
		return strings.Count(said, problem) >= 4 && strings.Contains(said, `: server "s" goes on with the configuration of `)
	})

	must(t, os.Remove(file)) // the server is gone from its configuration
	reads(false, true)
	w.configure(t, strings.Replace(head, "stateful = false", "stateful = true", 1))
	reads(false, true)
	if said := s.stderr.String(); !strings.Contains(said, "stateful = true holds from the next session on") {
		t.Errorf("stderr: %s", said)
	}
	w.configure(t, head+reading("tools.read.access", ".")+"[servers.s.limits]\nmessage_mb = 3\n")
	reads(true, true)

	before := s.tools()
	w.configure(t, strings.Replace(head, "victim", "notthere", 1))
	reads(true, true)
	w.configure(t, strings.Replace(head, victim, w.copySelf(t, "twins"), 1))
	s.tool("granted", map[string]any{"arg": "/nowhere"}) // which the other program does not have
	s.waitNotifications("notifications/tools/list_changed", 1)
	if after := s.tools(); fmt.Sprint(before) == fmt.Sprint(after) {
		t.Errorf("the tools of another program: %q", after)
	}
	s.waitNotifications("notifications/message", 1)
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d: %s", status, &s.stderr)
	}
	w.noneLeft(t)
}

// TestReloadStateful tests that the jail of a running session stays as it is, that stderr, the
// client and status say so, and that another server's table is no reason.
func TestReloadStateful(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"a/f": "in a", "b/f": "in b"})
	head := "[servers.s]\ncommand = \"" + w.copySelf(t, "victim") + "\"\n"
	file := w.configure(t, head+reading("access", "a"))
	s := open(t, w.jail("--config", file, "s"), nil)
	s.call("logging/setLevel", map[string]any{"level": "warning"})
	reads := func() {
		t.Helper()
		for name, want := range map[string]bool{"a/f": true, "b/f": false} {
			if r := s.tool("read", map[string]any{"arg": name}); r.IsError == want {
				t.Errorf("%s: %s", name, r.texts())
			}
		}
		time.Sleep(refreshPause) // the next call looks again
	}
	reads()
	w.configure(t, head+reading("access", "a")+"[servers.other]\ncommand = \"x\"\n")
	reads()
	if strings.Contains(s.stderr.String(), "warning: "+file) {
		t.Errorf("another server's table: %s", &s.stderr)
	}

	w.configure(t, "# a comment\n"+head+reading("access", ".")) // wider
	reads()
	reads()
	const kept = `server "s" keeps the policy that it started with until it is started again`
	testkit.Eventually(t, "it is said", func() bool { return strings.Contains(s.stderr.String(), kept) })
	if n := strings.Count(s.stderr.String(), kept); n != 1 {
		t.Errorf("said %d times: %s", n, &s.stderr)
	}
	reads() // the client is told with a call
	if told := s.waitNotifications("notifications/message", 1); !strings.Contains(string(told[0].Params), "keeps the policy") {
		t.Errorf("the client is told %s", told[0].Params)
	}

	w.configure(t, "nonsense = 1\n")
	testkit.Eventually(t, "calls say it", func() bool {
		reads()
		return strings.Count(s.stderr.String(), "nonsense is not a known key") >= 3
	})
	w.configure(t, head+reading("access", "a")) // as it was
	reads()
	said := strings.Count(s.stderr.String(), "warning: "+file)
	reads()
	if now := strings.Count(s.stderr.String(), "warning: "+file); now != said {
		t.Errorf("it is still said: %s", &s.stderr)
	}
	s.close()
	w.noneLeft(t)
}

const refreshPause = 1100 * time.Millisecond
