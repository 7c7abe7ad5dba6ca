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

// endingStep is a step by which a client ends a session: after so long it sends a
// signal or, with none, closes stdin.
type endingStep struct {
	after time.Duration
	sig   syscall.Signal
}

// eof is no signal.
const eof = syscall.Signal(0)

// endSession pushes until the process has ended. The last push of most clients is
// SIGKILL; for a jail it is put off to some times its due, since a machine can be
// busy. status is 128 + n for those that died of signal n.
func endSession(s *session, pushes []endingStep, bare bool) (status int, last syscall.Signal, took time.Duration) {
	since := time.Now()
	for _, p := range pushes {
		wait := p.after
		if !bare && p.sig == syscall.SIGKILL {
			wait *= 5
		}
		select {
		case <-s.ended:
			return statusAfter(s.cmd.ProcessState), last, time.Since(since)
		case <-time.After(wait):
		}
		last, since = p.sig, time.Now()
		if p.sig == eof {
			s.in.Close()
		} else {
			s.cmd.Process.Signal(p.sig)
		}
		if bare && p.sig == syscall.SIGKILL {
			// Wait would wait for what else has the server's stderr. Its daemons
			// are in groups of their own.
			syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		}
	}
	select {
	case <-s.ended:
	case <-time.After(patience):
		return -1, last, patience
	}
	return statusAfter(s.cmd.ProcessState), last, time.Since(since)
}

// TestClientsEndSessions ends sessions as clients end them. A server that goes by
// itself has its own status, one that minds nothing that of SIGKILL; both have
// daemons in sessions of their own, and nothing is left. Only a client that kills
// at once has to kill. Bare servers leave their daemons behind.
func TestClientsEndSessions(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		pushes   []endingStep
		ordinary []int // exit statuses
		only     bool  // only with MCPJAIL_ALL=1
	}{
		"TypeScript SDK":         {[]endingStep{{0, eof}, {2 * s, syscall.SIGTERM}, {2 * s, syscall.SIGKILL}}, []int{0}, false},
		"its probe sibling":      {[]endingStep{{0, eof}, {0, syscall.SIGTERM}, {1 * s, syscall.SIGKILL}}, []int{0, 143}, false},
		"mcp-go":                 {[]endingStep{{0, eof}, {2 * s, syscall.SIGTERM}, {3 * s, syscall.SIGKILL}}, []int{0}, true},
		"Go SDK":                 {[]endingStep{{0, eof}, {5 * s, syscall.SIGTERM}, {5 * s, syscall.SIGKILL}}, []int{0}, true},
		"VS Code":                {[]endingStep{{0, eof}, {2 * s, syscall.SIGTERM}, {2 * s, syscall.SIGKILL}}, []int{0}, true},
		"Claude Code":            {[]endingStep{{0, syscall.SIGINT}, {1 * s, syscall.SIGKILL}}, []int{130}, false},
		"Claude Code in a hurry": {[]endingStep{{0, syscall.SIGKILL}}, []int{137}, false},
		"a terminal that closes": {[]endingStep{{0, syscall.SIGHUP}, {1 * s, syscall.SIGKILL}}, []int{129}, false},
	} {
		if c.only && !testkit.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type ending struct {
				kind, server string
				w            *world
				s            *session
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
