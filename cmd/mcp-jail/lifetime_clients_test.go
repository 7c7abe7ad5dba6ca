//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

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
